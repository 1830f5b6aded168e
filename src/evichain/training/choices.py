"""Training of choices: the block of prototypes, then the constants of one depth after another.

Prototypes are factorized among themselves, as the paper pretrains them. Then all embeddings are
generated depth by depth, from the prototypes up, and each generator gets what stands for all that
was not chosen: the weighted Gram matrix of the keys below it. There are no gradient steps: a few
numbers, how much what was not chosen counts and how much less the popular say, are chosen on
validation lists. Why: docs/decisions/0018-choices.md.
"""

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from evichain.evidence.bulk_selection import Evidence, select_for_all
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.kernels import Floats, Ints, Longs
from evichain.model.chain import Chain
from evichain.model.choices import ChoiceGenerator
from evichain.model.layers import Layer, generated, portions
from evichain.model.settings import ChainSettings
from evichain.progress import progress as progress_bar
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side
from evichain.training.pretraining import prototype_block
from evichain.training.settings import TrainingSettings

_BLOCK_ROUNDS = 10
_BLOCK_USERS = 300
"""The most active users, on whose choices the prototype items are factorized."""
_TUNING_USERS = 20_000
"""Constants are chosen on the choices of at most so many users."""
_LIST = 100
"""The length of the validation lists."""
_WANTED = 0.2
"""The part of the choices of a validation user that is to be found."""

_GRID: Mapping[str, tuple[float, ...]] = {
    "choice_ridge": (0.008, 0.004, 0.016, 0.032),
    "unchosen_weight": (0.3, 0.15, 0.6),
    "item_discount": (0.25, 0.0, 0.125, 0.375),
    "user_discount": (0.25, 0.0, 0.5),
}
"""Where the search for each constant begins, and what it tries besides."""


@dataclass(frozen=True)
class Constants:
    """The numbers that are chosen on validation lists; see `TrainingSettings`."""

    item_discount: float
    user_discount: float
    unchosen_weight: float
    choice_ridge: float

    def discount(self, side: Side) -> float:
        """By which power the rows of a side weigh less as evidence."""
        return self.item_discount if side is Side.ITEM else self.user_discount


@dataclass(frozen=True)
class TrainedChoices:
    """A trained model of choices.

    Attributes:
        ndcg: NDCG@100 of the validation lists; NaN if there were none.
    """

    chain: Chain
    pool: Pool
    constants: Constants
    ndcg: float
    seconds: float


def train_choices(
    graph: Graph,
    chain_settings: ChainSettings,
    policy: Policy,
    settings: TrainingSettings,
    *,
    progress: bool = False,
) -> TrainedChoices:
    """Train a model of choices on ratings or interactions."""
    begun = time.monotonic()
    reading = _reading(graph, settings)
    given = {name: getattr(settings, name) for name in _GRID}
    free = [name for name in _GRID if given[name] is None]
    start = {name: _GRID[name][0] if name in free else given[name] for name in _GRID}
    fit = _Fit(chain_settings, policy, settings.seed, reading)
    constants, ndcg = Constants(**start), math.nan
    lists = _validation_lists(graph, reading, settings)
    steps = 1 + (1 + sum(len(_GRID[name]) - 1 for name in free)) * bool(lists and free)
    with progress_bar("Training", steps, enabled=progress, unit="fits") as bar:
        if lists is not None and free:
            ndcg = lists.ndcg(fit, constants)
            bar(1, ndcg=ndcg)
            for name in free:
                for value in _GRID[name][1:]:
                    tried = replace(constants, **{name: value})
                    found = lists.ndcg(fit, tried)
                    if found > ndcg:
                        constants, ndcg = tried, found
                    bar(1, ndcg=ndcg)
        chain, pool, _ = fit.on(graph, constants)
        bar(1, ndcg=ndcg)
    return TrainedChoices(chain, pool, constants, ndcg, time.monotonic() - begun)


def _reading(graph: Graph, settings: TrainingSettings) -> tuple[float, float, float]:
    """What of the ratings is a choice; see `ChoiceGenerator.read`."""
    if graph.interactions:
        return float(np.finfo(np.float32).tiny), 1.0, 1.0
    lowest = graph.mean if settings.liked_from is None else settings.liked_from
    return lowest, settings.disliked_confidence, 0.0


