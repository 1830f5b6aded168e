"""`evichain predict`: what users would rate items, one pair or a file of them."""

from pathlib import Path
from typing import Annotated

import typer

from evichain.cli._errors import OptionError
from evichain.cli._files import check_free, replacing
from evichain.cli._options import Force, Json, Model, examples, single
from evichain.cli._output import note, print_facts, print_json
from evichain.cli._titles import as_known, named, title_of
from evichain.tables import table_suffix, write_table

verb = single()


@verb.command(
    epilog=examples(
        "evichain predict model --user 42 --item 50",
        "evichain predict model --pairs pairs.csv --out predictions.parquet",
        "evichain predict model --pairs pairs.csv > predictions.csv",
    )
)
def predict(
    model: Model,
    user: Annotated[
        str | None, typer.Option(metavar="ID", help="A user.", show_default=False)
    ] = None,
    item: Annotated[
        str | None, typer.Option(metavar="ID", help="An item.", show_default=False)
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file with user and item columns, in any format that `train` reads.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where the predictions of --pairs go: .csv, .tsv, .parquet or .ndjson. CSV on "
            "stdout by default.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Predict ratings.

    Where no chain of evidence leads to a prototype, the estimate is what is usual and the
    reason says why there is none.
    """
    if pairs is not None and user is None and item is None:
        _predict_file(model, pairs, out, force=force, json=json)
    elif pairs is None and user is not None and item is not None:
        if out is not None:
            raise OptionError("one prediction needs no file", where="--out", right="Leave it out.")
        _predict_one(model, user, item, json=json)
    else:
        raise OptionError(
            "there is not one way to tell what to predict",
            right="Give --user and --item, or --pairs FILE.",
        )


def _predict_one(model: Path, user: str, item: str, *, json: bool) -> None:
    from evichain.protocol import COVERAGE
    from evichain.ratings import Side
    from evichain.recommender import REC

    loaded = REC.load(model)
    found = loaded.predict(user, item)
    if json:
        graph = loaded.graph
        ((whom,), (what,)) = (
            as_known(graph, side, [given]) for side, given in zip(Side, (user, item), strict=True)
        )
        asked = {"user": whom, "item": what, "title": title_of(graph, item)}
        log_std = {"std": found.std, "interval": found.interval()}
        print_json({**asked, "estimate": found.estimate, "reason": found.reason, **log_std})
        return
    between = found.interval()
    facts = {
        "estimate": f"{found.estimate:.3f}",
        f"{COVERAGE:.0%} lie between": f"{between[0]:.2f} and {between[1]:.2f}"
        if between
        else None,
        "reason": found.reason,
    }
    print_facts(f"user {user}, {named(loaded.graph, item)}", facts)


def _predict_file(model: Path, pairs: Path, out: Path | None, *, force: bool, json: bool) -> None:
    if out is not None:
        table_suffix(out)
        check_free(out, force=force)
    from evichain.ratings import read_pairs

    frame = read_pairs(pairs)

    import polars as pl

    from evichain.ratings import Side
    from evichain.recommender import REC

    loaded = REC.load(model)
    found = loaded.predict(frame["user_id"].to_list(), frame["item_id"].to_list())
    reasons = pl.Series("reason", list(found.reasons), dtype=pl.String)
    frame = frame.with_columns(pl.Series("estimate", found.estimates), reasons)
    if found.stds is not None:
        frame = frame.with_columns(pl.Series("std", found.stds))
    impossible = len(reasons) - reasons.null_count()
    if out is not None:
        with replacing(out, force=force) as beside:
            write_table(frame, beside)
    if json:
        rows = None
        if out is None:
            known = (as_known(loaded.graph, side, frame[side.column].to_list()) for side in Side)
            rows = [
                {**row, "user_id": user, "item_id": item}
                for row, user, item in zip(frame.rows(named=True), *known, strict=True)
            ]
        counts = {"pairs": len(frame), "impossible": impossible}
        print_json({**counts, "written": out, "predictions": rows})
    elif out is None:
        typer.echo(frame.write_csv(), nl=False)
    else:
        note(f"{out}: {len(frame):,} predictions, {impossible:,} of them without a chain")
