"""Any sequence of writes, against plain dicts; and a reader that follows the log sees the same."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import polars as pl
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from evichain.errors import DataError, StaleVersionError
from evichain.ratings import Ratings, Side
from evichain.service.store import (
    Counts,
    Erased,
    Rated,
    Rating,
    Store,
    Titled,
    Unrated,
    Written,
    open_store,
)
from evichain.service.store import base as module

Id = int | str
Held = dict[tuple[Id, Id], tuple[float, int | None]]

ids: st.SearchStrategy[Id] = st.sampled_from([1, 2, -3, "1", "a", "ä\n\"'\\"])
ratings = st.sampled_from([0.1, 1.0, 3.7, 5.0])
times = st.none() | st.integers(0, 3)
rows = st.lists(st.tuples(ids, ids, ratings, times), max_size=6)


class StoreMachine(RuleBasedStateMachine):
    """A store, what it should hold, and what a follower made of its log."""

    fresh: Callable[[], str | Path]

    def __init__(self) -> None:
        super().__init__()
        self.url = self.fresh()
        self.store: Store = open_store(self.url)
        self.held: Held = {}
        self.titles: dict[Id, str] = {}
        self.followed: Held = {}
        self.followed_titles: dict[Id, str] = {}
        self.version = 0

    def teardown(self) -> None:
        self.store.close()

    @rule(changes=rows)
    def put(self, changes: list[tuple[Id, Id, float, int | None]]) -> None:
        batch: Held = {}
        for user, item, rating, time in changes:
            before = batch.get((user, item), (0.0, None))[1]
            if before is None or time is None or time >= before:
                batch[user, item] = (rating, time)
        if self._has_twins(batch):
            with pytest.raises(DataError, match=r"differ only in type|in the store"):
                self.store.put(changes)
            return
        new = len(batch.keys() - self.held.keys())
        changed = sum(self.held.get(pair, held) != held for pair, held in batch.items())
        assert self.store.put(changes) == Written(new, changed, len(batch) - new - changed)
        self.held |= batch

    @rule(pairs=st.lists(st.tuples(ids, ids), max_size=4))
    def delete(self, pairs: list[tuple[Id, Id]]) -> None:
        there = set(pairs) & self.held.keys()
        assert self.store.delete(pairs) == len(there)
        for pair in there:
            del self.held[pair]

    @rule(user=ids)
    def erase(self, user: Id) -> None:
        there = [pair for pair in self.held if pair[0] == user]
        assert self.store.erase(user) == len(there)
        for pair in there:
            del self.held[pair]

    @rule(titles=st.dictionaries(ids, st.none() | st.sampled_from(["A", "B"]), max_size=3))
    def put_titles(self, titles: dict[Id, str | None]) -> None:
        changed = sum(self.titles.get(item) != title for item, title in titles.items())
        assert self.store.put_titles(titles) == changed
        kept = {**self.titles, **titles}
        self.titles = {item: title for item, title in kept.items() if title is not None}

    @rule(
        user=st.integers(1, 3), values=st.lists(ratings, min_size=1, max_size=4), bulk=st.booleans()
    )
    def import_table(self, user: int, values: list[float], bulk: bool) -> None:
        items = [f"imported {number}" for number in range(len(values))]
        table = Ratings.from_arrays([user] * len(values), items, values)
        with pytest.MonkeyPatch.context() as patch:
            if bulk:
                patch.setattr(module, "LARGEST_BATCH", 0)
            self.store.import_ratings(table)
        known: Id = str(user) if str(user) in {pair[0] for pair in self.held} else user
        self.held |= {
            (known, item): (value, None) for item, value in zip(items, values, strict=True)
        }

    @rule(share=st.floats(0, 1.2))
    def trim(self, share: float) -> None:
        self.store.trim(int(self.store.version() * share))

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = open_store(self.url, create=False)

    @rule()
    def follow(self) -> None:
        """Bring the follower up to date, some changes at a time."""
        try:
            while self.version < self.store.version():
                found = self.store.changes_since(self.version, 3)
                versions = [change.version for change in found.changes]
                assert versions == sorted(set(versions))
                assert all(self.version < version <= found.version for version in versions)
                self.version = found.version
                for change in found.changes:
                    self._heed(change)
        except StaleVersionError:
            with self.store.snapshot() as snapshot:
                self.version = snapshot.version
                rows = [row for frame in snapshot.packed() for row in frame.iter_rows()]
                self.followed = {(r[0] or r[1], r[2] or r[3]): (r[4], r[5]) for r in rows}
                self.followed_titles = snapshot.titles()
        assert self.followed == self.held
        assert self.followed_titles == self.titles

    def _heed(self, change: Rated | Unrated | Erased | Titled) -> None:
        match change:
            case Rated(_, user, item, rating, time):
                self.followed[user, item] = (rating, time)
            case Unrated(_, user, item):
                del self.followed[user, item]
            case Erased(_, user):
                self.followed = {p: held for p, held in self.followed.items() if p[0] != user}
            case Titled(_, item, None):
                del self.followed_titles[item]
            case Titled(_, item, str(title)):
                self.followed_titles[item] = title

    @invariant()
    def the_store_holds_what_it_should(self) -> None:
        assert {(r.user, r.item): (r.rating, r.timestamp) for r in self._pages()} == self.held
        assert self.store.titles() == self.titles
        users, items = ({pair[side] for pair in self.held} for side in Side)
        counts = Counts(len(self.held), len(users), len(items), len(self.titles))
        assert self.store.counts() == counts

    @rule(side=st.sampled_from(Side), identifier=ids)
    def look_at_one(self, side: Side, identifier: Id) -> None:
        expected = {pair: held for pair, held in self.held.items() if pair[side] == identifier}
        found = self.store.ratings_of(side, identifier)
        assert {(r.user, r.item): (r.rating, r.timestamp) for r in found} == expected
        known = [r.timestamp for r in found if r.timestamp is not None]
        assert known == sorted(known)
        assert [r.timestamp for r in found] == [None] * (len(found) - len(known)) + known

    @rule()
    def scan(self) -> None:
        frames = list(self.store.scan())
        found = pl.concat(frames).rows() if frames else []
        assert len(found) == len(self.held)
        as_text = {(str(user), str(item)) for user, item in self.held}
        assert {(str(row[0]), str(row[1])) for row in found} == as_text

    def _has_twins(self, batch: Held) -> bool:
        """Whether someone would be there as an integer and as text."""
        ids = ({pair[side] for pair in self.held | batch} for side in Side)
        return any(len(set(map(str, some))) < len(some) for some in ids)

    def _pages(self) -> list[Rating]:
        page = self.store.page(3)
        found = page.ratings
        while page.after is not None:
            page = self.store.page(3, after=page.after)
            found += page.ratings
        return found


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_any_sequence_of_writes(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    numbers = count()

    class Machine(StoreMachine):
        def fresh(self) -> str | Path:
            if backend == "sqlite":
                return tmp_path / f"{next(numbers)}.db"
            address: str = request.getfixturevalue("postgres").fresh()
            return address

    run_state_machine_as_test(
        Machine, settings=settings(max_examples=25, stateful_step_count=30, deadline=None)
    )
