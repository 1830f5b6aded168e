"""Tables without ratings: what users did with items, as one weight for each pair."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evichain import REC
from evichain.errors import DataError, SplitError
from evichain.evidence.expansion import expand
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import NOTHING_HIDDEN, STABLE, selected
from evichain.ratings import (
    Ratings,
    Side,
    given_split,
    leave_last_out,
    load_ratings,
    load_split,
    read_ratings,
)
from evichain.ratings.conversion import convert_parquet
from evichain.ratings.graph import Graph
from evichain.ratings.inputs import as_later, as_ratings, as_training
from evichain.testing import planted_blocks

EVENTS = {"view": 1.0, "cart": 3.0, "buy": 5.0, "dislike": -1.0}
logs = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(0, 3),
        st.sampled_from(sorted(EVENTS)),
        st.integers(0, 5),
        st.integers(1, 9),
    ),
    min_size=1,
    max_size=30,
)


def read(folder: Path, text: str, **options: Any) -> Ratings:
    path = folder / "events.csv"
    path.write_text(text)
    return read_ratings(path, **options)


def rows(ratings: Ratings) -> list[tuple[Any, ...]]:
    return ratings.frame.rows()


def table(log: list[tuple[int, int, str, int, int]], *columns: str) -> pl.DataFrame:
    names = ["user", "item", "event", "timestamp", "count"]
    return pl.DataFrame(log, names, orient="row").select("user", "item", *columns)


# reading


def test_a_table_without_ratings_is_one_of_interactions(tmp_path: Path) -> None:
    found = read(tmp_path, "user_id,item_id\nann,7\nbob,7\n")
    assert found.interactions
    assert rows(found) == [("ann", 7, 1.0), ("bob", 7, 1.0)]
    assert not found.notes


@pytest.mark.parametrize("name", ["weight", "count", "quantity", "plays", "Play_Count"])
def test_names_of_weights(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, f"user,item,{name}\n1,2,3.5\n1,3,-2\n")
    assert rows(found) == [(1, 2, 3.5), (1, 3, -2.0)]
    assert found.interactions


@pytest.mark.parametrize("name", ["event", "event_type", "type", "action", "behavior"])
def test_names_of_event_types(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, f"user,item,{name}\n1,2,view\n1,3,buy\n", events=EVENTS)
    assert rows(found) == [(1, 2, 1.0), (1, 3, 5.0)]
    assert [tuple(one) for one in found.events] == [("buy", 1, 5.0), ("view", 1, 1.0)]


def test_a_rating_wins_over_a_weight(tmp_path: Path) -> None:
    found = read(tmp_path, "user,item,rating,count,plays,type\n1,2,4,9,9,x\n")
    assert not found.interactions
    assert rows(found) == [(1, 2, 4.0)]
    assert "not used: column 'count', 'plays', 'type'" in found.notes[0]
    assert "each row is an interaction" not in found.notes[0]


def test_a_column_can_be_named_as_the_weight(tmp_path: Path) -> None:
    for columns in ({"weight": "rating"}, {"count": "rating"}):
        found = read(tmp_path, "user,item,rating\n1,2,4\n1,3,4\n", columns=columns)
        assert found.interactions
        assert rows(found) == [(1, 2, 4.0), (1, 3, 4.0)]
    with pytest.raises(DataError, match="names a rating, and a weight"):
        read(tmp_path, "user,item,a,b\n1,2,4,4\n", columns={"weight": "a", "rating": "b"})


def test_a_column_that_may_be_the_rating_is_pointed_out(tmp_path: Path) -> None:
    found = read(tmp_path, "user,item,points\n1,2,4\n")
    assert found.interactions
    assert "--columns rating=NAME" in found.notes[0]
    again = read(tmp_path, "user,item,points\n1,2,4\n", columns={"rating": "points"})
    assert not again.interactions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1\t2\n1\t3\n", [(1, 2, 1.0), (1, 3, 1.0)]),
        ("u1,apple\nu2,pear\n", [("u1", "apple", 1.0), ("u2", "pear", 1.0)]),
    ],
)
def test_two_columns_without_a_header(
    tmp_path: Path, text: str, expected: list[tuple[Any, ...]]
) -> None:
    found = read(tmp_path, text)
    assert found.interactions
    assert rows(found) == expected


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("user,item,weight\n1,2,1\n1,3,\n", "row 3", "weight is missing"),
        ("user,item,weight\n1,2,many\n", "row 2", "weight 'many' is not a finite number"),
        ("user,item,event\n1,2,\n", "row 2", "event is missing"),
        ("user,item\n", "", "no interactions in it"),
        ("user,item,count\n1,2,0\n", "", "no interactions in it"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, text: str, where: str, what: str) -> None:
    with pytest.raises(DataError) as error:
        read(tmp_path, text)
    assert where in error.value.where
    assert error.value.what == what


def test_bad_rows_can_be_skipped(tmp_path: Path) -> None:
    text = "user,item,event,count\n1,2,view,1\n1,3,,1\n1,4,view,x\n1,5,view,0\n"
    found = read(tmp_path, text, skip_bad_rows=True, events={"view": 2})
    assert rows(found) == [(1, 2, 2.0)]
    assert "skipped 2 bad rows (first: row 3: event is missing)" in found.notes[0]
    assert "left out 1 interaction of weight 0" in found.notes[1]


# event types


def test_every_event_counts_1_without_weights(tmp_path: Path) -> None:
    found = read(tmp_path, "user,item,event\n1,2,view\n1,3,view\n1,4,buy\n")
    assert [row[2] for row in rows(found)] == [1.0, 1.0, 1.0]
    (note,) = found.notes
    assert "every event counts 1 (view (2), buy (1))" in note
    assert note.endswith("--events view=1,buy=1")


def test_an_event_type_without_a_weight(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        read(tmp_path, "user,item,event\n1,2,view\n1,3,view\n1,4,buy\n", events={"view": 2})
    assert error.value.what == "no weight for event type 'buy'; found: view (2), buy (1)"
    assert "--events view=2,buy=1;" in error.value.right


def test_event_types_may_be_numbers_or_be_left_out() -> None:
    log = {"user": [1, 1], "item": [2, 3], "action": [1, 4]}
    found = Ratings.from_frame(log, events={"1": 0, "4": 5})
    assert rows(found) == [(1, 3, 5.0)]


def test_the_weight_of_an_event_is_that_of_its_type_times_its_count() -> None:
    log = {"user": [1], "item": [2], "event": ["buy"], "quantity": [3]}
    assert rows(Ratings.from_frame(log, events=EVENTS)) == [(1, 2, 15.0)]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ({"view": "much"}, "the weight 'much' of event type 'view' is not a finite number"),
        ({"view": math.inf}, "is not a finite number"),
        ({}, "no event type has a weight"),
        ({"view": 1}, "no column for the event type among 'user', 'item'"),
    ],
)
def test_weights_that_mean_nothing(events: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        Ratings.from_frame({"user": [1], "item": [2]}, events=events)


# repeated events


@given(logs, st.randoms(use_true_random=False))
def test_repeated_events_add_up_whatever_their_order(
    log: list[tuple[int, int, str, int, int]], chance: Any
) -> None:
    columns = "event", "count", "timestamp"
    found = Ratings.from_frame(table(log, *columns), events=EVENTS)
    shuffled = log.copy()
    chance.shuffle(shuffled)
    again = Ratings.from_frame(table(shuffled, *columns), events=EVENTS)
    assert sorted(rows(again)) == sorted(rows(found))
    expected = {}
    for user, item in {row[:2] for row in log}:
        events = [row for row in log if row[:2] == (user, item)]
        weights = [EVENTS[event] * count for _, _, event, _, count in events]
        total, largest = sum(weights), max(map(abs, weights))
        if abs(total) > largest:
            total = math.copysign(largest * (1 + math.log(abs(total) / largest)), total)
        expected[user, item] = pytest.approx(total, rel=1e-6), max(row[3] for row in events)
    assert {row[:2]: row[2:] for row in rows(found)} == expected
    assert found.duplicates == len(log) - len(expected)


@given(st.lists(st.floats(0.125, 100, width=32), min_size=1, max_size=20))
def test_repeats_grow_slower_and_slower(weights: list[float]) -> None:
    def weight(events: int) -> float:
        given = weights[:events]
        return float(Ratings.from_arrays([1] * events, [2] * events, weights=given).frame[0, 2])

    found = [weight(events) for events in range(1, len(weights) + 1)]
    assert found[0] == weights[0]
    assert np.all(np.diff(found) >= -1e-4)
    assert all(value <= sum(weights[: n + 1]) * (1 + 1e-6) for n, value in enumerate(found))
    plain = [Ratings.from_arrays([1] * n, [2] * n).frame[0, 2] for n in range(1, 9)]
    assert np.all(np.diff(plain, 2) < 0)


def test_a_note_says_that_repeats_were_added_up(tmp_path: Path) -> None:
    found = read(tmp_path, "user,item\n1,2\n1,2\n1,2\n1,3\n")
    assert found.duplicates == 2
    assert "2 repeated interactions were added up" in found.notes[0]


# in Python


def test_interactions_in_any_form() -> None:
    expected = [("ann", 7, 1.0), ("bob", 7, 1.0)]
    assert rows(as_ratings([("ann", 7), ("bob", 7)])) == expected
    assert rows(as_ratings({"user": ["ann", "bob"], "item": [7, 7]})) == expected
    assert rows(Ratings.from_arrays(["ann", "bob"], [7, 7])) == expected
    found = as_ratings(np.array([[1, 7], [2, 7]]))
    assert found.interactions
    assert rows(found) == [(1, 7, 1.0), (2, 7, 1.0)]
    with pytest.raises(DataError, match="both ratings and weights"):
        Ratings.from_arrays([1], [2], [3], weights=[1])


def test_a_part_stays_what_it_is() -> None:
    whole = Ratings.from_arrays([1, 1, 2, 2], [1, 2, 1, 2], weights=[1, 2, 3, 4])
    split = whole.split("random:0.5")
    assert split.train.interactions
    assert split.test.interactions
    assert whole.take([0, 2]).interactions
    again = Ratings.from_frame(whole.to_frame())
    assert again.interactions
    assert again.frame.equals(whole.frame)


def test_ratings_that_are_all_the_same_are_refused() -> None:
    ratings = Ratings.from_arrays(range(20), range(20), [5] * 20, name="mine")
    for source in (ratings, Graph.build(ratings)):
        with pytest.raises(DataError, match="all 20 ratings are 5: these look like") as error:
            as_training(source)
        assert "--columns weight=rating" in error.value.right
    with pytest.raises(DataError, match="all 20 ratings are 5"):
        REC().fit(ratings)
    assert as_training(Ratings.from_arrays(range(19), range(19), [5] * 19))
    assert as_training(Ratings.from_arrays(range(20), range(20)))


def test_what_comes_later_is_of_the_same_kind() -> None:
    ratings = Ratings.from_arrays([1, 1], [1, 2], [3, 5])
    interactions = Ratings.from_arrays([1, 1], [1, 2])
    scale = Graph.build(interactions).scale
    assert as_later([(1, 3)], scale).interactions
    assert as_later({"user": [1], "item": [3], "weight": [99]}, scale).frame[0, 2] == 99
    with pytest.raises(DataError, match="these are ratings, and the model was trained on inter"):
        as_later(ratings, scale)
    with pytest.raises(DataError, match="no column for the rating"):
        as_later(interactions, Graph.build(ratings).scale)
    for parts in ((ratings, interactions), (interactions, ratings)):
        with pytest.raises(SplitError, match="one part has ratings and the other has not"):
            given_split(*parts)


# the graph


def test_a_graph_knows_that_it_has_interactions(tmp_path: Path) -> None:
    table = Ratings.from_arrays([1, 1, 2], ["a", "b", "a"], weights=[1, 5, -2])
    graph = Graph.build(table)
    assert graph.interactions
    assert repr(graph) == "Graph(users=2, items=2, interactions=3)"
    graph.save(tmp_path / "g.graph")
    loaded = Graph.load(tmp_path / "g.graph")
    assert loaded.fingerprint == graph.fingerprint
    more = Ratings.from_arrays([3], ["a"], weights=[7])
    one = np.array([0]), np.array([0])
    for found in (loaded, loaded.extended(more), loaded.reduced(one), loaded.emptied()):
        assert found.interactions
    assert loaded.extended(more).scale.levels.tolist() == [-2, 1, 5, 7]
    again = load_ratings(tmp_path / "g.graph")
    assert again.interactions
    assert sorted(rows(again)) == sorted(rows(table))
    ratings = Ratings.from_arrays([1, 1, 2], ["a", "b", "a"], [1, 5, -2])
    assert not Graph.build(ratings).interactions
    assert Graph.build(ratings).fingerprint != graph.fingerprint


@given(
    log=logs,
    columns=st.lists(st.sampled_from(["event", "timestamp", "count"]), unique=True),
    piece=st.integers(1, 20),
)
def test_a_conversion_on_disk_equals_that_in_memory(
    tmp_path_factory: pytest.TempPathFactory,
    log: list[tuple[int, int, str, int, int]],
    columns: list[str],
    piece: int,
) -> None:
    folder = tmp_path_factory.mktemp("g")
    path, events = folder / "log.parquet", {**EVENTS, "view": 0} if "event" in columns else None
    table([*log, (9, 9, "buy", 1, 1)], *columns).write_parquet(path)
    found = convert_parquet(path, folder / "out", piece=piece, bucket=piece, events=events)
    assert found is not None
    ratings = read_ratings(path, events=events)
    Graph.build(ratings).save(folder / "in")
    assert (found.ratings, found.duplicates) == (len(ratings), ratings.duplicates)
    assert sorted(found.notes) == sorted(ratings.notes)
    assert found.interactions
    for file in (folder / "in").iterdir():
        assert (folder / "out" / file.name).read_bytes() == file.read_bytes(), file.name


def test_at_most_nine_bytes_an_interaction(tmp_path: Path) -> None:
    pairs = np.unique(np.random.default_rng(0).integers(0, 300, (40_000, 2)), axis=0)
    graph = Graph.build(Ratings.from_arrays(pairs[:, 0], pairs[:, 1]))
    assert graph.nbytes <= 9 * len(pairs)
    graph.save(tmp_path / "g")
    arrays = [
        tmp_path / "g" / f"{noun}_{n}.npy"
        for noun in ("user", "item")
        for n in ("indices", "codes")
    ]
    assert sum(path.stat().st_size for path in arrays) <= 9 * len(pairs)
    same = graph.extended(Ratings.from_arrays([0, 999], [0, 999]))
    assert same.nbytes <= 9 * len(same)


@given(
    pairs=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, unique=True),
    weight=st.sampled_from([1.0, 2.5]),
)
def test_one_weight_is_a_weight(pairs: list[tuple[int, int]], weight: float) -> None:
    users, items = zip(*pairs, strict=True)
    graph = Graph.build(Ratings.from_arrays(users, items, weights=[weight] * len(pairs)))
    assert sorted(rows(graph.to_ratings())) == sorted((*pair, weight) for pair in pairs)
    assert (graph.mean, graph.std) == (weight, 0.0)
    extended = graph.extended(Ratings.from_arrays([9], [9], weights=[7.0]))
    assert sorted(rows(extended.to_ratings())) == sorted(
        [*((*pair, weight) for pair in pairs), (9, 9, 7.0)]
    )
    one = np.array([0]), graph.rows[Side.USER].indices[:1]
    left = graph.reduced(one)
    assert len(left) == len(graph) - 1
    assert set(rows(left.to_ratings())) <= set(rows(graph.to_ratings()))


def test_evidence_is_the_same_as_of_ratings_of_one_level() -> None:
    """Codes that take no memory are read like others."""
    table = planted_blocks().frame
    pairs = table["user_id"], table["item_id"]
    policy = Policy(max_depth=3, evidence_limit=6)
    ratings, interactions = (
        Pool.most_rated(Graph.build(made), (4, 4))
        for made in (Ratings.from_arrays(*pairs, [1.0] * len(table)), Ratings.from_arrays(*pairs))
    )
    for side in Side:
        entities = np.arange(len(ratings.graph.ids[side]), dtype=np.int32)
        found = [
            expand(pool, policy, side, 0, entities, STABLE, NOTHING_HIDDEN, keep_dead=True)[0]
            for pool in (ratings, interactions)
        ]
        arrays = [(one.ptr, one.ref, one.entity, one.value) for one in found]
        for left, right in zip(*arrays, strict=True):
            np.testing.assert_array_equal(left, right)
        for one in range(3):
            of = [selected(pool, policy, side, one, 0) for pool in (ratings, interactions)]
            np.testing.assert_array_equal(of[0], of[1])


# leaving out what came last


@given(logs)
def test_the_last_of_each_user_is_left_out(log: list[tuple[int, int, str, int, int]]) -> None:
    ratings = Ratings.from_frame(
        table([*log, (7, 0, "view", 1, 1), (7, 1, "view", 1, 1)], "timestamp")
    )
    split = leave_last_out(ratings)
    expected: dict[int, tuple[int, int]] = {}
    for user, item, _, time in rows(ratings):
        if time >= expected.get(user, (0, -1))[1]:
            expected[user] = (item, time)
    several = {user for user in expected if sum(row[0] == user for row in rows(ratings)) > 1}
    assert {row[0]: (row[1], row[3]) for row in rows(split.test)} == {
        user: expected[user] for user in several
    }
    assert expected[7] == (1, 1)
    assert sorted(rows(split.train) + rows(split.test)) == sorted(rows(ratings))


def test_leaving_out_the_last_is_spelled_and_needs_times(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,rating,time\n1,1,3,5\n1,2,4,9\n2,1,3,1\n")
    split = load_split(path, "leave-last-out")
    assert split.name == "leave-last-out"
    assert rows(split.test) == [(1, 2, 4.0, 9)]
    path.write_text("user,item\n1,1\n1,2\n")
    with pytest.raises(SplitError, match="has interactions without a timestamp"):
        load_split(path, "leave-last-out")
