"""The kit passes a recommender that is right, and catches each way of being wrong."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Self
from unittest import SkipTest

import numpy as np
import pytest

from evichain.errors import NotFittedError, SettingsError, UnknownEntityError
from evichain.evaluation import Histories
from evichain.evidence.trace import Piece, Trace
from evichain.kernels import Floats
from evichain.protocol import Prediction, Predictions, Recommendation, Similar
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings
from evichain.testing import CHECKS, CheckError, check_recommender


class Neighbours:
    """Item-based neighbours over a dense table: small, linear in the ratings, and right."""

    def __init__(self, shrink: float = 0.0) -> None:
        self.shrink = shrink
        self._table: dict[tuple[Any, Any], float] = {}

    def fit(self, ratings: Ratings, *, progress: bool = False) -> Self:
        self._table, self._mean = {}, ratings.mean
        self._titles: dict[Any, str] = {}
        if ratings.titles is not None:
            self._titles = dict(ratings.titles.iter_rows())
        return self.add(ratings)

    def add(self, ratings: Ratings) -> Self:
        rows = ratings.frame.select("user_id", "item_id", "rating").iter_rows()
        self._table |= {(user, item): rating for user, item, rating in rows}
        self._index()
        return self

    def _index(self) -> None:
        users, items = zip(*self._table, strict=True)
        self._users = {user: row for row, user in enumerate(sorted(set(users)))}
        self._items = {item: column for column, item in enumerate(sorted(set(items)))}
        self._residuals = np.zeros((len(self._users), len(self._items)))
        for (user, item), rating in self._table.items():
            self._residuals[self._users[user], self._items[item]] = rating - self._mean
        lengths = np.linalg.norm(self._residuals, axis=0) + self.shrink + 1e-9
        self._alike = (self._residuals.T @ self._residuals) / np.outer(lengths, lengths)
        np.fill_diagonal(self._alike, 0.0)

    def _parts(self, user: Any, item: Any) -> dict[Any, float]:
        """What each item the user rated adds to the mean."""
        self._require_fit()
        rated = [i for i in self._items if (user, i) in self._table]
        weights = {i: self._alike[self._items[item], self._items[i]] for i in rated}
        total = sum(map(abs, weights.values())) + 1e-9
        return {i: w * (self._table[user, i] - self._mean) / total for i, w in weights.items()}

    def _require_fit(self) -> None:
        if not self._table:
            raise NotFittedError("not fitted")

    def _one(self, user: Any, item: Any) -> Prediction:
        self._require_fit()
        if user not in self._users or item not in self._items:
            return Prediction(self._mean, "never seen")
        return Prediction(float(self._mean + sum(self._parts(user, item).values())))

    def predict(self, users: Any, items: Any) -> Any:
        self._require_fit()
        if isinstance(users, int | str) and isinstance(items, int | str):
            return self._one(users, items)
        pairs = np.broadcast(np.asarray(users, object), np.asarray(items, object))
        found = [self._one(*pair) for pair in pairs]
        estimates = np.array([one.estimate for one in found], np.float32)
        return Predictions(estimates, [one.reason for one in found])

    def recommend(self, user: Any, n: int = 10, exclude_seen: bool = True) -> list[Recommendation]:
        self._require_fit()
        if user not in self._users:
            raise UnknownEntityError(f"unknown user {user!r}")
        items = [i for i in self._items if not (exclude_seen and (user, i) in self._table)]
        scored = [Recommendation(i, self._one(user, i).estimate, self._title(i)) for i in items]
        return sorted(scored, key=lambda entry: -entry.estimate)[:n]

    def _title(self, item: Any) -> str:
        return str(self._titles.get(item, item))

    def similar_items(self, item: Any, n: int = 10) -> list[Similar]:
        self._require_fit()
        row = self._alike[self._items[item]]
        found = [Similar(i, float(row[k]), str(i)) for i, k in self._items.items() if i != item]
        return sorted(found, key=lambda entry: -entry.similarity)[:n]

    @property
    def graph(self) -> Graph:
        users, items = zip(*self._table, strict=True)
        return Graph.build(Ratings.from_arrays(users, items, list(self._table.values())))

    def score_histories(self, histories: Histories) -> Floats:
        rated = histories.dense(len(self._items))
        scores = np.where(rated > 0, rated - self._mean, 0) @ self._alike
        return np.asarray(scores, np.float32)

    def explain(self, user: Any, item: Any) -> Trace:
        parts = self._parts(user, item)
        pieces = [
            Piece(Side.ITEM, i, str(i), 1, self._table[user, i], False, part, own=part)
            for i, part in sorted(parts.items(), key=lambda entry: -abs(entry[1]))
        ]
        total, mean = sum(parts.values()), self._mean
        left = Piece(Side.USER, user, str(user), 0, None, False, total, pieces=tuple(pieces))
        right = Piece(Side.ITEM, item, str(item), 0, None, True, mean, own=mean)
        return Trace(left, right, total + mean)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"shrink": self.shrink}

    def set_params(self, **params: Any) -> Self:
        if params.keys() - {"shrink"}:
            raise SettingsError("no such setting")
        self.shrink = params.get("shrink", self.shrink)
        return self

    def save(self, path: Path) -> None:
        rows = [[user, item, rating] for (user, item), rating in self._table.items()]
        path.write_text(json.dumps({"rows": rows, "mean": self._mean, "shrink": self.shrink}))

    @classmethod
    def load(cls, path: Path) -> Self:
        saved = json.loads(path.read_text())
        users, items, ratings = zip(*saved["rows"], strict=True)
        return cls(saved["shrink"]).fit(Ratings.from_arrays(users, items, ratings))


def method(name: str, body: Any) -> type[Neighbours]:
    """A class of neighbours with one method changed; `body` is given the right one's answer."""

    def changed(self: Neighbours, *args: Any, **kwargs: Any) -> Any:
        right = getattr(super(broken, self), name)
        return body(self, right, *args, **kwargs)

    broken = type(f"Broken_{name}", (Neighbours,), {name: changed})
    return broken


