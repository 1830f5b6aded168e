"""The ids of one side: as they came, with an index and a stable 64-bit key for each.

The index says where an entity's rows lie and depends on what else is in the table; the
key depends on the id alone, so that whatever is drawn by key (the evidence above all) is
the same in every process, whichever other entities it knows.
"""

from collections.abc import Iterable
from functools import cached_property
from hashlib import blake2b

import numpy as np
import polars as pl

from evichain.errors import DataError
from evichain.kernels import Ints, Keys

Id = int | str
UNKNOWN = -1
_SAMPLE = 1000
_TOO_LARGE = 2**63


def stable_key(identifier: Id) -> int:
    """A 64-bit key of an id's text: the same on every machine, for 7 and for "7"."""
    digest = blake2b(str(identifier).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class Ids:
    """Distinct ids, all integers or all strings; position is index.

    >>> ids = Ids(pl.Series(["ann", "bob"]))
    >>> ids.index(["bob", "eve"]).tolist()
    [1, -1]
    >>> ids[1]
    'bob'
    """

    def __init__(self, values: pl.Series, keys: Keys | None = None) -> None:
        self.values = values
        if keys is None:
            keys = np.fromiter(map(stable_key, values), np.uint64, len(values))
        self.keys = keys

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> Id:
        found: Id = self.values[int(index)]
        return found

    @cached_property
    def _index_of(self) -> dict[Id, int]:
        return {identifier: index for index, identifier in enumerate(self.values)}

    @property
    def integers(self) -> bool:
        """Whether these ids are integers (and not strings)."""
        return self.values.dtype.is_integer()

    def native(self, identifier: object) -> Id | None:
        """The id in this side's type: "7" and 7 mean the same; None when it cannot be one.

        So do 7 and 7.0, as in tables that carry whole numbers as floats.
        """
        if not self.integers:
            return str(identifier)
        if isinstance(identifier, float | np.floating) and identifier.is_integer():
            identifier = int(identifier)
        try:
            number = int(identifier)  # type: ignore[call-overload]
        except (TypeError, ValueError, OverflowError):
            return None
        fits = -_TOO_LARGE <= number < _TOO_LARGE
        return number if fits and str(number) == str(identifier) else None

    def index(self, identifiers: Iterable[object]) -> Ints:
        """The index of each id; UNKNOWN for ids that are not among these."""
        if isinstance(identifiers, pl.Series) and identifiers.dtype == self.values.dtype:
            return self._index_column(identifiers)
        found = (self._index_of.get(self.native(i), UNKNOWN) for i in identifiers)  # type: ignore[arg-type]
        return np.fromiter(found, np.int32)

    def index_once(self, identifiers: Iterable[object]) -> Ints:
        """As `index`, without the table of all ids that it keeps: for few ids asked for once."""
        natives = [self.native(identifier) for identifier in identifiers]
        return self._index_column(pl.Series(natives, dtype=self.values.dtype))

    def _index_column(self, identifiers: pl.Series) -> Ints:
        """The same for a column of this side's own type, at the speed of a join."""
        numbers = pl.int_range(len(self), dtype=pl.Int32, eager=True)
        known = pl.DataFrame({"id": self.values, "index": numbers})
        found = pl.DataFrame({"id": identifiers}).join(
            known, on="id", how="left", maintain_order="left"
        )
        return np.asarray(found["index"].fill_null(UNKNOWN).to_numpy(), np.int32)

    def extended(self, identifiers: pl.Series) -> "Ids":
        """These ids followed by those of `identifiers` that are new, ascending."""
        if not len(self):
            return Ids(identifiers.unique().sort())
        fresh = self.cast(identifiers.unique()).sort()
        fresh = fresh.filter(~fresh.is_in(self.values.implode()))
        if not len(fresh):
            return self
        new = Ids(fresh)
        return Ids(pl.concat([self.values, fresh]), np.concatenate([self.keys, new.keys]))

    def cast(self, identifiers: pl.Series) -> pl.Series:
        """A column of ids in this side's type; each must keep its text."""
        cast = identifiers.cast(self.values.dtype, strict=False)
        same = (cast.cast(pl.String) == identifiers.cast(pl.String)).fill_null(False)
        if not same.all():
            culprit = identifiers.filter(~same)[0]
            raise DataError(
                f"the id {culprit!r} is not an integer, but the known ids are",
                right="Use ids of one kind on each side.",
            )
        return cast

    def encode(self, identifiers: pl.Series) -> Ints:
        """The index of each row of a long column, all of them known."""
        column = self.cast(identifiers)
        if self.integers:
            return _encode_integers(column, self.values)
        numbers = pl.int_range(len(self), dtype=pl.Int32, eager=True)
        encoded = column.replace_strict(self.values, numbers, return_dtype=pl.Int32)
        return np.asarray(encoded.to_numpy(), np.int32)


def check_ids(ids: Ids) -> None:
    """Refuse loaded ids that do not match their keys.

    Raises:
        ValueError: what does not fit.
    """
    values, keys = ids.values, ids.keys
    if not (ids.integers or values.dtype == pl.String):
        raise ValueError(f"ids of type {values.dtype}")
    if values.null_count() or values.n_unique() != len(values):
        raise ValueError("ids that are missing or repeated")
    if len(values) != len(keys):
        raise ValueError(f"{len(values)} ids but {len(keys)} keys")
    # A sample is enough to notice files of two graphs; all ids would take a second per million.
    sample = np.linspace(0, len(keys) - 1, min(len(keys), _SAMPLE)).astype(np.int64)
    for index in sample.tolist():
        if stable_key(values[index]) != keys[index]:
            raise ValueError(f"the key of {values[index]!r} is that of another id")


def _encode_integers(column: pl.Series, values: pl.Series) -> Ints:
    """Integer ids are mostly dense: a table by value beats any search. Else, binary search."""
    ids, rows = values.to_numpy(), column.to_numpy()
    low, span = int(ids.min()), int(ids.max()) - int(ids.min()) + 1
    if span <= 4 * len(rows) + 1024:
        table = np.empty(span, np.int32)
        table[ids - low] = np.arange(len(ids), dtype=np.int32)
        return np.asarray(table[rows - low], np.int32)
    if (ids[1:] > ids[:-1]).all():
        return np.searchsorted(ids, rows).astype(np.int32)
    order = np.argsort(ids)
    return order[np.searchsorted(ids, rows, sorter=order)].astype(np.int32)
