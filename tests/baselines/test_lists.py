"""The baselines for lists: their equations, their weights, and lists for users of the data."""

from typing import Any

import numpy as np
import pytest
from tests.choices import liked_blocks, only_liked

from evichain import Ratings
from evichain.baselines import FOR_LISTS, make_baseline
from evichain.baselines import collaborative_greedy as greedy_module
from evichain.baselines import ease as ease_module
from evichain.baselines.ials import IALS
from evichain.errors import DataError
from evichain.evaluation import Histories, evaluate
from evichain.kernels import Floats
from evichain.ratings.ids import UNKNOWN
from evichain.testing import planted_blocks

CHOSEN = only_liked(liked_blocks())
"""Users who only choose items of their own block."""


def matrix(model: Any, *, weighted: bool = False) -> Floats:
    """[users, items] of a fitted model's graph."""
    rows = model.graph.rows[0]
    values = model.graph.scale.decode(rows.codes) if weighted else np.ones(len(model.graph))
    return Histories(rows.indptr, rows.indices, values.astype(np.float32)).dense(
        len(model.graph.ids[1])
    )


def histories_of(dense: Floats) -> Histories:
    indptr = np.append(0, np.cumsum((dense != 0).sum(axis=1)))
    rows, items = np.nonzero(dense)
    return Histories(indptr, items.astype(np.int32), dense[rows, items])


@pytest.mark.parametrize("weighted", [False, True])
def test_ease_minimizes_its_loss(weighted: bool) -> None:
    model: Any = make_baseline("ease", weighted=weighted, regularization=7.0).fit(planted_blocks())
    x = matrix(model, weighted=weighted).astype(np.float64)
    expected = np.zeros((40, 40))
    for item in range(40):
        others = np.delete(np.arange(40), item)
        a = x[:, others]
        solved = np.linalg.solve(a.T @ a + 7 * np.eye(39), a.T @ x[:, item])
        expected[others, item] = solved
    found = model.score_histories(histories_of(matrix(model, weighted=True)))
    assert found == pytest.approx(x @ expected, abs=1e-4)
    assert model.parameter_count == 1600


def test_ials_minimizes_the_published_loss() -> None:
    model = IALS(factors=2, unobserved=0.25, ridge=0.01, iterations=60).fit(CHOSEN)
    x = matrix(model).astype(np.float64)
    users, items = x.shape
    a, n = 0.25, x.sum()
    strength = 0.01 * np.sqrt((n / users + a * items) * (n / items + a * users))
    random = np.random.default_rng(0)
    keys = random.normal(size=(items, 2))
    for _ in range(200):
        keys_before = keys
        rows = half_step(keys, x, a, strength)
        keys = half_step(rows, x.T, a, strength)
    assert keys == pytest.approx(keys_before, abs=1e-6)
    expected = half_step(keys, x, a, strength) @ keys.T
    # Implicit aims at 1 where the published form aims at 1 / (1 + a): a common factor.
    found = model.score_histories(histories_of(x.astype(np.float32)))
    assert found == pytest.approx(expected * (1 + a), abs=0.02)


def half_step(keys: Any, links: Any, unobserved: float, strength: float) -> Any:
    """Rendle's half-step: observed 1, everything 0 with the weight `unobserved`."""
    everywhere = unobserved * keys.T @ keys + strength * np.eye(keys.shape[1])
    return np.stack(
        [np.linalg.solve(everywhere + (keys * row[:, None]).T @ keys, row @ keys) for row in links]
    )


def test_item_cosine_adds_up_the_cosines() -> None:
    model: Any = make_baseline("item-cosine", neighbours=40).fit(CHOSEN)
    x = matrix(model).astype(np.float64)
    cosines = x.T @ x / np.sqrt(np.outer(x.sum(0), x.sum(0)))
    found = model.score_histories(histories_of(x.astype(np.float32)))
    assert found == pytest.approx(x @ cosines, abs=1e-4)


