"""`evichain recommend`: the best items for someone or everyone, or the items most like another."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evichain.cli._errors import OptionError, unknown_means
from evichain.cli._everyone import list_everyone
from evichain.cli._options import Force, Json, Model, examples, single
from evichain.cli._output import Cell, note, print_json, print_table
from evichain.cli._titles import as_known, named

if TYPE_CHECKING:
    from evichain.ratings.scale import Scale

verb = single()


@verb.command(
    epilog=examples(
        "evichain recommend model 42",
        "evichain recommend model 42 -n 5 --include-seen --json",
        "evichain recommend model --rated 50=5 --rated 181=4 --rated 258=1",
        "evichain recommend model --similar-to 50",
        "evichain recommend model --everyone --out lists.parquet",
    )
)
def recommend(
    model: Model,
    user: Annotated[
        str | None, typer.Argument(metavar="USER", help="A user.", show_default=False)
    ] = None,
    n: Annotated[
        int, typer.Option("-n", "--count", metavar="N", min=1, help="How many items.")
    ] = 10,
    include_seen: Annotated[
        bool, typer.Option("--include-seen", help="Also items that the user has rated.")
    ] = False,
    rated: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ITEM=RATING",
            help="What someone who is not in the data has rated; may be given again and again.",
            show_default=False,
        ),
    ] = None,
    similar_to: Annotated[
        str | None,
        typer.Option(metavar="ITEM", help="List the items most like this one.", show_default=False),
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="Lists for all users of the model, into --out.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where the lists of --everyone go: .csv, .tsv, .parquet or .ndjson.",
            show_default=False,
        ),
    ] = None,
    caution: Annotated[
        float,
        typer.Option(
            metavar="X",
            min=0.0,
            help="Rank by the estimate less X deviations: the surer, the higher. Needs a recipe "
            "that tells deviations.",
        ),
    ] = 0.0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Recommend items, for a user, for someone who is not in the data, or for everyone."""
    if sum((user is not None, bool(rated), similar_to is not None, everyone)) != 1:
        right = "Give a user, or what someone rated with --rated, or --similar-to, or --everyone."
        raise OptionError("there is not one way to tell for whom", right=right)
    if everyone != (out is not None):
        right = "Give both or none: evichain recommend MODEL --everyone --out lists.csv."
        raise OptionError("is for --everyone, which needs it", where="--out", right=right)
    if out is not None:
        if caution:
            raise OptionError("is not for --everyone", where="--caution", right="Leave it out.")
        list_everyone(model, out, n, exclude_seen=not include_seen, force=force, json=json)
        return
    if similar_to is not None:
        for given, option in ((caution, "--caution"), (include_seen, "--include-seen")):
            if given:
                raise OptionError("is not for --similar-to", where=option, right="Leave it out.")
    pairs = _parsed(rated or [])

    from evichain.ratings import Side
    from evichain.recommender import REC

    loaded = REC.load(model)
    rows: list[dict[str, Cell]]
    if similar_to is not None:
        with unknown_means("The model has no ratings of it."):
            alike = loaded.similar_items(similar_to, n)
        rows = [{"item": s.item, "title": s.title, "similarity": s.similarity} for s in alike]
        title = f"Like {named(loaded.graph, similar_to)}"
    else:
        _check(pairs, loaded.graph.scale)
        whom = user if user is not None else list(pairs.items())
        stranger = "Say what they rated: --rated ITEM=RATING, instead of USER."
        with unknown_means(stranger if user is not None else "The model has no ratings of it."):
            best = loaded.recommend(whom, n, exclude_seen=not include_seen, caution=caution)
        rows = [
            {"item": r.item, "title": r.title, "estimate": r.estimate, "std": r.std} for r in best
        ]
        title = f"For user {user}" if user is not None else "For someone who rated these"
    if not rows:
        note("nothing: no chain of evidence leads to a prototype, or everything has been seen")
    if json:
        key = "similar" if similar_to is not None else "recommendations"
        asker, like = (
            None if given is None else as_known(loaded.graph, side, [given])[0]
            for side, given in zip(Side, (user, similar_to), strict=True)
        )
        print_json({"user": asker, "rated": pairs or None, "similar_to": like, key: rows})
        return
    figure = "similarity" if similar_to is not None else "estimate"
    _print(title, figure, rows)


def _print(title: str, figure: str, rows: list[dict[str, Cell]]) -> None:
    titled = any(row["title"] != str(row["item"]) for row in rows)
    header = ("", "item", "title", figure) if titled else ("", "item", figure)
    cells: list[list[Cell]] = [
        [rank, str(row["item"]), *([row["title"]] * titled), f"{row[figure]:.3f}"]
        for rank, row in enumerate(rows, start=1)
    ]
    print_table(title, header, cells)


def _parsed(rated: list[str]) -> dict[str, float]:
    """Items and their ratings; the last rating of an item holds."""
    found = {}
    for text in rated:
        item, equals, rating = text.rpartition("=")
        try:
            number = float(rating)
        except ValueError:
            number = math.nan
        if not equals or not item or not math.isfinite(number):
            right = "It is ITEM=RATING, such as --rated 50=4.5."
            raise OptionError(f"{text!r} is no rating", where="--rated", right=right)
        found[item] = number
    return found


def _check(pairs: dict[str, float], scale: "Scale") -> None:
    for item, rating in pairs.items():
        if not scale.holds(rating):
            raise OptionError(
                f"{rating:g} for item {item} is off the scale",
                where="--rated",
                right=f"Ratings go from {scale.low:g} to {scale.high:g} here.",
            )
