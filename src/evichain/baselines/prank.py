"""PRank: a perceptron with thresholds for each user, over other users' ratings of the items."""

import numpy as np
from pydantic import Field

from evichain.baselines._base import Baseline, BaselineSettings, Learned
from evichain.baselines._levels import Levels
from evichain.baselines._rated_pairs import all_pairs
from evichain.evidence.pool import most_rated
from evichain.kernels import Floats, Ints, Longs, kernel
from evichain.progress import progress as progress_bar
from evichain.ratings.graph import Graph
from evichain.ratings.rows import Rows
from evichain.ratings.side import Side


class PRankSettings(BaselineSettings):
    """The settings of `PRank`."""

    voters: int = Field(default=1000, ge=1)
    """How many users, those with most ratings, serve as features: their ratings of an item."""
    epochs: int = Field(default=2, ge=0)
    """Passes over the ratings of each user, each in a random order of its own."""


class PRank(Baseline[PRankSettings]):
    """Pranking with Ranking (Crammer and Singer, 2001, NIPS).

    A user has weights w and thresholds b_1 <= ... <= b_(K-1) (b_K = ∞) for the K levels. Features
    x of an item are the other users' ratings of it, evenly from -1/2 (the lowest level) to 1/2,
    and 0 of who has not rated it; never the user's own. The level predicted is

        min {r : w·x - b_r < 0}

    The user's ratings come one by one. With y_r = 1 for thresholds below the level y, that is
    y > r, and -1 for the others, a prediction that is not y moves those on the wrong side:

        τ_r = y_r where y_r (w·x - b_r) <= 0, else 0
        w ← w + (Σ_r τ_r) x,  b_r ← b_r - τ_r

    which keeps thresholds in their order. An estimate is a level, so that this ranks better than
    it rates. Items of the same level are ranked by w·x.
    """

    Settings = PRankSettings

    def _learn(self, graph: Graph, *, progress: bool) -> Learned:
        settings, everything = self.settings, all_pairs(graph)
        levels = Levels.of(graph, everything.ratings)
        count, users = len(levels), len(graph.ids[Side.USER])
        voters = graph.ids[Side.USER].index(most_rated(graph, Side.USER, settings.voters))
        slots = np.full(users, -1, np.int32)
        slots[voters] = np.arange(len(voters))
        votes = _votes(graph, levels, slots)
        weights = np.zeros((users, len(voters)), np.float32)
        thresholds = np.zeros((users, count - 1), np.float32)
        draws = np.random.default_rng(settings.seed)
        rows = graph.rows[Side.USER]
        codes = levels.codes(graph.scale.decode(rows.codes))
        with progress_bar("Training PRank", settings.epochs, enabled=progress) as bar:
            for _ in range(settings.epochs):
                order = np.lexsort((draws.random(len(codes)), everything.users))
                shown = rows.indptr, rows.indices[order], codes[order]
                one_pass(*shown, slots, *votes, weights, thresholds)
                bar()

        def margins(users: Ints, items: Ints) -> Floats:
            out = np.empty(len(users), np.float32)
            _margins(users, items, slots, *votes, weights, out)
            return out

        def scores(users: Ints, items: Ints) -> Floats:
            reached = margins(users, items)[:, None] >= thresholds[users]
            found: Floats = levels.values[reached.sum(axis=1)]
            return found

        return Learned(scores, weights.size + thresholds.size, {"epochs": settings.epochs}, margins)


def _votes(graph: Graph, levels: Levels, slots: Ints) -> tuple[Longs, Ints, Floats]:
    """The features of items: offsets, the voters by slot, and their votes."""
    rows: Rows = graph.rows[Side.ITEM]
    items = np.repeat(np.arange(len(rows)), rows.degrees)
    chosen = slots[rows.indices] >= 0
    codes = levels.codes(graph.scale.decode(rows.codes))[chosen]
    ptr = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.bincount(items[chosen], minlength=len(rows)), out=ptr[1:])
    votes = (codes / max(1, len(levels) - 1) - 0.5).astype(np.float32)
    return ptr, slots[rows.indices[chosen]], votes


@kernel
def margin(weights: Floats, own: int, voters: Ints, votes: Floats) -> np.float32:
    """`w·x` without one's own vote."""
    total = np.float32(0)
    for j in range(len(voters)):
        if voters[j] != own:
            total += weights[voters[j]] * votes[j]
    return total


@kernel
def one_pass(
    user_ptr: Longs,
    items: Ints,
    codes: Longs,
    slots: Ints,
    vote_ptr: Longs,
    voters: Ints,
    votes: Floats,
    weights: Floats,
    thresholds: Floats,
) -> None:
    """Train each user's perceptron on the user's ratings, one by one."""
    for user in range(len(user_ptr) - 1):
        own, bounds = slots[user], thresholds[user]
        for position in range(user_ptr[user], user_ptr[user + 1]):
            lo, hi = vote_ptr[items[position]], vote_ptr[items[position] + 1]
            found = margin(weights[user], own, voters[lo:hi], votes[lo:hi])
            predicted = 0
            while predicted < len(bounds) and found - bounds[predicted] >= 0:
                predicted += 1
            moved = 0
            if predicted != codes[position]:
                for r in range(len(bounds)):
                    side = 1 if codes[position] > r else -1
                    if side * (found - bounds[r]) <= 0:
                        bounds[r] -= side
                        moved += side
            if moved != 0:
                for j in range(lo, hi):
                    if voters[j] != own:
                        weights[user, voters[j]] += moved * votes[j]


@kernel
def _margins(
    users: Ints,
    items: Ints,
    slots: Ints,
    vote_ptr: Longs,
    voters: Ints,
    votes: Floats,
    weights: Floats,
    out: Floats,
) -> None:
    for p in range(len(users)):
        lo, hi = vote_ptr[items[p]], vote_ptr[items[p] + 1]
        out[p] = margin(weights[users[p]], slots[users[p]], voters[lo:hi], votes[lo:hi])
