"""What people ask a live model, in their own words: ids as text, titles, reasons."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
import torch

from evichain.errors import DataError, UnknownEntityError
from evichain.evidence.trace import Piece, Trace
from evichain.kernels import Longs
from evichain.model.inference import HeadOutput, read
from evichain.model.layers import Layer
from evichain.model.removal import Alternatives
from evichain.model.tracing import trace_of
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.side import Side
from evichain.service.live.evidence_source import SnapshotSource
from evichain.service.live.rows import Row
from evichain.service.live.snapshot import Snapshot
from evichain.service.live.store_follower import StoreFollower
from evichain.service.live.titles import Titles

REASONS_FROM = 64
"""Of how many pieces of evidence the reason is sought for an item in a list."""
GUEST = "you"


@dataclass(frozen=True)
class Reason:
    """The rating of the asker's without which the estimate would be lowered most.

    Of those that are evidence, up to 64 are looked at: the same for every item of a list.
    """

    item: Id
    title: str
    rating: float
    contribution: float


@dataclass(frozen=True)
class Suggestion:
    """An item and the rating expected; `deviation` where the model tells one."""

    item: Id
    title: str
    estimate: float
    std: float | None
    reason: Reason | None = None


@dataclass(frozen=True)
class Told:
    """A prediction; `reason` says why there is no chain of evidence, if there is none."""

    item: str
    title: str
    estimate: float
    std: float | None
    interval: tuple[float, float] | None
    reason: str | None


@dataclass(frozen=True)
class Asker:
    """Someone with ratings: a user of the store, or a guest of whom nothing is kept.

    Attributes:
        row: the ratings that count, by index.
        left_out: items whose ratings were switched off; they still count as seen.
        stored: the embedding of a prototype user that answers with what it has stored.
        end: what the head makes of them.
    """

    name: Id
    row: Row
    left_out: Longs
    stored: Layer | None
    end: HeadOutput


class Answers:
    """Answers from the snapshot of the moment; make one for each request."""

    def __init__(self, live: StoreFollower) -> None:
        self.snapshot: Snapshot = live.snapshot
        self.titles: Titles = live.titles

    def user(self, user: str, without: Collection[str] = ()) -> Asker:
        """A user of the store.

        Raises:
            UnknownEntityError: nothing is known of them.
        """
        index = self.snapshot.index(Side.USER, user)
        if index == UNKNOWN:
            raise UnknownEntityError(
                f"unknown user {user!r}", right="Ask for users who have rated something."
            )
        row, stored = self.snapshot.row(Side.USER, index), self.snapshot.stored_layer(index)
        return self._asker(self.snapshot.ids[Side.USER][index], row, without, stored)

    def guest(self, ratings: Iterable[tuple[str, float]], without: Collection[str] = ()) -> Asker:
        """Someone with these (item, rating) pairs; items that nobody has rated tell nothing."""
        scale = self.snapshot.scale
        rated: dict[int, float] = {}
        for item, rating in ratings:
            if not scale.holds(rating):
                raise DataError(
                    f"a rating of {rating:g} for item {item!r}",
                    right=f"Ratings go from {scale.low:g} to {scale.high:g} here.",
                )
            index = self.snapshot.index(Side.ITEM, item)
            if index != UNKNOWN:
                rated[index] = rating
        row = self.snapshot.guest_row(list(rated), list(rated.values()))
        return self._asker(GUEST, row, without, None)

    def recommend(
        self,
        asker: Asker,
        n: int,
        *,
        include_seen: bool = False,
        caution: float = 0.0,
        reasons: bool = False,
    ) -> list[Suggestion]:
        """The items that someone would rate highest.

        Args:
            caution: rank by the estimate less so many of its deviations.
            reasons: tell which rating of theirs speaks most for each item.
        """
        seen = np.concatenate([asker.row[0], asker.left_out])
        found, estimates, stds = self.snapshot.best(
            asker.end, n, seen[:0] if include_seen else seen, caution
        )
        why = self._reasons(asker, found) if reasons else [None] * len(found)
        return [
            Suggestion(
                *self._item(place),
                float(estimates[k]),
                None if stds is None else float(stds[k]),
                why[k],
            )
            for k, place in enumerate(found.tolist())
        ]

    def predict(self, asker: Asker, items: list[str]) -> list[Told]:
        """What someone would rate items."""
        indices = np.array([self.snapshot.index(Side.ITEM, item) for item in items], np.int64)
        estimates, stds, has_embedding = self.snapshot.estimates(asker.end, indices)
        told = []
        for k, item in enumerate(items):
            std = None if stds is None else float(stds[k])
            found = self.snapshot.prediction(float(estimates[k]), std)
            why = None if has_embedding[k] else self._obstacle(asker, int(indices[k]), item)
            told.append(
                Told(item, self.titles.title(item), found.estimate, std, found.interval(), why)
            )
        return told

    def similar(self, item: str, n: int) -> list[tuple[Id, str, float]]:
        """The items most like another: id, title and how alike."""
        index = self.snapshot.index(Side.ITEM, item)
        if index == UNKNOWN:
            raise UnknownEntityError(f"unknown item {item!r}", right="Ask for items with ratings.")
        found, alike = self.snapshot.similar(index, n)
        return [(*self._item(place), float(alike[k])) for k, place in enumerate(found.tolist())]

    def explain(self, asker: Asker, item: str, *, pieces: int = 5, depth: int = 1) -> Trace:
        """The evidence behind a prediction, and what each piece brings to it."""
        index = self.snapshot.index(Side.ITEM, item)
        (told,) = self.predict(asker, [item])
        if told.reason is None:
            source = SnapshotSource(
                self.snapshot, asker.name, asker.row, asker.stored, index, self.titles.title
            )
            return trace_of(self.snapshot.chain, source, pieces=pieces, depth=depth)
        user = Piece(Side.USER, asker.name, str(asker.name), 0, None, False, 0.0)
        other = Piece(Side.ITEM, item, told.title, 0, None, False, 0.0)
        return Trace(user, other, told.estimate, told.reason)

    def search(self, text: str, n: int) -> list[tuple[Id, str, int]]:
        """The items with such a title: id, title and how many ratings each has."""
        found = self.titles.search(text, n, self._ratings)
        return [(item, self.titles.title(item), self._ratings(item)) for item in found]

    def _asker(self, name: Id, row: Row, without: Collection[str], stored: Layer | None) -> Asker:
        left = np.array([self.snapshot.index(Side.ITEM, item) for item in without], np.int64)
        if len(left):
            kept = ~np.isin(row[0], left)
            row = row[0][kept], row[1][kept]
        if stored is not None:
            end = read(self.snapshot.chain, Side.USER, stored.rows, stored.has_embedding)
        else:
            end = self.snapshot.user(row)
        return Asker(name, row, left[left != UNKNOWN], stored, end)

    def _reasons(self, asker: Asker, items: Longs) -> list[Reason | None]:
        """For each item, the rating without which its estimate would be lowered most."""
        snapshot = self.snapshot
        chosen, links = snapshot.evidence(Side.USER, asker.row)
        if asker.stored is not None or not len(chosen) or not len(items):
            return [None] * len(items)
        below = snapshot.layers[1, Side.ITEM].take(chosen).rows
        generator = snapshot.chain.generator(Side.USER, 0)
        places = np.arange(min(len(chosen), REASONS_FROM))
        if len(chosen) > 1:
            with torch.inference_mode():
                rows = Alternatives(generator, torch.from_numpy(below), links).without(places)
            has_embedding = np.ones(len(rows), np.bool_)
            without = read(snapshot.chain, Side.USER, rows.numpy(), has_embedding).vectors
        else:
            without = snapshot.user((chosen[:0], links[:0])).vectors
        lost = (asker.end.vectors[0] - without) @ snapshot.items.vectors[items].T
        why: list[Reason | None] = []
        for k, best in enumerate(lost.argmax(axis=0).tolist()):
            rated = Reason(*self._item(int(chosen[best])), float(links[best]), float(lost[best, k]))
            why.append(rated if rated.contribution > 0 else None)
        return why

    def _item(self, index: int) -> tuple[Id, str]:
        found = self.snapshot.ids[Side.ITEM][index]
        return found, self.titles.title(found)

    def _ratings(self, item: Id) -> int:
        index = self.snapshot.index(Side.ITEM, item)
        return 0 if index == UNKNOWN else self.snapshot.rows[Side.ITEM].count(index)

    def _obstacle(self, asker: Asker, item: int, name: str) -> str:
        if not asker.end.has_embedding[0]:
            return "no chain of evidence from the user to a prototype"
        if item == UNKNOWN:
            return f"unknown item {name!r}"
        return f"no chain of evidence from item {name!r} to a prototype"
