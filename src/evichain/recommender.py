"""The estimator that users import: fit, predict, recommend, similar_items, explain, add."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self, overload

import numpy as np
import polars as pl
import torch

from evichain.answering import answers
from evichain.answering.arguments import as_list, broadcast, how_many, is_guest, is_id
from evichain.answering.asker import Asker, Guest, find_user, make_guest
from evichain.answering.graph_backend import GraphBackend
from evichain.answering.lists import lists_for_users
from evichain.answering.row_evidence import user_output
from evichain.errors import DataError, NotFittedError, SettingsError, UnknownEntityError
from evichain.evaluation import Evaluation, ListMetrics, evaluate, list_metrics
from evichain.evaluation.scoring import Histories, ScoreBlock
from evichain.evidence.pool import Pool
from evichain.evidence.trace import Trace
from evichain.kernels import Floats, Ints
from evichain.model.chain import Chain
from evichain.model.inference import HeadOutput
from evichain.progress import progress as progress_bar
from evichain.protocol import ManyIds, Prediction, Predictions, Recommendations, SimilarItems
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.inputs import as_later, as_training
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings
from evichain.recipes import SETTING_NAMES, Settings, settings_for
from evichain.saving import Saved, load_model, save_model
from evichain.training.choices import train_choices
from evichain.training.device import device_named
from evichain.training.trainer import Trainer
from evichain.training.training_data import prepare


class REC:
    """A recommender by Recursive Evidence Chains (Tragas et al., 2018).

    It stores a few prototype users and items and two small networks; every other embedding
    is generated from ratings, by chains of evidence that lead to the prototypes. So its
    size does not grow with the data, new users and items need no retraining, and every
    prediction has its evidence.

    Args:
        recipe: a named set of settings: "plus" for ratings, "choices" for lists (of what is chosen,
            from interactions or ratings), or "paper" for the paper's own form.
        settings: any of `evichain.recipes.SETTING_NAMES`, in place of the recipe's; None leaves one
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
        self._state: GraphBackend | None = None
        self._fitted = self.recipe, self._given

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self._given.items())
        return f"REC(recipe={self.recipe!r}{given})"

    # scikit-learn's protocol

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The recipe and all settings, by name; None for what is left to the recipe."""
        return {"recipe": self.recipe, **dict.fromkeys(SETTING_NAMES), **self._given}

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
        target = device_named(device)
        source = as_training(ratings)
        settings = settings_for(self.recipe, ratings=len(source), **self._given)
        self.settings = settings
        if source.interactions and not settings.of_choices:
            raise SettingsError(
                f"the recipe {self.recipe!r} learns from ratings, and these are interactions",
                right="Use the recipe 'choices': REC('choices'), or --recipe choices.",
            )
        if settings.of_choices:
            if run is not None:
                raise SettingsError(
                    "choices are trained in one go, without a run folder", right="Leave run out."
                )
            return self._fit_choices(source, settings, progress=progress)
        counts = settings.chain.prototype_counts
        material = prepare(source, counts, settings.training.validation, settings.training.seed)
        pool = material.pool
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.training.seed)
            chain = Chain.for_pool(settings.chain, pool, settings.policy.max_depth)
        trainer = Trainer(
            chain, pool, settings.policy, settings.training, material.validation, device=target
        )
        shown = progress and trainer.group.is_first
        with progress_bar(
            "Training", settings.training.iterations, enabled=shown, unit="steps"
        ) as bar:

            def after(step: int, values: dict[str, float]) -> None:
                fields = {name.removesuffix("_rmse"): value for name, value in values.items()}
                bar(step - bar.done, **fields)
                if watch:
                    watch(step, values, trainer)

            trainer.watch = after
            done = trainer.train(Path(run) if run else None, resume=resume, tensorboard=tensorboard)
        self._state = GraphBackend(chain, material.whole(), settings)
        self._fitted = self.recipe, self._given
        self.training = {
            "data": source.name if isinstance(source, Ratings) else "",
            "ratings": len(source),
            "steps": done.step,
            "seconds": round(done.seconds, 3),
            # Of the state that was kept: with patience the best one, without it the last.
            "validation_rmse": done.best_rmse if settings.training.patience else done.last_rmse,
        }
        return self

    def _fit_choices(self, source: Ratings | Graph, settings: Settings, *, progress: bool) -> Self:
        graph = source if isinstance(source, Graph) else Graph.build(source)
        done = train_choices(
            graph, settings.chain, settings.policy, settings.training, progress=progress
        )
        self._state = GraphBackend(done.chain, done.pool, settings)
        self._fitted = self.recipe, self._given
        self.training = {
            "data": source.name if isinstance(source, Ratings) else "",
            "ratings": len(source),
            "seconds": round(done.seconds, 3),
            "validation_ndcg": None if math.isnan(done.ndcg) else done.ndcg,
            **asdict(done.constants),
        }
        return self

    def add(self, ratings: Any) -> Self:
        """Take in new ratings, users and items; nothing is retrained.

        The scale is that of training: a rating that is not on it is refused.
        """
        self._state = self.backend.extended(as_later(ratings, self.graph.scale))
        return self

    def remove(self, pairs: Any = (), *, user: Id | None = None) -> Self:
        """Forget ratings; nothing is retrained.

        Args:
            pairs: (user, item) pairs whose ratings are removed.
            user: erase this user, with all their ratings.

        Raises:
            UnknownEntityError: there is no such user, or no such rating.
        """
        backend, users, items = self.backend, [], []
        for pair in as_list(pairs):
            index = self._rating_of(pair)
            users.append(index[0])
            items.append(index[1])
        if user is not None:
            erased = find_user(backend, user)
            users += [erased.index] * len(erased.row[0])
            items += erased.row[0].tolist()
        self._state = backend.reduced((np.array(users, np.int64), np.array(items, np.int64)))
        return self

    def with_evidence(self, limit: int | None = None) -> "REC":
        """The same model, answering from other amounts of evidence.

        Args:
            limit: how many pieces at depth 0, halved at each depth with telescoping; all of them
                at every depth by default.
        """
        backend = self.backend
        changes = {"evidence_limit": limit}
        if limit is None:
            changes = {"evidence_limit": max(len(backend.graph), 1), "telescoping": False}
        twin = copy(self)
        recipe, given = self._fitted
        twin.settings = settings_for(recipe, **{**backend.settings.model_dump(), **changes})
        twin.recipe, twin._given = recipe, {**given, **changes}
        twin._fitted = twin.recipe, twin._given
        twin._state = GraphBackend(backend.chain, backend.pool, twin.settings)
        return twin

    # questions

    @overload
    def predict(  # type: ignore[overload-overlap]
        self, users: Id | Guest, items: Id, *, without: Sequence[Id] = ()
    ) -> Prediction: ...
    @overload
    def predict(
        self, users: Id | Guest | ManyIds, items: Id | ManyIds, *, without: Sequence[Id] = ()
    ) -> Predictions: ...
    def predict(
        self, users: Any, items: Id | ManyIds, *, without: Sequence[Id] = ()
    ) -> Prediction | Predictions:
        """How users would rate items: one of each, as many of each, or one with many.

        A pair of which nothing is known gets a mean and a reason, never an exception.

        Args:
            users: ids, or the (item, rating) pairs of one guest who is not in the data.
            without: items whose ratings by the user or guest are left out; for one user only.
        """
        backend, one = self.backend, is_id(items)
        if is_guest(users) or (without and is_id(users)):
            asker = self._asker(users, without, required=False)
            found = answers.predict(backend, asker, [items] if is_id(items) else as_list(items))
            return found[0] if one else found
        if without:
            raise DataError("`without` is for one user at a time", right="Ask user by user.")
        found = answers.predict_pairs(backend, *broadcast(users, items))
        return found[0] if one and is_id(users) else found

    def recommend(
        self,
        user: Id | Guest,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        caution: float = 0.0,
        reasons: bool = False,
        without: Sequence[Id] = (),
    ) -> Recommendations:
        """The items that a user would rate highest, or choose first, best first.

        Args:
            user: an id, or the (item, rating) pairs of a guest who is not in the data. Unknown
                items among them are ignored; the answer's `ignored` names them.
            exclude_seen: leave out what the user has rated.
            caution: rank by the estimate minus this many standard deviations; a negative one
                ranks by what the rating may be at best. Needs a recipe that estimates them.
            reasons: say for each item which of the user's ratings supports it most.
            without: items whose ratings by the user are left out of the evidence.
        """
        return answers.recommend(
            self.backend,
            self._asker(user, without),
            how_many(n),
            exclude_seen=exclude_seen,
            caution=caution,
            reasons=reasons,
        )

    def recommend_all(
        self,
        users: ManyIds | None = None,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        caution: float = 0.0,
        reasons: bool = False,
        progress: bool = False,
    ) -> pl.DataFrame:
        """Lists for many users, everyone by default, as one table.

        Rows of user_id, `rank` (from 1), item_id, `title`, `estimate` and `std` (null where
        the model has none), list after list. Unknown users are skipped, with a warning that
        names them.

        Args:
            reasons: add the columns reason_item_id, reason_title, reason_rating and
                reason_contribution: which of the user's ratings supports the item most; null
                where none does. Takes a few milliseconds per user.
        """
        backend, everyone = self.backend, users is None
        names = self.graph.ids[Side.USER].values if users is None else as_list(users)
        asked = backend.indices(Side.USER, names)
        if not everyone and UNKNOWN in asked:
            unknown = [str(names[k]) for k in np.flatnonzero(asked == UNKNOWN).tolist()]
            shown = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
            whom = "an unknown user" if len(unknown) == 1 else f"{len(unknown)} unknown users"
            warnings.warn(f"no lists for {whom}: {shown}", stacklevel=2)
        return lists_for_users(
            backend,
            asked[asked != UNKNOWN],
            how_many(n),
            exclude_seen=exclude_seen,
            caution=caution,
            reasons=reasons,
            progress=progress,
        )

    def similar_items(self, item: Id, n: int = 10) -> SimilarItems:
        """The items whose embeddings have the highest cosine with that of another."""
        return answers.similar_items(self.backend, item, how_many(n))

    def explain(
        self,
        user: Id | Guest,
        item: Id,
        pieces: int = 5,
        depth: int = 2,
        *,
        without: Sequence[Id] = (),
    ) -> Trace:
        """The evidence behind a prediction, and what each piece contributes; see `Trace.kind`.

        Args:
            user: an id, or the (item, rating) pairs of a guest who is not in the data.
            pieces: how many pieces of evidence to show of each embedding.
            depth: how deep to follow the chains.
            without: items whose ratings by the user are left out of the evidence.
        """
        asker = self._asker(user, without)
        return answers.explain(self.backend, asker, item, pieces=pieces, depth=depth)

    # evaluation

    def evaluate(self, test: Any, **options: Any) -> Evaluation:
        """Errors and list quality on ratings that the model has not seen.

        Args:
            options: those of `evichain.evaluation.evaluate`, such as `n` and `by_known`.
        """
        return evaluate(self, test, **options)

    def rank(
        self, test: Any, n: int = 10, *, threshold: float | None = None, progress: bool = False
    ) -> ListMetrics:
        """The quality of lists of n items; see `evichain.evaluation.list_metrics`."""
        return list_metrics(self, test, n, threshold=threshold, progress=progress)

    def score_users(self, users: Ints) -> ScoreBlock:
        """The scores of all items for users, by index; see `evichain.evaluation.scoring`."""
        found, items = self.backend.outputs(Side.USER, users), self.backend.items

        def block(part: slice) -> Floats:
            scores: Floats = found.vectors[part] @ items.vectors[:-1].T
            scores[~found.answerable[part]] = -np.inf
            scores[:, ~items.has_embedding[:-1]] = -np.inf
            return scores

        return block

    def score_histories(self, histories: Histories) -> Floats:
        """The scores of all items for people who only bring ratings: [histories, items]."""
        backend, items = self.backend, self.backend.items
        if not len(histories):
            return np.empty((0, len(self.graph.ids[Side.ITEM])), np.float32)
        rows = (backend.guest_row(*history) for history in histories)
        found = HeadOutput.joined([user_output(backend, row) for row in rows])
        scores: Floats = found.vectors @ items.vectors[:-1].T
        scores[~found.answerable] = -np.inf
        scores[:, ~items.has_embedding[:-1]] = -np.inf
        return scores

    @property
    def estimates_ratings(self) -> bool:
        """Whether estimates are ratings; those of a model of choices are scores."""
        return not (self._state or self).settings.of_choices

    @property
    def training_mean(self) -> float:
        """The mean rating at training; `add` does not change it."""
        return self.backend.chain.mean.item()

    # what it is made of

    @property
    def graph(self) -> Graph:
        """The ratings that evidence is taken from."""
        return self.backend.graph

    @property
    def prototypes(self) -> tuple[Sequence[Id], Sequence[Id]]:
        """The ids of the prototype users and items."""
        return self.backend.pool.ids

    @property
    def parameter_count(self) -> int:
        """How many numbers were learned."""
        return self.backend.chain.parameter_count

    def save(self, path: str | Path) -> None:
        """Write a model folder: weights, settings and the graph. Replaces an older model."""
        backend = self.backend
        settings = backend.settings.model_dump()
        saved = Saved(
            recipe=self._fitted[0],
            settings=backend.settings,
            # As validated: JSON cannot hold NumPy's numbers.
            given={name: settings[name] for name in self._fitted[1]},
            prototypes=backend.pool.ids,
            training=self.training,
            chain=backend.chain,
            graph=backend.graph,
        )
        save_model(saved, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model folder; the graph is mapped into memory as it is needed."""
        saved = load_model(Path(path))
        model = cls(saved.recipe, **saved.given)
        model.settings = saved.settings
        pool = Pool.of(saved.graph, saved.prototypes)
        model._state = GraphBackend(saved.chain, pool, model.settings)
        model.training = saved.training
        return model

    # helpers

    @property
    def backend(self) -> GraphBackend:
        """The trained chain on its ratings, from which all questions are answered."""
        if self._state is None:
            raise NotFittedError(
                "this recommender is not fitted yet", right="Call fit(ratings) or REC.load(path)."
            )
        return self._state

    def _rating_of(self, pair: Any) -> tuple[int, int]:
        """The indices of a user and an item that the user has rated."""
        try:
            user, item = pair
        except (TypeError, ValueError):
            raise DataError(
                f"{pair!r} is not a (user, item) pair", right="Give pairs such as (196, 50)."
            ) from None
        found = find_user(self.backend, user)
        index = int(self.backend.indices(Side.ITEM, [item])[0])
        if index not in found.row[0]:
            raise UnknownEntityError(
                f"no rating of item {item!r} by user {user!r}", right="Name a rating that is there."
            )
        return found.index, index

    def _asker(self, who: Any, without: Sequence[Id], *, required: bool = True) -> Asker:
        left_out = as_list(without)
        if is_id(who):
            return find_user(self.backend, who, left_out, required=required)
        return make_guest(self.backend, who, left_out)


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are not left to the recipe, which is what None does."""
    return {
        name: value
        for name, value in settings.items()
        if value is not None or name not in SETTING_NAMES
    }
