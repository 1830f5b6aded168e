"""EASE: a linear model from the items of a history to all items, in closed form."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from evichain.baselines._lists import LearnedLists, ListBaseline, ListSettings, weights_of
from evichain.errors import DataError
from evichain.evaluation.scoring import Histories
from evichain.kernels import Floats, Ints, Longs, in_threads, kernel
from evichain.progress import progress as progress_bar
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side

MOST_ITEMS = 50_000
"""A catalogue beyond this would need more than 40 GB."""

_EXACT_ITEMS = 10_000
"""Up to this many items the matrix is inverted in 64 bits."""


class EASESettings(ListSettings):
    """The settings of `EASE`; nothing is drawn, so the seed changes nothing."""

    regularization: float = Field(default=500.0, gt=0)
    """Lambda: how strongly weights are shrunk towards zero."""


class EASE(ListBaseline[EASESettings]):
    """Embarrassingly shallow autoencoders (Steck, 2019, WWW).

    With the matrix X of users and items, the weights B minimize ``|X - X B|² + λ |B|²`` with a
    diagonal of zeros. With ``P = (XᵀX + λ I)⁻¹`` they are

        B_ij = -P_ij / P_jj,  B_jj = 0

    and the scores of a history x are x B.
    """

    Settings = EASESettings
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = tuple(
        {"regularization": value} for value in (50.0, 100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0)
    )

    def _learn_lists(self, graph: Graph, *, progress: bool) -> LearnedLists:
        size = len(graph.ids[Side.ITEM])
        if size > MOST_ITEMS:
            raise DataError(
                f"{size:,} items: EASE keeps a number for each pair of items",
                right=f"Give data with up to {MOST_ITEMS:,} items.",
            )
        with progress_bar("Training EASE", 2, enabled=progress, unit="parts") as bar:
            found = gram(graph, weighted=self.settings.weighted)
            bar()
            found[np.diag_indices(size)] += self.settings.regularization
            inverse = np.linalg.inv(found)
            weights = (inverse / -np.diag(inverse)).astype(np.float32)
            np.fill_diagonal(weights, 0)
            bar()

        def score(histories: Histories) -> Floats:
            scores: Floats = histories.dense(size) @ weights
            return scores

        return LearnedLists(score, weights.size)


def gram(graph: Graph, *, weighted: bool) -> npt.NDArray[Any]:
    """XᵀX of the weights of all interactions: [items, items]."""
    users, items = graph.rows
    size = len(items)
    found = np.zeros((size, size), np.float64 if size <= _EXACT_ITEMS else np.float32)
    by_user, by_item = (
        weights_of(graph.scale.decode(rows.codes), weighted=weighted) for rows in (users, items)
    )
    in_threads(
        _add_products,
        size,
        *(items.indptr, items.indices, by_item),
        *(users.indptr, users.indices, by_user),
        found,
    )
    return found


@kernel
def _add_products(
    start: int,
    stop: int,
    item_ptr: Longs,
    item_users: Ints,
    item_weights: Floats,
    user_ptr: Longs,
    user_items: Ints,
    user_weights: Floats,
    found: npt.NDArray[Any],
) -> None:
    for item in range(start, stop):
        row = found[item]
        for position in range(item_ptr[item], item_ptr[item + 1]):
            user, weight = item_users[position], item_weights[position]
            for other in range(user_ptr[user], user_ptr[user + 1]):
                row[user_items[other]] += weight * user_weights[other]
