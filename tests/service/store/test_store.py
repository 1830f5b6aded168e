"""Ratings and titles go in and come out, alike in every backend."""

import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from evichain.errors import DataError, StoreError
from evichain.ratings import Side
from evichain.service.store import (
    LARGEST_BATCH,
    LONGEST_ID,
    LONGEST_TITLE,
    Counts,
    Page,
    Rating,
    Store,
    Written,
    open_store,
)

same_store = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
ids = st.integers(-(2**63), 2**63 - 1) | st.text(letters, min_size=1, max_size=LONGEST_ID)


def everything(store: Store) -> list[Rating]:
    """All ratings, page by page."""
    found, after = [], None
    while True:
        page = store.page(3, after=after)
        found += page.ratings
        after = page.after
        if after is None:
            return found


def test_a_new_store_is_empty(store: Store) -> None:
    assert store.counts() == Counts(0, 0, 0, 0)
    assert store.version() == 0
    assert store.page() == Page([], None)
    assert store.titles() == {}
    assert store.get(1, 1) is None
    assert store.ratings_of(Side.USER, 1) == []


def test_put_tells_what_was_new_and_what_changed(store: Store) -> None:
    assert store.put([(1, 2, 3.7), ("a", 2, 4, 100)]) == Written(2, 0, 0)
    assert store.put([(1, 2, 3.7), ("a", 2, 5, 100), (1, 3, 1)]) == Written(1, 1, 1)
    assert store.put([(1, 3, 1, 7)]) == Written(0, 1, 0)
    assert store.get(1, 2) == Rating(1, 2, 3.7)
    assert store.get("a", 2) == Rating("a", 2, 5.0, 100)
    assert store.get(1, 3) == Rating(1, 3, 1.0, 7)
    assert store.counts() == Counts(3, 2, 2, 0)
    assert store.put([]) == Written(0, 0, 0)


def test_what_is_put_is_there_when_the_store_is_opened_again(url: str) -> None:
    with open_store(url) as store:
        store.put([("ann", 1, 4.5, -5)])
        store.put_titles({1: "One"})
    with open_store(url, create=False) as store:
        assert store.get("ann", 1) == Rating("ann", 1, 4.5, -5)
        assert store.titles() == {1: "One"}
        assert store.version() == 2


@same_store
@given(rows=st.lists(st.tuples(ids, ids, st.floats(width=32, allow_nan=False)), max_size=8))
def test_everything_comes_back_as_it_went_in(store: Store, rows: list[Any]) -> None:
    rows = [(user, item, rating) for user, item, rating in rows if math.isfinite(rating)]
    for some in ({row[side] for row in rows} for side in Side):
        assume(len(some) == len(set(map(str, some))))
    store.put(rows)
    expected = {(u, i): float(np.float32(r)) for u, i, r in rows}
    for (user, item), rating in expected.items():
        found = store.get(user, item)
        assert found is not None
        assert (found.user, found.item) == (user, item)
        assert float(np.float32(found.rating)) == rating
        assert found in store.ratings_of(Side.USER, user)
        assert found in store.ratings_of(Side.ITEM, item)
    # Numbers before text, numbers by size and text by its bytes: in every backend.
    order = sorted(expected, key=lambda pair: [_sorted_as(one) for one in pair])
    assert [(r.user, r.item) for r in everything(store)] == order
    assert store.delete(expected) == len(expected)
    assert store.counts().ratings == 0


def _sorted_as(identifier: int | str) -> tuple[int, int, bytes]:
    if isinstance(identifier, int):
        return 0, identifier, b""
    return 1, 0, identifier.encode()


@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize(("there", "given"), [(1, "1"), ("1", 1), (-7, "-7")])
def test_of_a_number_and_its_text_there_is_one(
    store: Store, side: Side, there: int | str, given: int | str
) -> None:
    def rated(identifier: int | str, rating: float) -> tuple[Any, ...]:
        pair = (identifier, "x") if side is Side.USER else ("x", identifier)
        return (*pair, rating)

    store.put([rated(there, 1)])
    with pytest.raises(DataError) as caught:
        store.put([("y", "y", 1), rated(given, 2)])
    assert f"{side.noun} {given!r} is {there!r} in the store" in str(caught.value)
    assert f"Give {there!r}" in caught.value.right
    assert store.get(*rated(given, 2)[:2]) is None
    assert len(everything(store)) == store.version() == 1
    # Or it is given the kind that it has.
    assert store.put([rated(given, 2)], adopt=True) == Written(0, 1, 0)
    assert everything(store) == [Rating(*rated(there, 2.0))]
    store.delete([rated(there, 1)[:2]])
    assert store.put([rated(given, 3)]) == Written(1, 0, 0)


@pytest.mark.parametrize("adopt", [False, True])
def test_a_number_and_its_text_cannot_come_together(store: Store, adopt: bool) -> None:
    for rows in ([(1, 1, 1), ("1", 2, 2)], [(1, 1, 1), (2, "1", 2)]):
        with pytest.raises(DataError, match="differ only in type") as caught:
            store.put(rows, adopt=adopt)
        assert "Use only integers or only text" in caught.value.right
    assert store.version() == 0


