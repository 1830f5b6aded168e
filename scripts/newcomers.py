"""How well others estimate for new users who bring a few ratings: means, and ALS with fold-in.

    pip install lenskit
    python -m scripts.newcomers ml-1m --split users:0.8/5

Tests on the ratings that `evichain train ml-1m --split users:0.8/5` tests on, and prints a JSON
object of root mean squared errors:

- `item_means`: of the mean rating of the item;
- `item_means_and_offset`: of that, and how far the user's own ratings are from it, shrunken;
- `als_fold_in`: of LensKit's biased factorization, learned by alternating least squares from the
  users who were there; a new user's vector is then solved for. Factors and regularization are
  chosen on users held out of the training part in the same way (`chosen_on`).
"""

import argparse
import itertools
import json
import math
import sys
from collections.abc import Callable
from typing import Any

import polars as pl

from evichain import load_split
from evichain.ratings import Ratings, Split
from evichain.ratings.splits import user_split

SHRINKAGE = 5.0
EPOCHS = 20
HELD_OUT = 0.1


def means(split: Split) -> dict[str, float]:
    """The errors of who knows means only; an item that nobody rated has the mean of all."""
    later = _later(split)
    ratings = pl.concat([split.train.frame, later.frame])
    mean = ratings["rating"].cast(pl.Float64).mean()
    items = ratings.group_by("item_id").agg(pl.col("rating").cast(pl.Float64).mean().alias("item"))

    def told(part: pl.DataFrame) -> pl.DataFrame:
        known = part.join(items, "item_id", "left", maintain_order="left")
        return known.with_columns(pl.col("item").fill_null(mean))

    off = (pl.col("rating") - pl.col("item")).sum() / (pl.len() + SHRINKAGE)
    offsets = told(later.frame).group_by("user_id").agg(off.alias("offset"))
    tested = told(split.test.frame).join(offsets, "user_id", "left", maintain_order="left")
    with_offset = tested["item"] + tested["offset"].fill_null(0.0)
    return {
        "item_means": _error(split, tested["item"]),
        "item_means_and_offset": _error(split, with_offset),
    }


def als_fold_in(split: Split, factors: int, regularization: float) -> float:
    """The error of a biased factorization that folds in the users who come later."""
    from lenskit.als import BiasedMFScorer
    from lenskit.data import ItemList, RecQuery, from_interactions_df
    from lenskit.training import TrainingOptions

    columns = ["user_id", "item_id", "rating"]
    model = BiasedMFScorer(
        embedding_size=factors, epochs=EPOCHS, regularization=regularization, damping=SHRINKAGE
    )
    learned = from_interactions_df(split.train.frame.select(columns).to_pandas())
    model.train(learned, TrainingOptions(rng=0))
    known: dict[Any, pl.DataFrame] = _by_user(_later(split).frame)
    parts = []
    for user, asked in _by_user(split.test.frame.with_row_index("row")).items():
        own = known.get(user, _later(split).frame.clear())
        ratings = own["rating"].cast(pl.Float64).to_numpy()
        history = ItemList(item_ids=own["item_id"].to_numpy(), rating=ratings)
        wanted = ItemList(item_ids=asked["item_id"].to_numpy())
        found = model(query=RecQuery(user_id=None, history_items=history), items=wanted).scores()
        parts.append(asked.select("row", pl.Series("estimate", found).cast(pl.Float64)))
    # LensKit has no answer for an item that nobody rated.
    estimates = pl.concat(parts).sort("row")["estimate"].fill_nan(model.bias.global_bias)
    return _error(split, estimates)


def choose(
    split: Split, factors: list[int], regularization: list[float], error: Callable[..., float]
) -> list[tuple[float, int, float]]:
    """The settings and their errors on held-out users of the training part, the best first."""
    inner = user_split(split.train, 1 - HELD_OUT, seed=1, given=_most_given(split))
    tried = []
    for settings in itertools.product(factors, regularization):
        tried.append((error(inner, *settings), *settings))
        sys.stderr.write(f"{settings}: {tried[-1][0]:.4f}\n")
    return sorted(tried)


def _most_given(split: Split) -> int:
    """How many ratings a new user brings."""
    return int(_later(split).frame.group_by("user_id").len()["len"].max() or 0)  # type: ignore[arg-type]


def _later(split: Split) -> Ratings:
    if split.later is None:
        raise SystemExit(f"{split.name}: nobody comes later; split by users, as users:0.8/5")
    return split.later


def _by_user(frame: pl.DataFrame) -> dict[Any, pl.DataFrame]:
    return {key[0]: part for key, part in frame.group_by("user_id", maintain_order=True)}


def _error(split: Split, estimates: pl.Series) -> float:
    scale = split.train.frame["rating"]
    within = estimates.clip(float(scale.min()), float(scale.max()))  # type: ignore[arg-type]
    squares = (within - split.test.frame["rating"]).pow(2)
    return math.sqrt(squares.mean())  # type: ignore[arg-type]


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="How well others estimate for new users.")
    arguments.add_argument("data", help="a name that `evichain data list` shows, or a path")
    arguments.add_argument("--split", default="users:0.8/5")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--factors", type=int, nargs="+", default=[10, 30, 50])
    arguments.add_argument("--regularization", type=float, nargs="+", default=[0.05, 0.1, 0.2, 0.4])
    given = arguments.parse_args()
    parts = load_split(given.data, given.split, seed=given.seed)
    tried = choose(parts, given.factors, given.regularization, als_fold_in)
    best = dict(zip(("validation", "factors", "regularization"), tried[0], strict=True))
    found = {
        "tested": len(parts.test),
        **means(parts),
        "als_fold_in": als_fold_in(parts, *tried[0][1:]),
        "chosen_on": best,
    }
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
