"""Tables of evidence, and the means, sums and ridge regressions over them in PyTorch.

Used on devices without compiled kernels. The evidence of a node is a row of a table. Nodes with
about equally much evidence share a table, so that sums over evidence are batched matrix products.
The values of a table are gathered when needed, and again for the gradient, so that memory is
bounded by the largest table.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding
from torch.utils.checkpoint import checkpoint

from evichain.evidence.plan_layout import Layout
from evichain.kernels import Ints, Longs

_POSITIONS = 1 << 20
"""The largest size of a table, unless one node alone has more evidence."""


@dataclass(frozen=True)
class EvidenceTable:
    """Nodes with about as much evidence: the pair in each cell, and which cells are used."""

    nodes: Tensor
    pairs: Tensor
    taken: Tensor


@dataclass(frozen=True)
class EvidenceTables:
    """A layout on a device.

    Attributes:
        count: how many links each node has.
        position: that of each node in all tables, one after another.
    """

    pair_source: Tensor
    pair_value: Tensor
    count: Tensor
    position: Tensor
    tables: tuple[EvidenceTable, ...]

    @classmethod
    def of(cls, layout: Layout, device: torch.device) -> Self:
        """The tables of a layout."""
        counts = np.diff(layout.node_ptr)
        order = np.argsort(counts, kind="stable")
        position = np.empty_like(order)
        position[order] = np.arange(len(order))

        def there(array: Ints | Longs) -> Tensor:
            return torch.from_numpy(array).to(device)

        link_pair, first = there(layout.link_pair), there(layout.node_ptr[:-1])
        count = there(counts)
        tables = []
        for part in _parts(counts[order]):
            nodes = there(order[part])
            across = torch.arange(int(counts[order[part]].max(initial=0)), device=device)
            taken = across < count[nodes].unsqueeze(1)
            links = torch.where(taken, first[nodes].unsqueeze(1) + across, 0)
            tables.append(EvidenceTable(nodes, link_pair[links], taken.to(torch.float32)))
        return cls(
            pair_source=there(layout.pair_source),
            pair_value=torch.from_numpy(layout.pair_value).to(device),
            count=count,
            position=there(position),
            tables=tuple(tables),
        )

    def by_node(self, make: Callable[[EvidenceTable], Tensor]) -> Tensor:
        """One row per node, from the results of all tables."""
        made = [checkpoint(make, table, use_reentrant=False) for table in self.tables]
        return embedding(self.position, torch.cat(made))

    def unexplained(self, table: EvidenceTable, below: Tensor, own: Tensor) -> Tensor:
        """The residuals in the cells of a table; 0 in unused cells."""
        source_baseline = embedding(self.pair_source[table.pairs], below.unsqueeze(1)).squeeze(-1)
        baseline = embedding(table.nodes, own.unsqueeze(1))
        return table.taken * (self.pair_value[table.pairs] - source_baseline - baseline)

    def sources(self, table: EvidenceTable, values: Tensor) -> Tensor:
        """The row of the source in each cell of a table; zeros in unused cells."""
        return embedding(self.pair_source[table.pairs], values) * table.taken.unsqueeze(-1)


def _parts(counts: Longs) -> Iterator[slice]:
    """Slices of nodes, sorted by count, so that at least half of a table's cells are used."""
    if not len(counts):
        yield slice(0)
    begin = 0
    while begin < len(counts):
        alike = int(np.searchsorted(counts, 2 * counts[begin], side="right"))
        positions = np.arange(1, alike - begin + 1) * counts[begin:alike]
        end = begin + max(1, int(np.searchsorted(positions, _POSITIONS, side="right")))
        yield slice(begin, end)
        begin = end


def pair_activations(sources: Tensor, weight: Tensor, layout: EvidenceTables) -> Tensor:
    """See `means.pair_activations`."""
    rated = layout.pair_value.unsqueeze(1) * weight
    return torch.relu(embedding(layout.pair_source, sources) + rated)


def evidence_mean(
    pairs: Tensor, layout: EvidenceTables, variant_node: Tensor, variant_pair: Tensor
) -> Tensor:
    """See `means.evidence_mean`."""
    values = torch.relu(pairs)

    def total(table: EvidenceTable) -> Tensor:
        rows = embedding(table.pairs, values)
        return (table.taken.unsqueeze(1) @ rows).squeeze(1)

    sums, count = layout.by_node(total), layout.count.unsqueeze(1)
    rest = embedding(variant_node, sums) - embedding(variant_pair, values)
    return torch.cat([sums / count, rest / (count[variant_node] - 1)])


def evidence_sums(
    plain: Tensor, weighted: Tensor, below: Tensor, own: Tensor, layout: EvidenceTables
) -> tuple[Tensor, Tensor]:
    """See `segment_sums.evidence_sums`."""

    def total(table: EvidenceTable) -> Tensor:
        rows = layout.sources(table, torch.cat([plain, weighted], dim=1))
        residual = layout.unexplained(table, below, own).unsqueeze(1)
        summed = rows[..., :unweighted].sum(dim=1)
        return torch.cat([summed, (residual @ rows[..., unweighted:]).squeeze(1)], dim=1)

    unweighted = plain.shape[1]
    sums = layout.by_node(total)
    return sums[:, :unweighted], sums[:, unweighted:]


def solve(
    keys: Tensor, below: Tensor, own: Tensor, ridge: Tensor, layout: EvidenceTables
) -> tuple[Tensor, Tensor]:
    """See `ridge.solve`."""

    def solution(table: EvidenceTable) -> Tensor:
        rows = layout.sources(table, keys)
        targets = layout.unexplained(table, below, own).unsqueeze(-1)
        factor = torch.linalg.cholesky(rows.mT @ rows + torch.diag(ridge))
        solved = torch.cholesky_solve(rows.mT @ targets, factor).squeeze(-1)
        return torch.cat([solved, targets.square().sum(dim=1)], dim=1)

    found = layout.by_node(solution)
    return found[:, :-1], found[:, -1].detach()
