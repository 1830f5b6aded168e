"""What a generator is: it turns the evidence of an entity into its embedding."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from evichain.evidence.plan import Block
from evichain.evidence.plan_layout import Layout
from evichain.model.ops.torch_ops import EvidenceTables


class Generator(nn.Module, ABC):
    """Makes the embeddings of a side from evidence of the opposite one.

    `forward` says what an embedding is; `generate` gives the same for all entities of a
    block at once.
    """

    links_at_once: int
    """How many links the blocks at the top may have where memory is to be bounded."""
    has_prior: ClassVar[bool]
    """Whether there is an embedding for no evidence at all."""
    ordinary: bool = False
    """Whether to use ordinary PyTorch operations on the processor too, as on other devices."""

    @abstractmethod
    def forward(self, evidence: Tensor, ratings: Tensor) -> Tensor:
        """The embedding behind which this evidence stands, a row and a rating a piece."""

    @abstractmethod
    def generate(self, below: Tensor, block: Block) -> Tensor:
        """The embeddings of a block's entities, then of its variants, from the rows below."""

    def placed(self, block: Block, device: torch.device) -> Layout | EvidenceTables:
        """The layout of a block as the operations on a device take it."""
        assert block.layout is not None, "a block of prototypes only has nothing to generate"
        if device.type == "cpu" and not self.ordinary:
            return block.layout
        return EvidenceTables.of(block.layout, device)
