"""Checks of optional abilities: save and load, add, explain, similar_items, score_histories.

Each is skipped for a recommender that has no such method.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from evichain.evaluation.scoring import Histories
from evichain.protocol import Recommender, Similar
from evichain.ratings.ids import Id
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings
from evichain.testing.expectations import (
    Make,
    alike,
    estimates_of,
    expect,
    expect_no_error,
    fitted,
    needs,
    renamed,
    some_pairs,
)
from evichain.testing.planted import HIGH, LOW, planted_blocks, planted_rating
from evichain.testing.traces import TRACE_TOLERANCE, check_trace

NEW_USER, NEW_ITEM = 100, 101


def check_save_and_load(make: Make) -> None:
    """A loaded recommender answers exactly as the saved one, also for unknown ids and settings."""
    needs(make, "save", "load")
    users, items = some_pairs()
    named = [f"u{user}" for user in users], [f"i{item}" for item in items]
    _check_saved(make, planted_blocks(), users, items)
    _check_saved(make, renamed(planted_blocks(), "u", "i"), *named)


def _check_saved(make: Make, ratings: Ratings, users: Sequence[Id], items: Sequence[Id]) -> None:
    model: Any = fitted(make, ratings)
    with TemporaryDirectory() as folder, expect_no_error("from save and load"):
        model.save(Path(folder) / "model")
        loaded = type(model).load(Path(folder) / "model")
        same = np.array_equal(estimates_of(model, users, items), estimates_of(loaded, users, items))
        expect(same, "a loaded recommender to give the same estimates")
        listed = loaded.recommend(users[0])
        expect(model.recommend(users[0]) == listed, "a loaded one to recommend the same")
        strange = loaded.predict("nobody", items[0])
        expect(
            model.predict("nobody", items[0]) == strange, "a loaded one to give the same reasons"
        )
        params = loaded.get_params()
        expect(model.get_params() == params, "a loaded one to have the same settings")


def check_add_serves_new_entities(make: Make) -> None:
    """After `add`, a new user and a new item are known and served well, without retraining."""
    needs(make, "add")
    model: Any = fitted(make)
    others = np.arange(60)
    new_ratings = Ratings.from_arrays(
        [NEW_USER] * 12 + others[:30].tolist(),
        list(range(12)) + [NEW_ITEM] * 30,
        [*planted_rating([0] * 12, range(12)), *planted_rating(others[:30], [0] * 30)],
    )
    with expect_no_error("from add of a new user and a new item"):
        model = _added(model, new_ratings)
    for user, item in ((NEW_USER, 20), (0, NEW_ITEM), (NEW_USER, NEW_ITEM)):
        found = model.predict(user, item)
        expect(found.reason is None, f"({user}, {item}) known after add, not {found.reason!r}")
    likes, dislikes = (estimates_of(model, [NEW_USER] * 10, list(range(k, 40, 4))) for k in (0, 1))
    gap = float(likes.mean() - dislikes.mean())
    enough = (HIGH - LOW) / 4
    expect(gap > enough, f"the new user's block rated {enough:.1f} above the other, not {gap:.2f}")
    listed = {entry.item for entry in model.recommend(NEW_USER, n=1000)}
    expect(listed == {*range(12, 40), NEW_ITEM}, "all items the new user has not rated")


def check_add_equals_having_had(make: Make) -> None:
    """Answers depend on the ratings, not on how they are added: at once, in parts, or again."""
    needs(make, "add")
    ratings = planted_blocks()
    first, second = _new_ratings(NEW_USER, NEW_ITEM), _new_ratings(NEW_USER + 10, NEW_ITEM + 10)
    both = Ratings(pl.concat([first.frame, second.frame]))
    asked = [0, 1, 2, 30, NEW_USER, NEW_USER + 10], [0, 1, 2, 39, NEW_ITEM, NEW_ITEM + 10]
    users = [user for user in asked[0] for _ in asked[1]]
    items = asked[1] * len(asked[0])

    def estimates(*additions: Ratings) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        model = fitted(make, ratings)
        for addition in additions:
            model = _added(model, addition)
        return estimates_of(model, users, items)

    with expect_no_error("from add"):
        at_once = estimates(both)
        expect(alike(estimates(first, second), at_once), "adding in parts to equal adding at once")
        expect(alike(estimates(second, first), at_once), "the order of additions not to matter")
        expect(alike(estimates(both, both), at_once), "adding the same again to change nothing")
        earlier = Ratings(first.frame.with_columns(rating=HIGH + LOW - pl.col("rating")))
        corrected = estimates(earlier, both)
        expect(alike(corrected, at_once), "a rating given again to replace the one before")


def check_add_leaves_its_input(make: Make) -> None:
    """`add` leaves the ratings it is given, and those given to `fit`, as they were."""
    needs(make, "add")
    ratings, new_ratings = planted_blocks(), _new_ratings(NEW_USER, NEW_ITEM)
    before, new_before = ratings.frame.clone(), new_ratings.frame.clone()
    _added(fitted(make, ratings), new_ratings)
    expect(ratings.frame.equals(before), "the ratings given to fit to stay as they were")
    expect(new_ratings.frame.equals(new_before), "the ratings given to add to stay as they were")


def check_explanations(make: Make) -> None:
    """The contributions of an explanation add up to what predict says."""
    needs(make, "explain")
    model: Any = fitted(make)
    for user, item in ((0, 0), (0, 1), (7, 39), (59, 12)):
        with expect_no_error(f"from explain({user}, {item})"):
            trace = model.explain(user, item)
            check_trace(trace)
        expect((trace.user.id, trace.item.id) == (user, item), f"({user}, {item}) explained")
        found = model.predict(user, item)
        same = abs(trace.estimate - found.estimate) <= TRACE_TOLERANCE
        expect(same, f"{found.estimate} explained, as predicted, not {trace.estimate}")
        expect(trace.reason == found.reason, "the reason that predict gives")


def check_similar_items(make: Make) -> None:
    """The items most similar to one are of its block, distinct, most similar first."""
    needs(make, "similar_items")
    model: Any = fitted(make)
    blocks = []
    for item in range(0, 40, 5):
        listed = model.similar_items(item, n=4)
        expect(all(isinstance(entry, Similar) for entry in listed), "a list of Similar")
        items = [entry.item for entry in listed]
        expect(len(items) == len(set(items)) == 4, f"4 distinct items, not {items}")
        expect(item not in items, "an item not to be similar to itself")
        scores = [entry.similarity for entry in listed]
        expect(scores == sorted(scores, reverse=True), "the most similar first")
        blocks += [other % 2 == item % 2 for other in items]
    share = float(np.mean(blocks))
    expect(share >= 0.9, f"90% of similar items from the same block, not {share:.0%}")
    expect(len(model.similar_items(0, n=1000)) == 39, "all other items when n is very large")


def check_histories(make: Make) -> None:
    """People are scored by their histories alone, whoever is asked with them."""
    needs(make, "score_histories")
    model: Any = fitted(make)
    index = model.graph.ids[Side.ITEM].index
    people = [range(0, 24, 2), range(1, 25, 2), [], [5]]
    items = np.concatenate([index(list(person)) for person in people]).astype(np.int32)
    indptr = np.append(0, np.cumsum([len(person) for person in people]))
    weights = np.full(len(items), HIGH, np.float32)
    together = Histories(indptr, items, weights)
    with expect_no_error("from score_histories"):
        scores = np.asarray(model.score_histories(together))
        nobody = np.asarray(model.score_histories(together.part(slice(0, 0))))
    expect(scores.shape == (4, 40), f"scores of 4 people and 40 items, not {scores.shape}")
    expect(nobody.shape == (0, 40), f"scores of nobody, not {nobody.shape}")
    expect(not np.isnan(scores).any(), "no score to be NaN")
    alone = np.concatenate(
        [model.score_histories(together.part(slice(k, k + 1))) for k in range(4)]
    )
    expect(alike(scores, alone), "the same scores for people asked singly as for all at once")
    backwards = Histories(indptr[:2], items[:12][::-1].copy(), weights[:12])
    turned = np.asarray(model.score_histories(backwards))
    expect(alike(scores[:1], turned), "the order of a history not to matter")
    expect(bool((weights == HIGH).all()), "the weights to stay as they were")


def _added(model: Any, new_ratings: Ratings) -> Recommender:
    """The recommender with the ratings, whether `add` returns it or not."""
    grown = model.add(new_ratings)
    found: Recommender = model if grown is None else grown
    return found


def _new_ratings(user: int, item: int) -> Ratings:
    """A new user's ratings of known items, and known users' ratings of a new item."""
    items, users = range(user % 7, 40, 3), range(item % 5, 60, 4)
    return Ratings.from_arrays(
        [user] * len(items) + list(users),
        list(items) + [item] * len(users),
        [
            *planted_rating([user] * len(items), list(items)),
            *planted_rating(list(users), [item] * len(users)),
        ],
    )
