"""Every split parts the ratings, and the same seed parts them the same way."""

import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evichain.errors import DataError, SplitError
from evichain.ratings import (
    Ratings,
    Side,
    Split,
    cold_split,
    cold_start,
    given_split,
    growth,
    growth_split,
    kfold,
    leave_last_out,
    load_split,
    random_split,
    time_split,
    user_split,
)
from evichain.ratings.table import Column

SPLITS: dict[str, Callable[[Ratings, int], Split]] = {
    "random": lambda ratings, seed: random_split(ratings, 0.7, seed),
    "kfold": lambda ratings, seed: kfold(ratings, 3, 1, seed),
    "users": lambda ratings, seed: user_split(ratings, 0.6, seed),
    "users, given": lambda ratings, seed: user_split(ratings, 0.6, seed, given=1),
    "time": lambda ratings, seed: time_split(ratings, 0.7),
    "last": lambda ratings, seed: leave_last_out(ratings),
}


@st.composite
def tables(draw: st.DrawFn) -> Ratings:
    """From 5 to 10 users, each with 2 or more ratings; ids of either kind."""
    per_user = draw(st.lists(st.integers(2, 8), min_size=5, max_size=10))
    users = np.repeat(np.arange(len(per_user)) * 3, per_user)
    items = np.concatenate([np.arange(n) for n in per_user])
    order = np.random.default_rng(draw(st.integers(0, 99))).permutation(len(users))
    times = draw(st.lists(st.integers(0, 9), min_size=len(users), max_size=len(users)))
    names = [f"u{user}" for user in users[order]] if draw(st.booleans()) else users[order]
    return Ratings.from_arrays(names, items[order], order % 5, times)


def rows(ratings: Ratings) -> list[tuple[object, ...]]:
    return ratings.frame.rows()


@pytest.mark.parametrize("name", SPLITS)
@given(ratings=tables(), seed=st.integers(0, 9))
def test_splits_part_the_ratings(name: str, ratings: Ratings, seed: int) -> None:
    split = SPLITS[name](ratings, seed)
    later = [] if split.later is None else rows(split.later)
    assert sorted(rows(split.train) + later + rows(split.test)) == sorted(rows(ratings))
    assert len(split.train)
    assert len(split.test)
    again = SPLITS[name](ratings, seed)
    assert rows(again.train) == rows(split.train)
    assert rows(again.test) == rows(split.test)


def table(n: int = 1000) -> Ratings:
    draw = np.random.default_rng(0)
    users, items = np.divmod(draw.permutation(40 * 50)[:n], 50)
    return Ratings.from_arrays(users, items, draw.integers(1, 6, n), draw.permutation(n))


def test_random_split_has_the_share_asked_for_and_follows_the_seed() -> None:
    split = random_split(table(), 0.9, seed=1)
    assert (len(split.train), len(split.test), split.name) == (900, 100, "random:0.9")
    assert rows(split.test) != rows(random_split(table(), 0.9, seed=2).test)


def test_folds_test_each_rating_once() -> None:
    tested = [row for fold in range(5) for row in rows(kfold(table(), 5, fold).test)]
    assert sorted(tested) == sorted(rows(table()))


def test_users_are_held_out_whole() -> None:
    split = user_split(table(), 0.8)
    train, test = (set(part.frame["user_id"]) for part in (split.train, split.test))
    assert not train & test
    assert len(test) == 8


def test_given_ratings_of_held_out_users_come_later() -> None:
    split = user_split(table(), 0.8, given=3)
    held = set(split.test.frame["user_id"])
    assert split.later is not None
    assert dict(split.later.frame.group_by("user_id").len().rows()) == dict.fromkeys(held, 3)
    assert not held & set(split.train.frame["user_id"])
    assert len(held) == 8


def test_growth_tests_on_what_is_new_and_learns_from_what_was_there() -> None:
    split = growth_split(table(), 0.4, prototypes=2)
    assert split.later is not None
    users, items = (set(split.train.frame[column]) for column in ("user_id", "item_id"))
    for user, item, *_ in rows(split.test):
        assert user not in users or item not in items
    whole = random_split(table(), 0.8)
    assert sorted(rows(split.train) + rows(split.later)) == sorted(rows(whole.train))
    assert set(rows(split.test)) <= set(rows(whole.test))


