"""`evichain explain`: the evidence behind one prediction, as text, JSON or a picture."""

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer

from evichain.cli._errors import OptionError
from evichain.cli._files import check_free, replacing
from evichain.cli._options import (
    Force,
    Json,
    Model,
    Rated,
    Without,
    examples,
    ignored_note,
    parse_ratings,
    single,
)
from evichain.cli._output import note, print_json

verb = single()

_FORMATS = ("text", "json", "svg")
_ENDINGS = {"": "text", ".txt": "text", ".json": "json", ".svg": "svg"}


@verb.command(
    epilog=examples(
        "evichain explain model 42 50",
        "evichain explain model 42 50 --pieces 3 --out why.svg",
        "evichain explain model --rated 50=5 --rated 181=4 98",
        "evichain explain model 42 50 --without 181 --json",
    )
)
def explain(
    model: Model,
    pair: Annotated[
        list[str],
        typer.Argument(
            metavar="[USER] ITEM", help="A user and an item; the item alone with --rated."
        ),
    ],
    rated: Rated = None,
    without: Without = None,
    pieces: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="How many pieces of evidence to show of each embedding."
        ),
    ] = 5,
    depth: Annotated[
        int, typer.Option(metavar="N", min=0, help="How deep to follow the chains.")
    ] = 2,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(_FORMATS),
            help="The format; by default that of the suffix of --out, or else text.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to; stdout by default.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Show who rated what behind a prediction, and what each piece of evidence adds to it.

    What the numbers mean depends on the recipe, and stands below the tree.
    """
    wanted = 1 if rated else 2
    if len(pair) != wanted:
        right = "Give USER ITEM, or ITEM with --rated."
        raise OptionError(f"{len(pair)} ids where {wanted} are expected", right=right)
    guest = parse_ratings(rated)
    kind = _chosen(format, out, json=json)
    if out is not None:
        check_free(out, force=force)

    from evichain.recommender import REC

    who = guest if rated else pair[0]
    trace = REC.load(model).explain(who, pair[-1], pieces, depth, without=without or [])
    if trace.ignored:
        note(ignored_note(trace.ignored))
    if out is None and kind == "json":
        print_json(trace.to_dict())
        return
    if kind == "json":
        written = jsonlib.dumps(trace.to_dict(), indent=1, allow_nan=False)
    else:
        written = trace.svg() if kind == "svg" else trace.text()
    if out is None:
        typer.echo(written)
        return
    with replacing(out, force=force) as beside:
        beside.write_text(written.rstrip("\n") + "\n", encoding="utf-8")
    if json:
        ids = {"user": str(trace.user.id), "item": str(trace.item.id)}
        about = {**ids, "estimate": trace.estimate}
        print_json({**about, "reason": trace.reason, "format": kind, "written": out})
    else:
        note(f"{out}: the evidence behind {trace.estimate:.3f}")


def _chosen(format: str | None, out: Path | None, *, json: bool) -> str:
    if format is not None and format not in _FORMATS:
        right = f"Formats are {', '.join(_FORMATS)}."
        raise OptionError(f"no format {format!r}", where="--format", right=right)
    if json and out is None:
        if format not in (None, "json"):
            right = "Leave one of them out, or name a file with --out."
            raise OptionError(f"--json and --format {format} do not go together", right=right)
        return "json"
    if format is not None or out is None:
        return format or "text"
    ending = out.suffix.lower()
    if ending not in _ENDINGS:
        right = f"Name it {', '.join(filter(None, _ENDINGS))}, or say what to write with --format."
        raise OptionError(f"nothing can be written as {ending}", where=str(out), right=right)
    return _ENDINGS[ending]
