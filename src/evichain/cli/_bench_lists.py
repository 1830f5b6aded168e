"""`evichain bench lists`: REC and its peers, by their lists for held-out users."""

from typing import Annotated, Any

import typer

from evichain.cli._loading import load_parts, reading_options
from evichain.cli._options import Json, Recipe, Seed
from evichain.cli._output import Cell, format_cell, note, print_facts, print_json, print_table
from evichain.cli._settings import Changes, settings_options

EXAMPLES = (
    "evichain bench lists --data ml-1m --threshold 4 --json",
    "evichain bench lists --data ml-100k --threshold 4 --peer ease --peer ials",
    "evichain bench lists --data clicks.csv --peers-only",
)
FIGURES = {
    "recall_20": "recall@20",
    "recall_50": "recall@50",
    "ndcg_100": "NDCG@100",
    "mrr": "MRR",
    "map": "MAP",
    "coverage": "coverage@20",
    "popularity": "popularity@20",
    "diversity": "diversity@20",
}


@reading_options
@settings_options
def lists(
    data: Annotated[
        str, typer.Option(metavar="DATA", help="A name of `evichain data list`, or a path.")
    ],
    settings: Changes,
    reading: dict[str, Any],
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="T",
            help="An interaction is a rating at or above T. By default every row is one.",
        ),
    ] = None,
    seed: Seed = 0,
    recipe: Recipe = "choices",
    peer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A baseline to compare with; repeat for more. By default all for lists.",
        ),
    ] = None,
    peers_only: Annotated[
        bool, typer.Option("--peers-only", help="Train the peers alone, without REC.")
    ] = False,
    tune: Annotated[
        bool,
        typer.Option(help="Choose the settings of each peer from a grid, on validation users."),
    ] = True,
    json: Json = False,
) -> None:
    """Compare lists for held-out users: REC and its peers, trained on the same interactions.

    A tenth of the users is held out to validate on, a tenth to test on. Lists are made from 80 %
    of the interactions of a held-out user and have to find the others. The test users are read
    once for each system, at the end.
    """
    from evichain.baselines import LIST_PEERS
    from evichain.bench.lists import bench_lists, check_peers
    from evichain.evaluation import held_out_users
    from evichain.recipes import settings_for

    peers = list(dict.fromkeys(peer or LIST_PEERS))
    settings_for(recipe, **settings)  # before anything takes long
    check_peers(peers)
    ratings = load_parts(data, None, seed, reading).train
    parts = held_out_users(ratings, threshold, seed=seed)
    found = {
        "data": data,
        **bench_lists(
            parts,
            recipe=None if peers_only else recipe,
            settings=settings,
            peers=peers,
            seed=seed,
            tune=tune,
            progress=True,
            say=note,
        ),
    }
    if json:
        print_json(found)
        return
    header = ("", *FIGURES.values(), "seconds", "parameters", "settings")
    rows: list[list[Cell]] = []
    for name, one in found["systems"].items():
        chosen = _chosen(one)
        figures = [f"{one[key]:.4f}" for key in FIGURES]
        rows.append([name, *figures, f"{one['seconds']:.1f}", one["parameters"], chosen])
    print_table(f"Lists for held-out users of {data}", header, rows)
    facts: dict[str, Cell] = {
        "test users": found["test_users"],
        "training users": found["train_users"],
        "items": found["items"],
        "training interactions": found["train_interactions"],
        "best peer": found["best_peer"],
    }
    if found["ratio"] is not None:
        facts["our NDCG@100 over its"] = f"{found['ratio']:.3f}"
    print_facts("In all", facts)


def _chosen(system: dict[str, Any]) -> str:
    """The settings that were chosen from a grid."""
    names = dict.fromkeys(name for trial in system["trials"] for name in trial["settings"])
    return ", ".join(f"{name}={format_cell(system['settings'][name])}" for name in names)
