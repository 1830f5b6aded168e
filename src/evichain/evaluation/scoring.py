"""What can be evaluated, and how each kind of recommender makes its lists.

A recommender that has `graph` and `score_users` is asked for whole blocks of scores, which is
fast. A plain function is asked user by user. Any other recommender is asked for its
recommendations, user by user.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, cast, runtime_checkable

import numpy as np

from evichain.answering.lists import Pairs
from evichain.answering.ranking import NO_ITEM, top
from evichain.errors import DataError, UnknownEntityError
from evichain.kernels import Flags, Floats, Ints, Longs
from evichain.protocol import Predictions, Recommender
from evichain.ratings.graph import Graph
from evichain.ratings.ids import Id
from evichain.ratings.side import Side

ScoreFunction = Callable[[Any, list[Any]], Any]
"""From a user's id and item ids to one score for each item; NaN for an item it cannot score."""

ScoreBlock = Callable[[slice], Floats]
"""The scores of a part of the users: [users, items]; -inf for what is never listed."""

ListMaker = Callable[[slice, Pairs, int], Ints]
"""Lists the best items for a part of the users, without the seen (user, item) pairs."""


@runtime_checkable
class ScoresUsers(Protocol):
    """A recommender that scores all items for many users at once."""

    @property
    def graph(self) -> Graph:
        """The ratings it answers from; they define the indices of users and items."""
        ...

    def score_users(self, users: Ints) -> ScoreBlock:
        """The scores of these users, by index; UNKNOWN may be among them."""
        ...


@dataclass(frozen=True, eq=False)
class Histories:
    """What some people interacted with, person by person; they need not be in the data.

    Attributes:
        indptr: those of person p are `indptr[p]` to `indptr[p + 1]`.
        items: indices of items, each at most once for a person.
        weights: their ratings; 1 where there are none.
    """

    indptr: Longs
    items: Ints
    weights: Floats

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __iter__(self) -> Iterator[tuple[Ints, Floats]]:
        for start, stop in zip(self.indptr[:-1], self.indptr[1:], strict=True):
            yield self.items[start:stop], self.weights[start:stop]

    @property
    def owners(self) -> Longs:
        """The person of each interaction."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def part(self, chosen: slice) -> "Histories":
        """The histories of a range of people."""
        indptr = self.indptr[chosen.start : chosen.stop + 1]
        own = slice(indptr[0], indptr[-1])
        return Histories(indptr - indptr[0], self.items[own], self.weights[own])

    def dense(self, items: int) -> Floats:
        """[histories, items]: the weights, 0 elsewhere."""
        found = np.zeros((len(self), items), np.float32)
        found[self.owners, self.items] = self.weights
        return found


@runtime_checkable
class ScoresHistories(Protocol):
    """A recommender that scores all items for people it has not seen, by their histories."""

    @property
    def graph(self) -> Graph:
        """The ratings it learned from; they define the indices of items."""
        ...

    def score_histories(self, histories: Histories) -> Floats:
        """The scores of all items: [histories, items]; -inf for what is never listed."""
        ...


def is_recommender(recommender: Recommender | ScoreFunction) -> TypeGuard[Recommender]:
    """Whether it predicts and recommends; anything else is taken as a function that scores."""
    return hasattr(recommender, "predict")


def list_maker(
    recommender: Recommender | ScoreFunction, graph: Graph, names: Sequence[Id]
) -> ListMaker:
    """How a recommender lists items for the users with these ids."""
    if isinstance(recommender, ScoresUsers) and recommender.graph is graph:
        return _from_blocks(recommender.score_users(graph.ids[Side.USER].index(names)))
    if is_recommender(recommender):
        return _from_recommendations(recommender, graph, names)
    return _from_blocks(_block_of_function(cast(ScoreFunction, recommender), graph, names))


def history_list_maker(recommender: Any, histories: Histories, graph: Graph) -> ListMaker:
    """How a recommender lists items for people with these histories.

    One without `score_histories` is asked for the recommendations of guests, one by one.
    """
    if isinstance(recommender, ScoresHistories):
        return _from_blocks(lambda part: recommender.score_histories(histories.part(part)))
    ids = graph.ids[Side.ITEM]

    def best(part: slice, seen: Pairs, n: int) -> Ints:
        length = min(n, len(ids))
        lists = np.full((part.stop - part.start, length), NO_ITEM, np.int32)
        for row, (items, weights) in enumerate(histories.part(part)):
            names = ids.values.gather(items).to_list()
            guest = list(zip(names, weights.tolist(), strict=True))
            found = ids.index([entry.item for entry in recommender.recommend(guest, length)])
            kept = found[_unseen(found, items)]
            lists[row, : len(kept)] = kept
        return lists

    return best


def predictions_of_function(
    score: ScoreFunction, users: Sequence[Id], items: Sequence[Id], mean: float
) -> Predictions:
    """Take the scores of a function as estimates; `mean` stands where it has no score."""
    rows: dict[Id, list[int]] = {}
    for row, user in enumerate(users):
        rows.setdefault(user, []).append(row)
    estimates = np.empty(len(users), np.float32)
    for user, chosen in rows.items():
        estimates[chosen] = _scores(score, user, [items[row] for row in chosen])
    unscored = ~np.isfinite(estimates)
    estimates[unscored] = mean
    return Predictions(estimates, ["no score" if bad else None for bad in unscored.tolist()])


def _from_blocks(block: ScoreBlock) -> ListMaker:
    def best(part: slice, seen: Pairs, n: int) -> Ints:
        scores = block(part)
        scores[seen] = -np.inf
        return top(scores, n).astype(np.int32)

    return best


def _block_of_function(score: ScoreFunction, graph: Graph, names: Sequence[Id]) -> ScoreBlock:
    items = graph.ids[Side.ITEM].values.to_list()

    def block(part: slice) -> Floats:
        scores = np.stack([_scores(score, user, items) for user in names[part]])
        return np.where(np.isnan(scores), np.float32(-np.inf), scores)

    return block


def _from_recommendations(recommender: Recommender, graph: Graph, names: Sequence[Id]) -> ListMaker:
    def best(part: slice, seen: Pairs, n: int) -> Ints:
        length = min(n, len(graph.ids[Side.ITEM]))
        lists = np.full((part.stop - part.start, length), NO_ITEM, np.int32)
        for row, user in enumerate(names[part]):
            try:
                found = recommender.recommend(user, length, exclude_seen=True)
            except UnknownEntityError:
                continue
            items = graph.ids[Side.ITEM].index([entry.item for entry in found])
            kept = items[_unseen(items, seen[1][seen[0] == row])]
            lists[row, : len(kept)] = kept
        return lists

    return best


def _unseen(items: Ints, seen: Ints) -> Flags:
    """Which listed items count: those of the catalogue that the user has not rated."""
    counted: Flags = (items != NO_ITEM) & ~np.isin(items, seen)
    return counted


def _scores(score: ScoreFunction, user: Id, items: list[Any]) -> Floats:
    found = np.asarray(score(user, items), np.float32)
    if found.shape != (len(items),):
        raise DataError(
            f"the scoring function gave {found.shape} scores for {len(items)} items",
            right="Return one score for each item, NaN for an item without one.",
        )
    return found
