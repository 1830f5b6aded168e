"""Arguments and options that several commands share, and the layout of their help."""

import math
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from evichain.cli._errors import OptionError


def examples(*lines: str) -> str:
    """An epilog with one example per line; the mark before it keeps the line breaks."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A data set of `evichain data list`, or a path.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model's folder (train --out).")]
StoreUrl = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="EVICHAIN_STORE",
        help="sqlite:///path, a path, or postgresql://user@host/database.",
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing output.")]
_SPLIT_HELP = (
    "random:0.8, kfold:5/0, users:0.8 (whole users are held out), users:0.8/5 (5 ratings of each "
    "come after training), time:0.8, leave-last-out (the last of each user by time), growth:0.2 "
    "(all but a fifth of users and items come after training), cold:50/5 (50 users have 5 "
    "ratings), a named split of the data (u1), or TRAIN_FILE,TEST_FILE."
)
Split = Annotated[str | None, typer.Option("--split", metavar="SPEC", help=_SPLIT_HELP)]
Spec = Annotated[str, typer.Argument(metavar="SPEC", help=_SPLIT_HELP)]
LARGEST_SEED = 2**63 - 1
Seed = Annotated[
    int,
    typer.Option(
        "--seed", metavar="N", min=0, max=LARGEST_SEED, help="The seed of all random draws."
    ),
]

Recipe = Annotated[
    str, typer.Option(metavar="NAME", help="A named set of settings; * below: fitted to the data.")
]

IncludeSeen = Annotated[
    bool, typer.Option("--include-seen", help="Also items that the user has rated.")
]
Rated = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ITEM=RATING", help="A rating of a guest who is not in the data; repeat for more."
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ITEM", help="Leave out the asker's rating of this item; repeat for more."
    ),
]


def group(help: str) -> typer.Typer:
    """A command with subcommands; called without one, it shows its help."""
    verb = typer.Typer(
        help=help, invoke_without_command=True, add_completion=False, rich_markup_mode=None
    )

    @verb.callback()
    def _help_alone(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    return verb


def single() -> typer.Typer:
    """A command without subcommands."""
    return typer.Typer(add_completion=False, rich_markup_mode=None)


def with_options(
    verb: Callable[..., None],
    parameter: str,
    options: Iterable[Parameter],
    made: Callable[[dict[str, Any]], Any],
) -> Callable[..., None]:
    """Give a verb further options; what `made` makes of them arrives in its `parameter`."""
    own = signature(verb, eval_str=True)
    kept = [p for name, p in own.parameters.items() if name != parameter]
    added = list(options)

    @wraps(verb)
    def called(**values: Any) -> None:
        given = {option.name: values.pop(option.name) for option in added}
        verb(**{parameter: made(given)}, **values)

    parameters = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in (*kept, *added)]
    called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    return called


def parse_ratings(rated: list[str] | None) -> list[tuple[str, float]]:
    """The (item, rating) pairs of --rated."""
    found = []
    for text in rated or []:
        item, equals, rating = text.rpartition("=")
        try:
            number = float(rating)
        except ValueError:
            number = math.nan
        if not equals or not item or not math.isfinite(number):
            right = "Write ITEM=RATING, such as --rated 50=4.5."
            raise OptionError(f"{text!r} is not a rating", where="--rated", right=right)
        found.append((item, number))
    return found


def ignored_note(ignored: tuple[object, ...]) -> str:
    """What to say about unknown items that were given."""
    names = ", ".join(str(item) for item in ignored)
    return f"ignored, because the model does not know them: {names}"