@dataclass(frozen=True)
class _Fit:
    """Fits chains to graphs."""

    chain: ChainSettings
    policy: Policy
    seed: int
    reading: tuple[float, float, float]

    @torch.no_grad()
    def on(self, graph: Graph, constants: Constants) -> tuple[Chain, Pool, Layer]:
        """A chain fitted to a graph, its pool, and the embeddings of all items."""
        pool, policy = Pool.most_rated(graph, self.chain.prototype_counts), self.policy
        chain = Chain.for_pool(self.chain, pool, policy.max_depth)
        for module in chain.generators:
            if isinstance(module, ChoiceGenerator):
                module.reading.copy_(torch.tensor(self.reading))
        size = chain.row_size
        bottom = Side(policy.max_depth % 2)
        slot = {side: pool.sides[side].slot for side in Side}
        rows = torch.zeros(len(graph.ids[bottom]), size)
        rows[slot[bottom] >= 0] = self._prototypes(graph, pool, constants)[
            slot[bottom][slot[bottom] >= 0]
        ]
        below = Layer(rows.numpy(), slot[bottom] >= 0)
        turned = torch.eye(size - 1)
        items = below
        for depth in reversed(range(policy.max_depth)):
            side = Side(depth % 2)
            generator = _choices(chain, side, depth)
            basis = _settle(generator, below, constants)
            below = Layer(_turned(below.rows, basis), below.has_embedding)
            if depth + 1 == policy.max_depth:
                chain.prototypes[bottom].copy_(_stored(below, slot[bottom], size))
            else:
                above = _choices(chain, side.opposite, depth + 1)
                assert above.turn is not None
                above.turn.copy_(turned.T @ basis)
            evidence = self._evidence(graph, pool, side, depth)
            _weigh(generator, evidence, below, constants.discount(side))
            if depth == 0:
                items = below
                generator.usual.copy_(_mean_key(generated(chain, side, 0, evidence, below)))
                break
            assert generator.turn is not None
            # Unturned, until the Gram matrix of these rows is known.
            generator.turn.copy_(basis.T)
            below, turned = generated(chain, side, depth, evidence, below), basis
        return chain, pool, items

    def _evidence(self, graph: Graph, pool: Pool, side: Side, depth: int) -> Evidence:
        rows = graph.rows[side]
        return select_for_all(
            rows,
            graph.scale.decode(rows.codes),
            graph.ids[side].keys,
            pool.sides[side.opposite].slot,
            self.policy,
            side,
            depth,
        )

    def _prototypes(self, graph: Graph, pool: Pool, constants: Constants) -> Tensor:
        """The rows of prototype items, factorized on the choices of the most active users."""
        size, counts = self.chain.key_size, (_BLOCK_USERS, self.chain.prototype_items)
        block = Pool.most_rated(graph, counts)
        users, items, ratings = prototype_block(block)
        numbers = users, items
        many = [side_pool.count for side_pool in block.sides]
        generators = []
        for _ in Side:
            generator = ChoiceGenerator(self.chain, last=False)
            generator.reading.copy_(torch.tensor(self.reading))
            generators.append(generator)
        evidence = [
            _grouped(numbers[side], numbers[side.opposite], ratings, many[side]) for side in Side
        ]
        random = np.random.default_rng(self.seed)
        keys = random.standard_normal((many[Side.ITEM], size)) * 0.1 / math.sqrt(size)
        degrees = graph.rows[Side.ITEM].degrees
        index = graph.ids[Side.ITEM].index_once(pool.ids[Side.ITEM])
        weights = _log_weights(degrees[index], constants.item_discount)
        rows = np.column_stack([keys, weights]).astype(np.float32)
        layer = Layer(rows, np.ones(len(rows), np.bool_))
        for _ in range(_BLOCK_ROUNDS):
            for side in Side:
                generator = generators[side]
                basis = _settle(generator, layer, constants)
                assert generator.turn is not None
                generator.turn.copy_(basis.T)
                layer = Layer(_turned(layer.rows, basis), layer.has_embedding)
                _weigh(generator, evidence[side], layer, constants.discount(side))
                layer = _made(generator, evidence[side], layer)
        found = torch.from_numpy(layer.rows)
        found[:, -1] = torch.from_numpy(weights)
        return found


@dataclass(frozen=True)
class _ValidationLists:
    """Users left out of a graph: some of their choices are given, some are to be found."""

    graph: Graph
    given: Evidence
    wanted: Evidence

    def ndcg(self, fit: _Fit, constants: Constants) -> float:
        """The mean NDCG@100 of their lists, by a chain that is fitted to the others."""
        chain, _, items = fit.on(self.graph, constants)
        users = generated(chain, Side.USER, 0, self.given, items)
        with torch.no_grad():
            both = [
                chain.head(side, torch.from_numpy(layer.rows)).numpy()
                for side, layer in zip(Side, (users, items), strict=True)
            ]
        gains = 1 / np.log2(np.arange(2, _LIST + 2))
        found = []
        for user, wanted in enumerate(_parts(self.wanted)):
            scores = items_scores = both[Side.ITEM] @ both[Side.USER][user]
            scores = np.where(items.has_embedding, items_scores, -np.inf)
            scores[self.given.others[self.given.ptr[user] : self.given.ptr[user + 1]]] = -np.inf
            best = np.sort(np.partition(scores, -min(_LIST, len(scores)))[-_LIST:])
            ranks = len(best) - np.searchsorted(best, scores[wanted], side="right")
            listed = ranks[(ranks < _LIST) & np.isfinite(scores[wanted])]
            found.append(gains[listed].sum() / gains[: len(wanted)].sum())
        return float(np.mean(found))


