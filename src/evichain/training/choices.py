"""Training of choices: the prototypes, then the constants of one depth after another.

All items are factorized; the keys of the prototypes are kept, the others are dropped. Then all
embeddings are generated depth by depth, from the prototypes up, and each generator gets what
stands for all that was not chosen: the weighted Gram matrix of the keys below it. There are no
gradient steps: a few numbers, how much what was not chosen counts and how much less the popular
say, are chosen on validation lists. Why: docs/decisions/0018-choices.md.
"""

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from evichain.errors import DataError, SettingsError
from evichain.evidence.bulk_selection import Evidence, select_for_all
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.kernels import Floats, Ints, Longs
from evichain.model.chain import Chain
from evichain.model.choices import ChoiceGenerator
from evichain.model.layers import Layer, generated, made_by, overlaid, stored_layer
from evichain.model.settings import ChainSettings
from evichain.progress import progress as progress_bar
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.scale import Doubles
from evichain.ratings.side import Side
from evichain.training.settings import TrainingSettings

_ROUNDS = 10
"""Half-steps on either side, until prototypes are taken."""
_TUNING_USERS = 20_000
"""Constants are chosen on the choices of at most so many users."""
_LIST = 100
"""The length of the validation lists."""
_WANTED = 0.2
"""The part of the choices of a validation user that is to be found."""

_GRID: Mapping[str, tuple[float, ...]] = {
    "choice_ridge": (0.008, 0.004, 0.016, 0.032),
    "unchosen_weight": (0.3, 0.15, 0.6),
    "item_discount": (0.25, 0.0, 0.125, 0.375),
    "user_discount": (0.25, 0.0, 0.5),
}
"""Where the search for each constant begins, and what it tries besides."""


@dataclass(frozen=True)
class Constants:
    """The numbers that are chosen on validation lists; see `TrainingSettings`."""

    item_discount: float
    user_discount: float
    unchosen_weight: float
    choice_ridge: float

    def discount(self, side: Side) -> float:
        """By which power the rows of a side weigh less as evidence."""
        return self.item_discount if side is Side.ITEM else self.user_discount


@dataclass(frozen=True)
class TrainedChoices:
    """A trained model of choices.

    Attributes:
        ndcg: NDCG@100 of the validation lists; NaN if there were none.
    """

    chain: Chain
    pool: Pool
    constants: Constants
    ndcg: float
    seconds: float


def train_choices(
    graph: Graph,
    chain_settings: ChainSettings,
    policy: Policy,
    settings: TrainingSettings,
    *,
    progress: bool = False,
) -> TrainedChoices:
    """Train a model of choices on ratings or interactions."""
    begun = time.monotonic()
    reading = _reading(graph, settings)
    given = {name: getattr(settings, name) for name in _GRID}
    free = [name for name in _GRID if given[name] is None]
    start = {name: _GRID[name][0] if name in free else given[name] for name in _GRID}
    fit = _Fit(chain_settings, policy, settings.seed, reading)
    constants, ndcg = Constants(**start), math.nan
    lists = _validation_lists(graph, reading, settings)
    steps = 1 + (1 + sum(len(_GRID[name]) - 1 for name in free)) * bool(lists and free)
    with progress_bar("Training", steps, enabled=progress, unit="fits") as bar:
        if lists is not None and free:
            ndcg = lists.ndcg(fit, constants)
            bar(1, ndcg=ndcg)
            for name in free:
                for value in _GRID[name][1:]:
                    tried = replace(constants, **{name: value})
                    found = lists.ndcg(fit, tried)
                    if found > ndcg:
                        constants, ndcg = tried, found
                    bar(1, ndcg=ndcg)
        chain, pool, _ = fit.on(graph, constants)
        bar(1, ndcg=ndcg)
    return TrainedChoices(chain, pool, constants, ndcg, time.monotonic() - begun)


