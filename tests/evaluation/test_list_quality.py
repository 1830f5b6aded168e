"""List metrics: by hand, by a literal loop, and in general."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evichain import REC, Ratings
from evichain.answering.lists import Pairs
from evichain.answering.ranking import NO_ITEM, top
from evichain.errors import DataError
from evichain.evaluation import ListMetrics
from evichain.evaluation import list_quality as lists_module
from evichain.evaluation.list_quality import make_lists
from evichain.kernels import Flags, Floats, Ints, Longs
from evichain.testing import planted_blocks
from evichain.testing.planted import planted_rating

Case = tuple[Floats, tuple[Flags, Flags], Pairs, Pairs, int]


def pairs(*found: tuple[int, int]) -> Pairs:
    who, what = zip(*found, strict=True) if found else ((), ())
    return np.array(who, np.int64), np.array(what, np.int32)


def ranked(
    scores: Floats,
    seen: Pairs,
    relevant: Pairs,
    n: int,
    has_embedding: tuple[Flags, Flags] | None = None,
) -> ListMetrics:
    """The metrics of the lists by these scores: [users, items]."""
    known = scores.copy()
    if has_embedding is not None:
        known[~has_embedding[0]] = -np.inf
        known[:, ~has_embedding[1]] = -np.inf

    def best(part: slice, rated: Pairs, length: int) -> Ints:
        block = known[part].copy()
        block[rated] = -np.inf
        return top(block, length).astype(np.int32)

    users, items = scores.shape
    return make_lists(best, users, items, seen, relevant, n).metrics()


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Scores, some of them equal, who and what is there, seen and relevant pairs, a length."""
    k, m = draw(st.integers(1, 6)), draw(st.integers(1, 9))
    noise = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    alike = draw(st.integers(1, m))
    scores = noise.permuted(np.tile(np.arange(m, dtype=np.float32) // alike, (k, 1)), axis=1)
    has_embedding = noise.random(k) < 0.8, noise.random(m) < 0.8
    seen, relevant = (np.argwhere(noise.random((k, m)) < 0.3) for _ in range(2))
    strangers = np.argwhere(noise.random((k, 2)) < 0.2)
    strangers[:, 1] = NO_ITEM
    relevant = noise.permutation(np.concatenate([relevant, strangers]))
    n = draw(st.integers(1, 12))
    return scores, has_embedding, _arrays(seen), _arrays(relevant), n


def _arrays(found: Longs) -> Pairs:
    return found[:, 0], found[:, 1].astype(np.int32)


def _listed(found: Pairs) -> list[tuple[int, int]]:
    return list(zip(found[0].tolist(), found[1].tolist(), strict=True))


def literal(
    scores: Floats, has_embedding: tuple[Flags, Flags], seen: Pairs, relevant: Pairs, n: int
) -> ListMetrics:
    """The definitions, user by user and item by item."""
    old, liked = _listed(seen), [pair for pair in _listed(relevant) if pair not in _listed(seen)]
    figures, covered = [], set()
    for user, row in enumerate(scores.tolist()):
        open_to = [i for i in range(len(row)) if has_embedding[1][i] and (user, i) not in old]
        best = sorted(open_to, key=lambda i: -row[i])[:n] if has_embedding[0][user] else []
        covered |= set(best)
        count = sum(who == user for who, _ in liked)
        if count:
            ranks = [rank for rank, item in enumerate(best, 1) if (user, item) in liked]
            ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(n, count) + 1))
            figures.append(
                (
                    sum(1 / math.log2(rank + 1) for rank in ranks) / ideal,
                    len(ranks) / count,
                    len(ranks) / n,
                    1 / ranks[0] if ranks else 0,
                    sum(k / rank for k, rank in enumerate(ranks, 1)) / min(n, count),
                )
            )
    means = [sum(v) / len(v) for v in zip(*figures, strict=True)] or [math.nan] * 5
    names = ("ndcg", "recall", "precision", "mrr", "map")
    return ListMetrics(
        n=n,
        users=len(figures),
        coverage=len(covered) / len(has_embedding[1]),
        **dict(zip(names, means, strict=True)),
    )


def test_by_hand() -> None:
    scores = np.array([[5, 4, 3, 2, 1], [1, 2, 3, 4, 5], [5, 4, 3, 2, 1]], np.float32)
    # Lists: 1 2, then 4 3, then 0 1. The last user has no relevant item.
    found = ranked(scores, pairs((0, 0)), pairs((1, 0), (0, 2), (1, 4), (1, 1)), 2)
    ndcgs = (1 / math.log2(3)) / 1, 1 / (1 + 1 / math.log2(3))
    assert found.ndcg == pytest.approx(sum(ndcgs) / 2)
    assert found.recall == pytest.approx((1 + 1 / 3) / 2)
    assert (found.coverage, found.users, found.n) == (1.0, 2, 2)


def test_what_cannot_be_listed_is_missed() -> None:
    scores = np.array([[3, 2, 1], [3, 2, 1]], np.float32)
    has_embedding = np.array([True, False]), np.array([False, True, True])
    found = ranked(scores, pairs(), pairs((0, 0), (0, 1), (0, NO_ITEM), (1, 1)), 2, has_embedding)
    ideal = 1 + 1 / math.log2(3)
    assert found.ndcg == pytest.approx((1 / ideal + 0) / 2)
    assert found.recall == pytest.approx((1 / 3 + 0) / 2)
    assert found.coverage == pytest.approx(2 / 3)
    assert found.users == 2