def test_cold_users_keep_few_ratings_and_the_test_part_stays_whole() -> None:
    split, whole = cold_split(table(), 5, 2), random_split(table(), 0.8)
    counts = split.train.frame.group_by("user_id").len()["len"].to_list()
    assert counts.count(2) >= 5
    assert rows(split.test) == rows(whole.test)
    # It says who they are.
    before, after = (dict(p.train.frame["user_id"].value_counts().rows()) for p in (whole, split))
    assert split.cold is not None
    assert set(split.cold) == {user for user in before if after[user] < before[user]}
    assert len(split.cold) == 5


def test_given_ratings_are_spelled(data: Path) -> None:
    split = load_split(data, "users:0.8/3", seed=1)
    assert split.name == "users:0.8/3"
    assert rows(split.test) == rows(user_split(table(), 0.8, seed=1, given=3).test)


@pytest.mark.parametrize(
    "draw",
    [
        lambda ratings: random_split(ratings, seed=-1),
        lambda ratings: kfold(ratings, seed=-1),
        lambda ratings: user_split(ratings, seed=-1),
        lambda ratings: growth(ratings, seed=-1),
        lambda ratings: cold_start(ratings, 1, 1, seed=-1),
    ],
)
def test_a_seed_is_not_negative(draw: Callable[[Ratings], object]) -> None:
    with pytest.raises(SplitError, match="a seed of -1"):
        draw(table())


def test_time_split_tests_on_what_came_later() -> None:
    split = time_split(table(), 0.8)
    latest, earliest = split.train.frame["timestamp"].max(), split.test.frame["timestamp"].min()
    assert latest == 799
    assert earliest == 800


def test_time_split_needs_times() -> None:
    with pytest.raises(SplitError, match="mine has ratings without a timestamp"):
        time_split(Ratings.from_arrays([1, 2], [1, 2], [1, 2], name="mine"))
    with pytest.raises(SplitError, match="mine has ratings without a timestamp"):
        time_split(Ratings.from_arrays([1, 2], [1, 2], [1, 2], [5, None], name="mine"))


def test_given_split_agrees_on_the_kind_of_ids() -> None:
    train = Ratings.from_arrays([1, 2], [1, 2], [1, 2])
    split = given_split(train, Ratings.from_arrays(["1", "x"], [1, 2], [1, 2]))
    assert split.train.frame["user_id"].to_list() == ["1", "2"]
    assert split.train.frame.schema["item_id"] == pl.Int64


def test_growth_is_nested_and_ends_with_everything() -> None:
    ratings = table()
    always: dict[Side, Column] = {Side.USER: [3, 5], Side.ITEM: np.array([7])}
    parts = growth(ratings, 0.2, seed=3, always=always)
    assert len(parts) == 5
    assert rows(parts[-1]) == rows(ratings)
    for small, large in pairwise(parts):
        assert set(rows(small)) < set(rows(large))
    for step, part in enumerate(parts, start=1):
        users, items = (part.frame[side.column].unique() for side in Side)
        assert len(users) <= 40 * 0.2 * step
        assert len(items) <= 50 * 0.2 * step
        # A part is all there is between its users and its items.
        inside = ratings.frame["user_id"].is_in(users) & ratings.frame["item_id"].is_in(items)
        assert rows(part) == rows(ratings.take(inside))
    assert {3, 5} <= set(parts[0].frame["user_id"])
    assert rows(growth(ratings, 0.2, seed=3, always=always)[0]) == rows(parts[0])
    assert rows(growth(ratings, 0.2, seed=4, always=always)[0]) != rows(parts[0])


def test_growth_by_a_step_that_does_not_divide() -> None:
    parts = growth(table(), 0.3)
    assert len(parts) == 4
    assert len(parts[-1]) == 1000


def test_more_prototypes_than_the_first_step_holds() -> None:
    parts = growth(table(), 0.2, always={Side.USER: range(20)})
    assert set(range(20)) == set(parts[0].frame["user_id"])


def test_growth_knows_its_ids() -> None:
    with pytest.raises(SplitError, match="user 'nobody' has no ratings"):
        growth(table(), always={Side.USER: ["nobody"]})