def test_texts_that_only_resemble_a_number_are_their_own(store: Store) -> None:
    users = [7, "07", "7.0", "+7", " 7", "\u0667", 2**63 - 1, str(2**63)]
    assert store.put([(user, 1, 1) for user in users]) == Written(len(users), 0, 0)
    assert {rating.user for rating in everything(store)} == set(users)


@pytest.mark.parametrize("value", [3.7, 0.1, np.float32(3.7), np.float64(2.5), np.int64(4), -0.0])
def test_a_rating_comes_back_as_the_number_it_was(store: Store, value: Any) -> None:
    store.put([(1, 1, value)])
    found = store.get(1, 1)
    assert found is not None
    assert str(found.rating) == str(abs(float(str(value))))


def test_of_a_pair_given_twice_the_later_counts(store: Store) -> None:
    store.put([(1, 1, 1), (1, 1, 2)])
    store.put([(2, 1, 1, 50), (2, 1, 2, 40)])
    store.put([(3, 1, 1, 50), (3, 1, 2, 50)])
    store.put([(4, 1, 1, 50), (4, 1, 2)])
    assert [r.rating for r in everything(store)] == [2, 1, 2, 2]
    # What is put later holds, whatever its time: this is how a mistake is mended.
    store.put([(2, 1, 5, 10)])
    assert store.get(2, 1) == Rating(2, 1, 5.0, 10)


def test_what_is_there_can_be_kept(store: Store) -> None:
    store.put([(1, 1, 1, 50), (7, "a", 2)])
    given = [(1, 1, 5, 60), ("7", "a", 5), (1, 2, 3), (1, 2, 4)]
    assert store.put(given, keep=True, adopt=True) == Written(1, 0, 2)
    assert everything(store) == [(1, 1, 1.0, 50), (1, 2, 4.0, None), (7, "a", 2.0, None)]
    assert len(store.changes_since(2).changes) == 1


def test_a_history_is_by_time_and_then_as_it_came(store: Store) -> None:
    store.put([("u", "c", 1, 30), ("u", "z", 1), ("u", "b", 1, 20), ("u", "y", 1)])
    store.put([("u", "a", 1, 20), ("v", "b", 2, 10), ("u", "z", 2)])
    assert [r.item for r in store.ratings_of(Side.USER, "u")] == ["y", "z", "b", "a", "c"]
    assert [r.user for r in store.ratings_of(Side.ITEM, "b")] == ["v", "u"]


def test_pages_of_one_user_and_of_one_item(store: Store) -> None:
    store.put([(user, item, 1) for user in range(5) for item in "abcde"])
    page = store.page(2, of=(Side.USER, 3))
    assert [(r.user, r.item) for r in page.ratings] == [(3, "a"), (3, "b")]
    page = store.page(3, of=(Side.USER, 3), after=page.after)
    assert [r.item for r in page.ratings] == ["c", "d", "e"]
    assert page.after is None
    page = store.page(4, of=(Side.ITEM, "c"))
    assert [r.user for r in page.ratings] == [0, 1, 2, 3]
    page = store.page(4, of=(Side.ITEM, "c"), after=page.after)
    assert [r.user for r in page.ratings] == [4]


def test_a_page_begins_after_what_is_gone_by_now(store: Store) -> None:
    store.put([(user, 1, 1) for user in range(4)])
    after = store.page(2).after
    assert after == (1, 1)
    store.delete([(1, 1), (2, 1)])
    assert [r.user for r in store.page(2, after=after).ratings] == [3]


def test_delete_tells_how_many_there_were(store: Store) -> None:
    store.put([(1, 1, 1), (1, 2, 1)])
    assert store.delete([(1, 1), (1, 1), (7, 7)]) == 1
    assert [r.item for r in everything(store)] == [2]
    assert store.delete([]) == 0


def test_erasing_a_user(store: Store) -> None:
    store.put([("ann", 1, 1), ("bob", 1, 2), ("ann", 2, 3)])
    assert store.erase("ann") == 2
    assert everything(store) == [Rating("bob", 1, 2.0)]
    assert store.erase("ann") == 0
    assert store.erase("nobody") == 0
    store.put([("ann", 3, 5)])
    assert store.ratings_of(Side.USER, "ann") == [Rating("ann", 3, 5.0)]


def test_titles(store: Store) -> None:
    assert store.put_titles({1: "One", "1": "Text", 2: "Two"}) == 3
    assert store.put_titles({1: "One", "1": "<script>", 2: None, 9: None}) == 2
    assert store.titles() == {1: "One", "1": "<script>"}
    assert store.titles([1, 2, 1, 3]) == {1: "One"}
    assert store.titles([]) == {}
    assert store.put_titles({}) == 0
    assert store.counts() == Counts(0, 0, 0, 2)


def test_many_titles_at_once(store: Store) -> None:
    many = {item: f"Film {item}" for item in range(1201)}
    assert store.put_titles(many) == len(many)
    assert store.titles(many) == store.titles() == many


