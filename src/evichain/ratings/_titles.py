"""The titles of items: from a column of the ratings, or from a table of items."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import polars as pl

from evichain.errors import DataError
from evichain.ratings._archives import PACKED, Files, open_files
from evichain.ratings._faults import faults_explained
from evichain.ratings._formats import Wanted, scan
from evichain.ratings._raw_table import BLANKS, RawTable
from evichain.ratings.columns import ITEM, TITLE, candidates, name_list, normalized

_SUFFIXES = (".csv", ".tsv", ".parquet", ".ndjson", ".jsonl")
ITEM_TABLES = tuple(f"{stem}{suffix}" for stem in ("items", "movies") for suffix in _SUFFIXES)
"""The names of item tables that are looked for beside any ratings file."""
_MOVIELENS = re.compile(r"u\.data|u[1-5ab]\.(base|test)")
_MOVIELENS_10M = re.compile(r"ratings\.dat|r[1-5ab]\.(train|test)")
_YEAR_AT_END = re.compile(r"\(\d{4}\)\s*$")


@dataclass(frozen=True)
class Titles:
    """item_id and title, or None if there are no titles; and what to tell the user."""

    frame: pl.DataFrame | None = None
    notes: tuple[str, ...] = ()


def find_titles(
    files: Files,
    ratings: str,
    table: RawTable,
    given: str | Path | None,
    items: pl.Series,
    named: Mapping[str, str],
) -> Titles:
    """The titles of rated items.

    Args:
        files: where the ratings are.
        ratings: the name of the ratings file.
        table: its rows.
        given: a table of items that the user names; it must have titles.
        items: the rated items; ids of titles get the same type.
        named: columns named by the user, which a table of items may have too.
    """
    if given is not None:
        with open_files(Path(given).expanduser()) as (others, name):
            if name is None:
                raise DataError("is not a file", where=str(given), right="Name one table of items.")
            return _read(others, name, items, named)
    names = table.columns()
    if TITLE in names:
        rows = table.select({ITEM: names[ITEM], TITLE: names[TITLE]})
        # Once for each item, in bounded memory: the column repeats with every rating.
        distinct = rows.group_by(ITEM).agg(pl.col(TITLE).drop_nulls().first())
        return Titles(_titles(distinct.collect(engine="streaming"), ITEM, TITLE, items.dtype))
    for name in _beside(ratings):
        found = next((name + packing for packing in ("", *PACKED) if name + packing in files), None)
        if found is not None:
            try:
                return _read(files, found, items, named)
            except DataError as error:
                return Titles(notes=(f"{error.where}: no titles used: {error.what}",))
    return Titles()


def _beside(ratings: str) -> list[str]:
    """The names that a table of items may have beside a ratings file."""
    path = PurePosixPath(ratings)
    if path.suffix in PACKED:
        path = path.with_suffix("")
    names = ITEM_TABLES
    if path.suffix == ".inter":
        names = (f"{path.name.split('.')[0]}.item", *names)
    elif _MOVIELENS.fullmatch(path.name):
        names = ("u.item", *names)
    elif _MOVIELENS_10M.fullmatch(path.name):
        names = ("movies.dat", *names)
    return [str(path.with_name(name)) for name in names if name != path.name]


def _read(files: Files, name: str, items: pl.Series, named: Mapping[str, str]) -> Titles:
    """The titles in a table of items, with a note about items that do not match."""
    where, path = files.label(name), files.plain(name)
    original = str(PurePosixPath(name).with_suffix("")) if name.endswith(PACKED) else name
    if original.endswith(("u.item", ".dat")):
        table = _split(path.read_bytes(), "::" if original.endswith(".dat") else "|")
    else:
        format = "inter" if original.endswith(".item") else None
        wanted = Wanted({}, (), format=format)
        path, raw = scan(path, original, wanted, where=where, scratch=files.scratch)
        with faults_explained(path, raw):
            table = raw.rows.select(raw.own_columns()).collect()
    known = {normalized(column): column for column in reversed(table.columns)}
    found = candidates(table.columns)
    own = {column: own for column, own in named.items() if own in table.columns}
    item = own.get(ITEM) or next(iter(found.get(ITEM, ())), known.get("id"))
    title = own.get(TITLE) or next(iter(found.get(TITLE, ())), known.get("name"))
    if item is None or title is None:
        missing = " or ".join([ITEM] * (item is None) + [TITLE] * (title is None))
        raise DataError(
            f"no column for {missing} among {name_list(table.columns)}",
            where=where,
            right="Name them item_id (or item, movieId, id) and title (or name). Or say which they "
            "are: --columns item=NAME,title=NAME; in Python, columns={...}.",
        )
    year = next((known[n] for n in ("year", "releaseyear") if n in known), None)
    titles = _titles(table, item, title, items.dtype, year)
    rated = titles[ITEM].is_in(items.unique().implode()).sum()
    if not rated:
        return Titles(titles, (f"{where}: none of its {len(titles):,} items is rated",))
    left = len(titles) - rated
    note = f"{where}: {left:,} of its {len(titles):,} items have no ratings"
    return Titles(titles, (note,) if left else ())


def _split(content: bytes, separator: str) -> pl.DataFrame:
    """The first two columns of the older MovieLens sets, in Latin-1 or UTF-8."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    rows = [line.split(separator, 2)[:2] for line in text.split("\n") if separator in line]
    return pl.DataFrame(rows, schema={ITEM: pl.String, TITLE: pl.String}, orient="row")


def _titles(
    table: pl.DataFrame, item: str, title: str, item_type: pl.DataType, year: str | None = None
) -> pl.DataFrame:
    """item_id and title, each item once, in the order of the table."""
    text = pl.col(title).cast(pl.String).str.strip_chars()
    if year is not None:
        # As MovieLens does: the year is part of a film's title.
        when = pl.col(year).cast(pl.String).str.extract(r"^\s*(\d{4})")
        bare = when.is_null() | text.str.contains(_YEAR_AT_END.pattern)
        text = pl.when(bare).then(text).otherwise(text + " (" + when + ")")
    known = pl.col(item)
    if table.schema[item] == pl.String:
        known = known.str.strip_chars(BLANKS)
    titles = table.select(known.cast(item_type, strict=False).alias(ITEM), text.alias(TITLE))
    return titles.drop_nulls().unique(ITEM, keep="first", maintain_order=True)
