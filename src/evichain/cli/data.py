"""`evichain data`: ratings from the catalogue or from files, looked at, converted and split."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evichain.cli._errors import OptionError
from evichain.cli._files import SPLITS, check_free, folder_size, replacing
from evichain.cli._loading import print_notes, reading_options
from evichain.cli._options import Data, Force, Json, Seed, Spec, examples, group
from evichain.cli._output import format_size, note, print_facts, print_json, print_table
from evichain.tables import table_suffix, write_table

if TYPE_CHECKING:
    import polars as pl

    from evichain.ratings import Ratings

verb = group("List, fetch, describe, convert, split and make up ratings.")

_GRAPH = ".graph"


@verb.command("list", epilog=examples("evichain data list", "evichain data list --json"))
def list_(json: Json = False) -> None:
    """Show the data sets that can be asked for by name."""
    from evichain.ratings import CATALOGUE, cache_folder, is_fetched

    here = {name: is_fetched(name) for name in CATALOGUE}
    if json:
        shown = ("name", "title", "about", "ratings", "users", "items", "splits")
        known = [
            {**{name: getattr(one, name) for name in shown}, "fetched": here[one.name]}
            for one in CATALOGUE.values()
        ]
        print_json({"datasets": known, "cache": cache_folder()})
        return
    rows = [
        (s.name, s.ratings, s.users, s.items, "yes" if here[s.name] else "", s.about)
        for s in CATALOGUE.values()
    ]
    header = ("name", "ratings", "users", "items", "fetched", "about")
    print_table("Data sets", header, rows)


@verb.command("fetch", epilog=examples("evichain data fetch ml-100k"))
def fetch_(
    name: Annotated[str, typer.Argument(help="A name of `evichain data list`.")],
    force: Annotated[bool, typer.Option("--force", help="Download it again.")] = False,
    json: Json = False,
) -> None:
    """Download a data set, verify it and keep it in the cache (EVICHAIN_CACHE)."""
    from evichain.ratings import CATALOGUE, fetch

    folder = fetch(name, force=force)
    dataset = CATALOGUE[name]
    if json:
        print_json({"name": name, "path": folder, "bytes": folder_size(folder)})
        return
    facts = {"folder": str(folder), "size": format_size(folder_size(folder))}
    print_facts(dataset.title, {**facts, "terms": dataset.citation})


@verb.command(epilog=examples("evichain data describe ml-100k", "evichain data describe my.csv"))
@reading_options
def describe(data: Data, reading: dict[str, Any], json: Json = False) -> None:
    """Count what is in a table: users, items, levels or weights, event types, time."""
    from evichain.cli._describing import describe as described
    from evichain.cli._describing import print_description
    from evichain.ratings import load_ratings

    ratings = load_ratings(data, **reading)
    print_notes(ratings)
    description = described(ratings)
    print_json(description) if json else print_description(description)


@verb.command(
    epilog=examples(
        "evichain data convert ml-1m ratings.parquet",
        "evichain data convert ratings.csv.gz ratings.graph",
        "evichain data convert parts-of-parquet/ ratings.graph",
        "evichain data convert log.parquet log.graph --events view=1,cart=3,buy=5",
    )
)
@reading_options
def convert(
    data: Data,
    reading: dict[str, Any],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="A .csv, .tsv, .parquet or .ndjson file, with a title column if titles are known; "
            "or a .graph folder: the arrays of the graph that models are trained on, with titles "
            "and without timestamps. Parquet of any size is converted to a graph in bounded "
            "memory, and `train` maps it instead of reading it.",
        ),
    ],
    force: Force = False,
    json: Json = False,
) -> None:
    """Write ratings in another format, validated and each pair once."""
    from evichain.ratings import load_ratings
    from evichain.resources import peak_bytes

    suffix = table_suffix(out, _GRAPH)
    with replacing(out, force=force, folder=suffix == _GRAPH) as beside:
        if suffix != _GRAPH:
            ratings = load_ratings(data, **reading)
            write_table(_with_titles(ratings), beside)
            print_notes(ratings)
            count, dropped, interactions = len(ratings), ratings.duplicates, ratings.interactions
        else:
            count, dropped, interactions = _write_graph(data, beside, reading)
    if json:
        found = {"data": data, "written": out, "ratings": count, "duplicates": dropped}
        print_json({**found, "interactions": interactions, "peak_bytes": peak_bytes()})
    else:
        note(f"{out}: {count:,} {'interactions' if interactions else 'ratings'} of {data}")


def _with_titles(ratings: "Ratings") -> "pl.DataFrame":
    """The table of ratings, with a column of titles if there are any."""
    frame = ratings.to_frame()
    if ratings.titles is None:
        return frame
    return frame.join(ratings.titles, on="item_id", how="left", maintain_order="left")


def _write_graph(data: str, folder: Path, reading: dict[str, Any]) -> tuple[int, int, bool]:
    """Write a graph: from Parquet through buckets on disk, whatever its size; else in memory.

    Returns:
        How many ratings were written, how many earlier ones of a pair were dropped or added up,
        and whether they are interactions.
    """
    from evichain.ratings.catalogue import load_ratings, local_path
    from evichain.ratings.conversion import convert_parquet
    from evichain.ratings.graph import Graph

    converted = convert_parquet(local_path(data), folder, progress=True, **reading)
    if converted is None:
        ratings = load_ratings(data, **reading)
        Graph.build(ratings).save(folder)
        print_notes(ratings)
        return len(ratings), ratings.duplicates, ratings.interactions
    for line in converted.notes:
        note(line)
    if converted.duplicates and not converted.interactions:
        note(f"{data}: {converted.duplicates:,} earlier ratings of a pair were dropped")
    return converted.ratings, converted.duplicates, converted.interactions


@verb.command(
    epilog=examples(
        "evichain data generate --ratings 10000000 --out made",
        "evichain data convert made made.graph",
    )
)
def generate(
    ratings: Annotated[int, typer.Option(metavar="N", min=1, help="How many ratings.")],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder to make, with part-*.parquet.")
    ],
    seed: Seed = 0,
    users: Annotated[
        int, typer.Option(metavar="N", min=0, help="How many users; 0: one per 100 ratings.")
    ] = 0,
    items: Annotated[
        int, typer.Option(metavar="N", min=0, help="How many items; 0: 8 √ratings.")
    ] = 0,
    rank: Annotated[
        int, typer.Option(metavar="N", min=0, help="The rank of the planted structure.")
    ] = 4,
    noise: Annotated[
        float, typer.Option(metavar="X", min=0, help="The standard deviation of the noise.")
    ] = 0.8,
    force: Force = False,
    json: Json = False,
) -> None:
    """Make up ratings with a known structure, of any number, for tests of scale.

    Some users and items have very many ratings and most have few. The card beside the ratings
    reports the lowest RMSE that is possible: that of the noise alone.
    """
    from evichain.ratings.synthetic import Synthetic
    from evichain.resources import peak_bytes

    check_free(out, force=force, folder=True)
    made = Synthetic(ratings, users, items, rank, noise, seed)
    with replacing(out, force=force, folder=True) as beside:
        card = made.write(beside, progress=True)
    if json:
        print_json({"written": out, **card, "peak_bytes": peak_bytes()})
    else:
        counts = f"{ratings:,} ratings by {made.users:,} users of {made.items:,} items"
        note(f"{out}: {counts}; no RMSE is below {card['floor_rmse']:.4f}")


@verb.command(
    epilog=examples(
        "evichain data split ml-100k random:0.8 --out parts",
        "evichain data split ml-100k u1 --out u1 --format parquet",
        "evichain data split ml-100k users:0.8/5 --out new-users",
    )
)
@reading_options
def split(
    data: Data,
    spec: Spec,
    reading: dict[str, Any],
    out: Annotated[
        Path,
        typer.Option(
            help="The folder to make, with the files train and test, later if some ratings come "
            "after training, and items if titles are known."
        ),
    ],
    seed: Seed = 0,
    format: Annotated[str, typer.Option(help=f"{', '.join(SPLITS)}.")] = "csv",
    force: Force = False,
    json: Json = False,
) -> None:
    """Split ratings into those to learn from, any that come after training, and those to test."""
    from evichain.ratings import load_split

    if format not in SPLITS:
        right = f"Formats are {', '.join(SPLITS)}."
        raise OptionError(f"no format {format!r}", where="--format", right=right)
    check_free(out, force=force, folder=True)
    parted = load_split(data, spec, seed, **reading)
    print_notes(parted.train, parted.test)
    parts = {"train": parted.train, "test": parted.test}
    if parted.later is not None:
        parts["later"] = parted.later
    with replacing(out, force=force, folder=True) as beside:
        beside.mkdir()
        for name, part in parts.items():
            write_table(part.to_frame(), beside / f"{name}.{format}")
        if parted.train.titles is not None:
            write_table(parted.train.titles, beside / f"items.{format}")
    counts = {"later": 0, **{name: len(part) for name, part in parts.items()}}
    if json:
        files = {name: str(out / f"{name}.{format}") for name in parts}
        print_json({"data": data, "split": parted.name, "seed": seed, **counts, "files": files})
    else:
        later = f"{counts['later']:,} that come later, " if "later" in parts else ""
        tested = f"{counts['test']:,} to test on"
        learned = f"{counts['train']:,} {parted.train.noun}s to train on"
        note(f"{out}: {learned}, {later}{tested}")
