"""Lists, predictions, similar items, explanations and reasons, from any backend."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from evichain.answering.asker import Asker
from evichain.answering.backend import Backend
from evichain.answering.ranking import most_similar, top_of_one
from evichain.answering.row_evidence import RowSource, row_evidence, user_output
from evichain.errors import DataError, UnknownEntityError
from evichain.evidence.trace import Piece, Trace
from evichain.kernels import Flags, Floats, Ints, Longs
from evichain.model.inference import HeadOutput, paired, read
from evichain.model.removal import Alternatives
from evichain.model.tracing import trace_of
from evichain.protocol import (
    Predictions,
    Reason,
    Recommendation,
    Recommendations,
    Similar,
    SimilarItems,
)
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.side import Side

REASONS_FROM = 64
"""How many of the asker's pieces of evidence are tried as the reason for an item."""


def recommend(
    backend: Backend,
    asker: Asker,
    n: int = 10,
    *,
    exclude_seen: bool = True,
    caution: float = 0.0,
    reasons: bool = False,
) -> Recommendations:
    """The items that someone would rate highest, best first.

    Args:
        exclude_seen: leave out what they have rated, also where the rating is left out.
        caution: rank by the estimate minus this many standard deviations; a negative one
            ranks by what the rating may be at best.
        reasons: say for each item which of their ratings supports it most.
    """
    seen = np.concatenate([asker.row[0], asker.left_out]) if exclude_seen else asker.left_out[:0]
    found, estimates = best_items(backend, asker.output, n, seen, caution)
    stds = asker.output.stds(backend.items, found)
    why = reasons_for(backend, asker, found) if reasons else [None] * len(found)
    bounds = bounds_of(backend)
    return Recommendations(
        (
            Recommendation(
                *named_item(backend, index, float(estimates[k])),
                None if stds is None else float(stds[k]),
                why[k],
                bounds,
            )
            for k, index in enumerate(found.tolist())
        ),
        user=None if asker.is_guest else asker.name,
        ignored=asker.ignored,
    )


def best_items(
    backend: Backend, user: HeadOutput, n: int, seen: Longs | Ints, caution: float = 0.0
) -> tuple[Longs, Floats]:
    """The indices of the n best items that were not seen, and their estimates."""
    check_caution(caution, user)
    if not user.answerable[0] or n < 1:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    items = backend.items
    estimates = scores = items.vectors @ user.vectors[0]
    stds = user.stds(items) if caution else None
    if stds is not None:
        scores = estimates - np.float32(caution) * stds
    found = top_of_one(scores, items.has_embedding, seen, n)
    return found, clipped(backend, estimates[found])


def check_caution(caution: float, user: HeadOutput) -> None:
    """Refuse a caution that is not finite, or that the model cannot follow."""
    if not math.isfinite(caution):
        raise DataError(
            f"a caution of {caution}", right="Give a number of standard deviations, such as 1."
        )
    if caution and user.log_stds is None:
        raise DataError(
            "this model estimates no standard deviations, so caution has no meaning",
            right="Leave caution out, or train with the recipe 'plus'.",
        )


def predict(backend: Backend, asker: Asker, items: Sequence[Id]) -> Predictions:
    """How someone would rate items."""
    indices = backend.indices(Side.ITEM, items)
    both = asker.output, backend.outputs(Side.ITEM, indices)
    positions = np.zeros(len(items), np.int64), np.arange(len(items))
    known = np.array([asker.is_guest or asker.index != UNKNOWN]), indices != UNKNOWN
    user = None if asker.is_guest else asker.name
    return _predictions(
        backend, both, positions, known, ([user] * len(items), items), asker.ignored
    )


def predict_pairs(backend: Backend, users: Sequence[Id], items: Sequence[Id]) -> Predictions:
    """How users would rate items, pair by pair."""
    both, positions, known, names = [], [], [], []
    for side, given in zip(Side, (users, items), strict=True):
        distinct, position = np.unique(backend.indices(side, given), return_inverse=True)
        both.append(backend.outputs(side, distinct))
        positions.append(position)
        known.append(distinct != UNKNOWN)
        own = [None if i == UNKNOWN else backend.identifier(side, i) for i in distinct.tolist()]
        found = zip(position.tolist(), given, strict=True)
        names.append([name if own[k] is None else own[k] for k, name in found])
    return _predictions(backend, both, positions, known, names)


def _predictions(
    backend: Backend,
    both: Sequence[HeadOutput],
    positions: Sequence[Longs],
    known: Sequence[Any],
    names: Sequence[Sequence[Any]],
    ignored: tuple[Id, ...] = (),
) -> Predictions:
    """Predictions for pairs; `positions` are the rows of each pair's user and item in `both`."""
    found, stds = paired(backend.chain, backend.scale, both, positions)
    reasons = obstacles(
        both,
        positions,
        [known[side][positions[side]] for side in Side],
        lambda side, k: names[side][k],
        backend.policy.max_depth,
    )
    return Predictions(
        found, reasons, stds, bounds_of(backend), names[0], names[1], backend.title, ignored
    )


def similar_items(backend: Backend, item: Id, n: int = 10) -> SimilarItems:
    """The items whose embeddings have the highest cosine with that of another."""
    index = int(backend.indices(Side.ITEM, [item])[0])
    if index == UNKNOWN:
        raise unknown_item(item)
    items, found = backend.items, []
    if items.has_embedding[index]:
        indices, cosines = most_similar(items.embeddings, items.has_embedding, index, n)
        found = [
            Similar(*named_item(backend, other, cosine))
            for other, cosine in zip(indices.tolist(), cosines.tolist(), strict=True)
        ]
    return SimilarItems(found, item=backend.identifier(Side.ITEM, index))


