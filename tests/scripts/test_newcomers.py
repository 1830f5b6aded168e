"""What others estimate for new users: means by hand, and a choice that never sees the test part."""

import math

import pytest
from scripts.newcomers import als_fold_in, choose, means

from evichain.ratings import Ratings, Split
from evichain.ratings.splits import user_split
from evichain.testing import planted_blocks

KNOWN = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "x"], [4, 2, 3])
LATER = Ratings.from_arrays(["new"], ["x"], [5])
TESTED = Ratings.from_arrays(["new", "new"], ["y", "z"], [3, 4])


def test_means_are_of_all_that_is_known_and_an_offset_is_shrunken() -> None:
    found = means(Split(KNOWN, TESTED, "by hand", later=LATER))
    x, y, everyone = 4.0, 2.0, 14 / 4
    offset = (5 - x) / (1 + 5)
    wanted = math.sqrt(((3 - y) ** 2 + (4 - everyone) ** 2) / 2)
    assert found["item_means"] == pytest.approx(wanted)
    wanted = math.sqrt(((3 - y - offset) ** 2 + (4 - everyone - offset) ** 2) / 2)
    assert found["item_means_and_offset"] == pytest.approx(wanted)


def test_a_split_where_nobody_comes_later_is_refused() -> None:
    with pytest.raises(SystemExit, match="split by users"):
        means(Split(KNOWN, TESTED, "by hand"))


def test_settings_are_chosen_on_users_of_the_training_part() -> None:
    split = user_split(planted_blocks(), 0.8, given=3)
    outside = set(split.test.frame["user_id"])

    def error(inner: Split, factors: int, regularization: float) -> float:
        assert inner.later is not None
        for part in (inner.train, inner.later, inner.test):
            assert not outside & set(part.frame["user_id"])
        assert inner.later.frame.group_by("user_id").len()["len"].max() == 3
        return abs(factors - 2) + regularization

    tried = choose(split, [1, 2], [0.2, 0.1], error)
    assert tried[0] == (0.1, 2, 0.1)
    assert len(tried) == 4


def test_fold_in_knows_more_than_means() -> None:
    pytest.importorskip("lenskit")
    split = user_split(planted_blocks(), 0.8, given=5)
    assert als_fold_in(split, 2, 0.01) < min(means(split).values())
