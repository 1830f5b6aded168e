"""`evichain train`: from ratings to a model, tested when the data is split."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from evichain.cli._errors import OptionError, OutputError, print_error
from evichain.cli._files import check_free, check_parent, replacing
from evichain.cli._loading import load_source, reading_options
from evichain.cli._options import Data, Force, Json, Recipe, Seed, Split, examples, single
from evichain.cli._output import note, print_json
from evichain.cli._processes import LOST, is_first, is_launched, is_worker, run_processes
from evichain.cli._scores import ByKnown, Top, measure_scores, no_scores, paper_rmse, print_scores
from evichain.cli._settings import Changes, settings_options
from evichain.errors import DistributedError

verb = single()

_LOG, _CHECKPOINT = "log.jsonl", "checkpoint.safetensors"


@verb.command(
    epilog=examples(
        "evichain train ml-100k --split random:0.8 --out model",
        "evichain train ratings.csv --out model --evidence-limit 40 --max-depth 3",
        "evichain train ratings.graph --out model    # mapped, so that it may exceed memory",
        "evichain train ml-1m --split random:0.8 --run runs/1 --json",
        "evichain train ml-1m --split random:0.8 --run runs/1 --json --resume",
        "evichain train ratings.graph --out model --processes 4",
        "torchrun --nproc-per-node 4 -m evichain train ratings.graph --out model",
    )
)
@reading_options
@settings_options
def train(
    context: typer.Context,
    data: Data,
    settings: Changes,
    reading: dict[str, Any],
    recipe: Recipe = "plus",
    split: Split = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The model's folder.")] = None,
    run: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A folder for the run's log and checkpoints.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume from the checkpoint in the run folder.")
    ] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write TensorBoard's events to the run folder.")
    ] = False,
    processes: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="The number of processes; each computes a share of every batch.",
        ),
    ] = 1,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="Where to compute the steps, such as cuda.")
    ] = "cpu",
    top: Top = 10,
    by_known: ByKnown = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Train a model, and test it when the data is split.

    Without --split it learns from all ratings. The test part is read once, at the end. Under
    torchrun, all of its processes train one model together, as with --processes.
    """
    if is_first():
        _check_folders(out, run, resume=resume, force=force, tensorboard=tensorboard)
    from evichain.recipes import settings_for
    from evichain.training.device import device_named

    changes = {"seed": seed, **settings}
    source = context.get_parameter_source("recipe")
    named = source is not None and source.name != "DEFAULT"
    settings_for(recipe, **changes)
    chosen = device_named(device)
    if processes > 1 and not is_worker():
        run_processes(processes, context.find_root().obj, run)
    parts = load_source(data, split, seed, reading)
    learned, tested, name = parts.train, parts.test, parts.name
    if learned.interactions and not named:
        recipe = "choices"
        if is_first():
            note("These are interactions, without ratings: the recipe is 'choices'")
    if is_first() and tested is None and out is None and run is None:
        note("Nothing of the model will be kept: to keep it, name a folder with --out DIR")

    from evichain.recommender import REC
    from evichain.training.distributed import process_group_from_environment

    model = REC(recipe, **changes)
    begun = time.perf_counter()
    try:
        with process_group_from_environment(chosen) as group:
            model.fit(
                learned,
                run=run,
                resume=resume,
                progress=True,
                tensorboard=tensorboard,
                device=device,
            )
        if not group.is_first:
            return
    except DistributedError as error:
        if not is_launched():
            print_error(error, context.find_root().obj)
        raise typer.Exit(LOST) from error
    except KeyboardInterrupt:
        if run is not None and (run / _CHECKPOINT).exists():
            left = f"interrupted; with --resume it continues from the checkpoint in {run}"
            raise KeyboardInterrupt(left) from None
        raise
    seconds = time.perf_counter() - begun
    if parts.later is not None:
        # On the scale of the same data, of which the first part may not have shown all.
        model.add(parts.later.on(model.graph.scale))
    model.training |= {"data": data, "split": name, "split_seed": seed if name else None}
    if out is not None:
        with replacing(out, force=force, folder=True) as beside:
            model.save(beside)
    scores = no_scores()
    if tested is not None:
        scores = measure_scores(model, tested, name, top=top, by_known=by_known)
    seen = scores["seen"]
    found: dict[str, Any] = {
        "data": data,
        "split": name,
        "seed": seed,
        "recipe": recipe,
        **scores,
        "paper_rmse": paper_rmse(data, name, seen),
        "train_ratings": len(learned),
        "later_ratings": len(parts.later) if parts.later is not None else 0,
        "validation_rmse": model.training.get("validation_rmse"),
        "parameters": model.parameter_count,
        "steps": model.training.get("steps"),
        "seconds": seconds,
        "settings": model.settings.model_dump(),
        "model": out,
        "run": run,
    }
    if json:
        print_json(found)
        return
    title = ", ".join(part for part in (f"REC, recipe {recipe}", data, name) if part)
    outputs = {"model": str(out) if out else None, "run": str(run) if run else None}
    more = {"seen in training": seen or None, **outputs}
    print_scores(f"{title}, seed {seed}", "REC", found, more)


def _check_folders(
    out: Path | None, run: Path | None, *, resume: bool, force: bool, tensorboard: bool
) -> None:
    """Check before hours of work that the results can be written."""
    if out is not None:
        check_free(out, force=force, folder=True)
    if run is None:
        if resume or tensorboard:
            option = "--resume" if resume else "--tensorboard"
            raise OptionError("no run folder", where=option, right="Name it with --run DIR.")
        return
    if out is not None and run.resolve().is_relative_to(out.resolve()):
        right = "Put the run elsewhere, or the model into the run's folder."
        raise OutputError(
            "is in the model's folder, which is written whole", where=str(run), right=right
        )
    check_parent(run / _LOG)
    if resume and not (run / _CHECKPOINT).exists():
        note(f"{run}: no checkpoint to resume from, so training starts from the beginning")
    elif not resume and not force and (run / _LOG).exists():
        right = "--resume to continue it, --force to overwrite it, or another folder."
        raise OutputError("already holds a run", where=str(run), right=right)