def explain(backend: Backend, asker: Asker, item: Id, *, pieces: int = 5, depth: int = 2) -> Trace:
    """The evidence behind a prediction, and what each piece contributes.

    Args:
        pieces: how many pieces of evidence to show of each embedding.
        depth: how deep to follow the chains.

    Raises:
        UnknownEntityError: the item has neither ratings nor a title.
    """
    index = int(backend.indices(Side.ITEM, [item])[0])
    title = backend.title(item)
    if index == UNKNOWN and title == str(item):
        raise unknown_item(item)
    (found,) = predict(backend, asker, [item])
    measure = "score" if backend.chain.of_choices else "rating"
    if found.reason is None:
        source = None
        if asker.index != UNKNOWN and not len(asker.left_out):
            source = backend.evidence_source(asker.index, index)
        if source is None:
            source = RowSource(backend, asker.name, asker.row, asker.stored, index)
        trace = trace_of(backend.chain, source, pieces=pieces, depth=depth)
        return replace(trace, ignored=asker.ignored, measure=measure)
    own = item if index == UNKNOWN else backend.identifier(Side.ITEM, index)
    roots = [
        Piece(side, identifier, name, 0, None, prototype=False, contribution=0.0)
        for side, identifier, name in (
            (Side.USER, asker.name, str(asker.name)),
            (Side.ITEM, own, title),
        )
    ]
    trace = Trace(roots[0], roots[1], found.estimate, found.reason)
    return replace(trace, ignored=asker.ignored, measure=measure)


def reasons_for(backend: Backend, asker: Asker, items: Longs) -> list[Reason | None]:
    """For each item, the rating whose removal would lower its estimate most."""
    evidence = row_evidence(backend, Side.USER, asker.row)
    if asker.stored is not None or not len(evidence.others) or not len(items):
        return [None] * len(items)
    generator = backend.chain.generator(Side.USER, 0)
    if len(evidence.others) > 1:
        tried = np.arange(min(len(evidence.others), REASONS_FROM))
        with torch.inference_mode():
            below = torch.from_numpy(evidence.embeddings)
            rows = Alternatives(generator, below, evidence.ratings).without(tried)
        everyone = np.ones(len(rows), np.bool_)
        without = read(backend.chain, Side.USER, rows.numpy(), everyone).vectors
    else:
        nothing = evidence.others[:0], evidence.ratings[:0]
        without = user_output(backend, nothing).vectors
    lost = (asker.output.vectors[0] - without) @ backend.items.vectors[items].T
    why: list[Reason | None] = []
    for k, best in enumerate(lost.argmax(axis=0).tolist()):
        item = backend.identifier(Side.ITEM, int(evidence.others[best]))
        rating, contribution = float(evidence.ratings[best]), float(lost[best, k])
        reason = Reason(item, backend.title(item), rating, contribution)
        why.append(reason if contribution > 0 else None)
    return why


def clipped(backend: Backend, estimates: Floats) -> Floats:
    """Estimates within the scale, where the head knows one."""
    return backend.scale.within(estimates) if backend.chain.head.bounded else estimates


def bounds_of(backend: Backend) -> tuple[float, float] | None:
    """The lowest and the highest estimate; None where the head knows no bounds."""
    scale = backend.scale
    return (scale.low, scale.high) if backend.chain.head.bounded else None


def named_item(backend: Backend, index: int, figure: float) -> tuple[Id, float, str]:
    """The id of an item, a figure about it, and its title."""
    item = backend.identifier(Side.ITEM, index)
    return item, figure, backend.title(item)


def unknown_item(item: object) -> UnknownEntityError:
    """The error for an item that has neither ratings nor a title."""
    return UnknownEntityError(f"unknown item {item!r}", right="Name an item that has ratings.")


def obstacles(
    both: Sequence[HeadOutput],
    positions: Sequence[Longs | Ints],
    known: Sequence[Flags],
    name_of: Callable[[Side, int], object],
    max_depth: int,
) -> list[str | None]:
    """Why there is no chain of evidence for a pair; None where there is one.

    Args:
        positions: the rows of each pair's user and item in `both`.
        known: whether each pair's user and item are known.
        name_of: the name of the user or the item of a pair.
    """
    has_embedding = [both[side].has_embedding[positions[side]] for side in Side]
    found: list[str | None] = [None] * len(positions[0])
    for k in np.flatnonzero(~(has_embedding[0] & has_embedding[1])).tolist():
        found[k] = "; ".join(
            obstacle(side, name_of(side, k), known=bool(known[side][k]), max_depth=max_depth)
            for side in Side
            if not has_embedding[side][k]
        )
    return found


def obstacle(side: Side, name: object, *, known: bool, max_depth: int) -> str:
    """Why there is no chain of evidence for an entity; `name` is None for a guest.

    >>> obstacle(Side.USER, "ann", known=False, max_depth=4)
    "unknown user 'ann'"
    """
    if not known:
        return f"unknown {side.noun} {name!r}"
    who = "these ratings" if name is None else f"{side.noun} {str(name)!r}"
    return f"no chain of evidence from {who} to a prototype within depth {max_depth}"
