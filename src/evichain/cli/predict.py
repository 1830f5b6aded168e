"""`evichain predict`: how someone would rate items, or a file of pairs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evichain.cli._errors import OptionError
from evichain.cli._files import check_free, replacing
from evichain.cli._loading import Columns, SkipBadRows, parse_columns
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
from evichain.cli._output import note, print_facts, print_json
from evichain.tables import table_suffix, write_table

if TYPE_CHECKING:
    from evichain.protocol import Prediction

verb = single()


@verb.command(
    epilog=examples(
        "evichain predict model --user 42 --item 50",
        "evichain predict model --rated 50=5 --rated 181=4 --item 98 --item 100",
        "evichain predict model --pairs pairs.csv --out predictions.parquet",
        "evichain predict model --pairs pairs.csv --columns user=customer_no,item=sku",
        "evichain predict model --pairs pairs.csv > predictions.csv",
    )
)
def predict(
    model: Model,
    user: Annotated[str | None, typer.Option(metavar="ID", help="A user.")] = None,
    rated: Rated = None,
    without: Without = None,
    item: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="An item; repeat for more.")
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A table of users and items, in any format that `train` reads."
        ),
    ] = None,
    columns: Columns = None,
    skip_bad_rows: SkipBadRows = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where the predictions of --pairs go: .csv, .tsv, .parquet or .ndjson. CSV on "
            "stdout by default.",
        ),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Predict ratings.

    Where no chain of evidence leads to a prototype, the estimate is a mean, and the reason
    says why.
    """
    asked = [name for name, given in (("--user", user), ("--rated", rated)) if given is not None]
    if pairs is not None and not asked and not item and not without:
        reading = {"columns": parse_columns(columns), "skip_bad_rows": skip_bad_rows}
        _predict_file(model, pairs, out, reading, force=force, json=json)
        return
    if pairs is not None or len(asked) != 1 or not item:
        right = "Give --item with either --user or --rated, or --pairs FILE alone."
        raise OptionError("it is not clear what to predict", right=right)
    alone = {"--out": out, "--columns": columns, "--skip-bad-rows": skip_bad_rows or None}
    for option, given in alone.items():
        if given is not None:
            raise OptionError("goes with --pairs", where=option, right="Leave it out.")
    guest = parse_ratings(rated)

    from evichain.recommender import REC

    who = guest if user is None else user
    found = REC.load(model).predict(who, item, without=without or [])
    if found.ignored:
        note(ignored_note(found.ignored))
    if json:
        print_json(found.to_dict())
        return
    for one in found:
        _print(one)


def _print(found: "Prediction") -> None:
    from evichain.protocol import COVERAGE

    between = found.interval()
    facts = {
        "estimate": f"{found.estimate:.3f}",
        f"{COVERAGE:.0%} interval": f"{between[0]:.2f} to {between[1]:.2f}" if between else None,
        "reason": found.reason,
    }
    who = "a guest" if found.user is None else f"user {found.user}"
    what = f"item {found.item}" if found.title == str(found.item) else str(found.title)
    print_facts(f"{who}, {what}", facts)


def _predict_file(
    model: Path, pairs: Path, out: Path | None, reading: dict[str, Any], *, force: bool, json: bool
) -> None:
    if out is not None:
        table_suffix(out)
        check_free(out, force=force)
    from evichain.ratings import read_pairs

    table = read_pairs(pairs, **reading)
    for line in table.notes:
        note(line)
    frame = table.frame

    import polars as pl

    from evichain.recommender import REC

    found = REC.load(model).predict(frame["user_id"].to_list(), frame["item_id"].to_list())
    reasons = pl.Series("reason", list(found.reasons), dtype=pl.String)
    frame = frame.with_columns(pl.Series("estimate", found.estimates), reasons)
    if found.stds is not None:
        frame = frame.with_columns(pl.Series("std", found.stds))
    impossible = len(reasons) - reasons.null_count()
    if out is not None:
        with replacing(out, force=force) as beside:
            write_table(frame, beside)
    if json:
        counts = {"pairs": len(frame), "impossible": impossible, "written": out}
        print_json({**counts, **(found.to_dict() if out is None else {"predictions": None})})
    elif out is None:
        typer.echo(frame.write_csv(), nl=False)
    else:
        note(f"{out}: {len(frame):,} predictions, {impossible:,} of them without a chain")
