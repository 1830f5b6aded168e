"""REC beside other systems, on the same split, through the same methods.

    python examples/compare.py                   # MovieLens-100K
    python examples/compare.py ratings.csv

Anything with the methods of `evichain.protocol.Recommender` can join them; `evichain.testing`
checks whether a class of yours does.
"""

import sys
import time
from collections.abc import Mapping

from evichain import REC, load_split
from evichain.baselines import make_baseline
from evichain.evaluation import evaluate
from evichain.protocol import Recommender


def systems() -> Mapping[str, Recommender]:
    """What is compared."""
    return {
        "REC": REC(),
        "PMF": make_baseline("pmf"),
        "online factorization": make_baseline("online-mf"),
    }


def main(data: str = "ml-100k", *, compared: Mapping[str, Recommender] | None = None) -> None:
    """Train each on the same ratings, and test it on the others."""
    split = load_split(data, "random:0.8", seed=0)
    print(f"{'':22} {'RMSE':>7} {'MAE':>7} {'seconds':>8}")
    for name, model in (compared or systems()).items():
        begun = time.monotonic()
        model.fit(split.train)
        seconds = time.monotonic() - begun
        found = evaluate(model, split.test)
        print(f"{name:22} {found.rmse:7.4f} {found.mae:7.4f} {seconds:8.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
