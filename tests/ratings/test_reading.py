"""Ratings read back from every format, packing and layout."""

import csv
import gzip
import io
import json
import zipfile
from pathlib import Path

import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from evichain.ratings import load_ratings, read_ratings
from evichain.tables import write_table

ROWS = [(1, 10, 3.0, 881250949), (1, 20, 4.5, 881250950), (2, 10, 5.0, 881250951)]
HEADER = "user_id,item_id,rating,timestamp\n"
PLAIN = "".join(",".join(map(str, row)) + "\n" for row in ROWS)
INTER = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"

TEXTS = {
    "ratings.csv": "userId,movieId,rating,timestamp\n" + PLAIN,
    "quoted.csv": 'user,"item",Value,time\n' + PLAIN.replace("20", '"20"'),
    "other-order.csv": "note,rating,itemID,userID,date\n"
    + "".join(f"x,{r},{i},{u},{t}\n" for u, i, r, t in ROWS),
    "no-header.csv": PLAIN,
    "semicolons.csv": (HEADER + PLAIN).replace(",", ";"),
    "windows.csv": ("\ufeff" + HEADER + PLAIN).replace("\n", "\r\n"),
    "blank-lines.csv": "\n" + HEADER + PLAIN.replace("\n", "\n\n"),
    "no-newline-at-end.csv": (HEADER + PLAIN).rstrip(),
    "ratings.tsv": (HEADER + PLAIN).replace(",", "\t"),
    "u.data": PLAIN.replace(",", "\t"),
    "ratings.dat": PLAIN.replace(",", "::"),
    "set.inter": INTER + PLAIN.replace(",", "\t"),
    "ratings.txt": PLAIN.replace(",", " "),
    "blanks.csv": (HEADER + PLAIN).replace(",", " , "),
    "ratings.ndjson": "".join(
        json.dumps({"UserId": u, "ItemId": i, "Value": r, "Timestamp": t, "tags": [1]}) + "\n"
        for u, i, r, t in ROWS
    ),
    "nothing-to-go-by": HEADER + PLAIN,
}


def pack(content: bytes, packing: str, name: str) -> bytes:
    if packing == ".gz":
        return gzip.compress(content)
    if packing == ".zst":
        return zstandard.compress(content)
    if packing == ".zip":
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, content)
            archive.writestr("__MACOSX/._" + name, b"\0\0")
        return sink.getvalue()
    return content


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_text_formats(tmp_path: Path, name: str, packing: str) -> None:
    path = tmp_path / (name + packing)
    path.write_bytes(pack(TEXTS[name].encode(), packing, name))
    ratings = read_ratings(path)
    assert ratings.frame.rows() == ROWS
    assert ratings.frame.schema.dtypes() == [pl.Int64, pl.Int64, pl.Float32, pl.Int64]
    assert ratings.name == str(path)


@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_parquet(tmp_path: Path, packing: str) -> None:
    sink = io.BytesIO()
    pl.DataFrame(ROWS, schema=["user", "item", "stars", "time"], orient="row").write_parquet(sink)
    path = tmp_path / f"mine.parquet{packing}"
    path.write_bytes(pack(sink.getvalue(), packing, path.name))
    assert read_ratings(path).frame.rows() == ROWS


@pytest.mark.parametrize("name", ["ratings.csv", "u.data", "ratings.dat", "set.inter"])
@pytest.mark.parametrize("folder", ["", "ml-100k/"])
def test_zip(tmp_path: Path, name: str, folder: str) -> None:
    path = tmp_path / "set.zip"
    path.write_bytes(pack(TEXTS[name].encode(), ".zip", folder + name))
    assert read_ratings(path).frame.rows() == ROWS


def test_packed_inside_a_zip(tmp_path: Path) -> None:
    path = tmp_path / "set.zip"
    inner = gzip.compress(TEXTS["ratings.csv"].encode())
    path.write_bytes(pack(inner, ".zip", "ratings.csv.gz"))
    assert read_ratings(path).frame.rows() == ROWS


