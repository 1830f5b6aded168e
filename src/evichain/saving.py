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
from torch import Tensor

from evichain.atomic_write import beside
from evichain.errors import ModelError
from evichain.ratings.graph import Graph
from evichain.ratings.ids import Id
from evichain.tensors import write_tensors

_FORMAT = 1
_CARD = "model.json"
_WEIGHTS = "model.safetensors"
_GRAPH = "graph"


@dataclass(frozen=True)
class Saved:
    """What a model folder holds; of its settings, `given` are those not left to the recipe."""

    recipe: str
    settings: dict[str, Any]
    given: dict[str, Any]
    prototypes: tuple[Sequence[Id], Sequence[Id]]
    training: dict[str, Any]
    weights: dict[str, Tensor]
    graph: Graph


def save_model(saved: Saved, path: Path) -> None:
    """Write a model folder beside its final name, then rename it; an older model gives way."""
    path = path.absolute()
    if path.exists() and not _holds_only_a_model(path):
        raise ModelError(
            "there is something else than a model here",
            where=str(path),
            right="Choose a path that is free or holds a model to replace.",
        )
    try:
        with beside(path) as made:
            made.mkdir()
            _write(saved, made)
    except (OSError, SafetensorError, PolarsError) as error:
        raise ModelError(
            f"the model cannot be written ({getattr(error, 'strerror', None) or error})",
            where=str(path),
            right="Choose a place that can be written to and has room.",
        ) from error


def _write(saved: Saved, folder: Path) -> None:
    saved.graph.save(folder / _GRAPH)
    write_tensors(saved.weights, folder / _WEIGHTS)
    card = {
        "format": _FORMAT,
        "evichain": version("evichain"),
        "recipe": saved.recipe,
        "settings": saved.settings,
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
    """Read a model folder."""
    try:
        card = json.loads((path / _CARD).read_text(encoding="utf-8"))
        if not (path / _WEIGHTS).exists():
            raise ModelError(
                f"the model has no weights: {_WEIGHTS} is missing",
                where=str(path),
                right="Train or copy it again.",
            )
        if card["format"] != _FORMAT:
            raise ModelError(
                f"model format {card['format']} is not {_FORMAT}",
                where=str(path),
                right="Use the version of evichain that wrote it, or train it again.",
            )
        return Saved(
            recipe=card["recipe"],
            settings=dict(card["settings"]),
            given=dict(card.get("given", card["settings"])),
            prototypes=(card["prototypes"]["user"], card["prototypes"]["item"]),
            training=dict(card["training"]),
            weights=load_file(path / _WEIGHTS),
            graph=Graph.load(path / _GRAPH),
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelError(
            "there is no model here",
            where=str(path),
            right="Give the folder that `evichain train --out` or `REC.save` wrote.",
        ) from error
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise ModelError(
            f"the model is damaged ({error})", where=str(path), right="Train or copy it again."
        ) from error
