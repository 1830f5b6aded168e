"""The interface of generators, which turn the evidence of an entity into its embedding."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from evichain.evidence.plan import Block
from evichain.evidence.plan_layout import Layout
from evichain.model.ops.torch_ops import EvidenceTables


class Generator(nn.Module, ABC):
    """Makes the embeddings of a side from evidence of the opposite one.

    `forward` defines one embedding; `generate` computes the same for all entities of a block.
    """

    links_at_once: int
    """How many links a block may have, to bound the memory."""
    has_prior: ClassVar[bool]
    """Whether there is an embedding for an entity without evidence."""
    additive: ClassVar[bool]
    """Whether the evidence contributes parts that add up to the embedding."""
    ordinary: bool = False
    """Whether to use PyTorch operations on the CPU too, as on other devices."""

    @abstractmethod
    def forward(self, evidence: Tensor, ratings: Tensor) -> Tensor:
        """The embedding from this evidence: one row and one rating for each piece."""

    @abstractmethod
    def generate(self, below: Tensor, block: Block) -> Tensor:
        """The embeddings of a block's entities, then of its variants, from the rows below."""

    def placed(self, block: Block, device: torch.device) -> Layout | EvidenceTables:
        """The layout of a block in the form that a device needs."""
        assert block.layout is not None, "a block of prototypes has nothing to generate"
        if device.type == "cpu" and not self.ordinary:
            return block.layout
        return EvidenceTables.of(block.layout, device)
