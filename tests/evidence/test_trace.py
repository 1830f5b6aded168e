"""Traces add up, survive JSON and pruning, and refuse what is none."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evichain.errors import DataError
from evichain.evidence.trace import ADDITIVE, NONE, REMOVAL, Piece, Trace
from evichain.ratings.side import Side
from evichain.testing import CheckError, check_trace

amounts = st.floats(-10, 10, allow_nan=False)
ids = st.integers(-(2**63), 2**63 - 1) | st.text(max_size=20)


@st.composite
def piece(draw: st.DrawFn, side: Side, depth: int) -> Piece:
    """A piece whose parts add up, with evidence down to depth 3."""
    identifier = draw(ids)
    rating = None if depth == 0 else draw(amounts)
    prototype = draw(st.booleans())
    own = draw(amounts)
    title = draw(st.text(max_size=60))
    if prototype or depth == 3:
        return Piece(side, identifier, title, depth, rating, prototype, own, own=own)
    below = draw(st.lists(piece(side.opposite, depth + 1), max_size=3))
    below.sort(key=lambda part: -abs(part.contribution))
    others = draw(st.integers(0, 50))
    rest = draw(amounts) if others else 0.0
    total = own + sum(part.contribution for part in below) + rest
    return Piece(
        side, identifier, title, depth, rating, False, total, own, tuple(below), others, rest
    )


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    user, item = draw(piece(Side.USER, 0)), draw(piece(Side.ITEM, 0))
    return Trace(user, item, user.contribution + item.contribution)


@given(traces())
def test_traces_survive_json(trace: Trace) -> None:
    check_trace(trace)
    restored = Trace.from_dict(json.loads(json.dumps(trace.to_dict())))
    assert restored.to_dict() == trace.to_dict()


@given(traces(), st.integers(0, 4), st.integers(0, 3))
def test_pruned_traces_still_add_up(trace: Trace, depth: int, pieces: int) -> None:
    pruned = trace.pruned(depth=depth, pieces=pieces)
    check_trace(pruned)
    assert all(piece.depth <= depth for piece in everything(pruned))
    assert all(len(piece.pieces) <= pieces for piece in everything(pruned))
    assert trace.pruned(depth=9, pieces=9) == trace


def test_where_there_is_no_chain_contributions_are_of_no_kind() -> None:
    trace = replace(small(), reason="no chain")
    assert (small().kind, trace.kind) == (ADDITIVE, NONE)
    assert replace(trace, kind=REMOVAL).kind == NONE
    check_trace(trace)


def everything(trace: Trace) -> list[Piece]:
    found, left = [], [trace.user, trace.item]
    while left:
        found.append(left.pop())
        left += found[-1].pieces
    return found


def small() -> Trace:
    part = Piece(Side.ITEM, 8, "Babe (1995)", 1, 4.0, False, 0.5, own=0.5)
    user = Piece(Side.USER, "ann", "ann", 0, None, False, 1.5, own=1.0, pieces=(part,))
    item = Piece(Side.ITEM, 9, "9", 0, None, True, 2.0, own=2.0)
    return Trace(user, item, 3.5)


def test_json_is_plain() -> None:
    saved = small().to_dict()
    assert saved["schema"] == 2
    assert saved["user"]["side"] == "user"
    assert saved["user"]["pieces"][0]["title"] == "Babe (1995)"


def test_numpy_scalars_become_plain_numbers() -> None:
    one = Piece(Side.USER, np.int64(7), "7", 0, None, True, np.float32(0.1), own=np.float32(0.1))  # type: ignore[arg-type]
    trace = Trace(one, replace(one, side=Side.ITEM), np.float32(0.2))  # type: ignore[arg-type]
    assert json.loads(json.dumps(trace.to_dict()))["user"]["id"] == "7"


@pytest.mark.parametrize(
    "saved",
    [
        {},
        {"schema": 2},
        {"schema": 1},
        {**small().to_dict(), "user": None},
        {**small().to_dict(), "item": {**small().item.to_dict(), "side": "both"}},
        {**small().to_dict(), "item": {**small().item.to_dict(), "more": 1}},
    ],
)
def test_what_is_no_trace_is_refused(saved: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        Trace.from_dict(saved)


def test_a_trace_that_does_not_add_up_is_caught() -> None:
    trace = small()
    check_trace(trace)
    (part,) = trace.user.pieces
    wrong = [
        replace(trace, estimate=3.6),
        replace(trace, user=replace(trace.user, own=0.9)),
        replace(trace, item=replace(trace.item, own=0.0)),
        replace(trace, user=replace(trace.user, depth=1)),
        replace(trace, user=replace(trace.user, pieces=(replace(part, rating=None),))),
        replace(trace, user=replace(trace.user, pieces=(replace(part, side=Side.USER),))),
        replace(trace, user=trace.item),
    ]
    for broken in wrong:
        with pytest.raises(CheckError, match="expected"):
            check_trace(broken)
