"""What is wrong with a file is said in one message, with the file and the row."""

import gzip
import io
import os
import random
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

from evichain.errors import DataError
from evichain.ratings import load_ratings, read_ratings

GOOD = "user_id,item_id,rating\n1,2,3\n1,3,4\n"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256))
MANY = "user_id,item_id,rating\n" + "".join(f"{n},{n * 7919 % 1009},3\n" for n in range(20_000))


def fault(path: Path, content: bytes | str, **options: Any) -> DataError:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError) as caught:
        read_ratings(path, **options)
    error = caught.value
    assert error.where.startswith(str(path))
    assert error.right
    assert len(str(error).splitlines()) == 2
    return error


@pytest.mark.parametrize(
    ("content", "row", "what"),
    [
        (GOOD + "1,4,great\n", 4, "rating 'great' is not a finite number"),
        (GOOD + "\n\n1,4,great\n", 6, "rating 'great'"),
        (GOOD + "1,4,\n", 4, "rating is missing"),
        (GOOD + "1,4,NaN\n", 4, "rating 'NaN' is not a finite number"),
        (GOOD + "1,4,-inf\n", 4, "rating '-inf' is not a finite number"),
        (GOOD + "1,4,1e99\n", 4, "rating '1e99' is not a finite number"),
        (GOOD + "1,4\n", 4, "rating is missing"),
        (GOOD + ",4,3\n", 4, "user_id is missing"),
        (GOOD + '1,"",3\n', 4, "item_id is missing"),
        (GOOD + "1,4,3,5\n", 4, "has 4 columns where the first row has 3"),
        ("1,2,3\n1,3,x\n", 2, "rating 'x'"),
        ("1::2::3\n1::3\n", 2, "rating is missing"),
        ("1::2::3\n1::3::4::5\n", 2, "has 4 columns where the first row has 3"),
        ("user,item,rating,time\n1,2,3,soon\n", 2, "timestamp 'soon' is not a time"),
        ("user,item,rating,time\n1,2,3,5\n1,3,3,soon\n", 3, "timestamp 'soon' is not a time"),
        (MANY + "1,2,bad\n" + "3,4,5\n" * 1000, 20_002, "rating 'bad'"),
        (GOOD + " ,4,3\n", 4, "user_id is missing"),
        (GOOD + '1,"4,3\n1,5,3\n', 4, "has a quote that is not closed"),
        (GOOD + '1,"4,3\n' + "1,5,3\n" * 30_000, 4, "has a quote that is not closed"),
        (GOOD + '1,"4\n5",3\n1,7" disc,3\n1,8,3\n', 5, "has a misplaced quote"),
        (GOOD + '1,"4"5,3\n1,8,3\n', 4, "has a misplaced quote"),
        (GOOD + '1,a""b,3\n1,"a,b",3\n1,5,3,4\n', 6, "has 4 columns where the first row has 3"),
        (GOOD.replace("\n", "\r"), 1, "ends in CR alone"),
        (GOOD + "1,4,3\r1,5,3\r", 4, "ends in CR alone"),
        ("1::2::3\n1::a:b::4\n", 2, "has a colon that is not part of `::`"),
        ("1::a:b::3\n1::3::4\n", 1, "has a colon that is not part of `::`"),
    ],
)
def test_rows_are_named(tmp_path: Path, content: str | bytes, row: int, what: str) -> None:
    path = tmp_path / ("a.dat" if "::" in str(content) else "a.csv")
    error = fault(path, content)
    assert error.where == f"{path}, row {row}"
    assert what in error.what


@pytest.mark.parametrize(
    ("line", "row", "what"),
    [
        ('{"user_id": 1, "item_id": 3, "rating": "good"}', 2, "rating 'good'"),
        ('{"user_id": 1, "item_id": 3}', 2, "rating is missing"),
        ('{"user_id": 1, "item_id": 3, "rati', 2, "is not JSON"),
        ("[1, 2, 3]", 2, "is not a JSON object"),
    ],
)
def test_rows_of_json_are_named(tmp_path: Path, line: str, row: int, what: str) -> None:
    content = '{"user_id": 1, "item_id": 2, "rating": 3}\n' + line + "\n"
    error = fault(tmp_path / "a.jsonl", content)
    assert error.where.endswith(f", row {row}")
    assert what in error.what


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.csv", "user,thing,rating\n1,2,3\n", "no column for item_id among 'user', 'thing'"),
        ("a.csv", "a,b,c,d,e\n1,2,3,4,5\n", "no column for user_id or item_id among"),
        ("a.csv", "", "is empty"),
        ("a.csv", " \n\n", "is empty"),
        ("a.csv", b"\xef\xbb\xbf\n", "is empty"),
        ("a.csv", "user_id,item_id,rating\n", "no ratings in it"),
        ("a.csv", "user_id,item_id,rating\n\n\n", "no ratings in it"),
        ("a.csv", PNG, "is a PNG image, not text"),
        ("a.csv", b"MZ\0\1\2\3", "is binary data, not text"),
        ("a.csv", GOOD.encode("utf-16")[:-1], "is damaged utf-16 text"),
        ("a.csv", "<!DOCTYPE html>\n<html></html>\n", "is not in CSV format"),
        ("a.tsv", GOOD, "is not in TSV format: a tab is missing"),
        ("a.inter", GOOD, "is not in INTER format: a tab is missing"),
        ("a.txt", "nothing\n", "no columns in 'nothing'"),
        ("a.parquet", GOOD, "is not a Parquet file"),
        ("a.parquet", PNG, "is not a Parquet file"),
        ("a.parquet", b"PAR1" + b"\1" * 50, "cannot be read"),
        ("a.ndjson", GOOD, "is not NDJSON"),
        ("a.json", "[]", "is not NDJSON"),
        ("a.json", '{"a": 1}\n', "no column for user_id"),
        ("a.csv.gz", GOOD, "named .gz but not compressed that way"),
        ("a.csv.zst", GOOD, "named .zst but not compressed that way"),
        ("a.zip", GOOD, "damaged or cut short"),
    ],
)
def test_files_that_are_no_ratings(
    tmp_path: Path, name: str, content: str | bytes, what: str
) -> None:
    assert what in fault(tmp_path / name, content).what


