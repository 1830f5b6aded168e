"""A table of lists for many users."""

from typing import Any

import numpy as np
import polars as pl

from evichain.answering.answers import check_caution, clipped, reasons_for
from evichain.answering.asker import find_user
from evichain.answering.graph_backend import GraphBackend
from evichain.answering.lists import lists
from evichain.answering.ranking import Pairs
from evichain.kernels import Ints, Longs
from evichain.progress import progress as progress_bar
from evichain.protocol import Reason
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
    reasons: bool = False,
    progress: bool = False,
) -> pl.DataFrame:
    """The items that each of these users would rate highest, as rows of one table.

    Args:
        reasons: add the columns of `_reasons`.
    """
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
            part = pl.DataFrame(columns, schema_overrides=overrides)
            if reasons:
                part = part.hstack(_reasons(backend, users[found.users], found.items))
            parts.append(part)
            bar(found.asked)
    return pl.concat(parts)


def _reasons(backend: GraphBackend, users: Longs, items: Longs) -> pl.DataFrame:
    """For each row of lists, which of the user's ratings supports the item most; else nulls."""
    why: list[Reason | None] = []
    starts = np.flatnonzero(np.diff(users, prepend=UNKNOWN))
    for part in np.split(np.arange(len(users)), starts[1:]):
        if len(part):
            asker = find_user(backend, backend.identifier(Side.USER, int(users[part[0]])))
            why += reasons_for(backend, asker, items[part])
    none = (None, None, None, None)
    schema: dict[str, Any] = {
        "reason_item_id": backend.graph.ids[Side.ITEM].values.dtype,
        "reason_title": pl.String,
        "reason_rating": pl.Float32,
        "reason_contribution": pl.Float32,
    }
    rows = [none if w is None else (w.item, w.title, w.rating, w.contribution) for w in why]
    return pl.DataFrame(rows, schema=schema, orient="row")


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