def test_collaborative_greedy_counts_what_neighbours_chose() -> None:
    ratings = Ratings.from_arrays([0, 0, 1, 1, 2, 2, 3], [0, 1, 0, 2, 2, 3, 4], [1] * 7)
    model: Any = make_baseline("collaborative-greedy", similarity=0.4).fit(ratings)
    asked = np.array([[1, 0, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 0]], np.float32)
    found = model.score_histories(histories_of(asked))
    # Neighbours of item 0 alone: users 0 and 1. Of items 2 and 3: users 1 and 2. Then everyone.
    assert found[0].tolist() == [1, 0.5, 0.5, 0, 0]
    assert found[1].tolist() == [0.5, 0, 1, 0.5, 0]
    assert found[2].tolist() == [0.5, 0.25, 0.5, 0.25, 0.25]


def test_collaborative_greedy_goes_over_users_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    model: Any = make_baseline("collaborative-greedy").fit(planted_blocks())
    asked = histories_of(matrix(model))
    whole = model.score_histories(asked)
    monkeypatch.setattr(greedy_module, "_CELLS", 300)
    assert model.score_histories(asked) == pytest.approx(whole, abs=1e-6)


@pytest.mark.parametrize("weighting", ["cosine", "tfidf", "bm25"])
def test_every_weighting_finds_the_block(weighting: str) -> None:
    model = make_baseline("item-cosine", weighting=weighting).fit(CHOSEN)
    listed = [int(str(entry.item)) for entry in model.recommend(1, n=5)]
    assert {item % 2 for item in listed} == {1}


@pytest.mark.parametrize("name", FOR_LISTS)
def test_ratings_count_only_if_they_are_to(name: str) -> None:
    ratings, pair = planted_blocks(), ([0] * 40, range(40))
    others = Ratings(ratings.frame.with_columns(rating=6 - ratings.frame["rating"]))
    plain, same = (make_baseline(name).fit(r).predict(*pair).estimates for r in (ratings, others))
    weighted, other = (
        make_baseline(name, weighted=True).fit(r).predict(*pair).estimates
        for r in (ratings, others)
    )
    assert plain == pytest.approx(same, abs=1e-6)
    assert plain != pytest.approx(weighted, abs=1e-2)
    assert weighted != pytest.approx(other, abs=1e-2)


@pytest.mark.parametrize("name", FOR_LISTS)
def test_users_of_the_data_are_scored_by_their_history(name: str) -> None:
    model: Any = make_baseline(name).fit(planted_blocks())
    users = np.array([3, UNKNOWN, 59], np.int32)
    scores = model.score_users(users)(slice(0, 3))
    expected = model.score_histories(histories_of(matrix(model)))
    assert scores[[0, 2]] == pytest.approx(expected[[3, 59]], abs=1e-5)
    assert (scores[1] == -np.inf).all()
    assert model.predict([59] * 40, range(40)).estimates == pytest.approx(scores[2], abs=1e-5)


@pytest.mark.parametrize("name", FOR_LISTS)
def test_estimates_are_scores_and_have_no_errors(name: str) -> None:
    model = make_baseline(name).fit(CHOSEN)
    assert not model.estimates_ratings
    others = planted_blocks(seed=1, density=1.0)
    found = evaluate(model, others, n=5, threshold=5)
    assert np.isnan(found.rmse)
    assert np.isnan(found.mae)
    assert found.lists is not None
    assert found.lists.ndcg > 0.9
    nobody = model.predict("nobody", 0)
    assert (nobody.estimate, nobody.reason) == (0.0, "unknown user 'nobody'")


def test_a_catalogue_too_large_for_ease_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ease_module, "MOST_ITEMS", 39)
    with pytest.raises(DataError, match="40 items: EASE keeps a number for each pair"):
        make_baseline("ease").fit(planted_blocks())


def test_a_large_catalogue_is_inverted_in_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = make_baseline("ease").fit(CHOSEN).predict([0] * 40, range(40)).estimates
    monkeypatch.setattr(ease_module, "_EXACT_ITEMS", 39)
    found = make_baseline("ease").fit(CHOSEN).predict([0] * 40, range(40)).estimates
    assert found == pytest.approx(exact, abs=1e-4)