@pytest.mark.parametrize(
    ("name", "content", "right"),
    [
        ("a.csv", GOOD.encode("utf-16")[:-1], "Save it as UTF-8."),
        ("a.parquet", b"PAR1" + b"\1" * 50, "Copy or download it again."),
        ("a.csv.gz", gzip.compress(MANY.encode(), mtime=0)[:-9], "Copy or download it again."),
    ],
)
def test_what_would_be_right_fits_the_fault(
    tmp_path: Path, name: str, content: bytes, right: str
) -> None:
    assert fault(tmp_path / name, content).right == right


@pytest.mark.parametrize(
    ("header", "each"),
    [
        ("user,uid,item,rating", "each of 'user', 'uid' could be the user_id"),
        ("user_id,userId,item,rating", "each of 'user_id', 'userId' could be the user_id"),
        ("user,movieId,movie,rating", "each of 'movieId', 'movie' could be the item_id"),
        ("user,item,rating,rating", "each of 'rating', 'rating' could be the rating"),
        ("user,item,score,stars", "each of 'score', 'stars' could be the rating"),
        ("user,item,rating,time,date", "each of 'time', 'date' could be the timestamp"),
    ],
)
def test_columns_that_could_both_be_one(tmp_path: Path, header: str, each: str) -> None:
    row = ",".join("7" for _ in header.split(","))
    error = fault(tmp_path / "a.csv", f"{header}\n{row}\n")
    assert error.what == each
    assert error.right.endswith(f"call only that one {each.split()[-1]}.")


def test_an_unknown_format_lists_the_known(tmp_path: Path) -> None:
    error = fault(tmp_path / "a.csv", GOOD, format="xlsx")
    assert "csv, tsv, dat, inter, parquet, ndjson" in error.right


def test_missing_files_and_folders_without_ratings(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nope\.csv: no such file"):
        read_ratings(tmp_path / "nope.csv")
    with pytest.raises(DataError, match="neither a file nor a data set"):
        load_ratings("x" * 5000)
    with pytest.raises(DataError, match="no ratings in it"):
        load_ratings(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        read_ratings("x" * 5000)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(GOOD)
    with pytest.raises(DataError, match=r"several files could hold the ratings: a\.csv, b\.csv"):
        load_ratings(tmp_path)


def test_pipes_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ratings.csv")
    for path in (tmp_path / "ratings.csv", Path(os.devnull)):
        with pytest.raises(DataError, match=r"not a file\nWrite it to a file first"):
            load_ratings(path)


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.csv")
    path.write_text(GOOD)
    with pytest.raises(DataError, match="a name that is not UTF-8"):
        load_ratings(path)


def packed(kind: str) -> bytes:
    if kind == ".gz":
        return gzip.compress(MANY.encode())
    if kind == ".zst":
        return zstandard.compress(MANY.encode())
    sink = io.BytesIO()
    if kind == ".zip":
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("ratings.csv", MANY)
    else:
        pl.read_csv(MANY.encode()).write_parquet(sink)
    return sink.getvalue()


@pytest.mark.parametrize("kind", [".gz", ".zst", ".zip", ".parquet"])
def test_truncated_at_any_place(tmp_path: Path, kind: str) -> None:
    whole = packed(kind)
    path = tmp_path / f"ratings.csv{kind}"
    path.write_bytes(whole)
    assert len(read_ratings(path)) == 20_000
    for share in (0.001, 0.1, 0.5, 0.9, 0.999):
        fault(path, whole[: max(8, int(len(whole) * share))])


@pytest.mark.parametrize("kind", [".gz", ".zst", ".zip", ".parquet"])
def test_damage_is_reported_or_harmless(tmp_path: Path, kind: str) -> None:
    """Whatever a flipped byte does, nothing but a DataError comes out."""
    whole = packed(kind)
    draw = random.Random(0)
    path = tmp_path / f"ratings.csv{kind}"
    reported = 0
    for _ in range(40):
        broken = bytearray(whole)
        broken[draw.randrange(len(broken))] ^= draw.randrange(1, 256)
        path.write_bytes(broken)
        try:
            read_ratings(path)
        except DataError:
            reported += 1
    assert reported


@pytest.mark.parametrize("kind", [".gz", ".zst", ".zip"])
def test_bombs_are_not_unpacked(tmp_path: Path, kind: str) -> None:
    line = b"1,2,3\n" * 1000
    path = tmp_path / f"bomb.csv{kind}"
    pieces = 16_000  # 96 MB of text
    if kind == ".zip":
        with (
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
            archive.open("ratings.csv", "w") as sink,
        ):
            for _ in range(pieces):
                sink.write(line)
    elif kind == ".gz":
        with gzip.open(path, "wb") as gz:
            for _ in range(pieces):
                gz.write(line)
    else:
        with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as zst:
            for _ in range(pieces):
                zst.write(line)
    with pytest.raises(DataError, match="times its size"):
        read_ratings(path)


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ratings.csv", GOOD)
    content = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + flags] |= 1
    assert "is encrypted" in fault(path, bytes(content)).what
