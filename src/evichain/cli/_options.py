"""Arguments and options that several verbs share, and what their help looks like."""

from pathlib import Path
from typing import Annotated

import typer


def examples(*lines: str) -> str:
    """An epilog with one example a line; the mark before it keeps the lines as they are."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A name that `evichain data list` shows, or a path.",
        show_default=False,
    ),
]
Model = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A model's folder (train --out).", show_default=False),
]
StoreUrl = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="EVICHAIN_STORE",
        help="sqlite:///path, a path, or postgresql://user@host/database.",
        show_default=False,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there already.")]
_SPELLINGS = (
    "random:0.8, kfold:5/0, users:0.8 (whole users are held out), users:0.8/5 (5 ratings of each "
    "come after training), time:0.8, growth:0.2 (all but a fifth of users and items come after "
    "training), cold:50/5 (50 users have 5 ratings), a named split of the data (u1), or "
    "TRAIN_FILE,TEST_FILE."
)
Split = Annotated[
    str | None,
    typer.Option("--split", metavar="SPEC", help=_SPELLINGS, show_default=False),
]
Spec = Annotated[str, typer.Argument(metavar="SPEC", help=_SPELLINGS, show_default=False)]
LARGEST_SEED = 2**63 - 1
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        max=LARGEST_SEED,
        help="Everything random is drawn from it.",
    ),
]

Recipe = Annotated[
    str,
    typer.Option(metavar="NAME", help="A named set of settings; * below: fitted to the data."),
]


def group(help: str) -> typer.Typer:
    """A verb with verbs of its own; called without one, it shows its help."""
    verb = typer.Typer(
        help=help, invoke_without_command=True, add_completion=False, rich_markup_mode=None
    )

    @verb.callback()
    def _without_a_verb(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    return verb


def single() -> typer.Typer:
    """A verb without verbs of its own."""
    return typer.Typer(add_completion=False, rich_markup_mode=None)
