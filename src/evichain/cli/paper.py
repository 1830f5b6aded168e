"""`evichain paper`: the tables and figures of the paper, reproduced."""

from pathlib import Path
from typing import Annotated

import typer

from evichain.cli._files import check_parent
from evichain.cli._options import LARGEST_SEED, Json, examples, single
from evichain.cli._output import note, print_json
from evichain.errors import SettingsError

verb = single()

_ALL = "all"


@verb.command(
    epilog=examples(
        "evichain paper complexity --data ml-100k",
        "evichain paper rmse-table --seed 0 --seed 1 --out results",
        "evichain paper rmse-table --data my/ratings.parquet --system plus --system biased-mf",
        "evichain paper scaling --data ml-100k --data ml-1m --data my/ratings.parquet",
        "evichain paper all --quick",
    )
)
def paper(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="rmse-table, online, convergence, complexity, cold-start, trace, scaling or all.",
        ),
    ],
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DATA",
            help="A name of `evichain data list` or a path; may be given again and again. By "
            "default ml-100k and ml-1m, and ml-10m where it was fetched; ml-100k with --quick.",
        ),
    ] = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N",
            min=0,
            max=LARGEST_SEED,
            help="Everything random is drawn from it; given again and again, tables have the "
            "mean. [default: 0]",
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Measure this system only; may be given again and again. Others are in the "
            "report where they were measured before.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the results go, and what is kept of them.")
    ] = Path("results"),
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Few ratings and few steps: about a minute, to see it work."),
    ] = False,
    anew: Annotated[
        bool,
        typer.Option("--anew", help="Measure everything again, even what was measured before."),
    ] = False,
    json: Json = False,
) -> None:
    """Reproduce a table or a figure of the paper, with our figures beside the paper's.

    Writes NAME.json, NAME.md and NAME.png. What has been measured is kept in DIR/cells and not
    measured again: if interrupted, the same call continues.
    """
    from evichain.experiments import EXPERIMENTS, make_experiment

    if name == _ALL and system:
        raise SettingsError(
            "systems cannot be chosen for all experiments at once",
            right="Name one experiment to choose its systems.",
        )
    names = list(EXPERIMENTS) if name == _ALL else [name]
    for one in names:
        make_experiment(one)
    check_parent(out / "cells")

    from evichain.experiments.experiment import Request
    from evichain.experiments.running import check_request, run
    from evichain.experiments.sources import default_data

    request = Request(data or default_data(quick=quick), seed or [0], quick, system or ())
    check_request(names, request)
    outcomes = [run(one, request, out, anew=anew, progress=True, say=note) for one in names]
    if json:
        print_json(
            {
                "experiments": [outcome.document for outcome in outcomes],
                "files": [path for outcome in outcomes for path in outcome.files],
                "measured": sum(outcome.measured for outcome in outcomes),
            }
        )
        return
    for outcome in outcomes:
        typer.echo(outcome.page)
        note(f"written: {', '.join(map(str, outcome.files))}")
