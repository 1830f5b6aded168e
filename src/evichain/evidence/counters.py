"""Counts what the recursion would do for a plan, without doing it.

The recursion requests an embedding for every piece of evidence it considers. With caching it
generates each embedding once, otherwise once per request. With cycle blocking an embedding is a
different one for each requester, and never requests its own requester.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from operator import add

import numpy as np

from evichain.evidence.expansion import NO_REFERENCE, Frontier, Links
from evichain.evidence.plan_layout import LiveLinks
from evichain.evidence.policy import Policy
from evichain.kernels import Ints, Longs


@dataclass(frozen=True)
class Counters:
    """How much work a batch is.

    requests: embeddings asked for, at any depth.
    generated: embeddings generated as a mean of evidence.
    failed: requests answered with nothing.
    cache_hits: requests answered from the cache.
    """

    requests: int = 0
    generated: int = 0
    failed: int = 0
    cache_hits: int = 0

    def __add__(self, other: "Counters") -> "Counters":
        return Counters(*map(add, astuple(self), astuple(other)))


def count(
    policy: Policy,
    refs: Ints,
    frontiers: Sequence[Frontier],
    links: Sequence[Links],
    live_links: Sequence[LiveLinks],
) -> Counters:
    """Count for the requests `refs` of one side and all that they lead to."""
    nodes = len(frontiers[0].entities)
    asked = np.bincount(refs[refs >= 0], minlength=nodes).astype(np.int64)
    alive = live_links[0].count > 0 if live_links else np.zeros(nodes, np.bool_)
    unheld = np.count_nonzero(refs == NO_REFERENCE)
    total = Counters(requests=int((refs < 0).sum()), failed=int(unheld))
    total += _answered(policy, asked, alive, remembered=bool(live_links))

    made = np.minimum(asked, 1) if policy.caching else asked
    back: Longs = np.zeros(len(links[0].ref) if links else 0, np.int64)
    for depth, (link, here) in enumerate(zip(links, live_links, strict=True)):
        asks = np.repeat(made, np.diff(link.ptr)) - back
        stored, dead = link.ref < 0, link.ref == NO_REFERENCE
        total += Counters(requests=int(asks[stored].sum()), failed=int(asks[dead].sum()))
        if depth + 1 == len(links):
            # Below the last links there are only prototypes and dead ends.
            break
        inner = ~stored
        asks, alive, node = asks[inner], here.alive[inner], link.ref[inner]
        nodes = len(frontiers[depth + 1].entities)
        back = np.zeros(len(links[depth + 1].ref), np.int64)
        if policy.cycle_blocking:
            total += _answered(policy, asks, alive, remembered=True)
            each = np.minimum(asks, 1) if policy.caching else asks
            made = np.bincount(node, weights=each, minlength=nodes).astype(np.int64)
            mutual = here.mutual[inner]
            back[mutual[mutual >= 0]] = each[mutual >= 0]
        else:
            asked = np.bincount(node, weights=asks, minlength=nodes).astype(np.int64)
            total += _answered(policy, asked, live_links[depth + 1].count > 0, remembered=True)
            made = np.minimum(asked, 1) if policy.caching else asked
    return total


def _answered(policy: Policy, asked: Longs, alive: np.ndarray, *, remembered: bool) -> Counters:
    """The part of requests for embeddings that are generated, or fail to be."""
    made = np.minimum(asked, 1) if policy.caching and remembered else asked
    return Counters(
        requests=int(asked.sum()),
        generated=int(made[alive].sum()),
        failed=int(asked[~alive].sum()),
        cache_hits=int((asked - made).sum()),
    )
