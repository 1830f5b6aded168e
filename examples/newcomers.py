"""People who come after training, rating by rating: nothing is trained again.

    python examples/newcomers.py                 # MovieLens-100K
    python examples/newcomers.py ratings.csv

A tenth of the users are held out whole, so the model has never met them. With the ratings that
they bring, their other ratings are estimated better at once.
"""

import sys
from typing import Any

import polars as pl

from evichain import REC, load_split

BROUGHT = (0, 1, 2, 5, 10)


def main(data: str = "ml-100k", **settings: Any) -> None:
    """Let new users in with a few ratings at a time."""
    split = load_split(data, f"users:0.9/{BROUGHT[-1]}", seed=0)
    assert split.later is not None
    model = REC(**settings).fit(split.train, progress=True)
    number = pl.int_range(pl.len()).over("user_id").alias("number")
    later = split.later.frame.with_columns(number)
    people = later["user_id"].n_unique()
    print(f"{people} new users; RMSE on {len(split.test):,} ratings that they did not bring:")
    before = 0
    for brought in BROUGHT:
        if brought:
            model.add(later.filter(pl.col("number").is_between(before, brought - 1)))
        before = brought
        print(f"  {brought:2} ratings each: {model.evaluate(split.test).rmse:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