class WithoutDeep(Neighbours):
    def get_params(self) -> dict[str, Any]:  # type: ignore[override]
        return {"shrink": self.shrink}


class Forgetful(Neighbours):
    @classmethod
    def load(cls, path: Path) -> Self:
        loaded = super().load(path)
        loaded._table.popitem()
        loaded._index()
        return loaded


class Averaging(Neighbours):
    """Takes the mean of what was said of a pair, so that it matters how often it was said."""

    def add(self, ratings: Ratings) -> Self:
        before = dict(self._table)
        super().add(ratings)
        self._table |= {k: (r + before[k]) / 2 for k, r in self._table.items() if k in before}
        self._index()
        return self


class Hoarder(Neighbours):
    """Hands out one and the same array again."""

    _given: Any = None

    def predict(self, users: Any, items: Any) -> Any:
        self._given = self._given or super().predict(users, items)
        return self._given


def spoil(column: str) -> Any:
    def body(self: Neighbours, right: Any, ratings: Ratings, **kwargs: Any) -> Any:
        answer = right(ratings, **kwargs)
        position = ratings.frame.get_column_index(column)
        ratings.frame.replace_column(position, ratings.frame[column].reverse())
        return answer

    return body


def jittered(self: Neighbours, right: Any, users: Any, items: Any) -> Any:
    found = right(users, items)
    if isinstance(found, Prediction):
        return found
    noise = np.random.default_rng().normal(0, 1e-6, len(found)).astype(np.float32)
    return replace(found, estimates=found.estimates + noise)


def seeding(self: Neighbours, right: Any, ratings: Ratings, **kwargs: Any) -> Any:
    np.random.seed(0)  # noqa: NPY002
    return right(ratings, **kwargs)


def wide(self: Neighbours, right: Any, users: Any, items: Any) -> Any:
    found = right(users, items)
    if isinstance(found, Prediction):
        return found
    return replace(found, estimates=found.estimates.astype(np.float64))


def as_many_as_match(self: Neighbours, right: Any, users: Any, items: Any) -> Any:
    if isinstance(users, int | str):
        return right(users, items)
    return right(users, items[: len(users)])


def silent_mean(self: Neighbours, right: Any, users: Any, items: Any) -> Any:
    found = right(users, items)
    return Prediction(found.estimate) if isinstance(found, Prediction) else found


def strict(self: Neighbours, right: Any, user: Any, item: Any) -> Any:
    return right(user, item) if user in self._users else {}[user]


def flat(self: Neighbours, right: Any, user: Any, item: Any) -> dict[Any, float]:
    return {key: part / 10 for key, part in right(user, item).items()}


def needs_variety(self: Neighbours, right: Any, ratings: Ratings, **kwargs: Any) -> Any:
    _ = 1 / (ratings.frame["rating"].n_unique() - 1)
    return right(ratings, **kwargs)


def only_known_users(self: Neighbours, right: Any, ratings: Ratings) -> Any:
    known = [user for user, _ in self._table]
    return right(ratings.take(ratings.frame["user_id"].is_in(known)) if known else ratings)


def of_other_pair(self: Neighbours, right: Any, user: Any, item: Any) -> Trace:
    found: Trace = right(user, item)
    return replace(found, estimate=found.estimate + 0.01)


def half_told(self: Neighbours, right: Any, user: Any, item: Any) -> Trace:
    found: Trace = right(user, item)
    return replace(found, user=replace(found.user, pieces=found.user.pieces[1:]))


def beside_the_others(self: Neighbours, right: Any, histories: Histories) -> Floats:
    found: Floats = right(histories)
    found -= found.mean(axis=0)
    return found


