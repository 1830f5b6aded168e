"""What limits the evidence: the complexity controls of the paper, each one switchable."""

from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

if TYPE_CHECKING:
    # The command line reads the settings before it imports anything heavy.
    from evichain.ratings.side import Side

DEEPEST_EXACT_BLOCKING = 4


class Policy(BaseModel):
    """The controls that limit the evidence of an embedding.

    >>> [Policy(evidence_limit=20).limit(depth) for depth in range(6)]
    [20, 10, 5, 2, 1, 1]
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    max_depth: int = Field(default=4, ge=0, le=16)
    """MD: the depth at which only prototypes have an embedding."""
    evidence_limit: int = Field(default=80, ge=1, le=2**31)
    """EL: how many pieces of evidence an embedding is generated from at most."""
    telescoping: bool = True
    """TEL: halve the evidence limit at each depth."""
    prototype_prioritization: bool = True
    """PP: take prototypes as evidence before anything else."""
    cycle_blocking: bool = True
    """CB: an entity is never evidence inside its own generation (max_depth <= 4)."""
    bottom_prototypes: bool = False
    """BP: prototypes use their stored embedding at depth MD only; above it they are generated
    like all entities, so that their new ratings count too. PP then applies only where prototypes
    alone have an embedding."""
    staggered: bool = False
    """Items are requested at depth 1, users at depth 0: a user is compared with items in the very
    form in which items are evidence for users. One tower of embeddings then serves both sides."""
    caching: bool = True
    """CA: generate an embedding once, not once per request. Changes cost, never values."""

    @model_validator(mode="after")
    def _blocking_is_exact(self) -> Self:
        if self.cycle_blocking and self.bottom_prototypes:
            raise ValueError(
                "bottom_prototypes makes prototypes part of cycles that cycle_blocking does not "
                "see; switch one of them off"
            )
        if self.cycle_blocking and self.max_depth > DEEPEST_EXACT_BLOCKING:
            raise ValueError(
                f"cycle_blocking is exact up to max_depth {DEEPEST_EXACT_BLOCKING}, "
                f"not {self.max_depth}; switch it off or go less deep"
            )
        return self

    @model_validator(mode="after")
    def _staggered_towers_meet(self) -> Self:
        if self.staggered and (self.cycle_blocking or not self.max_depth):
            raise ValueError("staggered needs max_depth 1 or more, and no cycle_blocking")
        return self

    def request_depth(self, side: "Side") -> int:
        """The depth at which the embeddings of a side are requested: 0 for users, 1 for items."""
        return int(side) if self.staggered else 0

    def needs(self, depth: int, side: "Side") -> bool:
        """Whether any request leads to embeddings of this side at this depth."""
        return not self.staggered or (depth - self.request_depth(side)) % 2 == 0

    def stored(self, depth: int) -> bool:
        """Whether prototypes at this depth use their stored embeddings."""
        return depth >= self.max_depth or not self.bottom_prototypes

    def prioritizes(self, depth: int) -> bool:
        """Whether embeddings at this depth take prototypes as evidence first."""
        return self.prototype_prioritization and self.stored(depth + 1)

    def limit(self, depth: int) -> int:
        """How many pieces of evidence an embedding at this depth may have."""
        return max(1, self.evidence_limit >> depth) if self.telescoping else self.evidence_limit