REFUSED = [
    ([(1, "", 1)], "item_id is empty"),
    ([("", 1, 1)], "user_id is empty"),
    ([("a\0b", 1, 1)], "NUL"),
    ([("a\ud800", 1, 1)], "surrogate"),
    ([("a" * (LONGEST_ID + 1), 1, 1)], f"{LONGEST_ID + 1} characters"),
    ([(2**63, 1, 1)], "64 bits"),
    ([(10**5000, 1, 1)], "64 bits"),
    ([(1, -(2**63) - 1, 1)], "64 bits"),
    ([(True, 1, 1)], "True is not an id"),
    ([(1.0, 1, 1)], "1.0 is not an id"),
    ([(None, 1, 1)], "None is not an id"),
    ([(b"a", 1, 1)], "is not an id"),
    ([(1, 1, math.nan)], "not a finite number"),
    ([(1, 1, -math.inf)], "not a finite number"),
    ([(1, 1, 1e39)], "not a finite number"),
    ([(1, 1, 10**400)], "not a finite number"),
    ([(1, 1, "4")], "not a finite number"),
    ([(1, 1, True)], "not a finite number"),
    ([(1, 1, None)], "not a finite number"),
    ([(1, 1, 1, 2**63)], "is not a time"),
    ([(1, 1, 1, 1.5)], "is not a time"),
    ([(1, 1, 1, "now")], "is not a time"),
    ([(1, 1)], "is not a rating"),
    ([(1, 1, 1, 1, 1)], "is not a rating"),
    ([7], "is not a rating"),
    (7, "is not a list of ratings"),
    ([(1, i, 1) for i in range(LARGEST_BATCH + 1)], "more than 10,000 ratings at once"),
]


@pytest.mark.parametrize(("changes", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_what_cannot_be_put_is_refused_and_nothing_of_it_is_kept(
    store: Store, changes: Any, said: str
) -> None:
    batch = [("good", "good", 1), *changes] if isinstance(changes, list) else changes
    with pytest.raises(DataError) as caught:
        store.put(batch)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 250
    assert caught.value.right
    assert store.version() == 0
    assert store.counts().ratings == 0


def test_the_message_names_the_place(store: Store) -> None:
    with pytest.raises(DataError, match=r"^rating 2: user_id is empty"):
        store.put([(1, 1, 1), ("", 1, 1)])


@pytest.mark.parametrize("identifier", ["", "a\0", "\udc00", 2**63, "x" * 300, None, 1.5])
def test_ids_are_checked_at_every_door(store: Store, identifier: Any) -> None:
    for call in (
        lambda: store.delete([(identifier, 1)]),
        lambda: store.delete([(1, identifier)]),
        lambda: store.erase(identifier),
        lambda: store.put_titles({identifier: "Title"}),
        lambda: store.titles([identifier]),
        lambda: store.get(identifier, 1),
        lambda: store.ratings_of(Side.ITEM, identifier),
        lambda: store.page(after=(identifier, 1)),
        lambda: store.page(of=(Side.USER, identifier)),
    ):
        with pytest.raises(DataError):
            call()
    assert store.version() == 0


@pytest.mark.parametrize("title", ["", "a\0b", "\ud800", "x" * (LONGEST_TITLE + 1), 7])
def test_titles_that_are_none(store: Store, title: Any) -> None:
    with pytest.raises(DataError, match="item 5: title"):
        store.put_titles({4: "Good", 5: title})
    assert store.titles() == {}


def test_limits_and_lists_that_are_none(store: Store) -> None:
    for limit in (0, -1, LARGEST_BATCH + 1, 2.0, True):
        with pytest.raises(DataError, match="limit"):
            store.page(limit)  # type: ignore[arg-type]
        with pytest.raises(DataError, match="limit"):
            store.changes_since(0, limit)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="not a pair"):
        store.delete([(1, 2, 3)])
    with pytest.raises(DataError, match="is not a mapping"):
        store.put_titles([(1, "One")])  # type: ignore[arg-type]


def test_a_full_batch_with_ids_of_the_greatest_length(store: Store) -> None:
    # Of four bytes a letter, and random, so that no index can make it shorter.
    noise = np.random.default_rng(0)
    long = ["".join(map(chr, noise.integers(0x10000, 0x10FFFF, LONGEST_ID))) for _ in range(20)]
    rows = [(user, item, 1) for user in long for item in long]
    assert store.put(rows) == Written(400, 0, 0)
    assert store.put(rows) == Written(0, 0, 400)
    assert {(r.user, r.item) for r in everything(store)} == {(u, i) for u, i, _ in rows}


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()
    for call in (store.version, lambda: store.put([(1, 1, 1)]), lambda: next(store.scan())):
        with pytest.raises(StoreError, match="is closed"):
            call()


def test_what_a_store_shows_of_itself(store: Store) -> None:
    assert repr(store) == f"<{type(store).__name__} {store.name}>"


def test_nothing_of_torch_or_numba_is_loaded_for_a_store() -> None:
    import subprocess

    code = "import sys, evichain.service.store; print({'torch', 'numba'} & set(sys.modules))"
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert ran.stdout.strip() == b"set()", ran.stderr
