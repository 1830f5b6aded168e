"""The evidence behind one prediction, as a tree with the contribution of each piece."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from evichain.errors import DataError
from evichain.evidence.rendering.svg import svg
from evichain.evidence.rendering.text import text
from evichain.ratings.ids import Id
from evichain.ratings.side import Side

SCHEMA = 2
ADDITIVE, REMOVAL, NONE = "additive", "removal", "none"
"""What contributions are: parts of a sum, what the estimate loses without each piece alone, or
nothing where there is no chain."""


@dataclass(frozen=True)
class Piece:
    """One piece of evidence in the tree behind a prediction.

    Where contributions are additive, what comes through a piece that is not a prototype comes
    from somewhere:
    `own + sum(piece.contribution for piece in pieces) + others_contribution == contribution`.

    Attributes:
        side: whether it is a user or an item.
        id: its id, as it went in.
        title: an item's title, else the id as text.
        depth: 0 for the user and the item asked about.
        rating: the rating that links it to its parent; None at depth 0.
        prototype: whether its embedding is stored, so that the chain ends here.
        contribution: the part of the estimate that comes through it, or what the estimate
            loses without it: the trace says which.
        own: the part of the contribution that is from its rating itself, not from its own
            evidence (a prototype: everything).
        pieces: its strongest evidence, by size of contribution, descending.
        others: how many further pieces of evidence are not shown.
        others_contribution: what comes through those.
    """

    side: Side
    id: Id
    title: str
    depth: int
    rating: float | None
    prototype: bool
    contribution: float
    own: float = 0.0
    pieces: tuple["Piece", ...] = ()
    others: int = 0
    others_contribution: float = 0.0

    def pruned(self, depth: int, pieces: int, *, additive: bool = True) -> "Piece":
        """This piece with less evidence below it; `others` counts the pieces that were cut.

        Their contributions are summed only if contributions are additive.
        """
        kept = self.pieces[:pieces] if self.depth < depth else ()
        cut = self.pieces[len(kept) :]
        return replace(
            self,
            pieces=tuple(piece.pruned(depth, pieces, additive=additive) for piece in kept),
            others=self.others + len(cut),
            others_contribution=self.others_contribution
            + sum(p.contribution for p in cut if additive),
        )

    def to_dict(self) -> dict[str, Any]:
        """This piece and all below it, ready for JSON; ids are text."""
        return {
            "side": self.side.noun,
            "id": str(self.id),
            "title": self.title,
            "depth": int(self.depth),
            "rating": None if self.rating is None else float(self.rating),
            "prototype": bool(self.prototype),
            "contribution": float(self.contribution),
            "own": float(self.own),
            "pieces": [piece.to_dict() for piece in self.pieces],
            "others": int(self.others),
            "others_contribution": float(self.others_contribution),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "Piece":
        """The piece that `to_dict` saved."""
        side = Side[saved["side"].upper()]
        pieces = tuple(cls.from_dict(piece) for piece in saved["pieces"])
        return cls(**{**saved, "side": side, "pieces": pieces})


@dataclass(frozen=True)
class Trace:
    """A prediction with the evidence of its user and of its item.

    Where contributions are additive, `user.contribution + item.contribution == estimate`.

    Attributes:
        user: the user asked about, with the evidence behind it.
        item: the item asked about, likewise.
        estimate: the predicted rating, or the score.
        reason: why there is no chain, so that the estimate is only a mean or a prior.
        kind: what a contribution means: ADDITIVE or REMOVAL; NONE where a reason is given.
        ignored: unknown items among what was given; they had no effect.
        measure: what the estimate is: "rating", or "score" for a model of choices.

    >>> user = Piece(Side.USER, 13, "13", 0, None, True, 1.5, own=1.5)
    >>> item = Piece(Side.ITEM, 8, "Babe (1995)", 0, None, True, 2.37, own=2.37)
    >>> print(Trace(user, item, 3.87))
    user 13 would rate Babe (1995) 3.87
                      adds
    ├─ ◆ user 13     +1.50
    └─ ◆ Babe (1995) +2.37
    ◆ prototype, its embedding stored   ◇ generated from its evidence
    The contributions add up to the estimate: 1.50 + 2.37 = 3.87.
    """

    user: Piece
    item: Piece
    estimate: float
    reason: str | None = None
    kind: str = ADDITIVE
    ignored: tuple[Id, ...] = ()
    measure: str = "rating"

    def __post_init__(self) -> None:
        if self.reason is not None:
            object.__setattr__(self, "kind", NONE)

    def __str__(self) -> str:
        return self.text()

    def pruned(self, *, depth: int, pieces: int) -> "Trace":
        """The same trace cut to a depth, and to a number of pieces in each piece's evidence.

        Pieces that are cut count among the others, so that additive contributions still add up.
        """
        additive = self.kind == ADDITIVE
        user, item = (
            root.pruned(depth, pieces, additive=additive) for root in (self.user, self.item)
        )
        return replace(self, user=user, item=item)

    def text(self) -> str:
        """The tree for a terminal, at most 100 columns wide."""
        return text(self)

    def svg(self) -> str:
        """The tree as a picture that needs nothing beside itself."""
        return svg(self)

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        return self.svg()

    def to_dict(self) -> dict[str, Any]:
        """The whole trace, ready for JSON, with ids as text; `from_dict` reads it."""
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "estimate": float(self.estimate),
            "measure": self.measure,
            "reason": self.reason,
            "user": self.user.to_dict(),
            "item": self.item.to_dict(),
            "ignored": [str(item) for item in self.ignored],
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "Trace":
        """The trace that `to_dict` saved."""
        schema = saved.get("schema")
        if schema != SCHEMA:
            raise DataError(
                f"a trace of schema {schema!r}", right=f"This version reads schema {SCHEMA}."
            )
        try:
            user, item = Piece.from_dict(saved["user"]), Piece.from_dict(saved["item"])
            own = {name: saved[name] for name in ("estimate", "reason", "kind")}
            measure = saved.get("measure", "rating")
            return cls(user, item, **own, ignored=tuple(saved.get("ignored", ())), measure=measure)
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"not a trace: {type(error).__name__}: {error}",
                right="Give what Trace.to_dict gave.",
            ) from error