def first_counts_most(self: Neighbours, right: Any, histories: Histories) -> Floats:
    found: Floats = right(histories)
    for row, (items, _) in zip(found, histories, strict=True):
        row[items[:1]] += 1
    return found


def one_to_one(self: Any, right: Any, users: Any, items: Any) -> Any:
    if np.shape(users) != np.shape(items):
        raise ValueError("as many of both")
    return right(users, items)


BROKEN: list[tuple[str, type[Neighbours]]] = [
    ("check_protocol", method("fit", lambda self, right, *a, **k: right(*a, **k) and None)),
    ("check_params", method("get_params", lambda self, right, **k: {"shrink": self.shrink + 1})),
    ("check_params", method("set_params", lambda self, right, **k: self)),
    ("check_sklearn_clone", WithoutDeep),
    ("check_not_fitted", method("_require_fit", lambda self, right: None)),
    ("check_inputs_unchanged", method("fit", spoil("rating"))),
    ("check_answers_are_own", Hoarder),
    ("check_scalars_and_arrays", method("predict", wide)),
    ("check_scalars_and_arrays", method("_one", lambda self, right, *pair: right(*pair).estimate)),
    ("check_broadcasting", method("predict", one_to_one)),
    ("check_lengths", method("predict", as_many_as_match)),
    (
        "check_ids",
        method(
            "recommend",
            lambda self, right, *a, **k: [
                replace(entry, item=str(entry.item)) for entry in right(*a, **k)
            ],
        ),
    ),
    ("check_titles", method("_title", lambda self, right, item: str(item))),
    ("check_unknown_entities", method("predict", silent_mean)),
    ("check_unknown_entities", method("_one", strict)),
    (
        "check_recommendations",
        method("recommend", lambda self, right, *a, **k: right(*a, **k)[::-1]),
    ),
    (
        "check_recommendations",
        method("recommend", lambda self, right, user, n=10, **k: right(user, n + 3, **k)[3:]),
    ),
    (
        "check_catalogue_end",
        method("recommend", lambda self, right, user, n=10, **k: right(user, n)),
    ),
    (
        "check_catalogue_end",
        method(
            "recommend", lambda self, right, user, n=10, **k: right(user, n, exclude_seen=False)
        ),
    ),
    ("check_determinism", method("predict", jittered)),
    ("check_global_state", method("fit", seeding)),
    ("check_planted_structure", method("_parts", flat)),
    (
        "check_planted_ranking",
        method(
            "recommend",
            lambda self, right, user, n=10, **k: sorted(
                right(user, 1000, **k), key=lambda entry: entry.item
            )[:n],
        ),
    ),
    ("check_odd_data", method("fit", needs_variety)),
    ("check_save_and_load", Forgetful),
    ("check_add_serves_new_entities", method("add", only_known_users)),
    ("check_add_equals_having_had", Averaging),
    ("check_add_leaves_its_input", method("add", spoil("item_id"))),
    ("check_explanations", method("explain", of_other_pair)),
    ("check_explanations", method("explain", half_told)),
    (
        "check_similar_items",
        method("similar_items", lambda self, right, *a, **k: right(*a, **k)[::-1]),
    ),
    ("check_histories", method("score_histories", lambda self, right, h: right(h)[:, :-1])),
    ("check_histories", method("score_histories", beside_the_others)),
    ("check_histories", method("score_histories", first_counts_most)),
]
BY_NAME = {check.__name__: check for check in CHECKS}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_what_is_right_passes(check: Any) -> None:
    check(Neighbours)


@pytest.mark.parametrize(("name", "broken"), BROKEN)
def test_what_is_wrong_is_caught(name: str, broken: type[Neighbours]) -> None:
    with pytest.raises(CheckError, match="expected"):
        BY_NAME[name](broken)


def test_every_check_has_something_to_catch() -> None:
    assert {name for name, _ in BROKEN} == BY_NAME.keys()
    assert all(check.__doc__ for check in CHECKS)


def test_all_at_once() -> None:
    check_recommender(Neighbours)
    with pytest.raises(CheckError, match="check_explanations: expected"):
        check_recommender(method("explain", of_other_pair))


class Plain:
    """Has nothing but what the protocol asks for."""

    def __init__(self, shrink: float = 0.0) -> None:
        self._inner = Neighbours(shrink)

    def __getattr__(self, name: str) -> Any:
        if name in ("save", "load", "add", "explain", "similar_items", "score_histories"):
            raise AttributeError(name)
        return getattr(self._inner, name)


@pytest.mark.parametrize(
    "name", [name for name in BY_NAME if "abilities" in BY_NAME[name].__module__]
)
def test_what_is_not_there_is_skipped(name: str) -> None:
    with pytest.raises(SkipTest, match="Plain has no"):
        BY_NAME[name](Plain)