def _validation_lists(
    graph: Graph, reading: tuple[float, float, float], settings: TrainingSettings
) -> _ValidationLists | None:
    """Leave out some users; None where there are too few."""
    random = np.random.default_rng(settings.seed)
    rows, count = graph.rows[Side.USER], len(graph.ids[Side.USER])
    order = random.permutation(count)[:_TUNING_USERS]
    held = order[: int(len(order) * settings.validation)]
    rest = order[len(held) :]
    if not len(held) or not len(rest):
        return None
    table = graph.to_ratings()
    users = graph.ids[Side.USER].values
    kept = table.frame["user_id"].is_in(users[np.sort(rest)].implode())
    smaller = Graph.build(replace(table, frame=table.frame.filter(kept)))
    index = smaller.ids[Side.ITEM].index(graph.ids[Side.ITEM].values).astype(np.int32)
    given, wanted = [], []
    for user in np.sort(held).tolist():
        others, codes = rows.row(user)
        values = graph.scale.decode(codes)
        known = index[others] != UNKNOWN
        others, values = index[others][known], values[known]
        chosen = np.flatnonzero(values >= reading[0])
        hidden = random.permutation(chosen)[: int(_WANTED * len(chosen))]
        if len(hidden):
            shown = np.delete(np.arange(len(others)), hidden)
            given.append((others[shown], values[shown]))
            wanted.append((others[hidden], values[hidden]))
    if not given:
        return None
    return _ValidationLists(smaller, _joined(given), _joined(wanted))


def _joined(parts: list[tuple[Ints, Floats]]) -> Evidence:
    ptr = np.concatenate([[0], np.cumsum([len(others) for others, _ in parts])]).astype(np.int64)
    return Evidence(
        ptr,
        np.concatenate([others for others, _ in parts]).astype(np.int32),
        np.concatenate([values for _, values in parts]).astype(np.float32),
    )


def _parts(evidence: Evidence) -> Iterator[Ints]:
    yield from np.split(evidence.others, evidence.ptr[1:-1])


def _choices(chain: Chain, side: Side, depth: int) -> ChoiceGenerator:
    found = chain.generator(side, depth)
    assert isinstance(found, ChoiceGenerator)
    return found


def _settle(generator: ChoiceGenerator, below: Layer, constants: Constants) -> Tensor:
    """Set what stands for all that was not chosen; returns its eigenvectors."""
    rows = below.rows[below.has_embedding].astype(np.float64)
    keys, weights = rows[:, :-1], np.exp(rows[:, -1:])
    gram = keys.T @ (keys * weights)
    gram += constants.choice_ridge * weights.sum() * np.eye(keys.shape[1])
    # NumPy's, because PyTorch's waits long for its threads on a busy machine.
    strengths, basis = np.linalg.eigh(constants.unchosen_weight * gram)
    generator.log_unchosen.copy_(torch.from_numpy(np.log(strengths)))
    return torch.from_numpy(basis.astype(np.float32))


def _turned(rows: Floats, basis: Tensor) -> Floats:
    """Rows with their keys in another basis."""
    turned = rows.copy()
    turned[:, :-1] = rows[:, :-1] @ basis.numpy()
    return turned


def _weigh(generator: ChoiceGenerator, evidence: Evidence, below: Layer, discount: float) -> None:
    """Set how much the rows of a generator weigh as evidence: 1 in the mean over their links."""
    alive = np.concatenate([[0], np.cumsum(below.has_embedding[evidence.others])])
    count = alive[evidence.ptr[1:]] - alive[evidence.ptr[:-1]]
    offset = _log_weights(count[count > 0], discount, offset_alone=True)
    generator.weighting.copy_(torch.tensor([float(offset[0]), discount]))


def _log_weights(count: Longs, discount: float, *, offset_alone: bool = False) -> Floats:
    """The log weights of rows with so many links, or the offset that they share."""
    many = np.maximum(count, 1).astype(np.float64)
    offset = np.log(many.sum() / (many ** (1 - discount)).sum()) if len(many) else 0.0
    found = np.full(1, offset) if offset_alone else offset - discount * np.log(many)
    return found.astype(np.float32)


def _stored(layer: Layer, slot: Ints, size: int) -> Tensor:
    """The rows of prototypes by their numbers."""
    found = torch.zeros(int((slot >= 0).sum()), size)
    found[torch.from_numpy(slot[slot >= 0]).long()] = torch.from_numpy(layer.rows[slot >= 0])
    return found


def _mean_key(layer: Layer) -> Tensor:
    return torch.from_numpy(layer.rows[layer.has_embedding][:, :-1].mean(axis=0))


def _grouped(own: Ints, others: Ints, ratings: Floats, count: int) -> Evidence:
    """Links as evidence, grouped by their own entity."""
    order = np.argsort(own, kind="stable")
    ptr = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(own, minlength=count), out=ptr[1:])
    return Evidence(ptr, others[order], ratings[order])


def _made(generator: ChoiceGenerator, evidence: Evidence, below: Layer) -> Layer:
    """The rows that a generator makes of evidence."""
    made = np.zeros((len(evidence.ptr) - 1, below.rows.shape[1]), np.float32)
    has_embedding = np.zeros(len(made), np.bool_)
    sources = torch.from_numpy(below.rows)
    for block in portions(evidence, below.has_embedding, generator.links_at_once):
        made[block.entities] = generator.generate(sources, block).numpy()
        has_embedding[block.entities] = True
    return Layer(made, has_embedding)
