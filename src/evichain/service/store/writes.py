"""Writes, and how several run in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evichain.ratings.side import Side
from evichain.service.store import queries
from evichain.service.store.change_log import ERASED, NO_ID, RATED, TITLED, UNRATED
from evichain.service.store.id_types import as_known, renamed
from evichain.service.store.packing import pack
from evichain.service.store.records import Rating, Written
from evichain.service.store.session import Session

if TYPE_CHECKING:
    from evichain.ratings.ids import Id


@dataclass(frozen=True)
class Put:
    """Ratings to add or change; the result is `Written`.

    Attributes:
        adopt: whether ids get the type that they have in the store; otherwise ids of the other
            type are refused.
        keep: whether pairs that have a rating keep it.
    """

    ratings: Sequence[Rating]
    adopt: bool = False
    keep: bool = False

    @property
    def size(self) -> int:
        return len(self.ratings)


@dataclass(frozen=True)
class Delete:
    """Pairs to delete; the result is how many there were."""

    pairs: "Sequence[tuple[Id, Id]]"

    @property
    def size(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True)
class Erase:
    """A user to erase; the result is how many ratings there were."""

    user: "Id"
    size: int = 1


@dataclass(frozen=True)
class PutTitles:
    """Titles to set, None removes one; the result is how many changed.

    Attributes:
        adopt: whether items get the type that they have in the store.
    """

    titles: "Sequence[tuple[Id, str | None]]"
    adopt: bool = False

    @property
    def size(self) -> int:
        return len(self.titles)


@dataclass(frozen=True)
class Trim:
    """Delete the log before a version."""

    before: int
    size: int = 0


Write = Put | Delete | Erase | PutTitles | Trim


def apply(session: Session, writes: Sequence[Write], version: int) -> list[Any]:
    """Run writes in order. Each row gets its own version, the last one `version`."""
    last, version = version, version - sum(write.size for write in writes)
    results: list[Any] = []
    edits: list[Put | Delete] = []
    for write in writes:
        if isinstance(write, Put | Delete):
            edits.append(write)
            continue
        results += _edit(session, edits, version)
        version += sum(edit.size for edit in edits)
        edits = []
        if isinstance(write, Erase):
            results.append(_erase(session, write.user, version + 1))
        elif isinstance(write, PutTitles):
            titles = as_known(session, write.titles) if write.adopt else write.titles
            results.append(_put_titles(session, titles, version))
        else:
            session.trim(min(write.before, last + 1))
            results.append(None)
        version += write.size
    return results + _edit(session, edits, version)


def _edit(session: Session, edits: Sequence[Put | Delete], version: int) -> list[Any]:
    """Run puts and deletes together in few statements; the log is as if run one by one."""
    if not edits:
        return []
    edits = _of_one_kind(session, edits)
    pairs = dict.fromkeys(pair for edit in edits for pair in _pairs(edit))
    keys = [(*pack(user), *pack(item)) for user, item in pairs]
    looked_up = session.look_up(keys, queries.known_ratings)
    before = {tuple(row[:4]): (row[4], row[5]) for row in looked_up}
    now: dict[tuple[Any, ...], tuple[Any, ...] | None] = {}
    log: list[tuple[Any, ...]] = []
    results: list[Any] = []
    for edit in edits:
        new = changed = deleted = 0
        keep = isinstance(edit, Put) and edit.keep
        for pair, held in zip(_pairs(edit), _held(edit), strict=True):
            version += 1
            key = (*pack(pair[0]), *pack(pair[1]))
            stood = before.get(key)
            if stood == held or (keep and stood is not None):
                continue
            if held is None:
                del before[key]
                now[key] = None
                deleted += 1
                log.append((version, UNRATED, *key, None, None, None))
            else:
                before[key] = held
                now[key] = (*key, *held, version)
                new += stood is None
                changed += stood is not None
                log.append((version, RATED, *key, *held, None))
        written = Written(new, changed, edit.size - new - changed)
        results.append(written if isinstance(edit, Put) else deleted)
    session.change_each(queries.PUT, [row for row in now.values() if row is not None])
    session.change_each(queries.DELETE, [key for key, row in now.items() if row is None])
    session.change_each(queries.LOG, log)
    return results


def _of_one_kind(session: Session, edits: Sequence[Put | Delete]) -> Sequence[Put | Delete]:
    """The edits with every added id in the type of the store."""
    new: list[dict[Id, Id]] = []
    for side in Side:
        ids: tuple[set[Id], set[Id]] = (set(), set())
        for edit in edits:
            if isinstance(edit, Put):
                ids[edit.adopt].update(pair[side] for pair in _pairs(edit))
        strict, adopting = ids
        new.append(renamed(session, side, adopting, strict))
    if not any(new):
        return edits
    users, items = new
    return [
        replace(
            edit,
            ratings=[
                row._replace(user=users.get(row.user, row.user), item=items.get(row.item, row.item))
                for row in edit.ratings
            ],
        )
        if isinstance(edit, Put) and edit.adopt
        else edit
        for edit in edits
    ]


def _pairs(edit: Put | Delete) -> "Sequence[tuple[Id, Id]]":
    if isinstance(edit, Delete):
        return edit.pairs
    return [(rating.user, rating.item) for rating in edit.ratings]


def _held(edit: Put | Delete) -> Sequence[tuple[float, int | None] | None]:
    """The new rating and time of each pair; None deletes it."""
    if isinstance(edit, Delete):
        return [None] * len(edit.pairs)
    return [(rating.rating, rating.timestamp) for rating in edit.ratings]


def _erase(session: Session, user: "Id", version: int) -> int:
    key = pack(user)
    ratings = session.change(queries.ERASE_RATINGS, key)
    # A reader that has not seen these changes needs only the erasure.
    changes = session.change(queries.ERASE_CHANGES, key)
    if ratings or changes:
        erased = (version, ERASED, *key, *NO_ID, None, None, None)
        session.change_each(queries.LOG, [erased])
    return ratings


def _put_titles(session: Session, titles: "Sequence[tuple[Id, str | None]]", version: int) -> int:
    keys = [pack(item) for item, _ in titles]
    before = {tuple(row[:2]): row[2] for row in session.look_up(keys, queries.known_titles)}
    new = [
        (number, key, title)
        for number, (key, (_, title)) in enumerate(zip(keys, titles, strict=True), version + 1)
        if before.get(key) != title
    ]
    session.change_each(queries.PUT_TITLE, [(*k, title) for _, k, title in new if title])
    session.change_each(queries.DELETE_TITLE, [key for _, key, title in new if not title])
    log = [(number, TITLED, *NO_ID, *key, None, None, title) for number, key, title in new]
    session.change_each(queries.LOG, log)
    return len(new)
