"""`evichain evaluate`: the errors of a model and the quality of its lists."""

import time
from typing import Annotated, Any

import typer

from evichain.cli._loading import load_parts, reading_options
from evichain.cli._options import LARGEST_SEED, Data, Json, Model, Split, examples, single
from evichain.cli._output import print_json
from evichain.cli._scores import ByKnown, Top, measure_scores, paper_rmse, print_scores

verb = single()


@verb.command(
    epilog=examples(
        "evichain evaluate model test.csv",
        "evichain evaluate model ml-100k --split random:0.8",
        "evichain evaluate model ml-100k --split u1 --by-known",
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
            help="The seed of the split. [default: that of the model]",
        ),
    ] = None,
    top: Top = 10,
    by_known: ByKnown = False,
    all_evidence: Annotated[
        bool,
        typer.Option(
            "--all-evidence",
            help="Also show the RMSE with all evidence at every depth, without the model's limit.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Test a model on ratings: all of DATA, or the test part of a split of it.

    Popularity and shrunken biases, trained on the model's own ratings, stand beside its figures.
    """
    from evichain.recommender import REC

    loaded = REC.load(model)
    if seed is None:
        known = loaded.training.get("split_seed")
        seed = loaded.settings.training.seed if known is None else int(known)
    parts = load_parts(data, split, seed, reading)
    name, tested = parts.name, parts.train if parts.test is None else parts.test
    begun = time.perf_counter()
    scores = measure_scores(loaded, tested, name, top=top, by_known=by_known)
    unlimited = loaded.with_evidence().evaluate(tested, n=0).rmse if all_evidence else None
    found: dict[str, Any] = {
        "model": model,
        "data": data,
        "split": name,
        "seed": seed if name else None,
        "recipe": loaded.recipe,
        **scores,
        "all_evidence_rmse": unlimited,
        "paper_rmse": paper_rmse(data, name, scores["seen"]),
        "parameters": loaded.parameter_count,
        "seconds": time.perf_counter() - begun,
        "settings": loaded.settings.model_dump(),
    }
    if json:
        print_json(found)
        return
    where = ", ".join(part for part in (data, name) if part)
    more = {"seen in training": scores["seen"] or None}
    print_scores(f"{model} on {where}", "REC", found, more)
