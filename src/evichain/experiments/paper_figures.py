"""The figures of the paper, to stand beside ours."""

from collections.abc import Mapping

PAPER_RMSE: Mapping[tuple[str, str], float] = {
    ("ml-100k", "random:0.8"): 0.910,
    ("ml-1m", "random:0.8"): 0.882,
    ("ml-10m", "random:0.8"): 0.846,
}
"""REC's test RMSE in the paper, by data set and split."""
