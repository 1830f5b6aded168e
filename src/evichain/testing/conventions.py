"""Checks of conventions: settings as in scikit-learn, errors before fit, inputs unchanged."""

from unittest import SkipTest

import numpy as np

from evichain.errors import NotFittedError
from evichain.protocol import Recommender
from evichain.testing.expectations import (
    Make,
    estimates_of,
    expect,
    expect_no_error,
    expect_raises,
    fitted,
    some_pairs,
)
from evichain.testing.planted import planted_blocks


def check_protocol(make: Make) -> None:
    """It has the methods of a Recommender, and fit returns the recommender itself."""
    model = make()
    expect(isinstance(model, Recommender), "all methods of evichain.protocol.Recommender")
    expect(model.fit(planted_blocks()) is model, "fit to return the recommender itself")
    with expect_no_error("from fit(ratings, progress=False)"):
        make().fit(planted_blocks(), progress=False)


def check_params(make: Make) -> None:
    """`get_params` and `set_params` are each other's inverse, and make a twin."""
    model = make()
    params = model.get_params()
    expect(isinstance(params, dict), "a dict from get_params")
    with expect_no_error("when made from its own get_params"):
        twin = type(model)(**params)
    expect(twin.get_params() == params, "the same settings of one made from get_params")
    with expect_no_error("from set_params(**get_params())"):
        expect(model.set_params(**params) is model, "set_params to return the recommender itself")
    expect(model.get_params() == params, "get_params to give what set_params was given")
    pairs = some_pairs()
    same = np.array_equal(
        estimates_of(twin.fit(planted_blocks()), *pairs), estimates_of(fitted(make), *pairs)
    )
    expect(same, "the twin made from get_params to give the same estimates")
    with expect_raises(Exception, "from set_params of a setting that does not exist"):
        model.set_params(no_such_setting_at_all=1)


def check_sklearn_clone(make: Make) -> None:
    """`sklearn.clone` gives an unfitted recommender with the same settings."""
    try:
        from sklearn.base import clone
    except ImportError as missing:
        raise SkipTest("scikit-learn is not installed") from missing
    model = fitted(make)
    with expect_no_error("from sklearn.clone"):
        twin = clone(model)
    expect(twin is not model, "another object from sklearn.clone")
    expect(twin.get_params() == model.get_params(), "the same settings in a clone")
    with expect_raises(NotFittedError, "from an unfitted clone"):
        twin.predict(0, 0)


def check_not_fitted(make: Make) -> None:
    """A question before fit is an error that says so."""
    with expect_raises(NotFittedError, "from predict before fit"):
        make().predict(0, 0)
    with expect_raises(NotFittedError, "from predict of lists before fit"):
        make().predict([0], [0])
    with expect_raises(NotFittedError, "from recommend before fit"):
        make().recommend(0)
    for ability, arguments in {"explain": (0, 0), "similar_items": (0,)}.items():
        model = make()
        if hasattr(model, ability):
            with expect_raises(NotFittedError, f"from {ability} before fit"):
                getattr(model, ability)(*arguments)


def check_inputs_unchanged(make: Make) -> None:
    """Inputs are not modified: ratings, and arrays of ids."""
    ratings = planted_blocks()
    before = ratings.frame.clone()
    model = fitted(make, ratings)
    users, items = (np.array(ids) for ids in some_pairs())
    users_before, items_before = users.copy(), items.copy()
    model.predict(users, items)
    model.recommend(0)
    expect(ratings.frame.equals(before), "the ratings given to fit to stay as they were")
    same = np.array_equal(users, users_before) and np.array_equal(items, items_before)
    expect(same, "the arrays given to predict to stay as they were")


def check_answers_are_own(make: Make) -> None:
    """Writing into an answer does not change the next answer."""
    model = fitted(make)
    pairs = some_pairs()
    found = model.predict(*pairs)
    before = found.estimates.copy()
    if found.estimates.flags.writeable:
        found.estimates[:] = 0
    model.recommend(0).clear()
    expect(np.array_equal(estimates_of(model, *pairs), before), "answers that share no memory")
    expect(len(model.recommend(0)) > 0, "recommendations that share no memory")
