"""How near ratings alone bring one to what was planted in made-up ratings.

    evichain data generate --ratings 10000000 --out made
    evichain data convert made made.graph
    python -m scripts.planted made made.graph

Tests on the ratings that `evichain train made.graph` watches, so that its validation RMSE stands
beside these root mean squared errors, printed as a JSON object:

- `floor`: of who knows everything but the noise;
- `items_known`: of who knows all items, and a user from the user's other ratings only;
- `both_learned`: of who factors the matrix, told its rank, its noise and how traits are spread;
- `mean`: of who knows the mean.
"""

import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np

from evichain.evidence.holdout import are_held_out
from evichain.kernels import Flags, Floats, Ints, Longs, kernel
from evichain.ratings import Side
from evichain.ratings import synthetic as planted
from evichain.ratings.graph import Graph
from evichain.ratings.hashing import Doubles
from evichain.ratings.synthetic import after_rounding, interpolated
from evichain.recipes import settings_for
from evichain.training.training_data import prepare

SWEEPS = 8
MEAN = planted.MEAN


def main(made: Path, graph: Graph) -> dict[str, float]:
    """Learn traits from all ratings but those to test on; the errors on these."""
    card = json.loads((made / planted.CARD).read_text())
    names = ("ratings", "users", "items", "rank", "noise", "seed")
    truth = planted.Synthetic(**{name: card[name] for name in names})
    chosen = settings_for("plus", ratings=len(graph))
    material = prepare(graph, (1, 1), chosen.training.validation, chosen.training.seed)
    assert material.validation is not None
    users, items, ratings = material.validation
    taste = planted.TASTE / math.sqrt(max(truth.rank, 1))
    spreads = (
        np.array([planted.USER_BIAS] + [1.0] * truth.rank),
        np.array([planted.ITEM_BIAS] + [taste] * truth.rank),
    )
    sides = []
    for side in Side:
        rows = graph.rows[side]
        owner = np.repeat(np.arange(len(rows.indptr) - 1, dtype=np.int32), np.diff(rows.indptr))
        pairs = (owner, rows.indices) if side is Side.USER else (rows.indices, owner)
        hidden = are_held_out(material.pool.holdout, *map(np.asarray, pairs))
        sides.append((rows.indptr, rows.indices, graph.scale.decode(rows.codes), hidden))
    seen_as = after_rounding(truth.noise)[0]

    def error(expected: Doubles) -> float:
        return math.sqrt(np.square(interpolated(seen_as, expected) - ratings).mean())

    def told(own: Doubles, other: Doubles) -> Doubles:
        left, right = own[users], other[items]
        tastes: Doubles = np.einsum("ij,ij->i", left[:, 1:], right[:, 1:])
        return MEAN + left[:, 0] + right[:, 0] + tastes

    ids = [graph.ids[side].values.to_numpy() for side in Side]
    found = {"ratings": float(len(ratings)), "mean": float(np.std(ratings))}
    best = truth.expected(ids[0][users], ids[1][items])
    found["floor"] = math.sqrt(np.square(best - ratings).mean())
    own = np.zeros((len(ids[0]), 1 + truth.rank))
    others = truth.item_traits[ids[1] - 1]
    for _ in range(SWEEPS):
        _learn(*sides[0], others, spreads[0], truth.noise, own)
    found["items_known"] = error(told(own, others))
    own[:] = 0
    others = np.random.default_rng(0).normal(size=others.shape) * spreads[1]
    for _ in range(SWEEPS):
        _learn(*sides[0], others, spreads[0], truth.noise, own)
        _learn(*sides[1], own, spreads[1], truth.noise, others)
        sys.stderr.write(f"{error(told(own, others)):.4f}\n")
    found["both_learned"] = error(told(own, others))
    return found


@kernel
def _learn(
    indptr: Longs,
    indices: Ints,
    ratings: Floats,
    hidden: Flags,
    others: Doubles,
    spread: Doubles,
    noise: float,
    own: Doubles,
) -> None:
    """Better traits for one side: what was there before rounding is guessed from those so far."""
    size = own.shape[1]
    x = np.ones(size)
    for row in range(len(own)):
        left, right = np.zeros((size, size)), np.zeros(size)
        for j in range(size):
            left[j, j] = (noise / spread[j]) ** 2
        for i in range(indptr[row], indptr[row + 1]):
            if hidden[i]:
                continue
            known = others[indices[i]]
            expected = MEAN + known[0] + own[row, 0]
            for j in range(1, size):
                x[j] = known[j]
                expected += x[j] * own[row, j]
            value = _before_rounding(ratings[i], expected, noise) - MEAN - known[0]
            for j in range(size):
                right[j] += x[j] * value
                for k in range(size):
                    left[j, k] += x[j] * x[k]
        own[row] = np.linalg.solve(left, right)


@kernel
def _before_rounding(rating: float, expected: float, noise: float) -> float:
    """The mean of a normal value that has become this rating."""
    low = (rating - 0.25 - expected) / noise if rating > 0.5 else -20.0
    high = (rating + 0.25 - expected) / noise if rating < 5.0 else 20.0
    mass = 0.5 * (math.erf(high / math.sqrt(2.0)) - math.erf(low / math.sqrt(2.0)))
    if mass < 1e-6:
        return expected + noise * (low if low > 0.0 else high)
    drop = math.exp(-0.5 * low * low) - math.exp(-0.5 * high * high)
    return expected + noise * drop / (mass * math.sqrt(2.0 * math.pi))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="How near one can come to what was planted.")
    arguments.add_argument("made", type=Path, help="the folder of `evichain data generate`")
    arguments.add_argument("graph", type=Path, help="the graph that it was converted to")
    asked = arguments.parse_args()
    errors = main(asked.made, Graph.load(asked.graph))
    sys.stdout.write(json.dumps(errors, indent=2) + "\n")
