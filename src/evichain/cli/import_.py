"""`evichain import`: ratings and titles into a store."""

from typing import Annotated, Any

import typer

from evichain.cli._loading import print_notes, reading_options
from evichain.cli._options import Json, StoreUrl, examples, single
from evichain.cli._output import print_facts, print_json

verb = single()


@verb.command(
    epilog=examples(
        "evichain import ml-100k --store ratings.db",
        "evichain import ratings.csv.gz --store postgresql://evichain@localhost/films",
        "evichain import sqlite:///ratings.db --store postgresql://evichain@localhost/films",
    )
)
@reading_options
def import_(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A data set of `evichain data list`, a path, or the URL of another store to copy.",
        ),
    ],
    store: StoreUrl,
    reading: dict[str, Any],
    json: Json = False,
) -> None:
    """Import ratings and titles into a store, which is created if it does not exist.

    A pair that is rated already gets the new rating. Either everything is imported or nothing.
    """
    from evichain.ratings import load_ratings
    from evichain.service.store import check_ratings, is_url, open_store, parse

    parse(store)
    if is_url(source):
        with open_store(source, create=False) as origin, open_store(store) as target:
            titles, duplicates, name = origin.counts().titles, 0, origin.name
            written = target.import_store(origin, progress=True)
    else:
        ratings = load_ratings(source, **reading)
        print_notes(ratings)
        check_ratings(ratings)
        titles = len(ratings.titles) if ratings.titles is not None else 0
        duplicates, name = ratings.duplicates, source
        with open_store(store) as target:
            written = target.import_ratings(ratings, progress=True)
    facts = {"ratings": sum(written), "duplicates": duplicates, "titles": titles}
    facts |= written._asdict()
    if json:
        print_json({"source": name, "store": target.name, **facts})
    else:
        print_facts(f"{name} into {target.name}", facts)
