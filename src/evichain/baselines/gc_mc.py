"""GC-MC: ratings as edges of a graph, predicted from messages over the other edges."""

from typing import Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout, one_hot

from evichain.baselines._levels import Levels
from evichain.baselines._rated_pairs import RatedPairs
from evichain.baselines._training import EpochBaseline, EpochSettings, Learner
from evichain.baselines._units import Seen, dots, dots_in_order, gathered, seen, up_to
from evichain.kernels import Floats, Ints, Longs
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side


class GCMCSettings(EpochSettings):
    """The settings of `GCMC`."""

    epochs: int = Field(default=1000, ge=0)
    """Maximum number of steps, each over all training ratings."""
    learning_rate: float = Field(default=0.01, gt=0)
    """Adam's step size."""
    validate_every: int = Field(default=10, ge=1)
    """Epochs between two validations."""
    patience: int = Field(default=20, ge=1)
    """Validations without improvement after which training stops; the best epoch is kept."""
    annealing: bool = False
    """Lower the step size along half a cosine, to zero after the last epoch."""
    hidden_units: int = Field(default=500, ge=1, le=8192)
    """Size of the accumulated messages of an entity, all levels together."""
    embedding_size: int = Field(default=75, ge=1, le=4096)
    """The length of an embedding."""
    bases: int = Field(default=2, ge=1, le=256)
    """Number of basis matrices that the bilinear forms of the levels share."""
    accumulation: Literal["stack", "sum"] = "stack"
    """Whether messages of different levels are concatenated or added; if added, each level
    shares weights with those below it."""
    normalization: Literal["left", "symmetric"] = "left"
    """The weight of a message: 1 / |N_i|, or 1 / sqrt(|N_i| |N_j|)."""
    dropout: float = Field(default=0.7, ge=0, lt=1)
    """Dropout: the share of entities whose messages, and of hidden units, are dropped in a step."""
    averaging: float = Field(default=0.995, ge=0, lt=1)
    """Decay of the running average of weights; 0 for no average."""


class Messages(NamedTuple):
    """The edges that carry messages to the entities of a side, with their weights."""

    pairs: Seen
    counts: Tensor


def messages(
    known: RatedPairs,
    codes: Longs,
    side: Side,
    counts: tuple[int, int],
    levels: int,
    form: GCMCSettings,
) -> Messages:
    """The messages to a side by edge and level; `counts` are the entities of both sides."""
    own, other = known.of(side), known.of(side.opposite)
    degrees = [np.bincount(known.of(each), minlength=counts[each]) for each in Side]
    norm = degrees[side][own].astype(np.float32)
    if form.normalization == "symmetric":
        norm = np.sqrt(norm * degrees[side.opposite][other])
    level = torch.from_numpy(codes)
    if form.accumulation == "stack":
        # Each entity has one row per level for its messages.
        positions, on = (own * levels + codes).astype(np.int32), one_hot(level, levels).float()
        pairs, order = seen(positions, other, (counts[side] * levels, counts[side.opposite]))
    else:
        on = up_to(level, levels)
        pairs, order = seen(own, other, (counts[side], counts[side.opposite]))
    return Messages(pairs, (on / torch.from_numpy(norm).unsqueeze(1))[torch.from_numpy(order)])


