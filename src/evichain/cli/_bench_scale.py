"""`evichain bench scale`: how cost and memory grow with the data."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from evichain.cli._errors import OptionError
from evichain.cli._options import Json, Recipe, Seed
from evichain.cli._output import Cell, format_size, note, print_facts, print_json, print_table
from evichain.cli._settings import Changes, settings_options

EXAMPLES = (
    "evichain bench scale --ratings 1000000 10000000 --json",
    "evichain bench scale --ratings 10000000 100000000 --cache /big/disk --json",
)
_FEWEST = 1000
_COLUMNS = {
    "generate_seconds": "made in s",
    "convert_seconds": "converted in s",
    "convert_peak_bytes": "within",
    "graph_bytes": "graph",
    "step_seconds": "step in s",
    "step_peak_bytes": "within",
    "links": "pieces of evidence",
}
_KEPT = {"generate": "making", "convert": "conversion"}


@partial(settings_options, without=("iterations", "validation", "validate_every", "patience"))
def scale(
    settings: Changes,
    ratings: Annotated[
        list[int],
        typer.Option(metavar="N ...", help="How many ratings the sets have; one or more numbers."),
    ],
    more: Annotated[list[int] | None, typer.Argument(hidden=True)] = None,
    recipe: Recipe = "plus",
    seed: Seed = 0,
    repeats: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many steps to time; the median counts.")
    ] = 10,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where sets and graphs are kept for the next time; by default the user's cache.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make up ratings, convert them and train on them for some steps: a growing set at a time.

    A set takes some 14 bytes of disk a rating, and 11 more while it is converted.
    """
    sizes = sorted({*ratings, *(more or [])})
    if sizes[0] < _FEWEST:
        right = f"Give numbers from {_FEWEST:,} on."
        raise OptionError(f"{sizes[0]} ratings are too few", where="--ratings", right=right)
    from evichain.bench import bench_scale
    from evichain.ratings import cache_folder
    from evichain.recipes import settings_for

    settings_for(recipe, **settings)
    found = bench_scale(
        sizes,
        cache or cache_folder() / "scale",
        recipe=recipe,
        changes=settings,
        seed=seed,
        repeats=repeats,
        say=note,
    )
    if json:
        print_json(found)
        return
    rows: list[list[Cell]] = []
    for one in found["sizes"]:
        shown = (
            format_size(one[name] or 0) if name.endswith("bytes") else one[name]
            for name in _COLUMNS
        )
        rows.append([one["ratings"], *shown, ", ".join(_KEPT[work] for work in one["kept"])])
    header = ("ratings", *_COLUMNS.values(), "kept from before")
    print_table("Growing data", header, rows)
    facts: dict[str, Cell] = {
        "step ratio": found["step_ratio"],
        "parameters": found["parameters"],
        "most memory": format_size(found["peak_bytes"] or 0),
    }
    print_facts("In all", facts)
