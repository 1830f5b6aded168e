"""`evichain evaluate`: how far predictions are from ratings, and how good lists are."""

import time
from typing import Annotated, Any

import typer

from evichain.cli._loading import load_parts, reading_options
from evichain.cli._options import LARGEST_SEED, Data, Json, Model, Split, examples, single
from evichain.cli._output import print_json
from evichain.cli._scores import (
    count_seen,
    paper_rmse,
    print_scores,
    ranks,
    say_doubts,
    say_unranked,
    scores,
)

verb = single()


@verb.command(
    epilog=examples(
        "evichain evaluate model test.csv",
        "evichain evaluate model ml-100k --split random:0.8",
        "evichain evaluate model ml-100k --split u1 --top 20 --json",
    )
)
@reading_options
def evaluate(
    model: Model,
    data: Data,
    reading: dict[str, Any],
    split: Split = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=LARGEST_SEED,
            help="The split's seed; the model's own by default.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Rank all items that a user has not rated and measure the first N; 0 skips it. "
            "Relevant is what the user rated at or above the model's mean.",
        ),
    ] = 10,
    all_evidence: Annotated[
        bool,
        typer.Option(
            "--all-evidence",
            help="Also tell the error with all evidence at every depth, beside that with the "
            "model's limit.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Test a model on ratings: all of DATA, or the test part of a split of it."""
    from evichain.recommender import REC

    loaded = REC.load(model)
    if seed is None:
        known = loaded.training.get("split_seed")
        seed = loaded.settings.seed if known is None else int(known)
    parts = load_parts(data, split, seed, reading)
    name, tested = parts.name, parts.train if parts.test is None else parts.test
    seen = count_seen(loaded.graph, tested)
    begun = time.perf_counter()
    evaluation = loaded.evaluate(tested)
    say_doubts(evaluation, seen, name)
    unlimited = loaded.with_evidence().evaluate(tested).rmse if all_evidence else None
    ranking = loaded.rank(tested, top, progress=True) if top else None
    if ranking:
        say_unranked(ranking)
    found: dict[str, Any] = {
        "model": model,
        "data": data,
        "split": name,
        "seed": seed if name else None,
        "recipe": loaded.recipe,
        **scores(evaluation),
        "all_evidence_rmse": unlimited,
        **ranks(ranking),
        "paper_rmse": paper_rmse(data, name, seen),
        "seen": seen,
        "parameters": loaded.parameter_count,
        "seconds": time.perf_counter() - begun,
        "settings": loaded.settings.model_dump(),
    }
    if json:
        print_json(found)
        return
    where = ", ".join(part for part in (data, name) if part)
    print_scores(f"{model} on {where}", found, {"seen in training": seen or None})