class GCMCNet(nn.Module):
    """The weights of encoder and decoder; both sides share the dense layer."""

    def __init__(self, counts: tuple[int, int], levels: int, settings: GCMCSettings) -> None:
        super().__init__()
        self.dropout = settings.dropout
        stacked = settings.accumulation == "stack"
        part = max(1, settings.hidden_units // levels) if stacked else settings.hidden_units
        hidden, size = part * levels if stacked else part, settings.embedding_size
        edge = (6 / (sum(counts) + hidden)) ** 0.5
        self.tables = nn.ParameterList(
            torch.empty(counts[side], levels, part).uniform_(-edge, edge) for side in Side
        )
        self.dense = nn.Linear(hidden, size, bias=False)
        nn.init.xavier_uniform_(self.dense.weight)
        self.bases = nn.Parameter(torch.empty(settings.bases, size, size))
        for basis in self.bases:
            nn.init.orthogonal_(basis)
        self.mixture = nn.Parameter(torch.empty(settings.bases, levels))
        nn.init.xavier_uniform_(self.mixture)

    def embeddings(self, side: Side, coming: Messages) -> Tensor:
        """`W ReLU(accumulated messages)`, a row for each entity of a side."""
        table = self.tables[side.opposite]
        heard = dropout(torch.ones(len(table), 1, 1), self.dropout, self.training)
        found = gathered(coming.counts, table * heard, coming.pairs)
        hidden = torch.relu(found.view(len(self.tables[side]), -1))
        out: Tensor = self.dense(dropout(hidden, self.dropout, self.training))
        return out

    def turned(self, users: Tensor) -> Tensor:
        """[users, bases, size]: the embeddings of users after each bilinear form."""
        return torch.einsum("ud,sde->use", users, self.bases)


class _Learner(Learner[GCMCNet]):
    def __init__(
        self, net: GCMCNet, pairs: RatedPairs, levels: Levels, settings: GCMCSettings
    ) -> None:
        super().__init__(net)
        optimizer = torch.optim.Adam(net.parameters(), settings.learning_rate)
        self.optimize(optimizer, settings.averaging)
        self._levels, self._settings = levels, settings
        self._counts = len(net.tables[Side.USER]), len(net.tables[Side.ITEM])
        self._coming = self._messages(pairs)
        # In the decoder the users' turned embeddings are the weights, and items are the cases.
        self._pairs, order = seen(pairs.items, pairs.users, self._counts[::-1])
        self._codes = torch.from_numpy(levels.codes(pairs.ratings[order]))
        self._ends = torch.empty(0), torch.empty(0)

    def _messages(self, known: RatedPairs) -> list[Messages]:
        codes, count = self._levels.codes(known.ratings), len(self._levels)
        return [messages(known, codes, s, self._counts, count, self._settings) for s in Side]

    def epoch(self) -> None:
        self.net.train()
        users, items = (self.net.embeddings(side, self._coming[side]) for side in Side)
        scores = dots(items, self.net.turned(users), self._pairs) @ self.net.mixture
        self.descend(cross_entropy(scores, self._codes))

    @torch.inference_mode()
    def prepare(self, known: RatedPairs) -> None:
        net, coming = self.result.eval(), self._messages(known)
        users, items = (net.embeddings(side, coming[side]) for side in Side)
        self._ends = net.turned(users), items

    @torch.inference_mode()
    def scores(self, users: Ints, items: Ints) -> Floats:
        turned, ends = self._ends
        scores = dots_in_order(ends, turned, items, users) @ self.result.mixture
        found: Floats = (scores.softmax(1) @ torch.from_numpy(self._levels.values)).numpy()
        return found


class GCMC(EpochBaseline[GCMCSettings]):
    """Graph Convolutional Matrix Completion (van den Berg, Kipf and Welling, 2017,
    arXiv:1706.02263), from ratings alone.

    An entity j sends the message `W_r x_j / c_ij` over each link of level r; as x_j is one-hot,
    `W_r x_j` is a row of its own. What i hears is put together and becomes its embedding,

        h_i = ReLU(accum over r of Σ_{j in N_i,r} W_r x_j / c_ij),  u_i = W h_i

    with the same W for users and items, and a bilinear form for each level, mixed of a few bases,
    decodes the link:

        p(level r of (i, j)) ∝ exp(u_i' Q_r v_j),  Q_r = Σ_s a_rs P_s

    The estimate is the expected level. In a step, the messages of most entities are lost.
    """

    Settings = GCMCSettings

    def _learner(self, graph: Graph, pairs: RatedPairs, draws: np.random.Generator) -> _Learner:
        levels = Levels.of(graph, pairs.ratings)
        counts = len(graph.ids[Side.USER]), len(graph.ids[Side.ITEM])
        net = GCMCNet(counts, len(levels), self.settings)
        return _Learner(net, pairs, levels, self.settings)
