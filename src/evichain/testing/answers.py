"""Checks of what a recommender answers: forms, ids, unknown entities, lists of items."""

import numpy as np

from evichain.errors import EvichainError, UnknownEntityError
from evichain.protocol import Prediction, Predictions, Recommendation
from evichain.ratings.ids import Id
from evichain.ratings.table import Ratings
from evichain.testing.expectations import (
    TOLERANCE,
    Make,
    alike,
    estimates_of,
    estimates_ratings,
    expect,
    expect_no_error,
    expect_raises,
    fitted,
    renamed,
    some_pairs,
)
from evichain.testing.planted import HIGH, LOW, planted_blocks


def check_scalars_and_arrays(make: Make) -> None:
    """A pair of ids gives a Prediction; lists and arrays give Predictions of the same pairs."""
    model = fitted(make)
    users, items = some_pairs()
    one = model.predict(users[1], items[1])
    expect(isinstance(one, Prediction), f"a Prediction of two ids, not {type(one).__name__}")
    expect(type(one.estimate) is float, f"a float, not {type(one.estimate).__name__}")
    expect(one.reason is None, f"no reason for a pair of known ids, not {one.reason!r}")

    many = model.predict(users, items)
    expect(isinstance(many, Predictions), f"Predictions of lists, not {type(many).__name__}")
    expect(many.estimates.shape == (len(users),), f"{len(users)} estimates of so many pairs")
    expect(many.estimates.dtype == np.float32, f"float32 estimates, not {many.estimates.dtype}")
    expect(len(many.reasons) == len(users), f"{len(users)} reasons of so many pairs")
    expect(bool(np.isfinite(many.estimates).all()), "finite estimates")

    arrays = model.predict(np.array(users), np.array(items)).estimates
    expect(alike(many.estimates, arrays), "the same estimates of arrays as of lists")
    singly = [model.predict(*pair).estimate for pair in zip(users[:20], items[:20], strict=True)]
    same = alike(many.estimates[:20], np.array(singly))
    expect(same, "the same estimates of pairs asked singly as of pairs asked together")


def check_broadcasting(make: Make) -> None:
    """One user with many items, or many users with one item, are as many pairs."""
    model = fitted(make)
    users, items = [0, 1, 7], [3, 4, 5]
    for one in (7, [7]):
        with expect_no_error("from predict of one user and many items"):
            found = estimates_of(model, one, items)
        same = alike(found, estimates_of(model, [7] * 3, items))
        expect(same, "one user with many items to be the same as that user repeated")
    for one in (3, [3]):
        with expect_no_error("from predict of many users and one item"):
            found = estimates_of(model, users, one)
        same = alike(found, estimates_of(model, users, [3] * 3))
        expect(same, "one item with many users to be the same as that item repeated")


def check_lengths(make: Make) -> None:
    """No pairs give no predictions; two users with three items are refused."""
    model = fitted(make)
    with expect_no_error("from predict([], [])"):
        expect(len(model.predict([], [])) == 0, "no predictions of no pairs")
    with expect_raises((EvichainError, ValueError), "of two users and three items"):
        model.predict([0, 1], [0, 1, 2])


def check_ids(make: Make) -> None:
    """Integers and strings come back as they went in, and so do titles."""
    ratings = planted_blocks()
    for users, items, kind in (("", "", int), ("u", "i", str), ("u", "", int), ("", "i", str)):
        table = renamed(ratings, users, items)
        with expect_no_error(f"with {kind.__name__} item ids"):
            model = fitted(make, table)
            found = model.predict(table.frame["user_id"][0], table.frame["item_id"][0])
            expect(found.reason is None, f"rated ids to be known, not {found.reason!r}")
            listed = model.recommend(table.frame["user_id"][0], 5)
        known = set(table.frame["item_id"])
        for entry in listed:
            is_one = type(entry.item) is kind and entry.item in known
            expect(is_one, f"item ids of type {kind.__name__} as they went in, not {entry.item!r}")
            title = str(entry.item)
            expect(entry.title == title, f"the title {title!r} for want of another")