@pytest.mark.parametrize(("n_users", "n_ratings"), [(0, 1), (10, 1), (40, 5)])
def test_cold_start_cuts_some_users(n_users: int, n_ratings: int) -> None:
    ratings = table()
    cut = cold_start(ratings, n_users, n_ratings, seed=1)
    before, after = (dict(part.frame.group_by("user_id").len().rows()) for part in (ratings, cut))
    changed = [user for user in before if before[user] != after[user]]
    assert len(changed) == n_users
    assert all(after[user] == n_ratings for user in changed)
    assert set(rows(cut)) <= set(rows(ratings))
    assert rows(cold_start(ratings, n_users, n_ratings, seed=1)) == rows(cut)


def test_cold_start_needs_enough_users() -> None:
    with pytest.raises(SplitError, match="no 41 users to cut to 5 ratings"):
        cold_start(table(), 41, 5)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder as ml-100k's, with two splits."""
    table().frame.write_csv(tmp_path / "u.data", separator="\t", include_header=False)
    for name in ("u1", "ua"):
        split = random_split(table(), 0.8, seed=len(name))
        for part, suffix in ((split.train, "base"), (split.test, "test")):
            path = tmp_path / f"{name}.{suffix}"
            part.frame.write_csv(path, separator="\t", include_header=False)
    (tmp_path / "u.item").write_text("7|Seven (1995)|x\n")
    return tmp_path


@pytest.mark.parametrize(
    ("spec", "test"), [("random:0.9", 100), ("kfold:4/3", 250), ("time:0.75", 250), ("u1", 200)]
)
def test_splits_by_spelling(data: Path, spec: str, test: int) -> None:
    split = load_split(data, spec)
    assert (len(split.test), len(split.train), split.name) == (test, 1000 - test, spec)
    assert split.train.name == str(data)
    assert split.train.titles is not None


def test_the_seed_reaches_the_draw(data: Path) -> None:
    one, other = (load_split(data, "users:0.8", seed=seed) for seed in (1, 2))
    assert rows(one.test) != rows(other.test)
    assert rows(one.test) == rows(user_split(table(), 0.8, seed=1).test)


def test_named_splits_from_a_file_and_a_zip(data: Path) -> None:
    expected = rows(load_split(data, "ua").test)
    assert rows(load_split(data / "u.data", "ua").test) == expected
    packed = data / "mine.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("u.data", "ua.base", "ua.test"):
            archive.write(data / name, f"ml-100k/{name}")
    assert rows(load_split(str(packed), "ua").test) == expected


def test_two_files_are_a_split(data: Path) -> None:
    expected = rows(load_split(data, "u1").test)
    for spec in (f"{data / 'u1.base'},{data / 'u1.test'}", "u1.base, u1.test"):
        split = load_split(data, spec)
        assert rows(split.test) == expected
        assert split.name == spec
    with pytest.raises(DataError, match=r"none\.csv: no such file"):
        load_split(data, "u1.base,none.csv")


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "u7",
        "random",
        "random:",
        "random:x",
        "kfold:5",
        "kfold:5/x",
        "luck:0.8",
        "a:b:c",
        "users:0.8/",
        "users:0.8/x",
        "users:0.8/1/2",
        "random:0.8/5",
    ],
)
def test_misspelled_splits_list_the_spellings(data: Path, spec: str) -> None:
    with pytest.raises(SplitError) as caught:
        load_split(data, spec)
    assert f"no split {spec!r}" in caught.value.what
    for spelling in ("random:0.8, kfold:5/0", "users:0.8, users:0.8/5", "TRAIN_FILE,TEST_FILE"):
        assert spelling in caught.value.right
    if ":" not in spec:
        assert "of this data also u1, ua" in caught.value.right


@pytest.mark.parametrize(
    "spec",
    [
        *("random:0", "random:1", "random:-1", "random:nan", "random:0.99999"),
        *("users:2", "users:0.001", "users:0.8/-1", "users:0.8/99", "time:inf"),
        *("kfold:1/0", "kfold:5/5", "kfold:5/-1", "kfold:9999/0"),
    ],
)
def test_impossible_splits_are_refused(data: Path, spec: str) -> None:
    with pytest.raises(SplitError) as caught:
        load_split(data, spec)
    assert caught.value.right