def test_zstandard_in_several_frames(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv.zst"
    path.write_bytes(b"".join(zstandard.compress(part.encode()) for part in (HEADER, PLAIN)))
    assert read_ratings(path).frame.rows() == ROWS


def test_format_overrules_name_and_content(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(PLAIN.replace(",", "\t"))
    assert read_ratings(path, format="tsv").frame.rows() == ROWS
    path.write_text("user_id\titem_id\trating\tsaid, when\n1\t2\t3\tx\n")
    assert read_ratings(path, format="tsv").frame.rows() == [(1, 2, 3.0)]


def test_a_columns_very_name_wins_over_its_other_names(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("user,user_id,item,Item-ID,score,rating,time,timestamp\n1,2,3,4,5,6,7,8\n")
    assert read_ratings(path).frame.rows() == [(2, 4, 6.0, 8)]


def test_half_stars_and_no_times(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,2,0.5\n1,3,-2\n")
    assert read_ratings(path).frame.rows() == [(1, 2, 0.5), (1, 3, -2.0)]


def test_a_column_of_no_times_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("user,item,rating,timestamp\n1,2,3,\n1,3,4,\n")
    assert read_ratings(path).frame.columns == ["user_id", "item_id", "rating"]


def test_duplicates_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(HEADER + "1,2,3,20\n1,2,5,10\n2,2,1,5\n1,2,4,15\n")
    ratings = read_ratings(path)
    assert ratings.frame.rows() == [(1, 2, 3.0, 20), (2, 2, 1.0, 5)]
    assert ratings.duplicates == 2


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["1", "-2", "0"], [1, -2, 0]),
        (["007", "7"], ["007", "7"]),
        (["1", "+2"], ["1", "+2"]),
        (["1", "-0"], ["1", "-0"]),
        (["1", "99999999999999999999"], ["1", "99999999999999999999"]),
        (["1.0", "2"], ["1.0", "2"]),
        (["1"] * 3000 + ["x1"], ["1"] * 3000 + ["x1"]),
        (["1"] * 3000 + ["01"], ["1"] * 3000 + ["01"]),
    ],
)
def test_ids_come_back_as_they_went_in(
    tmp_path: Path, ids: list[str], expected: list[object]
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("user,item,rating\n" + "".join(f"u{n},{i},3\n" for n, i in enumerate(ids)))
    assert read_ratings(path).frame["item_id"].to_list() == expected


@pytest.mark.parametrize("kind", [pl.UInt64, pl.Int128])
@pytest.mark.parametrize(
    ("ids", "expected"),
    [([7, 2**63 + 1], ["7", "9223372036854775809"]), ([7, 2**63 - 1], [7, 2**63 - 1])],
)
def test_integers_beyond_64_bits_are_text_as_in_a_csv(
    tmp_path: Path, kind: type[pl.DataType], ids: list[int], expected: list[object]
) -> None:
    series = pl.Series(ids, dtype=kind)
    frame = pl.DataFrame({"user": ["a", "b"], "item": series, "rating": [3, 4]})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ndjson(tmp_path / "a.ndjson")
    for path in tmp_path.iterdir():
        assert read_ratings(path).frame["item_id"].to_list() == expected


names = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\0\r"), min_size=1
).filter(lambda name: name.strip(" \t"))
either = st.one_of(
    st.lists(names, min_size=1), st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1)
)


def as_told(ids: list[object]) -> list[object]:
    """What untyped text says of ids: all integers or all strings, without blanks beside them."""
    texts = [str(id_).strip(" \t") for id_ in ids]
    try:
        numbers = [int(text) for text in texts]
    except ValueError:
        return list(texts)
    whole = [str(n) for n in numbers] == texts and all(-(2**63) <= n < 2**63 for n in numbers)
    return list(numbers) if whole else list(texts)