def check_titles(make: Make) -> None:
    """Recommended items carry the titles that came with the ratings."""
    plain = planted_blocks()
    items = plain.frame.select("item_id").unique()
    titles = items.with_columns(("The story of " + items["item_id"].cast(str)).alias("title"))
    model = fitted(make, Ratings(plain.frame, titles=titles))
    for entry in model.recommend(0, 5):
        title = f"The story of {entry.item}"
        expect(entry.title == title, f"the title {title!r}, not {entry.title!r}")


def check_unknown_entities(make: Make) -> None:
    """A pair with an unknown id is flagged, whatever the id, and leaves other pairs alone."""
    model = fitted(make)
    unknown_pairs: list[tuple[Id, Id]] = [
        (10**6, 0),
        (0, 10**6),
        (10**6, 10**6),
        (-1, 0),
        ("nobody", 0),
        (0, "nothing"),
    ]
    for user, item in unknown_pairs:
        with expect_no_error(f"from predict({user!r}, {item!r})"):
            found = model.predict(user, item)
        expect(bool(found.reason), f"a reason with the prediction of ({user!r}, {item!r})")
        expect(found.impossible, "a prediction with a reason to be impossible")
        if estimates_ratings(model):
            expect(LOW <= found.estimate <= HIGH, f"a mean-like estimate, not {found.estimate}")
    mixed = model.predict([10**6, 3, 4], [3, 3, 10**6])
    flags = [reason is not None for reason in mixed.reasons]
    expect(flags == [True, False, True], f"only unknown pairs flagged, not {flags}")
    alone = model.predict(3, 3).estimate
    same = abs(mixed[1].estimate - alone) <= TOLERANCE
    expect(same, "a known pair's estimate not to change beside unknown ones")
    with expect_raises(UnknownEntityError, "from recommend of an unknown user"):
        model.recommend(10**6)


def check_recommendations(make: Make) -> None:
    """Recommendations are distinct, best first, and what predict says of them."""
    ratings = planted_blocks()
    model = fitted(make, ratings)
    for user in (0, 1, 31):
        listed = model.recommend(user, n=7)
        entries = isinstance(listed, list) and all(isinstance(e, Recommendation) for e in listed)
        expect(entries, "a list of Recommendation")
        expect(len(listed) == 7, f"7 recommendations, not {len(listed)}")
        items = [entry.item for entry in listed]
        expect(len(set(items)) == len(items), "every item at most once")
        scores = np.array([entry.estimate for entry in listed])
        expect(bool((np.diff(scores) <= TOLERANCE).all()), "the highest estimate first")
        predicted = estimates_of(model, [user] * len(items), items)
        expect(alike(scores, predicted), "the estimates that predict gives")
        seen = set(ratings.frame.filter(ratings.frame["user_id"] == user)["item_id"])
        unseen = [item for item in range(40) if item not in seen and item not in items]
        best = estimates_of(model, [user] * len(unseen), unseen).max(initial=-np.inf)
        expect(best <= scores[-1] + TOLERANCE, "no better item left out")


def check_catalogue_end(make: Make) -> None:
    """A list longer than the catalogue has all items; a list of 0 items is empty."""
    ratings = planted_blocks()
    model = fitted(make, ratings)
    for user in (0, 17):
        seen = set(ratings.frame.filter(ratings.frame["user_id"] == user)["item_id"])
        everything = set(range(40))
        with expect_no_error("when n is larger than the catalogue"):
            unseen = [entry.item for entry in model.recommend(user, n=1000)]
            all_of_it = [entry.item for entry in model.recommend(user, n=1000, exclude_seen=False)]
            nothing = model.recommend(user, n=0)
        expect(seen.isdisjoint(unseen), "nothing that the user has rated, by default")
        expect(sorted(map(str, unseen)) == sorted(map(str, everything - seen)), "all unseen items")
        expect(set(all_of_it) == everything, "all items with exclude_seen=False")
        expect(len(all_of_it) == len(everything), "every item at most once")
        expect(nothing == [], "an empty list for n=0")
