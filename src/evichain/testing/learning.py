"""Checks of what a recommender learns: the planted structure, reproducibly."""

import random

import numpy as np
import torch

from evichain.ratings.table import Ratings
from evichain.testing.expectations import (
    Make,
    estimates_of,
    expect,
    expect_no_error,
    fitted,
    needs_interactions,
    needs_ratings,
    some_pairs,
)
from evichain.testing.planted import HIGH, planted_blocks, planted_rating

OFTEN = 0.9


def check_determinism(make: Make) -> None:
    """The same settings and ratings give the same answers, to the last bit; a refit forgets."""
    first, second = fitted(make), fitted(make)
    pairs = some_pairs()
    answers = estimates_of(first, *pairs)
    same = np.array_equal(answers, estimates_of(second, *pairs))
    expect(same, "two recommenders made and fitted alike to give the same estimates")
    expect(first.recommend(0) == second.recommend(0), "the same recommendations from both")
    expect(
        np.array_equal(answers, estimates_of(first, *pairs)), "the same answers when asked again"
    )
    second.fit(planted_blocks(seed=1)).fit(planted_blocks())
    refitted = np.array_equal(answers, estimates_of(second, *pairs))
    expect(refitted, "fit to forget what was learnt before")


def check_global_state(make: Make) -> None:
    """Draws come from its own seed and leave the global random generators unchanged."""
    before = _shared_generators()
    fitted(make).recommend(0)
    for name, state in _shared_generators().items():
        expect(state == before[name], f"the random state of {name} to be left alone")


def _shared_generators() -> dict[str, object]:
    return {
        "random": random.getstate(),
        "numpy.random": np.random.get_state(legacy=True)[1].tolist(),  # type: ignore[index] # noqa: NPY002
        "torch": torch.get_rng_state().tolist(),
    }


def check_planted_structure(make: Make) -> None:
    """On unseen ratings, the error is less than half that of the mean."""
    needs_interactions(make)
    needs_ratings(make)
    ratings = planted_blocks()
    model = fitted(make, ratings)
    rated = np.zeros((60, 40), np.bool_)
    rated[ratings.frame["user_id"].to_numpy(), ratings.frame["item_id"].to_numpy()] = True
    users, items = np.nonzero(~rated)
    truth = planted_rating(users, items)
    found = estimates_of(model, users.tolist(), items.tolist())
    error = float(np.sqrt(np.mean((found - truth) ** 2)))
    of_mean = float(np.sqrt(np.mean((ratings.mean - truth) ** 2)))
    bound = of_mean / 2
    expect(error < bound, f"an RMSE on unseen ratings under {bound:.2f}, not {error:.2f}")


def check_planted_ranking(make: Make) -> None:
    """The items of a user's own block rank first."""
    needs_interactions(make)
    model = fitted(make)
    hits = [
        planted_rating(user, int(entry.item)).item() == HIGH
        for user in range(60)
        for entry in model.recommend(user, n=3)
    ]
    share = float(np.mean(hits)) if hits else 0.0
    expect(share >= OFTEN, f"{OFTEN:.0%} of top items from the user's block, not {share:.0%}")


def check_odd_data(make: Make) -> None:
    """A single rating, a single value and a continuous scale are ratings too."""
    draw = np.random.default_rng(0)
    users, items = draw.integers(12, size=60), draw.integers(9, size=60)
    tables = {
        "a single rating": Ratings.from_arrays([1], [2], [3.0]),
        # Few: many ratings that are all the same are refused.
        "a few ratings that are all the same": Ratings.from_arrays(
            users[:19], items[:19], np.full(19, 4.0)
        ),
        "a continuous scale below zero": Ratings.from_arrays(
            users, items, draw.uniform(-10, -5, 60)
        ),
    }
    for kind, table in tables.items():
        with expect_no_error(f"when fitted to {kind}"):
            model = fitted(make, table)
            found = model.predict(
                table.frame["user_id"].to_list(), table.frame["item_id"].to_list()
            )
            model.recommend(table.frame["user_id"][0])
        expect(bool(np.isfinite(found.estimates).all()), f"finite estimates of {kind}")