def _reading(graph: Graph, settings: TrainingSettings) -> tuple[float, float, float]:
    """What of the ratings is a choice; see `ChoiceGenerator.read`."""
    high = graph.scale.high
    if graph.interactions:
        if high <= 0:
            right = "Give at least one of positive weight."
            raise DataError("all interactions are dislikes: nothing was chosen", right=right)
        return float(np.finfo(np.float32).tiny), 1.0, 1.0
    lowest = graph.mean if settings.liked_from is None else settings.liked_from
    if lowest > high:
        right = f"The highest rating is {high:g}."
        raise SettingsError(f"no rating is {lowest:g} or more", where="liked_from", right=right)
    return lowest, settings.disliked_confidence, 0.0


@dataclass(frozen=True)
class _Fit:
    """Fits chains to graphs."""

    chain: ChainSettings
    policy: Policy
    seed: int
    reading: tuple[float, float, float]

    @torch.no_grad()
    def on(self, graph: Graph, constants: Constants) -> tuple[Chain, Pool, Layer]:
        """A chain fitted to a graph, its pool, and the embeddings of all items."""
        pool, policy = Pool.most_rated(graph, self.chain.prototype_counts), self.policy
        chain = Chain.for_pool(self.chain, pool, policy.max_depth)
        index = graph.ids[Side.ITEM].index_once(pool.ids[Side.ITEM])
        chain.prototypes[Side.ITEM].copy_(torch.from_numpy(self._keys(graph, constants)[index]))
        slot = {side: pool.sides[side].slot for side in Side}
        stored = {side: stored_layer(chain, side, slot[side]) for side in Side}
        below = stored[Side.ITEM]
        for depth in reversed(range(policy.max_depth)):
            side = Side(depth % 2)
            generator, rows = chain.generator(side, depth), graph.rows[side]
            assert isinstance(generator, ChoiceGenerator)
            evidence = select_for_all(
                rows,
                graph.scale.decode(rows.codes),
                graph.ids[side].keys,
                slot[side.opposite],
                policy,
                side,
                depth,
            )
            self._settle(generator, side, evidence, below, constants)
            made = generated(chain, side, depth, evidence, below)
            if depth == 0:
                keys = made.rows[made.has_embedding][:, :-1]
                generator.usual.copy_(torch.from_numpy(keys.mean(axis=0)))
                break
            below = overlaid(stored[side], made) if policy.stored(depth) else made
        return chain, pool, below

    def _keys(self, graph: Graph, constants: Constants) -> Floats:
        """The rows of all items, factorized to convergence; prototypes are taken from them."""
        size, random = self.chain.key_size, np.random.default_rng(self.seed)
        items = len(graph.ids[Side.ITEM])
        rows = np.zeros((items, size + 1), np.float32)
        rows[:, :-1] = random.standard_normal((items, size)) * 0.1 / math.sqrt(size)
        rows[:, -1] = log_weights(graph.rows[Side.ITEM].degrees, constants.item_discount)
        layer = Layer(rows, np.ones(items, np.bool_))
        evidence = [
            Evidence(part.indptr, part.indices, graph.scale.decode(part.codes))
            for part in graph.rows
        ]
        generators = [ChoiceGenerator(self.chain) for _ in Side]
        for _ in range(_ROUNDS):
            for side in Side:
                self._settle(generators[side], side, evidence[side], layer, constants)
                layer = made_by(generators[side], evidence[side], layer)
        return layer.rows

    def _settle(
        self,
        generator: ChoiceGenerator,
        side: Side,
        evidence: Evidence,
        below: Layer,
        constants: Constants,
    ) -> None:
        """Set a generator's constants: what was not chosen, and the weights of its rows."""
        rows = below.rows[below.has_embedding].astype(np.float64)
        keys, weights = rows[:, :-1], np.exp(rows[:, -1:])
        gram = keys.T @ (keys * weights)
        gram += constants.choice_ridge * weights.sum() * np.eye(keys.shape[1])
        # NumPy's, because PyTorch's waits long for its threads on a busy machine.
        strengths, basis = np.linalg.eigh(constants.unchosen_weight * gram)
        generator.log_unchosen.copy_(torch.from_numpy(np.log(strengths)))
        generator.basis.copy_(torch.from_numpy(basis))
        generator.reading.copy_(torch.tensor(self.reading))
        alive = np.concatenate([[0], np.cumsum(below.has_embedding[evidence.others])])
        count = alive[evidence.ptr[1:]] - alive[evidence.ptr[:-1]]
        discount = constants.discount(side)
        weighting = [first_log_weight(count[count > 0], discount), discount]
        generator.weighting.copy_(torch.tensor(weighting))


