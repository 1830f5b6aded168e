"""iALS: factorization of who chose what by alternating least squares. From implicit."""

import math
from collections.abc import Mapping
from itertools import product
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from evichain.baselines._implicit import ImplicitBaseline, one_blas_thread
from evichain.baselines._lists import LearnedLists, ListSettings
from evichain.evaluation.scoring import Histories
from evichain.kernels import Floats, thread_count
from evichain.progress import progress as progress_bar
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side

_LARGEST_SEED = 2**32
_SOLVED = 1 << 22
"""The number of matrix elements in memory at a time, when histories are folded in."""


class IALSSettings(ListSettings):
    """The settings of `IALS`."""

    factors: int = Field(default=128, ge=1, le=4096)
    """K: the length of a vector."""
    unobserved: float = Field(default=0.2, gt=0)
    """a: the weight of a pair without interaction, beside 1 for one with."""
    ridge: float = Field(default=0.01, gt=0)
    """How strongly a vector is shrunk towards zero, for each unit of the weight it is learned
    from."""
    iterations: int = Field(default=16, ge=0)
    """How often the vectors of both sides are solved for in turn."""


class IALS(ImplicitBaseline[IALSSettings]):
    """Implicit alternating least squares (Hu, Koren and Volinsky, 2008, ICDM).

    In the form of Rendle et al. (2022, RecSys), the vectors x of users and y of items minimize

        Σ_observed w (1 - x·y)² + a Σ_all (x·y)² + λ (Σ |x|² + Σ |y|²)

    Up to a common factor of the vectors that is the loss of implicit with a confidence of
    1 + w / a for w = 1, and λ (1 + a) / a for its `regularization`. There is one λ for all
    vectors where Rendle et al. have ``ridge (n + a N)`` for a vector with n of N interactions;
    λ is the geometric mean of that over the mean user and the mean item.

    Everyone's scores, those of users of the data too, are made from their history by one more
    half-step.
    """

    Settings = IALSSettings
    # What is best of the ridge falls as what is unobserved weighs more.
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = tuple(
        {"factors": factors, "unobserved": unobserved, "ridge": round(strength / unobserved, 6)}
        for factors, unobserved, strength in product(
            (64, 128), (0.1, 0.2, 0.4), (0.0009, 0.0018, 0.0036)
        )
    )

    def _learn_lists(self, graph: Graph, *, progress: bool) -> LearnedLists:
        self.check_installed()
        from implicit.cpu.als import AlternatingLeastSquares

        settings, confidences = self.settings, self._interactions(graph)
        confidences.data = self._confidences(confidences.data)
        regularization = self._regularization(graph)
        with one_blas_thread():
            model = AlternatingLeastSquares(
                factors=settings.factors,
                regularization=regularization,
                iterations=settings.iterations,
                num_threads=thread_count(),
                random_state=settings.seed % _LARGEST_SEED,
            )
            name, total = "Training IALS", settings.iterations
            with progress_bar(name, total, enabled=progress, unit="rounds") as bar:
                model.fit(confidences, show_progress=False, callback=lambda *_: bar())
        items = np.asarray(model.item_factors, np.float32)
        everywhere = items.T @ items
        everywhere[np.diag_indices(len(everywhere))] += regularization
        step = max(1, _SOLVED // everywhere.size)

        def score(histories: Histories) -> Floats:
            users = np.empty((len(histories), items.shape[1]), np.float32)
            for start in range(0, len(users), step):
                part = slice(start, min(start + step, len(users)))
                users[part] = self._folded_in(histories.part(part), items, everywhere)
            scores: Floats = users @ items.T
            return scores

        return LearnedLists(score, model.user_factors.size + items.size)

    def _confidences(self, weights: Floats) -> Floats:
        return np.float32(1) + weights / np.float32(self.settings.unobserved)

    def _regularization(self, graph: Graph) -> float:
        """Implicit's `regularization`."""
        settings, sizes = self.settings, [len(graph.ids[side]) for side in Side]
        weights = [
            len(graph) / sizes[side] + settings.unobserved * sizes[side.opposite] for side in Side
        ]
        ridge = settings.ridge * math.sqrt(weights[0] * weights[1])
        return ridge * (1 + settings.unobserved) / settings.unobserved

    def _folded_in(self, histories: Histories, items: Floats, everywhere: Floats) -> Floats:
        """The vectors of people with these histories."""
        left = np.repeat(everywhere[np.newaxis], len(histories), axis=0)
        right = np.zeros((len(histories), items.shape[1], 1), np.float32)
        for row, (chosen, weights) in enumerate(histories):
            vectors, confidences = items[chosen], self._confidences(weights)
            left[row] += vectors.T @ (vectors * (confidences - 1)[:, np.newaxis])
            right[row, :, 0] = confidences @ vectors
        found: Floats = np.linalg.solve(left, right)[:, :, 0]
        return found
