"""The command line: `evichain VERB …`, one file for each verb.

A verb's file is imported when the verb is called, and it imports torch and numba when it needs
them, so that `--help` and `--version` answer at once.
"""

import sys
from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from evichain import __version__
from evichain.cli._errors import reported
from evichain.cli._options import examples

VERBS = {
    "data": "List, fetch, describe, convert, split and make up ratings.",
    "train": "Train a model, and test it when the data is split.",
    "tune": "Search for better settings, on validation ratings.",
    "evaluate": "Test a model on ratings.",
    "predict": "Predict ratings, one or a file of them.",
    "recommend": "Recommend items for a user, known or not.",
    "explain": "The evidence behind one prediction.",
    "remove": "Erase a user from a model, or some of their ratings.",
    "info": "What a model is and what it was trained on.",
    "import": "Put ratings and titles into a store, for the live service.",
    "export": "Write the ratings of a store to a file.",
    "serve": "Serve a model over HTTP: ratings in, answers out.",
    "spark": "Embeddings, predictions and lists in bulk, on Spark.",
    "baseline": "Train and test a recommender to compare with.",
    "compare": "Train several systems on the same split, and compare them.",
    "bench": "Measure a training step, growing data, lists, and the service.",
    "paper": "Make the tables and figures of the paper again.",
}


class Verbs(TyperGroup):
    """The verbs, each loaded when it is called; and the one place where errors are reported."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        file = f"{name}_" if iskeyword(str(name)) else name
        verb: typer.Typer = import_module(f"evichain.cli.{file}").verb
        command = typer.main.get_command(verb)
        command.name = name
        return name, command, rest

    # Both here and not in `main` alone: typer has its own way with what passes through there.

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with reported(kwargs.get("obj") or ()):
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with reported(ctx.obj or ()):
            return super().invoke(ctx)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        given = args[0] if args else kwargs.get("args")
        kwargs |= {"standalone_mode": False, "prog_name": "evichain"}
        # For errors, and for a command that starts itself again in other processes.
        arguments = kwargs["obj"] = list(sys.argv[1:] if given is None else given)
        with reported(arguments):
            status = super().main(*args, **kwargs)
            sys.stdout.flush()
            sys.exit(status if isinstance(status, int) else 0)


app = typer.Typer(
    cls=Verbs,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "evichain data list",
        "evichain train ml-100k --split random:0.8 --out model",
        "evichain recommend model 42",
        "evichain explain model 42 50",
    ),
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"evichain {__version__}")
        raise typer.Exit


@app.callback()
def _evichain(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A recommender whose size does not grow with its users.

    Every embedding is generated from the ratings, by chains of evidence.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _loaded_when_called() -> None:
    """Stands for a verb in the list of verbs."""


for _name, _summary in VERBS.items():
    app.command(_name, help=_summary)(_loaded_when_called)


def main() -> None:
    """The entry point of the `evichain` command."""
    for stream in (sys.stdout, sys.stderr):
        # A title that the terminal cannot show should not end the program.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    app()
