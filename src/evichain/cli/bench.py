"""`evichain bench`: a training step, bulk generation, growing data, lists, and the service."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from evichain.cli import _bench_lists, _bench_scale
from evichain.cli._errors import OptionError
from evichain.cli._loading import load_parts
from evichain.cli._options import Json, Recipe, Seed, Split, examples, group
from evichain.cli._output import format_size, note, print_facts, print_json
from evichain.cli._settings import Changes, settings_options
from evichain.errors import SettingsError, with_extra

verb = group("Measure a training step, bulk generation, growing data, lists, and the service.")
verb.command("scale", epilog=examples(*_bench_scale.EXAMPLES))(_bench_scale.scale)
verb.command("lists", epilog=examples(*_bench_lists.EXAMPLES))(_bench_lists.lists)

Data = Annotated[
    str, typer.Option(metavar="DATA", help="A name of `evichain data list`, or a path.")
]


@verb.command(
    epilog=examples(
        "evichain bench step --data ml-100k --json",
        "evichain bench step --data ml-1m --evidence-limit 40 --max-depth 3 --no-reference",
    )
)
@settings_options
def step(
    data: Data,
    settings: Changes,
    recipe: Recipe = "paper",
    split: Split = None,
    seed: Seed = 0,
    repeats: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many steps to time; the median counts.")
    ] = 20,
    reference: Annotated[
        bool, typer.Option(help="Also take a step with the paper's recursion, which is slow.")
    ] = True,
    json: Json = False,
) -> None:
    """Time a training step against dense products of its size and against the recursion."""
    from evichain.recipes import settings_for

    changes = {"seed": seed, **settings}
    if settings_for(recipe, **changes).of_choices:  # before anything takes long
        raise SettingsError(
            f"the recipe {recipe!r} is trained without steps", right="Measure another recipe."
        )
    begun = time.perf_counter()
    parts = load_parts(data, split, seed)
    ratings, name = parts.train, parts.name
    loaded = time.perf_counter() - begun
    chosen = settings_for(recipe, ratings=len(ratings), **changes)

    from evichain.bench import bench_step
    from evichain.resources import peak_bytes

    found: dict[str, Any] = {
        "data": data,
        "split": name,
        "ratings": len(ratings),
        "load_seconds": loaded,
        "load_peak_bytes": peak_bytes(),
        **bench_step(ratings, chosen, repeats=repeats, reference=reference, say=note),
    }
    found["peak_bytes"] = peak_bytes()
    if json:
        print_json({**found, "settings": chosen.model_dump()})
        return
    print_facts("A training step", _shown(found))


@verb.command(epilog=examples("evichain bench embed --data ml-1m --json"))
@settings_options
def embed(
    data: Data,
    settings: Changes,
    recipe: Recipe = "plus",
    seed: Seed = 0,
    repeats: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many times to measure; the median counts.")
    ] = 3,
    json: Json = False,
) -> None:
    """Time the embeddings of all users and items against dense products of their size."""
    from evichain.bench import bench_embed
    from evichain.recipes import settings_for

    ratings = load_parts(data, None, seed).train
    chosen = settings_for(recipe, ratings=len(ratings), **{"seed": seed, **settings})
    found: dict[str, Any] = {"data": data, "ratings": len(ratings)}
    found |= bench_embed(ratings, chosen, repeats=repeats, say=note)
    if json:
        print_json({**found, "settings": chosen.model_dump()})
        return
    print_facts("All embeddings", _shown(found))


@verb.command(
    epilog=examples(
        "evichain bench serve --data ml-1m --json",
        "evichain bench serve --data ml-100k --model runs/serve-ml-100k --rate 300",
        "evichain bench serve --data ml-100k --kills 20",
    )
)
def serve(
    data: Data,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            help="A model's folder. By default one is trained on the data, for a few steps: how "
            "fast it answers does not depend on what it has learned.",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="An empty store, as for `serve`; by default a file that is removed afterwards.",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(metavar="S", min=0.1, help="How long to measure.")
    ] = 10.0,
    connections: Annotated[
        int, typer.Option(metavar="N", min=1, max=128, help="Each asks one thing at a time.")
    ] = 8,
    rate: Annotated[
        float,
        typer.Option(metavar="N", min=0, help="Requests a second; 0: as many as are answered."),
    ] = 0.0,
    kills: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Then kill the server this many times during writes."
        ),
    ] = 0,
    iterations: Annotated[
        int, typer.Option(metavar="N", min=0, help="Steps of the model that is trained.")
    ] = 5,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Serve a store of ratings and drive the server: 90 % lists, 10 % ratings that come in.

    The server is a process of its own, on a core of its own where the system can do that. Half of
    the lists are for users of the store, half for anyone with 20 ratings. Beside it, in this
    process, a list for someone new is timed against implicit's ALS (`pip install implicit`).
    """
    from evichain.recommender import REC

    ratings = load_parts(data, None, seed).train
    if model is None:
        note(f"training for {iterations} steps")
        served = REC(iterations=iterations, validation=0, seed=seed).fit(ratings)
    else:
        served = REC.load(model)
    try:
        from evichain.service.bench.serve import Load, bench_serve
    except ModuleNotFoundError as error:
        needed = f"serving needs {error.name}"
        raise OptionError(needed, right=with_extra("serve")) from error

    load = Load(seconds, connections, rate, kills, seed)
    found: dict[str, Any] = {"data": data, "connections": connections, "rate": rate}
    found |= bench_serve(served, ratings, load, store=store, say=note)
    if found["foldin_ratio"] is None:
        note(f"foldin_ratio needs implicit. {with_extra('bench')}")
    if json:
        print_json(found)
        return
    shown = _shown(found)
    for kind, figures in found["kinds"].items():
        name = kind.replace("_", " ")
        shown |= {f"{name}, {key.replace('_', ' ')}": value for key, value in figures.items()}
    del shown["kinds"], shown["errors by status"]
    print_facts("The service under load", shown)


def _shown(found: dict[str, Any]) -> dict[str, Any]:
    """The figures by what they are called, peaks of memory with a unit."""
    return {
        name.replace("_", " "): format_size(value)
        if name.endswith("peak_bytes") and value
        else value
        for name, value in found.items()
    }
