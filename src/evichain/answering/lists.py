"""Lists for many users at once, in batches that bound the memory, and what the users have rated."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evichain.answering.answers import check_caution, clipped, reasons_for
from evichain.answering.asker import find_user
from evichain.answering.graph_backend import GraphBackend
from evichain.answering.ranking import NO_ITEM, top
from evichain.kernels import Floats, Ints, Longs
from evichain.model.inference import HeadOutput
from evichain.progress import progress as progress_bar
from evichain.protocol import Reason
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side

Pairs = tuple[Longs, Ints]
"""Distinct (user, item) pairs as two arrays; a user is a row of those that lists are made for."""

_SCORES = 1 << 22
"""How many scores are held in memory at a time."""


@dataclass(frozen=True)
class ListBatch:
    """The lists of a batch of users, as parallel rows: user by user, best first.

    Attributes:
        asked: how many users the batch has, including those without a list.
        users, items: rows of the users and items asked for.
        ranks: from 1.
        estimates: before they are clipped to the scale.
        stds: the standard deviation of each rating; None when the model has none.
    """

    asked: int
    users: Longs
    ranks: Ints
    items: Longs
    estimates: Floats
    stds: Floats | None


def list_batches(
    users: HeadOutput, items: HeadOutput, seen: Pairs, n: int, caution: float = 0.0
) -> Iterator[ListBatch]:
    """The n best items for each user that the model has an answer for, a batch of users at a time.

    Yields at least one batch, an empty one if there are no users.

    Args:
        seen: (user, item) pairs to leave out, sorted by user.
        caution: rank by the estimate minus this many standard deviations.
    """
    step = max(1, _SCORES // max(1, len(items.has_embedding)))
    for start in range(0, max(1, len(users.has_embedding)), step):
        part = slice(start, min(start + step, len(users.has_embedding)))
        scores = users.vectors[part] @ items.vectors.T
        if caution and users.log_stds is not None and items.log_stds is not None:
            scores -= np.float32(caution) * np.exp(users.log_stds[part, None] + items.log_stds)
        scores[~users.answerable[part]] = -np.inf
        scores[:, ~items.has_embedding] = -np.inf
        scores[pairs_of_users(seen, part)] = -np.inf
        found = top(scores, n)
        user, rank = np.nonzero(found != NO_ITEM)
        item, user = found[user, rank], user + start
        stds = None
        if users.log_stds is not None and items.log_stds is not None:
            stds = np.exp(users.log_stds[user] + items.log_stds[item])
        yield ListBatch(
            asked=part.stop - part.start,
            users=user,
            ranks=(rank + 1).astype(np.int32),
            items=item,
            estimates=np.einsum("ij,ij->i", users.vectors[user], items.vectors[item]),
            stds=stds,
        )


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
    """The items that each of these users would rate highest, as one table.

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
        for found in list_batches(outputs, backend.items, seen, n, caution):
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


def pairs_of_users(pairs: Pairs, part: slice) -> Pairs:
    """The pairs of a range of users, who are then counted from 0; `pairs` is sorted by user."""
    first, last = np.searchsorted(pairs[0], (part.start, part.stop))
    return pairs[0][first:last] - part.start, pairs[1][first:last]