@dataclass(frozen=True)
class _ValidationLists:
    """Users left out of a graph: some of their choices are given, some are to be found."""

    graph: Graph
    given: Evidence
    wanted: Evidence

    def ndcg(self, fit: _Fit, constants: Constants) -> float:
        """The mean NDCG@100 of their lists, by a chain that is fitted to the others."""
        chain, _, items = fit.on(self.graph, constants)
        users = generated(chain, Side.USER, 0, self.given, items)
        with torch.no_grad():
            both = [
                chain.head(side, torch.from_numpy(layer.rows)).numpy()
                for side, layer in zip(Side, (users, items), strict=True)
            ]
        gains = 1 / np.log2(np.arange(2, _LIST + 2))
        found = []
        for user, wanted in enumerate(_parts(self.wanted)):
            scores = both[Side.ITEM] @ both[Side.USER][user]
            scores[~items.has_embedding] = -np.inf
            scores[self.given.others[self.given.ptr[user] : self.given.ptr[user + 1]]] = -np.inf
            best = np.sort(np.partition(scores, -min(_LIST, len(scores)))[-_LIST:])
            ranks = len(best) - np.searchsorted(best, scores[wanted], side="right")
            listed = ranks[(ranks < _LIST) & np.isfinite(scores[wanted])]
            found.append(gains[listed].sum() / gains[: len(wanted)].sum())
        return float(np.mean(found))


def _validation_lists(
    graph: Graph, reading: tuple[float, float, float], settings: TrainingSettings
) -> _ValidationLists | None:
    """Leave out some users; None where there are too few."""
    random = np.random.default_rng(settings.seed)
    rows, count = graph.rows[Side.USER], len(graph.ids[Side.USER])
    order = random.permutation(count)[:_TUNING_USERS]
    held = order[: int(len(order) * settings.validation)]
    rest = order[len(held) :]
    if not len(held) or not len(rest):
        return None
    table = graph.to_ratings()
    users = graph.ids[Side.USER].values
    kept = table.frame["user_id"].is_in(users[np.sort(rest)].implode())
    smaller = Graph.build(replace(table, frame=table.frame.filter(kept)))
    index = smaller.ids[Side.ITEM].index(graph.ids[Side.ITEM].values).astype(np.int32)
    given, wanted = [], []
    for user in np.sort(held).tolist():
        others, codes = rows.row(user)
        values = graph.scale.decode(codes)
        known = index[others] != UNKNOWN
        others, values = index[others][known], values[known]
        chosen = np.flatnonzero(values >= reading[0])
        hidden = random.permutation(chosen)[: int(_WANTED * len(chosen))]
        if len(hidden):
            shown = np.delete(np.arange(len(others)), hidden)
            given.append((others[shown], values[shown]))
            wanted.append((others[hidden], values[hidden]))
    if not given:
        return None
    return _ValidationLists(smaller, _joined(given), _joined(wanted))


def _joined(parts: list[tuple[Ints, Floats]]) -> Evidence:
    ptr = np.concatenate([[0], np.cumsum([len(others) for others, _ in parts])]).astype(np.int64)
    return Evidence(
        ptr,
        np.concatenate([others for others, _ in parts]).astype(np.int32),
        np.concatenate([values for _, values in parts]).astype(np.float32),
    )


def _parts(evidence: Evidence) -> Iterator[Ints]:
    yield from np.split(evidence.others, evidence.ptr[1:-1])


def log_weights(count: Longs, discount: float) -> Doubles:
    """The log weights of rows with so many links: `a - discount log n`, by `first_log_weight`."""
    found: Doubles = first_log_weight(count, discount) - discount * np.log(np.maximum(count, 1))
    return found


def first_log_weight(count: Longs, discount: float) -> float:
    """The log weight of a row with one link, so that the mean weight over all links is 1."""
    many = np.maximum(count, 1).astype(np.float64)
    return float(np.log(many.sum() / (many ** (1 - discount)).sum())) if len(many) else 0.0
