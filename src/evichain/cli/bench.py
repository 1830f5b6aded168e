"""`evichain bench`: how fast the engine is, as ratios measured in one process."""

import time
from typing import Annotated, Any

import typer

from evichain.cli._bench_scale import EXAMPLES, scale
from evichain.cli._loading import load_parts
from evichain.cli._options import Json, Recipe, Seed, Split, examples, group
from evichain.cli._output import note, print_facts, print_json, size_said
from evichain.cli._settings import Changes, settings_options

verb = group("Measure how fast a training step is.")
verb.command("scale", epilog=examples(*EXAMPLES))(scale)


@verb.command(
    epilog=examples(
        "evichain bench step --data ml-100k --json",
        "evichain bench step --data ml-1m --evidence-limit 40 --max-depth 3 --no-reference",
    )
)
@settings_options
def step(
    data: Annotated[
        str,
        typer.Option(
            metavar="DATA", help="A name of `evichain data list`, or a path.", show_default=False
        ),
    ],
    settings: Changes,
    recipe: Recipe = "paper",
    split: Split = None,
    seed: Seed = 0,
    repeats: Annotated[
        int, typer.Option(metavar="N", min=1, help="Steps to take the median of.")
    ] = 20,
    reference: Annotated[
        bool, typer.Option(help="Also take a step with the paper's recursion, which is slow.")
    ] = True,
    json: Json = False,
) -> None:
    """Time a training step against dense products of its size and against the recursion."""
    from evichain.recipes import settings_for

    chosen = settings_for(recipe, **{"seed": seed, **settings})
    begun = time.perf_counter()
    parts = load_parts(data, split, seed)
    ratings, name = parts.train, parts.name
    loaded = time.perf_counter() - begun

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
    shown = {key.replace("_", " "): value for key, value in found.items()}
    for key in ("load_peak_bytes", "graph_peak_bytes", "peak_bytes"):
        if found[key]:
            shown[key.replace("_", " ")] = size_said(found[key])
    print_facts("A training step", shown)
