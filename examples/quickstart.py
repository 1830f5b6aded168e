"""From a table of ratings to a list with its reasons.

python examples/quickstart.py                # MovieLens-100K
python examples/quickstart.py ratings.csv    # columns user, item and rating
"""

import sys
from typing import Any

from evichain import REC, load_split


def main(data: str = "ml-100k", **settings: Any) -> None:
    """Train, test, recommend and explain."""
    split = load_split(data, "random:0.8", seed=0)
    model = REC(**settings).fit(split.train, progress=True)
    found = model.evaluate(split.test)
    print(f"RMSE {found.rmse:.4f} on {found.ratings:,} ratings that it has not seen")

    user = split.test.frame["user_id"][0]
    print(f"For user {user}:")
    for place in model.recommend(user, n=5):
        std = f" ± {place.std:.2f}" if place.std is not None else ""
        print(f"  {place.estimate:.2f}{std}  {place.title}")
    best = model.recommend(user, n=1)[0]
    print(model.explain(user, best.item, pieces=3).text())


if __name__ == "__main__":
    main(*sys.argv[1:])
