"""A table of lists for many users."""

import numpy as np
import polars as pl

from evichain.answering.answers import check_caution, clipped
from evichain.answering.graph_backend import GraphBackend
from evichain.answering.lists import lists
from evichain.answering.ranking import Pairs
from evichain.kernels import Ints, Longs
from evichain.progress import progress as progress_bar
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side


def lists_for_users(
    backend: GraphBackend,
    users: Longs,
    n: int,
    *,
    exclude_seen: bool = True,
    caution: float = 0.0,
    progress: bool = False,
) -> pl.DataFrame:
    """The items that each of these users would rate highest, as rows of one table."""
    graph, outputs = backend.graph, backend.outputs(Side.USER, users)
    check_caution(caution, outputs)
    names, items = (ids.values for ids in graph.ids)
    titles = [graph.title(item) for item in items]
    seen = seen_pairs(graph, users if exclude_seen else users[:0])
    parts = []
    with progress_bar("Listing", len(users), enabled=progress, unit="users") as bar:
        for found in lists(outputs, backend.items, seen, n, caution):
            columns = {
                "user_id": names[users[found.users]],
                "rank": found.ranks,
                "item_id": items[found.items],
                "title": [titles[item] for item in found.items.tolist()],
                "estimate": clipped(backend, found.estimates),
                "std": found.stds,
            }
            overrides = {"std": pl.Float32, "title": pl.String}
            parts.append(pl.DataFrame(columns, schema_overrides=overrides))
            bar(found.asked)
    return pl.concat(parts)


def seen_pairs(graph: Graph, users: Ints | Longs) -> Pairs:
    """What users have rated, as (position among these users, item), sorted by position.

    An UNKNOWN user has rated nothing.
    """
    rows = graph.rows[Side.USER]
    first = np.where(users == UNKNOWN, 0, rows.indptr[users])
    counts = np.where(users == UNKNOWN, 0, rows.indptr[users + 1] - first)
    skipped = np.repeat(first - (np.cumsum(counts) - counts), counts)
    items = rows.indices[skipped + np.arange(len(skipped))]
    return np.repeat(np.arange(len(users)), counts), items
