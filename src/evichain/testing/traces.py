"""Checks that a trace is consistent: contributions add up at every piece and in total."""

import json
from collections.abc import Iterator

from evichain.evidence.trace import ADDITIVE, Piece, Trace
from evichain.ratings.side import Side
from evichain.testing.expectations import CheckError, expect

TRACE_TOLERANCE = 1e-5


def check_trace(trace: Trace, tolerance: float = TRACE_TOLERANCE) -> None:
    """Fail with what is wrong with a trace, if anything is.

    Contributions need to add up only where there is a chain, that is where no reason is given.
    """
    for side, root in zip(Side, (trace.user, trace.item), strict=True):
        expect(root.side is side, f"the {side.noun} of a trace to be one, not {root.side!r}")
        expect(root.depth == 0, f"depth 0 for the {side.noun} asked about, not {root.depth}")
        expect(root.rating is None, f"no rating of the {side.noun} asked about")
    if trace.reason is None:
        if trace.kind == ADDITIVE:
            total = trace.user.contribution + trace.item.contribution
            same = abs(total - trace.estimate) <= tolerance
            expect(same, f"user and item to add up: {total} is not {trace.estimate}")
        for root in (trace.user, trace.item):
            for problem in _problems(root, tolerance, adds_up=trace.kind == ADDITIVE):
                raise CheckError(problem)
    restored = Trace.from_dict(json.loads(json.dumps(trace.to_dict(), allow_nan=False)))
    expect(restored.to_dict() == trace.to_dict(), "a trace to survive JSON")
    expect(bool(trace.text()) and trace.svg().startswith("<svg"), "text and a picture of a trace")


def _problems(piece: Piece, tolerance: float, *, adds_up: bool) -> Iterator[str]:
    who = f"{piece.side.noun} {piece.id!r} at depth {piece.depth}"
    if piece.prototype:
        if piece.pieces or piece.others:
            yield f"expected no evidence below the prototype {who}"
        if adds_up and abs(piece.own - piece.contribution) > tolerance:
            yield f"expected all of the prototype {who} to be its own"
        return
    parts = [part.contribution for part in piece.pieces]
    total = piece.own + sum(parts) + piece.others_contribution
    if adds_up and abs(total - piece.contribution) > tolerance:
        yield f"expected the parts of {who} to add up to {piece.contribution}, not {total}"
    if any(abs(parts[k]) + tolerance < abs(parts[k + 1]) for k in range(len(parts) - 1)):
        yield f"expected the strongest evidence of {who} first"
    for part in piece.pieces:
        if part.side is not piece.side.opposite or part.depth != piece.depth + 1:
            yield f"expected the other side, one deeper, as evidence of {who}"
        if part.rating is None:
            yield f"expected a rating between {who} and {part.side.noun} {part.id!r}"
        yield from _problems(part, tolerance, adds_up=adds_up)
