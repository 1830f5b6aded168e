"""One evaluation for all kinds of recommenders: REC, baselines, others, and plain functions."""

from typing import Any

import numpy as np
import pytest

from evichain import Ratings
from evichain.baselines import evaluate_references, make_baseline
from evichain.errors import DataError
from evichain.evaluation import evaluate, list_metrics
from evichain.evaluation.prediction_errors import root_mean_square
from evichain.testing import planted_blocks
from evichain.testing.planted import planted_rating


def planted_test() -> Ratings:
    """Every pair that `planted_blocks` left out, and a user that it does not have."""
    rated = set(planted_blocks().frame.select("user_id", "item_id").rows())
    rest = [(user, item) for user in range(60) for item in range(40) if (user, item) not in rated]
    users, items = zip(*rest, (99, 3), strict=True)
    return Ratings.from_arrays(users, items, planted_rating(users, items))


class OnlyProtocol:
    """A recommender that hides everything but `predict` and `recommend`."""

    def __init__(self, model: Any) -> None:
        self.predict, self.recommend = model.predict, model.recommend


@pytest.mark.parametrize("name", ["online-mf", "biases", "popularity", "prank"])
def test_the_same_figures_through_the_bare_protocol(name: str) -> None:
    train, test = planted_blocks(), planted_test()
    model = make_baseline(name).fit(train)
    fast = evaluate(model, test, by_known=True)
    slow = evaluate(OnlyProtocol(model), test, train=train, by_known=True)  # type: ignore[arg-type]
    assert slow == fast
    assert list_metrics(model, test) == fast.lists


def test_a_function_that_scores_is_a_recommender() -> None:
    def truth(user: int, items: list[int]) -> Any:
        return planted_rating(np.full(len(items), user), items)

    test = planted_test()
    known = test.take(test.frame["user_id"].to_numpy() < 60)
    found = evaluate(truth, known, train=planted_blocks(), n=3)
    assert (found.rmse, found.impossible) == (0.0, 0)
    assert found.lists is not None
    assert found.lists.ndcg == found.lists.mrr == 1.0


def test_a_function_without_a_score_falls_back_to_the_mean() -> None:
    train, test = planted_blocks(), planted_test()
    found = evaluate(lambda user, items: [np.nan] * len(items), test, train=train)
    assert found.impossible == found.ratings == len(test)
    assert found.rmse == pytest.approx(
        root_mean_square(test.frame["rating"].to_numpy() - train.mean)
    )
    assert found.lists is not None
    assert found.lists.coverage == 0


def test_a_function_has_to_score_every_item() -> None:
    with pytest.raises(DataError, match=r"gave \(1,\) scores for 40 items"):
        list_metrics(lambda user, items: [1.0], planted_test(), train=planted_blocks())


def test_lists_need_the_training_ratings() -> None:
    with pytest.raises(DataError, match=r"n=0 for errors alone"):
        evaluate(lambda user, items: [1.0] * len(items), planted_test())


def test_groups_by_what_is_known_of_users() -> None:
    train = Ratings.from_arrays([1] * 3 + [2] * 25, [*range(3), *range(25)], [3.0] * 27 + [5.0])
    test = Ratings.from_arrays([1, 2, 2, 3], [20, 26, 27, 5], [5.0, 3.0, 4.0, 1.0])
    model = make_baseline("biases").fit(train)
    found = evaluate(model, test, n=2, by_known=True)
    assert found.by_known is not None
    groups = {group.known: group for group in found.by_known}
    assert list(groups) == ["0", "1-5", "21-100"]
    assert [group.users for group in groups.values()] == [1, 1, 1]
    assert [group.errors.ratings for group in groups.values()] == [1, 1, 2]
    assert groups["0"].errors.impossible == 1
    alone = evaluate(model, test.take(np.array([False, True, True, False])), n=2)
    assert groups["21-100"].errors.rmse == alone.rmse
    assert groups["21-100"].lists == alone.lists


def test_references_know_what_the_model_knows() -> None:
    found = evaluate_references(planted_blocks(), planted_test(), n=5)
    assert found.keys() == {"popularity", "biases"}
    assert all(one.lists is not None and one.lists.n == 5 for one in found.values())


def test_to_dict_has_every_figure() -> None:
    found = evaluate_references(planted_blocks(), planted_test(), by_known=True)["biases"].to_dict()
    assert {"rmse", "mae", "ratings", "impossible", "interval_coverage"} < found.keys()
    assert {"ndcg", "recall", "precision", "mrr", "map", "coverage"} < found["lists"].keys()
    assert found["by_known"][0]["known"] == "0"
