"""Splits: ways to divide ratings into a training part and a test part.

Every draw comes from the seed the caller gives: the same ratings and seed give the same parts.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from evichain.errors import SplitError
from evichain.ratings.columns import TIMESTAMP
from evichain.ratings.side import Side
from evichain.ratings.table import Column, Ratings


@dataclass(frozen=True, eq=False)
class Split:
    """Ratings to train on and ratings to test on.

    `later` are ratings that arrive after training and before testing: evidence only. `cold`
    are the users who were cut to a few ratings.
    """

    train: Ratings
    test: Ratings
    name: str
    later: Ratings | None = None
    cold: pl.Series | None = None


def random_split(ratings: Ratings, fraction: float = 0.8, seed: int = 0) -> Split:
    """Put a random `fraction` of the ratings in the training part."""
    name = f"random:{fraction:g}"
    order = _generator(seed).permutation(len(ratings))
    return _parted(ratings, order[_share(len(ratings), fraction, name) :], name)


def kfold(ratings: Ratings, k: int = 5, fold: int = 0, seed: int = 0) -> Split:
    """Test on one of `k` equal random parts; over all folds each rating is tested once."""
    name = f"kfold:{k}/{fold}"
    if not 2 <= k <= len(ratings) or not 0 <= fold < k:
        raise SplitError(
            f"no fold {fold} of {k} of {len(ratings)} ratings",
            where=name,
            right="Folds are counted from 0 and there are at least 2: kfold:5/0 to kfold:5/4.",
        )
    order = _generator(seed).permutation(len(ratings))
    return _parted(ratings, np.array_split(order, k)[fold], name)


def user_split(
    ratings: Ratings, fraction: float = 0.8, seed: int = 0, *, given: int | None = None
) -> Split:
    """Hold out whole users: all but a random `fraction` of them.

    Args:
        ratings: what to split.
        fraction: the share of users who are not held out.
        seed: of the draw.
        given: how many random ratings of each user held out come after training, as what is
            known of a new user. None of them by default: then nothing is known of anyone who is
            tested.
    """
    name = f"users:{fraction:g}" + (f"/{given}" if given is not None else "")
    codes, users = _codes_of(ratings, Side.USER)
    draws = _generator(seed)
    order = draws.permutation(len(users))
    held = np.zeros(len(users), dtype=bool)
    held[order[_share(len(users), fraction, name) :]] = True
    tested = held[codes]
    if given is None:
        return _parted(ratings, np.flatnonzero(tested), name)
    if given < 0:
        raise SplitError(f"given is {given}", where=name, right="It is 0 or more.")
    known = held[codes] & (_rank_within(codes, draws) < given)
    parted = _parted(ratings.take(~known), np.flatnonzero(tested[~known]), name)
    return replace(parted, later=ratings.take(known))


def time_split(ratings: Ratings, fraction: float = 0.8) -> Split:
    """Learn from the first `fraction` of the ratings in time and test on the later ones."""
    name = f"time:{fraction:g}"
    order = np.argsort(_times(ratings, name), kind="stable")
    return _parted(ratings, order[_share(len(ratings), fraction, name) :], name)


def leave_last_out(ratings: Ratings) -> Split:
    """Test on the last rating of each user: by time, and on ties the later row.

    Users with one rating stay in the training part.
    """
    name = "leave-last-out"
    times = _times(ratings, name)
    codes, _ = _codes_of(ratings, Side.USER)
    order = np.lexsort((times, codes))
    ordered = codes[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    first = np.append(True, last[:-1])
    return _parted(ratings, order[last & ~first], name)


def _times(ratings: Ratings, name: str) -> npt.NDArray[np.int64]:
    """The timestamps; an error if a rating has none."""
    times = ratings.frame[TIMESTAMP] if TIMESTAMP in ratings.frame.columns else None
    if times is None or times.null_count():
        raise SplitError(
            f"{ratings.name or 'the table'} has {ratings.noun}s without a timestamp",
            where=name,
            right="Split it by rating (random:0.8) or by user (users:0.8).",
        )
    found: npt.NDArray[np.int64] = times.to_numpy()
    return found


def given_split(train: Ratings, test: Ratings, *, name: str = "") -> Split:
    """A split that someone else made.

    Ids that are integers in one part and text in the other become text in both.
    """
    if train.interactions != test.interactions:
        parts = (test, train) if train.interactions else (train, test)
        raise SplitError(
            f"{parts[0].name or 'one part'} has ratings and {parts[1].name or 'the other'} has not",
            where=name,
            right="Give both parts a rating column, or neither; or name it as the weight of both: "
            "--columns weight=NAME.",
        )
    for side in Side:
        types = {part.frame.schema[side.column] for part in (train, test)}
        if len(types) > 1:
            train, test = _with_text_ids(train, side), _with_text_ids(test, side)
    return Split(train, test, name or f"{train.name},{test.name}")


def growth(
    ratings: Ratings,
    fraction: float = 0.2,
    seed: int = 0,
    *,
    always: Mapping[Side, Column] | None = None,
) -> list[Ratings]:
    """Ratings as they grow by new users and new items: the paper's online experiment.

    Each element holds the ratings between the users and the items that are there by then; each
    adds `fraction` of all users and of all items, in random order, and the last is everything.

    Args:
        ratings: everything.
        fraction: the share of users and of items that each step adds.
        seed: of the order in which they come.
        always: ids, by side, that are there from the first step on (the prototypes).
    """
    if not 0 < fraction <= 1:
        raise SplitError(f"a growth of {fraction:g}", right="It is above 0 and at most 1.")
    steps = math.ceil(1 / fraction - 1e-9)
    draws = _generator(seed)
    arrival = np.zeros(len(ratings), dtype=np.int32)
    for side in Side:
        codes, ids = _codes_of(ratings, side)
        order = draws.permutation(len(ids))
        first = np.isin(order, _positions(ids, (always or {}).get(side, ()), side))
        order = np.concatenate([order[first], order[~first]])
        step_of = np.empty(len(ids), dtype=np.int32)
        ends = [round(len(ids) * fraction * step) for step in range(1, steps)]
        step_of[order] = np.searchsorted(ends, np.arange(len(ids)), side="right")
        step_of[order[: first.sum()]] = 0
        arrival = np.maximum(arrival, step_of[codes])
    parts = [ratings.take(arrival <= step) for step in range(steps)]
    if not len(parts[0]):
        raise SplitError(
            f"no ratings in the first {fraction:g} of users and items",
            right="Grow by larger steps, or name ids that are always there.",
        )
    return parts


def cold_start(train: Ratings, n_users: int, n_ratings: int, seed: int = 0) -> Ratings:
    """Cut `n_users` random users to `n_ratings` random ratings each, as if they were new.

    Users are drawn among those who have more than that.
    """
    return _cut(train, n_users, n_ratings, seed)[0]


def _cut(train: Ratings, n_users: int, n_ratings: int, seed: int) -> tuple[Ratings, pl.Series]:
    """What is left of the ratings, and who was cut."""
    codes, users = _codes_of(train, Side.USER)
    rich = np.flatnonzero(np.bincount(codes, minlength=len(users)) > n_ratings)
    if n_users < 0 or n_ratings < 0 or n_users > len(rich):
        raise SplitError(
            f"no {n_users} users to cut to {n_ratings} ratings",
            where=train.name,
            right=f"{len(rich)} users have more ratings than that.",
        )
    draws = _generator(seed)
    cold = np.zeros(len(users), dtype=bool)
    cold[draws.choice(rich, n_users, replace=False)] = True
    left = train.take(~cold[codes] | (_rank_within(codes, draws) < n_ratings))
    return left, users.filter(cold)


def growth_split(
    ratings: Ratings, fraction: float = 0.2, seed: int = 0, *, prototypes: int = 50
) -> Split:
    """Learn from a `fraction` of users and items, then meet all others: online, as in the paper.

    Of a random four fifths of the ratings, those among the first users and items are learned
    from and the rest comes later; tested are the ratings of the other fifth that a new user or
    a new item has part in.

    Args:
        prototypes: how many of the most rated users, and of the items, are among the first, as
            far as there is room for them.
    """
    name = f"growth:{fraction:g}"
    whole = random_split(ratings, 0.8, seed)
    always = {}
    for side in Side:
        room = round(fraction * whole.train.frame[side.column].n_unique())
        always[side] = _most_rated(whole.train, side, min(prototypes, room))
    first = growth(whole.train, fraction, seed, always=always)[0]
    columns = [side.column for side in Side]
    later = whole.train.frame.join(first.frame, on=columns, how="anti", maintain_order="left")
    known = [pl.col(c).is_in(first.frame[c].unique().implode()) for c in columns]
    test = whole.test.frame.filter(~(known[0] & known[1]))
    for part, frame in (("test", test), ("later", later)):
        if frame.is_empty():
            raise SplitError(f"the {part} part would be empty", where=name, right="Grow by less.")
    return Split(first, replace(ratings, frame=test), name, replace(ratings, frame=later))


def cold_split(ratings: Ratings, n_users: int, n_ratings: int, seed: int = 0) -> Split:
    """A random split in which `n_users` users have only `n_ratings` ratings to learn from."""
    whole = random_split(ratings, 0.8, seed)
    train, cold = _cut(whole.train, n_users, n_ratings, seed)
    return Split(train, whole.test, f"cold:{n_users}/{n_ratings}", cold=cold)


def _most_rated(ratings: Ratings, side: Side, count: int) -> Column:
    codes, ids = _codes_of(ratings, side)
    order = np.argsort(-np.bincount(codes, minlength=len(ids)), kind="stable")[:count]
    return ids[order].to_list()


def _share(total: int, fraction: float, name: str) -> int:
    """How many of a total a fraction is; an empty part is an error."""
    if not 0 < fraction < 1:
        raise SplitError(f"a share of {fraction:g}", where=name, right="It is between 0 and 1.")
    count = round(total * fraction)
    if not 0 < count < total:
        raise SplitError(
            f"one part of {total} would be empty", where=name, right="Take another share."
        )
    return count


def _parted(ratings: Ratings, tested: npt.NDArray[np.int64], name: str) -> Split:
    """Both parts, each in the order of the table."""
    mask = np.zeros(len(ratings), dtype=bool)
    mask[tested] = True
    for part, size in (("test", mask.sum()), ("training", len(mask) - mask.sum())):
        if not size:
            raise SplitError(
                f"the {part} part would be empty", where=name, right="Take another share."
            )
    return Split(ratings.take(~mask), ratings.take(mask), name)


def _with_text_ids(ratings: Ratings, side: Side) -> Ratings:
    text = pl.col(side.column).cast(pl.String)
    titles = ratings.titles
    if titles is not None and side is Side.ITEM:
        titles = titles.with_columns(text)
    return replace(ratings, frame=ratings.frame.with_columns(text), titles=titles)


def _generator(seed: int) -> np.random.Generator:
    """The source of all draws of a seed."""
    if seed < 0:
        raise SplitError(f"a seed of {seed}", right="It is 0 or more.")
    return np.random.Generator(np.random.PCG64(seed))


def _codes_of(ratings: Ratings, side: Side) -> tuple[npt.NDArray[np.int64], pl.Series]:
    """Each row's entity as a number, and the ids by number: sorted, so that only ids decide."""
    values = ratings.frame[side.column]
    ids = values.unique().sort()
    if values.dtype == pl.Int64:
        return np.searchsorted(ids.to_numpy(), values.to_numpy()), ids
    numbers = pl.Series(np.arange(len(ids)))
    return values.replace_strict(ids, numbers, return_dtype=pl.Int64).to_numpy(), ids


def _positions(ids: pl.Series, wanted: Column, side: Side) -> npt.NDArray[np.int64]:
    """The numbers of some ids."""
    known = dict(zip(ids.to_list(), range(len(ids)), strict=True)) if len(wanted) else {}
    listed = wanted.tolist() if isinstance(wanted, np.ndarray) else list(wanted)
    unknown = [id_ for id_ in listed if id_ not in known]
    if unknown:
        raise SplitError(
            f"{side.noun} {unknown[0]!r} has no ratings", right="Name ids that are in the table."
        )
    return np.array([known[id_] for id_ in listed], dtype=np.int64)


def _rank_within(codes: npt.NDArray[np.int64], draws: np.random.Generator) -> npt.NDArray[np.int64]:
    """Each row's place in a random order of the rows of its entity."""
    order = draws.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    grouped = codes[order]
    starts = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]])
    lengths = np.diff(np.r_[starts, len(codes)])
    ranks = np.empty(len(codes), dtype=np.int64)
    ranks[order] = np.arange(len(codes)) - np.repeat(starts, lengths)
    return ranks
