"""The estimator that users import: fit, predict, recommend, similar_items, explain, add."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Self, overload

import numpy as np
import polars as pl
import torch

from evichain.arguments import (
    guest,
    how_many,
    is_id,
    known,
    listed,
)
from evichain.engine import Engine
from evichain.errors import DataError, ModelError, NotFittedError, SettingsError
from evichain.evaluation import Evaluation, evaluate
from evichain.evidence.pool import Pool
from evichain.evidence.trace import Piece, Trace
from evichain.kernels import Ints
from evichain.model.chain import Chain
from evichain.progress import progress as progress_bar
from evichain.protocol import ManyIds, Prediction, Predictions, Recommendation, Similar
from evichain.ranking import Ranking
from evichain.ratings.graph import Graph
from evichain.ratings.ids import Id
from evichain.ratings.inputs import as_later, as_ratings, as_source
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings
from evichain.recipes import Settings, settings_for
from evichain.saving import Saved, load_model, save_model
from evichain.training.device import device_named
from evichain.training.trainer import Trainer
from evichain.training.training_data import prepare

Guest = Sequence[tuple[Id, float]]


class REC:
    """A recommender by Recursive Evidence Chains (Tragas et al., 2018).

    It stores a few prototype users and items and two small networks; every other embedding
    is generated from ratings, by chains of evidence that lead to the prototypes. So its
    size does not grow with the data, new users and items need no retraining, and every
    prediction has its evidence.

    Args:
        recipe: a named set of settings: "plus", or "paper" for the paper's own form.
        settings: any of `evichain.recipes.Settings`, in place of the recipe's; None leaves one
            to the recipe.

    >>> from evichain.testing import planted_blocks
    >>> model = REC(iterations=30, embedding_size=4, width=16).fit(planted_blocks())
    >>> model.predict("nobody", 0).reason
    "unknown user 'nobody'"
    """

    def __init__(self, recipe: str = "plus", **settings: Any) -> None:
        self.recipe = recipe
        self._given = _given(settings)
        self.settings = settings_for(recipe, **self._given)
        self.training: dict[str, Any] = {}
        self._state: Engine | None = None
        self._fitted = self.recipe, self._given

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self._given.items())
        return f"REC(recipe={self.recipe!r}{given})"

    # scikit-learn's protocol

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The recipe and all settings, by name; None for what is left to the recipe."""
        return {"recipe": self.recipe, **dict.fromkeys(Settings.model_fields), **self._given}

    def set_params(self, **changes: Any) -> Self:
        """Change settings; they hold from the next `fit`."""
        given = {**self._given, **changes}
        recipe = given.pop("recipe", self.recipe)
        given = _given(given)
        self.settings = settings_for(recipe, **given)
        self.recipe, self._given = recipe, given
        return self

    # training

    def fit(
        self,
        ratings: Any,
        *,
        run: str | Path | None = None,
        resume: bool = False,
        progress: bool = False,
        tensorboard: bool = False,
        device: str = "cpu",
        watch: Callable[[int, dict[str, float], Trainer], None] | None = None,
    ) -> Self:
        """Train on ratings: a `Ratings`, a table that `Ratings.from_frame` takes, or a file's name.

        A `Graph`, or the path of a saved one, is learned from where it lies, however large. In
        each process of a `torch.distributed` group, all of them train one model together.

        Args:
            run: a folder for the log and the checkpoints.
            resume: go on from the run folder's checkpoint, if there is one.
            progress: show a progress bar.
            tensorboard: write TensorBoard's events into the run folder too.
            device: where PyTorch is to compute the steps, such as "cuda".
            watch: called after each step with its number, its figures and the trainer.
        """
        if resume and run is None:
            raise SettingsError("nothing to resume from", right="Name the run folder.")
        place = device_named(device)
        source = as_source(ratings)
        settings = settings_for(self.recipe, ratings=len(source), **self._given)
        self.settings = settings
        counts = settings.prototype_users, settings.prototype_items
        material = prepare(source, counts, settings.validation, settings.seed)
        pool = material.pool
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            chain = Chain.for_pool(settings.chain, pool, settings.max_depth)
        trainer = Trainer(
            chain, pool, settings.policy, settings.training, material.validation, device=place
        )
        shown = progress and trainer.team.leads
        with progress_bar("Training", settings.iterations, enabled=shown, unit="steps") as bar:

            def after(step: int, values: dict[str, float]) -> None:
                fields = {name.removesuffix("_rmse"): value for name, value in values.items()}
                bar(step - bar.done, **fields)
                if watch:
                    watch(step, values, trainer)

            trainer.watch = after
            done = trainer.train(Path(run) if run else None, resume=resume, tensorboard=tensorboard)
        self._state = Engine(chain, material.whole(), settings)
        self._fitted = self.recipe, self._given
        self.training = {
            "data": source.name if isinstance(source, Ratings) else "",
            "ratings": len(source),
            "steps": done.step,
            "seconds": round(done.seconds, 3),
            # Of the state that was kept: with patience the best one, without it the last.
            "validation_rmse": done.best_rmse if settings.patience else done.last_rmse,
        }
        return self

    def add(self, ratings: Any) -> Self:
        """Take in new ratings, users and items; nothing is retrained.

        The scale is that of training: a rating that is not on it is refused.
        """
        self._state = self.engine.extended(as_later(ratings, self.graph.scale))
        return self

    def with_evidence(self, limit: int | None = None) -> "REC":
        """The same model, answering from other amounts of evidence.

        Args:
            limit: how many pieces at depth 0, halved at each depth with telescoping; all of them
                at every depth by default.
        """
        engine = self.engine
        changes = {"evidence_limit": limit}
        if limit is None:
            changes = {"evidence_limit": max(len(engine.graph), 1), "telescoping": False}
        twin = copy(self)
        recipe, given = self._fitted
        twin.settings = settings_for(recipe, **{**engine.settings.model_dump(), **changes})
        twin.recipe, twin._given = recipe, {**given, **changes}
        twin._fitted = twin.recipe, twin._given
        twin._state = Engine(engine.chain, engine.pool, twin.settings)
        return twin

    # questions

    @overload
    def predict(self, users: Id, items: Id) -> Prediction: ...  # type: ignore[overload-overlap]
    @overload
    def predict(self, users: Id | ManyIds, items: Id | ManyIds) -> Predictions: ...
    def predict(self, users: Id | ManyIds, items: Id | ManyIds) -> Prediction | Predictions:
        """What users would rate items: one id of each, or as many of one as of the other."""
        if is_id(users) and is_id(items):
            return self._predict([users], [items])[0]
        left, right = listed(users), listed(items)
        longest = max(len(left), len(right))
        left, right = (one * longest if len(one) == 1 else one for one in (left, right))
        if len(left) != len(right):
            raise DataError(
                f"{len(left)} users but {len(right)} items", right="Give as many of each."
            )
        return self._predict(left, right)

    def recommend(
        self, user: Id | Guest, n: int = 10, *, exclude_seen: bool = True, caution: float = 0.0
    ) -> list[Recommendation]:
        """The items that a user would rate highest.

        Args:
            user: an id, or the (item, rating) pairs of someone who is not in the data.
            exclude_seen: leave out what the user has rated.
            caution: rank by the estimate less so many of its deviations; below 0, by what the
                rating may be at best. Needs a recipe that tells deviations.
        """
        engine = self.engine
        if not np.isfinite(caution):
            raise DataError(f"a caution of {caution}", right="Give a number of deviations.")
        if is_id(user):
            index = known(engine.graph, Side.USER, user)
            asker = engine.user(index)
            seen, _ = engine.graph.rows[Side.USER].row(index)
        else:
            seen, ratings = guest(engine.graph, user)
            asker = engine.guest(seen, ratings)
        if caution and asker.log_stds is None:
            raise DataError(
                f"the recipe {self._fitted[0]!r} tells no deviations to be cautious of",
                right="Leave caution out, or train with the recipe 'plus'.",
            )
        return engine.best(asker, how_many(n), seen if exclude_seen else seen[:0], caution)

    def recommend_all(
        self,
        users: ManyIds | None = None,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        progress: bool = False,
    ) -> pl.DataFrame:
        """Lists for many users, everyone by default, as one table.

        Rows of user_id, `rank` (from 1), item_id, `estimate` and `deviation` (null where it is
        not known), list after list; none for users of whom nothing can be said.
        """
        graph = self.graph
        if users is None:
            asked = np.arange(len(graph.ids[Side.USER]), dtype=np.int32)
        else:
            asked = np.array([known(graph, Side.USER, user) for user in listed(users)], np.int32)
        count = how_many(n)
        return self.engine.lists(asked, count, exclude_seen=exclude_seen, progress=progress)

    def similar_items(self, item: Id, n: int = 10) -> list[Similar]:
        """The items whose embeddings point most nearly the same way."""
        return self.engine.alike(known(self.graph, Side.ITEM, item), how_many(n))

    def explain(self, user: Id, item: Id, pieces: int = 5, depth: int = 2) -> Trace:
        """The evidence behind a prediction, and what each piece brings to it; see `Trace.kind`.

        Args:
            pieces: how many pieces of evidence to show of each embedding.
            depth: how deep to follow the chains.
        """
        engine, ends = self.engine, (user, item)
        index = [known(engine.graph, side, ends[side]) for side in Side]
        pairs = [np.array([i], np.int32) for i in index]
        (found,) = engine.estimates(pairs, ([user], [item]))
        if found.reason is None:
            return engine.trace(index[0], index[1], pieces=pieces, depth=depth)
        roots = []
        for side in Side:
            own = engine.graph.ids[side][index[side]]
            title = engine.graph.title(own) if side is Side.ITEM else str(own)
            roots.append(Piece(side, own, title, 0, None, prototype=False, contribution=0.0))
        return Trace(roots[0], roots[1], found.estimate, found.reason)

    def evaluate(self, test: Any) -> Evaluation:
        """The errors on ratings that the model has not seen."""
        return evaluate(self, test)

    def rank(
        self, test: Any, n: int = 10, *, threshold: float | None = None, progress: bool = False
    ) -> Ranking:
        """How good the lists of n items are that the users of these ratings would get.

        Whoever the model can say nothing of gets an empty list, which counts.

        Args:
            test: ratings that the model has not seen; those that it has are left out.
            threshold: the lowest rating of what is relevant; the model's mean by default.
            progress: show a progress bar.
        """
        if how_many(n) < 1:
            raise DataError("a list of 0 items cannot be good", right="Ask for 1 or more.")
        engine, table = self.engine, as_ratings(test)
        low = engine.chain.mean.item() if threshold is None else threshold
        users, items = _pairs(engine.graph, table)
        # By id, not by index: two users of whom nothing is known are two.
        names = table.frame["user_id"].to_numpy()
        _, first, place = np.unique(names, return_index=True, return_inverse=True)
        liked = table.frame["rating"].to_numpy() >= low
        relevant = place[liked], items[liked]
        return engine.rank(users[first], relevant, n, progress=progress)

    # what it is made of

    @property
    def graph(self) -> Graph:
        """The ratings that evidence is taken from."""
        return self.engine.graph

    @property
    def prototypes(self) -> tuple[Sequence[Id], Sequence[Id]]:
        """The ids of the prototype users and items."""
        return self.engine.pool.ids

    @property
    def parameter_count(self) -> int:
        """How many numbers were learned."""
        return self.engine.chain.parameter_count

    def save(self, path: str | Path) -> None:
        """Write a model folder: weights, settings and the graph. Replaces an older model."""
        engine = self.engine
        settings = engine.settings.model_dump()
        saved = Saved(
            recipe=self._fitted[0],
            settings=settings,
            # As they were understood, which JSON can say: numbers of NumPy it cannot.
            given={name: settings[name] for name in self._fitted[1]},
            prototypes=engine.pool.ids,
            training=self.training,
            weights=dict(engine.chain.state_dict()),
            graph=engine.graph,
        )
        save_model(saved, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model folder; the graph is mapped into memory as it is needed."""
        saved = load_model(Path(path))
        try:
            model = cls(saved.recipe, **saved.given)
            model.settings = settings_for(saved.recipe, **saved.settings)
            pool = Pool.of(saved.graph, saved.prototypes)
            chain = Chain.for_pool(model.settings.chain, pool, model.settings.max_depth)
            chain.load_state_dict(saved.weights)
        except (SettingsError, RuntimeError, TypeError) as error:
            raise ModelError(
                f"the model does not fit this version ({str(error).splitlines()[0]})",
                where=str(path),
                right="Use the version of evichain that wrote it, or train it again.",
            ) from error
        model._state = Engine(chain, pool, model.settings)
        model.training = saved.training
        return model

    # helpers

    @property
    def engine(self) -> Engine:
        """The trained chain on its ratings; what all questions are put to."""
        if self._state is None:
            raise NotFittedError(
                "this recommender knows nothing yet", right="Call fit(ratings) or REC.load(path)."
            )
        return self._state

    def _predict(self, users: Any, items: Any) -> Predictions:
        engine, asked = self.engine, (users, items)
        index = [engine.graph.ids[side].index(asked[side]) for side in Side]
        return engine.estimates(index, asked)


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are not left to the recipe, which is what None does."""
    return {
        name: value
        for name, value in settings.items()
        if value is not None or name not in Settings.model_fields
    }


def _pairs(graph: Graph, ratings: Ratings) -> tuple[Ints, Ints]:
    users, items = (graph.ids[side].index(ratings.frame[side.column]) for side in Side)
    return users, items
