"""Every ratings file that cannot be used: said where and why, status 2, and nothing written."""

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

Refused = Callable[..., list[str]]

HEADER = "user_id,item_id,rating\n"
ROWS = "".join(f"{user},{item},3\n" for user in range(40) for item in range(40))


def missing_column(folder: Path) -> Path:
    return written(folder / "a.csv", "user_id,rating,genre\n1,2,3\n")


def no_number(folder: Path) -> Path:
    return written(folder / "a.csv", f"{HEADER}1,2,3\n1,3,good\n")


def not_a_number(folder: Path) -> Path:
    return written(folder / "a.csv", f"{HEADER}1,2,3\n1,3,NaN\n")


def infinite(folder: Path) -> Path:
    return written(folder / "a.csv", f"{HEADER}1,2,3\n1,3,inf\n")


def empty(folder: Path) -> Path:
    return written(folder / "a.csv", "")


def header_only(folder: Path) -> Path:
    return written(folder / "a.csv", HEADER)


def cut_gzip(folder: Path) -> Path:
    path = folder / "a.csv.gz"
    path.write_bytes(gzip.compress((HEADER + ROWS).encode())[:-100])
    return path


def cut_zip(folder: Path) -> Path:
    path = folder / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ratings.csv", HEADER + ROWS)
    path.write_bytes(path.read_bytes()[:-200])
    return path


def no_parquet(folder: Path) -> Path:
    return written(folder / "a.parquet", f"{HEADER}1,2,3\n")


def no_ndjson(folder: Path) -> Path:
    return written(folder / "a.ndjson", '{"user_id": 1, "item_id": 2, "rating": 3}\n{"user_id": \n')


def picture(folder: Path) -> Path:
    path = folder / "a.csv"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    return path


def not_there(folder: Path) -> Path:
    return folder / "a.csv"


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


BAD: dict[Callable[[Path], Path], str] = {
    missing_column: "item_id",
    no_number: "row 3: rating 'good'",
    not_a_number: "row 3: rating 'NaN'",
    infinite: "row 3: rating 'inf'",
    empty: "empty",
    header_only: "no ratings",
    cut_gzip: "damaged",
    cut_zip: "",
    no_parquet: "Parquet",
    no_ndjson: "row 2",
    picture: "PNG",
    not_there: "neither a file nor a data set",
}


@pytest.mark.parametrize("make", BAD, ids=lambda make: make.__name__)
@pytest.mark.parametrize(
    "verb",
    [
        ["data", "describe", "{bad}"],
        ["data", "convert", "{bad}", "{out}/o.parquet"],
        ["data", "split", "{bad}", "random:0.8", "--out", "{out}/o"],
        ["train", "{bad}", "--out", "{out}/model", "--run", "{out}/run"],
        ["train", "{bad}", "--split", "random:0.8", "--out", "{out}/model", "--json"],
        ["bench", "step", "--data", "{bad}", "--json"],
    ],
    ids=lambda verb: " ".join(part for part in verb if "{" not in part),
)
def test_bad_ratings_are_refused(
    refused: Refused, tmp_path: Path, make: Callable[[Path], Path], verb: list[str]
) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    out.mkdir()
    bad = make(source)
    lines = refused(*(part.format(bad=bad, out=out) for part in verb))
    assert str(bad) in lines[0]
    assert BAD[make] in lines[0]
    assert not list(out.iterdir())


def test_bad_ratings_to_test_on(refused: Refused, model: Path, tmp_path: Path) -> None:
    bad = no_number(tmp_path)
    lines = refused("evaluate", model, bad)
    assert f"{bad}, row 3" in lines[0]


def test_a_name_that_is_almost_one_of_the_catalogue(refused: Refused) -> None:
    assert "ml-100k" in refused("train", "ml100k")[1]
