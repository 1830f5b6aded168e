"""Model folders: safetensors, JSON and the graph's plain arrays; nothing in them can run."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from polars.exceptions import PolarsError
from safetensors import SafetensorError
from safetensors.torch import load_file

from evichain.atomic_write import write_atomically
from evichain.errors import ModelError, SettingsError, cause_of, reported_as
from evichain.model.chain import Chain
from evichain.ratings.graph import Graph
from evichain.ratings.ids import Id
from evichain.recipes import SETTING_NAMES, Settings, settings_for
from evichain.tensors import write_tensors

_FORMAT = 2
_CARD = "model.json"
_WEIGHTS = "model.safetensors"
_GRAPH = "graph"


@dataclass(frozen=True)
class Saved:
    """What a model folder holds.

    Attributes:
        given: the settings that the user gave; the recipe chose the others.
        prototypes: the ids of the prototype users and items.
        training: facts about the training, such as how many steps it took.
    """

    recipe: str
    settings: Settings
    given: dict[str, Any]
    prototypes: tuple[Sequence[Id], Sequence[Id]]
    training: dict[str, Any]
    chain: Chain
    graph: Graph


def save_model(saved: Saved, path: Path) -> None:
    """Write a model folder beside its final name, then rename it; an existing model is replaced."""
    path = path.absolute()
    if path.exists() and not _holds_only_a_model(path):
        raise ModelError(
            "this path holds something other than a model",
            where=str(path),
            right="Choose a free path, or one that holds a model to replace.",
        )
    what, right = "the model cannot be written", "Choose a path that is writable and has room."
    failing = reported_as(ModelError, what, path, right, SafetensorError, PolarsError)
    with failing, write_atomically(path) as made:
        made.mkdir()
        _write(saved, made)


def _write(saved: Saved, folder: Path) -> None:
    saved.graph.save(folder / _GRAPH)
    write_tensors(saved.chain.state_dict(), folder / _WEIGHTS)
    card = {
        "format": _FORMAT,
        "evichain": version("evichain"),
        "recipe": saved.recipe,
        "settings": saved.settings.model_dump(),
        "given": saved.given,
        "prototypes": {"user": list(saved.prototypes[0]), "item": list(saved.prototypes[1])},
        "training": saved.training,
    }
    text = json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / _CARD).write_text(text + "\n", encoding="utf-8")


def _holds_only_a_model(path: Path) -> bool:
    try:
        card = json.loads((path / _CARD).read_text(encoding="utf-8"))
        return "evichain" in card and {e.name for e in path.iterdir()} <= {_CARD, _WEIGHTS, _GRAPH}
    except (OSError, ValueError, TypeError):
        return False


def load_model(path: Path) -> Saved:
    """Read a model folder and rebuild its chain; the one place that does."""
    try:
        card = json.loads((path / _CARD).read_text(encoding="utf-8"))
        _check_format(card, path)
        if not (path / _WEIGHTS).exists():
            raise ModelError(
                f"the model has no weights: {_WEIGHTS} is missing",
                where=str(path),
                right="Train or copy it again.",
            )
        settings = settings_for(card["recipe"], **card["settings"])
        weights = load_file(path / _WEIGHTS)
        return Saved(
            recipe=card["recipe"],
            settings=settings,
            given=dict(card["given"]),
            prototypes=(card["prototypes"]["user"], card["prototypes"]["item"]),
            training=dict(card["training"]),
            chain=Chain.from_weights(settings.chain, settings.policy.max_depth, weights),
            graph=Graph.load(path / _GRAPH),
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelError(
            "there is no model here",
            where=str(path),
            right="Give the folder that `evichain train --out` or `REC.save` wrote.",
        ) from error
    except (
        SettingsError,
        SafetensorError,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RuntimeError,
    ) as error:
        what = cause_of(error)
        raise ModelError(
            f"the model is damaged ({what})", where=str(path), right="Train or copy it again."
        ) from error


def _check_format(card: dict[str, Any], path: Path) -> None:
    """Refuse a model of another version, whose settings may mean something else."""
    saved_by, found = card["evichain"], card.get("format", 1)
    if found == _FORMAT and set(card["settings"]) == set(SETTING_NAMES):
        return
    which = "a later" if found > _FORMAT else "an earlier"
    raise ModelError(
        f"saved by {which} version of evichain ({saved_by}, model format {found}); this version "
        f"({version('evichain')}) reads format {_FORMAT} with its own settings",
        where=str(path),
        right=f"Train it again: evichain train DATA --out {path} --force. Or use the version that "
        "saved it.",
    )
