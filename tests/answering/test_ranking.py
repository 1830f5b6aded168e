"""The highest scores: of one row, of many, and with ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evichain.answering.lists import Pairs
from evichain.answering.ranking import NO_ITEM, top, top_of_one
from evichain.kernels import Flags, Floats, Longs

Case = tuple[Floats, tuple[Flags, Flags], Pairs, int]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Scores, some of them equal, who and what has an embedding, seen pairs, a length."""
    k, m = draw(st.integers(1, 6)), draw(st.integers(1, 9))
    noise = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    alike = draw(st.integers(1, m))
    scores = noise.permuted(np.tile(np.arange(m, dtype=np.float32) // alike, (k, 1)), axis=1)
    has_embedding = noise.random(k) < 0.8, noise.random(m) < 0.8
    seen = np.argwhere(noise.random((k, m)) < 0.3)
    n = draw(st.integers(1, 12))
    return scores, has_embedding, _arrays(seen), n


def _arrays(found: Longs) -> Pairs:
    return found[:, 0], found[:, 1].astype(np.int32)


def _listed(found: Pairs) -> list[tuple[int, int]]:
    return list(zip(found[0].tolist(), found[1].tolist(), strict=True))


@given(cases())
def test_lists_hold_the_best_of_what_is_there_and_new(case: Case) -> None:
    scores, has_embedding, seen, n = case
    left = scores.copy()
    left[~has_embedding[0]] = left[:, ~has_embedding[1]] = left[seen] = -np.inf
    lists = top(left, n)
    old = set(_listed(seen))
    for user, row in enumerate(lists.tolist()):
        items = [item for item in row if item != NO_ITEM]
        assert row == items + [NO_ITEM] * (len(row) - len(items))
        assert has_embedding[1][items].all()
        assert not old & {(user, item) for item in items}
        falls = np.diff(scores[user][items])
        assert ((falls < 0) | ((falls == 0) & (np.diff(items) > 0))).all()
        assert has_embedding[0][user] or not items


@given(cases())
def test_one_list_is_that_of_many(case: Case) -> None:
    scores, has_embedding, seen, n = case
    old = scores.copy()
    old[:, ~has_embedding[1]] = -np.inf
    old[seen] = -np.inf
    for user, row in enumerate(top(old, n)):
        alone = top_of_one(scores[user], has_embedding[1], seen[1][seen[0] == user], n)
        assert row[row != NO_ITEM].tolist() == alone.tolist()


@pytest.mark.parametrize("n", [1, 7, 99, 101, 150])
def test_of_many_equals_the_first_are_listed(n: int) -> None:
    scores = np.repeat(np.array([[1, 2, 0]], np.float32), 100, axis=1)
    best = [*range(100, 200), *range(100)][:n]
    assert top(scores, n).tolist() == [best]
    assert top_of_one(scores[0], np.ones(300, np.bool_), np.empty(0, np.int64), n).tolist() == best
