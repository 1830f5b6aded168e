"""What is sent to every worker: the model without ratings."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from evichain.errors import SettingsError
from evichain.evidence.policy import Policy
from evichain.kernels import Floats, Ints, Keys
from evichain.model.chain import Chain
from evichain.ratings.ids import Id, stable_key
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side
from evichain.saving import load_model


@dataclass(frozen=True)
class Shared:
    """A trained chain and the keys of its prototypes: a few hundred kilobytes.

    Attributes:
        keys: the keys of each side's prototypes, ascending.
        numbers: the prototype number of each key.
        scale: the rating scale.
    """

    chain: Chain
    policy: Policy
    keys: tuple[Keys, Keys]
    numbers: tuple[Ints, Ints]
    scale: Scale

    @classmethod
    def load(cls, path: str | Path, *, cycle_blocking: bool = True) -> Self:
        """Load a model folder without its ratings.

        Args:
            cycle_blocking: False switches it off, even if the model was trained with it.
        """
        saved = load_model(Path(path))
        policy = saved.settings.policy
        if saved.graph.interactions:
            raise SettingsError(
                "trained on interactions, and Spark jobs take ratings",
                where=str(path),
                right="Lists for everyone: evichain recommend MODEL --everyone --out lists.parquet",
            )
        if policy.cycle_blocking:
            if cycle_blocking:
                raise SettingsError(
                    "with cycle blocking an embedding depends on who asks for it, so it cannot be "
                    "generated in bulk",
                    where=str(path),
                    right="Switch it off with --no-cycle-blocking, as the service does.",
                )
            policy = policy.model_copy(update={"cycle_blocking": False})
        return cls(saved.chain, policy, *by_key(saved.prototypes), saved.graph.scale)

    def slots(self, side: Side, keys: Keys) -> Ints:
        """The prototype number of each entity, by its key; -1 if it is not a prototype."""
        known, numbers = self.keys[side], self.numbers[side]
        if not len(known):
            return np.full(len(keys), -1, np.int32)
        position = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[position] == keys, numbers[position], -1).astype(np.int32)

    def width(self, side: Side) -> int:
        """The length of an embedding."""
        return int(self.chain.prototypes[side].shape[1])

    def clipped(self, estimates: Floats) -> Floats:
        """Estimates clipped to the scale, if the head's estimates are bounded by it."""
        return self.scale.within(estimates) if self.chain.head.bounded else estimates


def by_key(prototypes: Sequence[Sequence[Id]]) -> tuple[tuple[Keys, Keys], tuple[Ints, Ints]]:
    """The keys of each side's prototypes, ascending, and the numbers of their prototypes."""
    keys, numbers = [], []
    for side in Side:
        found = np.array([stable_key(each) for each in prototypes[side]], np.uint64)
        order = np.argsort(found)
        keys.append(found[order])
        numbers.append(order.astype(np.int32))
    return (keys[0], keys[1]), (numbers[0], numbers[1])