@settings(deadline=None, max_examples=60)
@given(either)
def test_any_id_round_trips_through_files(
    tmp_path_factory: pytest.TempPathFactory, ids: list[object]
) -> None:
    folder = tmp_path_factory.mktemp("ids")
    with (folder / "a.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        rows.writerow(["user", "item", "rating"])
        rows.writerows([f"u{n}", id_, 3] for n, id_ in enumerate(ids))
    assert read_ratings(folder / "a.csv").frame["item_id"].to_list() == as_told(ids)

    with (folder / "a.ndjson").open("w", encoding="utf-8") as file:
        for n, id_ in enumerate(ids):
            file.write(json.dumps({"user": f"u{n}", "item": id_, "rating": 3}) + "\n")
    assert read_ratings(folder / "a.ndjson").frame["item_id"].to_list() == ids

    frame = pl.DataFrame({"user": range(len(ids)), "item": ids, "rating": [3] * len(ids)})
    frame.write_parquet(folder / "a.parquet")
    assert read_ratings(folder / "a.parquet").frame["item_id"].to_list() == ids


def titles_of(path: Path) -> list[tuple[object, str]]:
    ratings = load_ratings(path)
    assert ratings.frame.rows() == ROWS
    assert ratings.titles is not None
    assert ratings.titles.columns == ["item_id", "title"]
    assert ratings.titles.schema["item_id"] == ratings.frame.schema["item_id"]
    return ratings.titles.rows()


EXPECTED = [(10, "Amélie: the (1) film (2001)"), (20, "Seven (1995)"), (30, "unknown")]


@pytest.mark.parametrize(
    ("ratings", "beside", "content"),
    [
        (
            "u.data",
            "u.item",
            "10|Amélie: the (1) film (2001)|01-Jan-2001||http|0\n20|Seven (1995)|x||y|1\n"
            "30|unknown||||1\n".encode("latin-1"),
        ),
        (
            "ratings.dat",
            "movies.dat",
            "10::Amélie: the (1) film (2001)::Comedy\n20::Seven (1995)::Crime|Thriller\n"
            "30::unknown::x\n".encode("latin-1"),
        ),
        (
            "ratings.csv",
            "movies.csv",
            'movieId,title,genres\n10,"Amélie: the (1) film (2001)",Comedy\n20,Seven (1995),x\n'
            "30,unknown,x\n".encode(),
        ),
        (
            "set.inter",
            "set.item",
            "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq\n"
            "10\tAmélie: the (1) film\t2001\tComedy\n20\tSeven\t1995\tCrime\n"
            "30\tunknown\t\tx\n".encode(),
        ),
    ],
)
def test_titles_lie_beside(tmp_path: Path, ratings: str, beside: str, content: bytes) -> None:
    (tmp_path / ratings).write_text(TEXTS[ratings])
    (tmp_path / beside).write_bytes(content)
    assert titles_of(tmp_path / ratings) == EXPECTED
    assert titles_of(tmp_path) == EXPECTED
    packed = tmp_path / "set.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for name in (ratings, beside):
            archive.write(tmp_path / name, f"ml/{name}")
    assert titles_of(packed) == EXPECTED


def test_titles_in_parquet(tmp_path: Path) -> None:
    pl.DataFrame(ROWS, schema=["user_id", "item_id", "rating", "timestamp"], orient="row").cast(
        {"user_id": pl.Int32, "item_id": pl.Int32}
    ).write_parquet(tmp_path / "ratings.parquet")
    pl.DataFrame(
        {
            "item_id": [10, 20, 30],
            "title": ["Amélie: the (1) film", "Seven (1995)", "unknown"],
            "year": [2001, 1995, None],
        }
    ).write_parquet(tmp_path / "items.parquet")
    assert titles_of(tmp_path / "ratings.parquet") == EXPECTED
    assert titles_of(tmp_path) == EXPECTED


@pytest.mark.parametrize("name", ["ratings.csv", "ratings.parquet", "ratings.ndjson"])
def test_brackets_and_stars_in_a_path_mean_themselves(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "a[1]b*?"
    folder.mkdir()
    frame = pl.DataFrame(ROWS, schema=["user_id", "item_id", "rating", "timestamp"], orient="row")
    write_table(frame, folder / name)
    pl.DataFrame({"item_id": [10], "title": ["Ten"]}).write_parquet(folder / "items.parquet")
    ratings = load_ratings(folder / name)
    assert ratings.frame.rows() == ROWS
    assert ratings.titles is not None


def test_a_table_without_titles_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text(TEXTS["ratings.csv"])
    (tmp_path / "items.csv").write_text("item_id,price\n10,5\n")
    assert load_ratings(tmp_path).titles is None


def test_the_layout_of_ml_10m(tmp_path: Path) -> None:
    """Half stars, `::`, and a folder called otherwise than the set."""
    folder = tmp_path / "ml-10M100K"
    folder.mkdir()
    (folder / "ratings.dat").write_text("1::122::5::838985046\n1::185::0.5::838983525\n")
    (folder / "movies.dat").write_text("122::Boomerang (1992)::Comedy|Romance\n")
    (folder / "tags.dat").write_text("15::4973::excellent!::1215184630\n")
    ratings = load_ratings(folder)
    assert ratings.frame.rows() == [(1, 122, 5.0, 838985046), (1, 185, 0.5, 838983525)]
    assert ratings.titles is not None
    assert ratings.titles.rows() == [(122, "Boomerang (1992)")]


def test_a_large_table_with_repeated_pairs(tmp_path: Path) -> None:
    n = 300_000
    frame = pl.select(
        user_id=pl.int_range(n) % 1000, item_id=pl.int_range(n) // 1500, rating=pl.int_range(n) % 5
    )
    frame.write_parquet(tmp_path / "ratings.parquet")
    expected = frame.unique(["user_id", "item_id"], keep="last", maintain_order=True)
    ratings = read_ratings(tmp_path / "ratings.parquet")
    assert ratings.duplicates == n - len(expected)
    assert ratings.frame.sort("user_id", "item_id").equals(
        expected.cast({"rating": pl.Float32}).sort("user_id", "item_id")
    )


@pytest.mark.parametrize(("name", "mark"), [("a.inter", "\t"), ("ratings.dat", "::")])
def test_quotes_are_letters_where_nothing_is_quoted(tmp_path: Path, name: str, mark: str) -> None:
    path = tmp_path / name
    rows = [("a", '7" single', 3.0), ("b", '12" maxi', 4.0), ('"c', "d", 5.0)]
    lines = [mark.join(map(str, row)) + "\n" for row in rows]
    path.write_text("".join([INTER.replace("\ttimestamp:float", "")] * (mark == "\t") + lines))
    assert read_ratings(path).frame.rows() == rows


def test_blanks_are_no_part_of_an_id_or_of_a_titles(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("user, item, rating\nann, a b, 3\n bob ,007, 4\n")
    (tmp_path / "movies.csv").write_text("movieId,title\n a b ,Babe\n007,Bond\n")
    ratings = read_ratings(tmp_path / "ratings.csv")
    assert ratings.frame.rows() == [("ann", "a b", 3.0), ("bob", "007", 4.0)]
    assert ratings.titles is not None
    assert ratings.titles.rows() == [("a b", "Babe"), ("007", "Bond")]


def test_in_a_typed_table_blanks_are_letters(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    rows = [(" ", " a", 3.0), ("b ", "a", 4.0)]
    pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row").write_parquet(path)
    assert read_ratings(path).frame.rows() == rows
