"""Held-out users: who is held out, and what is given and wanted of them."""

import numpy as np
import polars as pl
import pytest

from evichain import Ratings
from evichain.errors import DataError, SplitError
from evichain.evaluation import HeldOutUsers, held_out_users
from evichain.testing import planted_blocks

Pairs = list[tuple[int, int]]


def table(seed: int | None = None) -> Ratings:
    """Twelve users; two of them have fewer than five ratings above 1, and one item is rare."""
    rows = [
        (user, item, 1 + (user * 7 + item * 3) % 5)
        for user in range(12)
        for item in range(9)
        if (user + 2 * item) % 3 or user == 3
    ]
    rows += [(6, 9, 5), (3, 9, 5)]
    if seed is not None:
        rows = np.random.default_rng(seed).permutation(rows).tolist()
    return Ratings.from_arrays(*zip(*rows, strict=True))


def pairs(ratings: Ratings) -> Pairs:
    return sorted(ratings.frame.select("user_id", "item_id").rows())


def everything(found: HeldOutUsers) -> list[Pairs]:
    parts = found.validation, found.test
    return [pairs(found.train), *(pairs(p) for part in parts for p in (part.given, part.wanted))]


def test_the_draws_are_those_of_the_published_figures() -> None:
    # Literal: figures measured with these draws are compared with others.
    found = held_out_users(table(), 2, share=0.25, seed=5)
    assert found.train.frame["user_id"].unique().sort().to_list() == [0, 2, 4, 5, 8, 9]
    assert len(found.train) == 31
    given = [(1, 2), (1, 3), (1, 5), (1, 8), (3, 0), (3, 1), (3, 2), (3, 4), (3, 6), (3, 7)]
    assert pairs(found.validation.given) == given
    assert pairs(found.validation.wanted) == [(1, 0), (3, 5)]
    given = [(6, 4), (6, 5), (6, 7), (6, 8), (7, 0), (7, 3), (7, 6), (7, 8)]
    assert pairs(found.test.given) == given
    assert pairs(found.test.wanted) == [(6, 2), (7, 5)]
    assert (found.threshold, found.seed) == (2, 5)


def test_the_order_of_the_rows_does_not_matter() -> None:
    first = everything(held_out_users(table(), 2, share=0.25))
    assert first == everything(held_out_users(table(seed=1), 2, share=0.25))
    assert first != everything(held_out_users(table(), 2, share=0.25, seed=1))


@pytest.mark.parametrize("threshold", [None, 5.0])
def test_every_interaction_is_in_one_part(threshold: float | None) -> None:
    ratings = planted_blocks(200)
    found = held_out_users(ratings, threshold, seed=3)
    rows = [pair for part in everything(found) for pair in part]
    low = 0 if threshold is None else threshold
    assert sorted(rows) == pairs(Ratings(ratings.frame.filter(pl.col("rating") >= low)))
    parts = [found.train.frame]
    parts += [pl.concat([p.given.frame, p.wanted.frame]) for p in (found.validation, found.test)]
    assert [part["user_id"].n_unique() for part in parts] == [160, 20, 20]
    for part in (found.validation, found.test):
        counts = (
            part.wanted.frame.group_by("user_id")
            .len("wanted")
            .join(part.given.frame.group_by("user_id").len("given"), on="user_id", how="full")
        )
        total = counts["wanted"] + counts["given"]
        assert (counts["wanted"] == (0.2 * total).floor().cast(pl.UInt32)).all()


def test_ids_may_be_text() -> None:
    frame = table().frame.with_columns(user_id=pl.format("u{}", pl.col("user_id")))
    found = held_out_users(Ratings(frame), 2, share=0.25, seed=5)
    assert found.test.wanted.frame["user_id"].dtype == pl.String
    assert len(found.test.wanted) == 2


def test_what_cannot_be_held_out_is_refused() -> None:
    with pytest.raises(DataError, match="0 users with 5 or more interactions are too few"):
        held_out_users(table(), 6)
    with pytest.raises(DataError, match="are too few to hold out 5%"):
        held_out_users(table(), share=0.05)
    with pytest.raises(SplitError, match=r"share is 0\.5"):
        held_out_users(table(), share=0.5)
