"""The titles of items, from the file that lies beside the ratings."""

import re
from pathlib import PurePosixPath

import polars as pl

from evichain.errors import DataError
from evichain.ratings._cleaning import BLANKS
from evichain.ratings._columns import ITEM, candidates, plain
from evichain.ratings._containers import PACKED, Files

TITLE = "title"
_BESIDE = {
    "ratings.dat": ("movies.dat",),
    "ratings.csv": ("movies.csv", "items.csv", "items.parquet"),
    "ratings.parquet": ("items.parquet", "movies.parquet"),
}
_YEAR_AT_END = re.compile(r"\(\d{4}\)\s*$")


def read_titles(files: Files, ratings: str, item_type: pl.DataType) -> pl.DataFrame | None:
    """item_id (in the type it has in the ratings) and title, or None where there are none."""
    for name in _beside(ratings):
        packings = ("", *PACKED) if name.endswith(".csv") else ("",)
        found = next((name + packing for packing in packings if name + packing in files), None)
        if found is not None:
            return _read(files, found, item_type)
    return None


def _beside(ratings: str) -> list[str]:
    path = PurePosixPath(ratings)
    if path.suffix in PACKED:
        path = path.with_suffix("")
    if path.suffix == ".inter":
        names: tuple[str, ...] = (f"{path.name.split('.')[0]}.item",)
    elif re.fullmatch(r"u\.data|u[1-5ab]\.(base|test)", path.name):
        names = ("u.item",)
    elif re.fullmatch(r"r[1-5ab]\.(train|test)", path.name):
        names = ("movies.dat",)
    else:
        names = _BESIDE.get(path.name, ())
    return [str(path.with_name(name)) for name in names]


def _read(files: Files, name: str, item_type: pl.DataType) -> pl.DataFrame | None:
    path = files.plain(name)
    try:
        if name.endswith(".parquet"):
            table = pl.read_parquet(path, glob=False)
        else:
            content = _decoded(path.read_bytes())
            if name.endswith((".dat", "u.item")):
                table = _split(content, "::" if name.endswith(".dat") else "|")
            else:
                table = pl.read_csv(
                    content.encode(),
                    separator="\t" if name.endswith(".item") else ",",
                    quote_char=None if name.endswith(".item") else '"',
                    infer_schema=False,
                )
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"titles cannot be read ({str(error).splitlines()[0]})",
            where=files.said(name),
            right="Mend the file or move it away: titles are not needed.",
        ) from error
    return _titles(table, item_type)


def _decoded(content: bytes) -> str:
    """Older MovieLens sets are in Latin-1, newer ones in UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _split(content: str, separator: str) -> pl.DataFrame:
    rows = [line.split(separator, 2)[:2] for line in content.split("\n") if separator in line]
    return pl.DataFrame(rows, schema={ITEM: pl.String, TITLE: pl.String}, orient="row")


def _titles(table: pl.DataFrame, item_type: pl.DataType) -> pl.DataFrame | None:
    names = {plain(name): name for name in reversed(table.columns)}
    item = next(iter(candidates(table.columns).get(ITEM, ())), None)
    title = next((names[n] for n in ("title", "movietitle", "name") if n in names), None)
    year = next((names[n] for n in ("year", "releaseyear") if n in names), None)
    if item is None or title is None:
        return None
    text = pl.col(title).cast(pl.String).str.strip_chars()
    if year is not None:
        # As MovieLens has it: the year is part of what people call a film.
        when = pl.col(year).cast(pl.String).str.extract(r"^\s*(\d{4})")
        bare = when.is_null() | text.str.contains(_YEAR_AT_END.pattern)
        text = pl.when(bare).then(text).otherwise(text + " (" + when + ")")
    known = pl.col(item)
    if table.schema[item] == pl.String:
        known = known.str.strip_chars(BLANKS)
    titles = table.select(known.cast(item_type, strict=False).alias(ITEM), text.alias(TITLE))
    return titles.drop_nulls().unique(ITEM, keep="first", maintain_order=True)
