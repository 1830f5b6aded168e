"""`evichain export`: the ratings of a store as a file."""

from pathlib import Path
from typing import Annotated

import typer

from evichain.cli._errors import OptionError
from evichain.cli._files import check_free
from evichain.cli._options import Force, Json, StoreUrl, examples, single
from evichain.cli._output import note, print_json
from evichain.tables import table_suffix

verb = single()


@verb.command(
    epilog=examples(
        "evichain export --store ratings.db --out ratings.parquet",
        "evichain export --store ratings.db --out out/ratings.csv --titles out/items.csv",
    )
)
def export(
    store: StoreUrl,
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Where the ratings go: .csv, .tsv, .parquet or .ndjson."),
    ],
    titles: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where the titles go; items.csv beside ratings.csv is read with it.",
        ),
    ] = None,
    timestamps: Annotated[bool, typer.Option(help="Write the timestamps.")] = True,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write all ratings of a store to a file, in the order in which they were added."""
    files = [out] if titles is None else [out, titles]
    for file in files:
        table_suffix(file)
        check_free(file, force=force)
    if titles is not None and titles.absolute() == out.absolute():
        raise OptionError("is also the file of --out", where="--titles", right="Give another file.")
    from evichain.service.store import open_store

    with open_store(store, create=False) as opened:
        found = opened.export(out, titles=titles, timestamps=timestamps, progress=True)
        name = opened.name
    if json:
        print_json(
            {
                "store": name,
                "written": out,
                "ratings": found.ratings,
                "without_timestamp": found.untimed,
                "titles": titles,
            }
        )
    else:
        note(f"{out}: {found.ratings:,} ratings of {name}")
