import numpy as np
import polars as pl
import pytest

from evichain.ratings.ids import UNKNOWN, Ids, stable_key


def test_text_and_number_of_an_id_mean_the_same() -> None:
    numbers = Ids(pl.Series([7, 30]))
    assert numbers.index([7, "7", "07", 7.5, None, np.int64(30)]).tolist() == [
        0, 0, UNKNOWN, UNKNOWN, UNKNOWN, 1,
    ]  # fmt: skip
    words = Ids(pl.Series(["7", "x"]))
    assert words.index([7, "x", "y"]).tolist() == [0, 1, UNKNOWN]


def test_whole_numbers_may_be_floats() -> None:
    numbers = Ids(pl.Series([7, 30]))
    assert numbers.index([7.0, np.float32(30), 7.5, np.nan, np.inf]).tolist() == [0, 1, -1, -1, -1]
    assert numbers.index(pl.Series([30.0, 7.0])).tolist() == [1, 0]
    assert numbers.native(np.float64(7)) == 7
    assert numbers.index_once([7.0, 1e300, 10**30, "9" * 30]).tolist() == [0, -1, -1, -1]


def test_keys_depend_on_the_id_alone() -> None:
    small, large = Ids(pl.Series([7])), Ids(pl.Series([1, 7, 9]))
    assert small.keys[0] == large.keys[1] == stable_key("7")
    # Written down, because saved models and other engines rely on it.
    assert stable_key(7) == 0x828F78CECA1750E7


@pytest.mark.parametrize("ids", [[5, 1, 10**12], ["b", "a", "ü"], [-3, 0, 4]])
def test_encoding_a_column_and_extending(ids: list[int] | list[str]) -> None:
    known = Ids(pl.Series(ids[:1], dtype=pl.Series(ids).dtype))
    wider = known.extended(pl.Series(ids))
    assert wider[0] == ids[0]
    assert len(wider) == 3
    column = pl.Series([*ids, *ids])
    assert [wider[i] for i in wider.encode(column)] == column.to_list()
    assert wider.extended(pl.Series(ids)) is wider


def test_ids_asked_for_once_are_found_as_others_are() -> None:
    for ids in (Ids(pl.Series([3, 7, 9])), Ids(pl.Series(["3", "x", "9"]))):
        asked = [9, "9", "x", 4, "007", None, 3.0]
        assert ids.index_once(asked).tolist() == ids.index(asked).tolist()
        assert ids.index_once([]).tolist() == []
