"""`evichain import`: ratings and titles into a store."""

from typing import Annotated

import typer

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
def import_(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A name that `evichain data list` shows, a path, or the URL of another store, "
            "which is copied exactly.",
            show_default=False,
        ),
    ],
    store: StoreUrl,
    json: Json = False,
) -> None:
    """Put ratings and titles into a store, made if it is not there yet.

    A pair that has been rated before gets the new rating. All of it is put, or nothing.
    """
    from evichain.ratings import load_ratings
    from evichain.service.store import check_ratings, is_url, open_store, parse

    parse(store)
    if is_url(source):
        with open_store(source, create=False) as origin, open_store(store) as target:
            titles, duplicates, name = origin.counts().titles, 0, origin.name
            written = target.import_store(origin, progress=True)
    else:
        ratings = load_ratings(source)
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
