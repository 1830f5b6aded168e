"""Online matrix factorization: a stream of ratings, each of which updates its user and item."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from pydantic import Field

from evichain.baselines._base import Baseline, BaselineSettings, Learned
from evichain.baselines._rated_pairs import RatedPairs, all_pairs
from evichain.kernels import Floats, Ints, Keys, Longs, fast_kernel, kernel
from evichain.progress import progress as progress_bar
from evichain.ratings.graph import Graph
from evichain.ratings.hashing import pair_hash
from evichain.ratings.inputs import as_ratings
from evichain.ratings.side import Side


class OnlineMFSettings(BaselineSettings):
    """The settings of `OnlineMF`."""

    factors: int = Field(default=20, ge=1, le=4096)
    """The length of a vector."""
    passes: int = Field(default=20, ge=0)
    """The number of passes over the stream; 1 if each rating is seen once only."""
    learning_rate: float = Field(default=0.01, gt=0)
    """The step size."""
    regularization: float = Field(default=0.05, ge=0)
    """How strongly each update shrinks the vectors towards zero."""


@dataclass(frozen=True)
class Vectors:
    """A row for each entity of a side: its vector, then its bias."""

    users: Floats
    items: Floats

    @classmethod
    def of(cls, graph: Graph, before: "Vectors | None", settings: OnlineMFSettings) -> "Vectors":
        """The vectors that exist already, followed by new ones for new entities.

        A new vector is drawn from the entity's key, so the order of arrival does not matter.
        """
        sides = []
        for side in Side:
            known = None if before is None else (before.users, before.items)[side]
            size = settings.factors
            old = np.empty((0, size + 1), np.float32) if known is None else known
            keys = graph.ids[side].keys[len(old) :].tolist()
            new = np.zeros((len(keys), size + 1), np.float32)
            for row, key in zip(new, keys, strict=True):
                row[:size] = np.random.default_rng([settings.seed, side, key]).normal(0, 0.1, size)
            sides.append(np.concatenate([old, new]))
        return cls(*sides)


class OnlineMF(Baseline[OnlineMFSettings]):
    """Online Collaborative Filtering (Abernethy et al., 2007), by stochastic gradient descent.

    A rating r_ui moves the vectors and biases of its user and its item, and nothing else:

        e = r_ui - (μ + b_u + b_i + p_u·q_i)
        p_u ← p_u + η (e q_i - λ p_u),   q_i ← q_i + η (e p_u - λ q_i)
        b_u ← b_u + η (e - λ b_u),       b_i ← b_i + η (e - λ b_i)

    `add` continues the stream from what `fit` has learned, also with new users and items. Each
    time, it repeats all ratings added since `fit`, in an order that depends only on their ids.
    So the result is the same for any division into parts. A repeated rating replaces the
    earlier one.
    """

    Settings = OnlineMFSettings
    _begun: Vectors
    _added: Graph | None = None

    def _learn(self, graph: Graph, *, progress: bool) -> Learned:
        vectors = Vectors.of(graph, None, self.settings)
        self._stream(graph, vectors, all_pairs(graph), progress=progress)
        self._begun, self._added = vectors, None
        return self._learned(graph, vectors)

    def add(self, ratings: Any) -> Self:
        """Take in new ratings, users and items, as the next of the stream."""
        (graph, _), table = self._fitted, as_ratings(ratings)
        if not len(table):
            return self
        grown = graph.extended(table)
        added = Graph.build(table) if self._added is None else self._added.extended(table)
        # Among the added ratings, entities have indices of their own.
        index = [grown.ids[side].index(added.ids[side].values) for side in Side]
        own = all_pairs(added)
        pairs = RatedPairs(index[Side.USER][own.users], index[Side.ITEM][own.items], own.ratings)
        vectors = Vectors.of(grown, self._begun, self.settings)
        self._stream(grown, vectors, pairs)
        self._keep(grown, self._learned(grown, vectors))
        self._added = added
        return self

    def _stream(
        self, graph: Graph, vectors: Vectors, pairs: RatedPairs, *, progress: bool = False
    ) -> None:
        """Update the vectors by each rating, in stream order."""
        settings, keys = self.settings, [graph.ids[side].keys for side in Side]
        order = stream_order(pairs.users, pairs.items, keys[0], keys[1], settings.seed)
        shown = pairs.at(order)
        ratings = shown.users, shown.items, shown.ratings
        rates = np.float32(settings.learning_rate), np.float32(settings.regularization)
        with progress_bar("Training OnlineMF", settings.passes, enabled=progress) as bar:
            for _ in range(settings.passes):
                update_vectors(
                    *ratings, np.float32(graph.mean), *rates, vectors.users, vectors.items
                )
                bar()

    def _learned(self, graph: Graph, vectors: Vectors) -> Learned:
        mean = np.float32(graph.mean)

        def scores(users: Ints, items: Ints) -> Floats:
            left, right = vectors.users[users], vectors.items[items]
            dots = np.einsum("pk,pk->p", left[:, :-1], right[:, :-1])
            found: Floats = mean + left[:, -1] + right[:, -1] + dots
            return found

        return Learned(scores, vectors.users.size + vectors.items.size)


def stream_order(users: Ints, items: Ints, user_keys: Keys, item_keys: Keys, seed: int) -> Longs:
    """A pseudo-random order of pairs, which depends only on their ids and the seed."""
    hashes = np.empty(len(users), np.uint64)
    _hash(users, items, user_keys, item_keys, np.uint64(seed), hashes)
    return np.argsort(hashes, kind="stable")


@kernel
def _hash(
    users: Ints, items: Ints, user_keys: Keys, item_keys: Keys, seed: np.uint64, out: Keys
) -> None:
    for p in range(len(users)):
        out[p] = pair_hash(0, user_keys[users[p]] ^ seed, item_keys[items[p]])


@fast_kernel
def update_vectors(
    users: Ints,
    items: Ints,
    ratings: Floats,
    mean: np.float32,
    rate: np.float32,
    decay: np.float32,
    left: Floats,
    right: Floats,
) -> None:
    """Make a gradient step for each rating, on the rows of its user and its item."""
    for p in range(len(ratings)):
        user, item = left[users[p]], right[items[p]]
        last = len(user) - 1
        found = mean + user[last] + item[last]
        for k in range(last):
            found += user[k] * item[k]
        error = ratings[p] - found
        for k in range(last):
            own, other = user[k], item[k]
            user[k] += rate * (error * other - decay * own)
            item[k] += rate * (error * own - decay * other)
        user[last] += rate * (error - decay * user[last])
        item[last] += rate * (error - decay * item[last])
