"""`evichain recommend`: the best items for someone or everyone, or the items most like another."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evichain.cli._errors import OptionError
from evichain.cli._files import check_free, replacing
from evichain.cli._options import (
    Force,
    IncludeSeen,
    Json,
    Model,
    Rated,
    Without,
    examples,
    ignored_note,
    parse_ratings,
    single,
)
from evichain.cli._output import Cell, note, print_json, print_table
from evichain.tables import table_suffix, write_table

if TYPE_CHECKING:
    from evichain.ratings.graph import Graph

verb = single()


@verb.command(
    epilog=examples(
        "evichain recommend model 42",
        "evichain recommend model 42 --reasons",
        "evichain recommend model 42 --without 50 --json",
        "evichain recommend model --rated 50=5 --rated 181=4 --rated 258=1",
        "evichain recommend model --similar-to 50",
        "evichain recommend model --everyone --out lists.parquet",
    )
)
def recommend(
    model: Model,
    user: Annotated[str | None, typer.Argument(metavar="USER", help="A user.")] = None,
    n: Annotated[
        int, typer.Option("-n", "--count", metavar="N", min=1, help="How many items.")
    ] = 10,
    include_seen: IncludeSeen = False,
    rated: Rated = None,
    without: Without = None,
    reasons: Annotated[
        bool, typer.Option("--reasons", help="Say which rating supports each item most.")
    ] = False,
    similar_to: Annotated[
        str | None, typer.Option(metavar="ITEM", help="List the items most like this one.")
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="Lists for all users of the model, into --out.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where the lists of --everyone go: .csv, .tsv, .parquet or .ndjson.",
        ),
    ] = None,
    caution: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="Rank by the estimate minus X standard deviations. A negative X ranks by what "
            "the rating may be at best.",
        ),
    ] = 0.0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Recommend items to a user, to a guest who only brings ratings, or to everyone."""
    if sum((user is not None, bool(rated), similar_to is not None, everyone)) != 1:
        raise OptionError("give exactly one of USER, --rated, --similar-to, --everyone")
    if everyone != (out is not None):
        right = "Give both or none: evichain recommend MODEL --everyone --out lists.csv."
        raise OptionError("goes with --everyone, which needs it", where="--out", right=right)
    if without and user is None and not rated:
        raise OptionError("is for one user or guest", where="--without", right="Leave it out.")
    if out is not None:
        asked = {"n": n, "exclude_seen": not include_seen, "caution": caution, "reasons": reasons}
        _list_everyone(model, out, asked, force=force, json=json)
        return
    if similar_to is not None:
        unfit = {"--caution": caution, "--include-seen": include_seen, "--reasons": reasons}
        for option, given in unfit.items():
            if given:
                raise OptionError("is not for --similar-to", where=option, right="Leave it out.")
    pairs = parse_ratings(rated)

    from evichain.recommender import REC

    loaded = REC.load(model)
    if similar_to is not None:
        similar = loaded.similar_items(similar_to, n)
        if json:
            print_json(similar.to_dict())
            return
        cells = [[str(s.item), s.title, f"{s.similarity:.3f}"] for s in similar]
        _print(f"Like {_title(loaded.graph, similar_to)}", ["similarity"], cells)
        return
    found = loaded.recommend(
        user if user is not None else pairs,
        n,
        exclude_seen=not include_seen,
        caution=caution,
        reasons=reasons,
        without=without or [],
    )
    if found.ignored:
        note(ignored_note(found.ignored))
    if not found:
        note("nothing: no chain of evidence leads to a prototype, or everything has been seen")
    if json:
        print_json(found.to_dict())
        return
    figures = ["estimate"]
    if any(one.std is not None for one in found):
        figures.append("std")
    if reasons:
        figures.append("because of")
    cells = [[str(r.item), r.title, f"{r.estimate:.3f}"] for r in found]
    for row, one in zip(cells, found, strict=True):
        if "std" in figures:
            row.append("" if one.std is None else f"{one.std:.2f}")
        if reasons:
            why = one.reason
            row.append("" if why is None else f"{why.title} ({why.rating:g})")
    _print(f"For user {user}" if user is not None else "For a guest", figures, cells)


def _print(title: str, figures: list[str], cells: list[list[str]]) -> None:
    """Print a list; titles are left out where they are only ids."""
    titled = any(name != item for item, name, *_ in cells)
    rows: list[list[Cell]] = [
        [rank, item, *([name] if titled else []), *rest]
        for rank, (item, name, *rest) in enumerate(cells, start=1)
    ]
    print_table(title, ("", "item", *(["title"] if titled else []), *figures), rows)


def _list_everyone(
    model: Path, out: Path, asked: dict[str, Any], *, force: bool, json: bool
) -> None:
    """Write the table of `REC.recommend_all`."""
    table_suffix(out)
    check_free(out, force=force)
    from evichain.recommender import REC

    loaded = REC.load(model)
    found = loaded.recommend_all(**asked, progress=True)
    with replacing(out, force=force) as beside:
        write_table(found, beside)
    users = found["user_id"].n_unique()
    if json:
        print_json({"written": out, "users": users, "recommendations": len(found)})
    else:
        note(f"{out}: lists of {asked['n']} for {users:,} users")


def _title(graph: "Graph", item: str) -> str:
    """The title of a known item, or `item 7` where it has none."""
    from evichain.ratings import Side

    native = graph.ids[Side.ITEM].native(item)
    title = item if native is None else graph.title(native)
    return f"item {item}" if title == item else title
