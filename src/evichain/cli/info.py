"""`evichain info`: a model's settings, sizes and training data."""

from typing import TYPE_CHECKING, Any

from evichain.cli._files import folder_size
from evichain.cli._options import Json, Model, examples, single
from evichain.cli._output import Cell, format_cell, format_size, print_facts, print_json

if TYPE_CHECKING:
    from evichain.recommender import REC

verb = single()

_SHOWN = 5


@verb.command(epilog=examples("evichain info model", "evichain info model --json"))
def info(model: Model, json: Json = False) -> None:
    """Show a model's settings, sizes and prototypes, and what it was trained on."""
    from evichain.recommender import REC

    loaded = REC.load(model)
    if json:
        print_json(_document(loaded) | {"model": model, "bytes": folder_size(model)})
        return
    found = _document(loaded)
    graph, trained = found["graph"], found["training"]
    facts: dict[str, Cell] = {
        "recipe": found["recipe"],
        "parameters": found["parameters"],
        "folder": format_size(folder_size(model)),
        loaded.graph.noun
        + "s": f"{graph['ratings']:,} by {graph['users']:,} users of {graph['items']:,} items",
        "weights" if graph["interactions"] else "scale": f"{graph['low']:g} to {graph['high']:g}",
        "training mean": f"{graph['mean']:.3f}",
        "graph": f"{format_size(graph['bytes'])} in memory",
        "prototype users": _some([str(user) for user in found["prototypes"]["user"]]),
        "prototype items": _some([loaded.graph.title(i) for i in found["prototypes"]["item"]]),
    }
    print_facts(str(model), facts)
    print_facts("Training", {name.replace("_", " "): value for name, value in trained.items()})
    print_facts("Settings", found["settings"])


def _document(model: "REC") -> dict[str, Any]:
    from evichain.ratings import Side

    graph = model.graph
    users, items = (len(graph.ids[side]) for side in Side)
    return {
        "recipe": model.recipe,
        "parameters": model.parameter_count,
        "graph": {
            "users": users,
            "items": items,
            "ratings": len(graph),
            "interactions": graph.interactions,
            "mean": graph.mean,
            "low": graph.scale.low,
            "high": graph.scale.high,
            "bytes": graph.nbytes,
        },
        "prototypes": {side.noun: list(model.prototypes[side]) for side in Side},
        "training": model.training,
        "settings": model.settings.model_dump(),
    }


def _some(names: list[str]) -> str:
    rest = f" and {format_cell(len(names) - _SHOWN)} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + rest if names else "none"