def test_nobody_with_a_relevant_item() -> None:
    found = ranked(np.ones((2, 2), np.float32), pairs((0, 1)), pairs((0, 1)), 1)
    assert math.isnan(found.ndcg)
    assert math.isnan(found.recall)
    assert found.users == 0


def test_nobody_at_all() -> None:
    found = ranked(np.ones((0, 2), np.float32), pairs(), pairs(), 1)
    assert (found.coverage, found.users) == (0.0, 0)


@given(case=cases(), chunk=st.sampled_from([1, 20, 1 << 20]))
def test_equals_the_definitions_whatever_the_chunks(case: Case, chunk: int) -> None:
    scores, has_embedding, seen, relevant, n = case
    expected = literal(*case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists_module, "_CELLS", chunk)
        found = ranked(scores, seen, relevant, n, has_embedding)
    assert (found.users, found.n) == (expected.users, n)
    for name in ("ndcg", "recall", "precision", "mrr", "map", "coverage"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), nan_ok=True)
        assert 0 <= getattr(found, name) <= 1 or not found.users


@given(cases())
def test_perfect_scores_give_exactly_1(case: Case) -> None:
    scores, _, seen, (who, what), n = case
    known = what != NO_ITEM
    relevant = who[known], what[known]
    scores[relevant] += scores.shape[1]
    found = ranked(scores, seen, relevant, n)
    if found.users:
        assert found.ndcg == 1
        assert found.recall == 1 or n < np.bincount(relevant[0]).max()


@given(cases())
def test_what_was_seen_changes_nothing_by_being_relevant(case: Case) -> None:
    scores, has_embedding, seen, relevant, n = case
    both = sorted({*_listed(seen), *_listed(relevant)} - {(u, NO_ITEM) for u in range(9)})
    only = [pair for pair in both if pair not in _listed(seen)]
    one, other = (ranked(scores, seen, pairs(*which), n, has_embedding) for which in (both, only))
    assert repr(one) == repr(other)


@pytest.fixture(scope="module")
def model() -> REC:
    settings: dict[str, Any] = {"iterations": 150, "batch_size": 128, "learning_rate": 5e-3}
    settings |= {"embedding_size": 4, "width": 16, "prototype_users": 8, "prototype_items": 8}
    return REC(**settings, evidence_limit=16, max_depth=2).fit(planted_blocks())


def unrated() -> Ratings:
    """Every pair that `planted_blocks` left out, with its right rating."""
    rated = set(planted_blocks().frame.select("user_id", "item_id").rows())
    rest = [(user, item) for user in range(60) for item in range(40) if (user, item) not in rated]
    users, items = zip(*rest, strict=True)
    return Ratings.from_arrays(users, items, planted_rating(users, items))


def test_the_planted_likes_come_first(model: REC) -> None:
    found = model.rank(unrated(), 3)
    assert found.ndcg > 0.95
    assert 55 <= found.users <= 60
    assert found.n == 3


def test_the_same_lists_as_recommended(model: REC) -> None:
    test = unrated()
    likes: dict[int, set[int]] = {}
    for user, item, rating in test.frame.select("user_id", "item_id", "rating").rows():
        likes.setdefault(user, set())
        if rating >= model.graph.mean:
            likes[user].add(item)
    lists = {user: {r.item for r in model.recommend(user, 5)} for user in likes}
    recalls = [len(lists[user] & liked) / len(liked) for user, liked in likes.items() if liked]
    found = model.rank(test, 5)
    assert found.recall == pytest.approx(np.mean(recalls))
    assert found.coverage == len(set().union(*lists.values())) / 40


def test_strangers_get_nothing_and_count(model: REC) -> None:
    new = int(model.recommend(0, 1)[0].item)
    frame = pl.DataFrame({"user": [0, 991, 992, 992], "item": [new, new, 1, 2], "rating": [5] * 4})
    found = model.rank(frame, 1)
    assert (found.users, found.ndcg, found.recall) == (3, 1 / 3, 1 / 3)
    named = frame.with_columns(pl.Series("item", [str(new), "what", "x", "y"]))
    assert model.rank(named, 1).users == 3


def test_relevant_is_what_is_at_or_above_the_threshold(model: REC) -> None:
    new = [int(r.item) for r in model.recommend(0, 2)]
    frame = pl.DataFrame({"user": [0, 0], "item": new, "rating": [4, 5]})
    assert model.rank(frame, 1).recall == 0.5
    assert model.rank(frame, 1, threshold=4).recall == 0.5
    assert model.rank(frame, 1, threshold=4.5).recall == 0
    assert model.rank(frame, 1, threshold=6).users == 0


def test_what_the_model_was_trained_on_shows_nothing(model: REC) -> None:
    assert model.rank(planted_blocks()).users == 0


@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_lists_of_no_length_are_refused(model: REC, n: int) -> None:
    with pytest.raises(DataError, match=r"[Aa]sk for"):
        model.rank(planted_blocks(), n)


def test_progress_counts_users(model: REC, capsys: pytest.CaptureFixture[str]) -> None:
    model.rank(unrated(), progress=True)
    assert "Ranking: done, 60 users" in capsys.readouterr().err
