"""The arithmetic of fold-in: one embedding at a time, in plain NumPy.

For a single row the arithmetic takes a few microseconds, and PyTorch's overhead per operation
would take most of the time. This is the same arithmetic as in `channels.py` and `head.py`, for
answers with low latency; a test checks that both agree.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch

from evichain.kernels import Floats
from evichain.model.chain import Chain
from evichain.model.channels import BESIDE_STATE, PRIOR_RATINGS, ChannelGenerator
from evichain.model.choices import BESIDE_KEY, ChoiceGenerator
from evichain.model.head import BaselineHead
from evichain.model.inference import HeadOutput
from evichain.model.ops.cholesky import factor_size
from evichain.model.ops.ridge import factorize_and_solve, padded_ridge
from evichain.model.ops.simd import padded
from evichain.ratings.side import Side


@dataclass(frozen=True)
class ChannelFoldIn:
    """Computes the depth-0 embedding of a user, and the output of the head for it."""

    generator: ChannelGenerator
    weights: dict[str, Floats]
    head: dict[str, Floats]

    @classmethod
    def of(cls, generator: ChannelGenerator, head: BaselineHead) -> Self:
        """Fold-in by the generator of users at depth 0, and the head."""
        parts = [
            {name: value.detach().numpy() for name, value in module.state_dict().items()}
            for module in (generator, head)
        ]
        for name in ("shrinkage", "ridge"):
            parts[0][name] = np.exp(parts[0].pop(f"log_{name}"))
        return cls(generator, *parts)

    def row(self, evidence: Floats, ratings: Floats) -> Floats:
        """The row generated from this evidence, which is not empty."""
        weights, keys = self.weights, self.generator.sizes[0]
        (mean, std), count = weights["unit"], len(ratings)
        shrinkage = weights["shrinkage"]
        unexplained = (ratings - mean) / std - evidence[:, -1]
        own = unexplained.sum() / (count + shrinkage[0])
        residuals = unexplained - own
        projected = evidence[:, :-1] @ weights["project.weight"].T + weights["project.bias"]
        spread = (residuals @ residuals + PRIOR_RATINGS) / (count + PRIOR_RATINGS)
        beside = (math.log(spread), (count + 1) ** -0.5, own)
        gathered = np.concatenate(
            [
                solved(projected[:, :keys], residuals, weights["ridge"]),
                projected[:, keys:].sum(axis=0) * (3 / (count + shrinkage[1])),
                (2 * own, (math.log1p(count) - 4) / 2, beside[0], beside[1]),
            ],
            dtype=np.float32,
        )
        hidden = weights["hidden.weight"] @ gathered + weights["hidden.bias"]
        state = weights["direct.weight"] @ gathered + weights["direct.bias"]
        state += weights["last.weight"] @ np.maximum(hidden, 0)
        return np.concatenate([state, beside], dtype=np.float32)

    def output(self, row: Floats) -> HeadOutput:
        """The output of the head for a row."""
        head, (mean, std) = self.head, self.head["unit"]
        state = row[:-BESIDE_STATE]
        turned = (head["form.weight"] @ state + head["form.bias"]) * (head["gain"] * std)
        vector = np.concatenate([turned, (row[-1] * std + mean, 1.0)], dtype=np.float32)
        weight, bias = (head[f"log_stds.{int(Side.USER)}.{part}"] for part in ("weight", "bias"))
        log_std = weight @ row + bias + 0.5 * math.log(std)
        has_embedding = np.ones(1, np.bool_)
        return HeadOutput(
            vectors=vector[np.newaxis],
            embeddings=state[np.newaxis],
            log_stds=log_std.astype(np.float32),
            has_embedding=has_embedding,
            answerable=has_embedding,
        )


@dataclass(frozen=True)
class ChoiceFoldIn:
    """The same for a chain of choices."""

    generator: ChoiceGenerator
    basis: Floats
    ridge: Floats
    weighting: Floats

    @classmethod
    def of(cls, generator: ChoiceGenerator) -> Self:
        """Fold-in by the generator of users at depth 0."""
        parts = generator.basis, generator.log_unchosen.exp(), generator.weighting
        return cls(generator, *(part.detach().numpy() for part in parts))

    def row(self, evidence: Floats, ratings: Floats) -> Floats:
        """The row generated from this evidence, which is not empty."""
        given = torch.from_numpy(np.asarray(ratings, np.float32))
        confidence, target = (part.numpy() for part in self.generator.read(given))
        root = np.exp(evidence[:, -1] / 2) * np.sqrt(confidence)
        turned = (evidence[:, :-1] @ self.basis) * root[:, np.newaxis]
        keys = self.basis @ solved(turned, root * target, self.ridge)
        weight = self.weighting[0] - self.weighting[1] * math.log(len(ratings))
        return np.append(keys, np.float32(weight))

    def output(self, row: Floats) -> HeadOutput:
        """The output of the head for a row."""
        keys, has_embedding = row[np.newaxis, :-BESIDE_KEY], np.ones(1, np.bool_)
        return HeadOutput(keys, keys, None, has_embedding, has_embedding)


FoldIn = ChannelFoldIn | ChoiceFoldIn


def fold_in_of(chain: Chain) -> FoldIn | None:
    """Fold-in for a chain; None where only PyTorch computes it."""
    generator, head = chain.generator(Side.USER, 0), chain.head
    if isinstance(generator, ChannelGenerator) and isinstance(head, BaselineHead):
        return ChannelFoldIn.of(generator, head)
    return ChoiceFoldIn.of(generator) if isinstance(generator, ChoiceGenerator) else None


def solved(keys: Floats, targets: Floats, ridge: Floats) -> Floats:
    """The coefficients of one ridge regression."""
    count, size = keys.shape
    every = np.arange(count, dtype=np.int32)
    nothing = np.zeros(count, np.float32)
    rows = np.zeros((count, padded(size)), np.float32)
    rows[:, :size] = keys
    plain, out = np.empty((2, 1, padded(size)), np.float32)
    given = rows, nothing, nothing[:1], padded_ridge(ridge)
    links = np.array([0, count]), every, every, targets
    factors, squares = np.empty((0, factor_size(size)), np.float32), np.empty(1, np.float32)
    factorize_and_solve(0, 1, *given, *links, factors, plain, squares, out)
    found: Floats = out[0, :size]
    return found
