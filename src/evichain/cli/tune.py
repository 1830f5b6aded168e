"""`evichain tune`: better settings for some data, found on validation ratings."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evichain.cli._errors import OptionError
from evichain.cli._files import check_parent
from evichain.cli._loading import load_parts, reading_options
from evichain.cli._options import Data, Json, Recipe, Seed, Split, examples, single
from evichain.cli._output import print_json, print_table
from evichain.cli._settings import Changes, settings_options

if TYPE_CHECKING:
    from evichain.tuning import Choices, Range, Trial, Tuned

verb = single()

_SHOWN = 10


@verb.command(
    epilog=examples(
        "evichain tune ml-100k --split random:0.8 --trials 40 --study study.jsonl",
        "evichain tune ratings.csv --search width=64:256 --search max_depth=2,3",
        "evichain tune ratings.csv --recipe paper --set iterations=500 --json",
    )
)
@settings_options
@reading_options
def tune(
    data: Data,
    reading: dict[str, Any],
    settings: Changes,
    recipe: Recipe = "plus",
    split: Split = None,
    trials: Annotated[int, typer.Option(metavar="N", min=1, help="How many to make.")] = 20,
    seed: Seed = 0,
    study: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A file that keeps the trials; a later run with it adds more."
        ),
    ] = None,
    search: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LOW:HIGH",
            help="Search a setting in this range, or NAME=A,B,C among these values, in place of "
            "the recipe's range; may be given again and again.",
        ),
    ] = None,
    most_parameters: Annotated[
        int, typer.Option(metavar="N", min=1, help="Leave out models with more parameters.")
    ] = 200_000,
    json: Json = False,
) -> None:
    """Search for better settings, judged on a tenth of the training ratings.

    With --split the test part plays no part in it. Settings that you give are not searched.
    """
    wanted = _searched(search or [])
    if study is not None:
        check_parent(study)
    from evichain import tuning

    tuning.check_installed()
    tuning.search_space(recipe, settings, wanted)
    parts = load_parts(data, split, seed, reading)
    learned, name = parts.train, parts.name
    found = tuning.tune(
        learned,
        recipe=recipe,
        trials=trials,
        seed=seed,
        space=wanted,
        fixed=settings,
        storage=study,
        most_parameters=most_parameters,
        progress=True,
    )
    command = _command(data, reading, name, seed, found)
    if json:
        print_json(
            {
                "data": data,
                "split": name,
                "recipe": recipe,
                "trials": [_facts(trial) for trial in found.trials],
                "best": _facts(found.best),
                "command": command,
            }
        )
    else:
        of = ", ".join(part for part in (f"recipe {recipe}", data, name) if part)
        _print(of, len(learned), found)
        typer.echo(f"\nTo train with the best:\n  {command}")
    if found.interrupted:
        left = "" if study is None else f"; with --study {study} again it goes on"
        raise KeyboardInterrupt(f"interrupted{left}")


def _searched(texts: list[str]) -> dict[str, "Range | Choices"]:
    """Values stay text: the settings know their own types."""
    from evichain.tuning import Choices, Range

    found: dict[str, Range | Choices] = {}
    for text in texts:
        name, _, wanted = text.partition("=")
        name = name.strip().replace("-", "_")
        if name in found:
            raise OptionError(f"{name} is given twice", where="--search")
        low, colon, high = (part.strip() for part in wanted.partition(":"))
        if colon:
            found[name] = Range(low, high)
        elif "," in wanted:
            found[name] = Choices(tuple(part.strip() for part in wanted.split(",")))
        else:
            right = "It is NAME=LOW:HIGH or NAME=A,B,C, such as --search width=32:128."
            raise OptionError(f"{text!r} is not a range", where="--search", right=right)
    return found


def _print(of: str, ratings: int, found: "Tuned") -> None:
    from evichain.recipes import settings_for

    own = settings_for(found.recipe, ratings=ratings).model_dump()
    ranked = found.ranked
    pruned = len(found.trials) - len(ranked)
    rows = [
        (rank, trial.rmse, trial.parameters, _changed(trial, own))
        for rank, trial in enumerate(ranked[:_SHOWN], 1)
    ]
    title = f"Best of {len(found.trials)} trials ({pruned} pruned): {of}"
    print_table(title, ("rank", "validation RMSE", "parameters", "settings changed"), rows)


def _changed(trial: "Trial", own: Mapping[str, Any]) -> str:
    changed = [(name, value) for name, value in trial.settings.items() if value != own[name]]
    return " ".join(f"{name}={_short(value)}" for name, value in changed) or "none"


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _facts(trial: "Trial") -> dict[str, Any]:
    return {
        "number": trial.number,
        "validation_rmse": trial.rmse,
        "settings": trial.settings,
        "parameters": trial.parameters,
        "seconds": trial.seconds,
        "pruned": trial.pruned,
    }


def _command(
    data: str, reading: Mapping[str, Any], split: str | None, seed: int, found: "Tuned"
) -> str:
    """The call that trains with the best settings."""
    parts = ["evichain", "train", data, "--recipe", found.recipe]
    if reading["items"]:
        parts += ["--items", str(reading["items"])]
    if reading["columns"]:
        named = [f"{column}={name}" for column, name in reading["columns"].items()]
        parts += ["--columns", ",".join(named)]
    if reading["events"]:
        weights = [f"{event}={weight:g}" for event, weight in reading["events"].items()]
        parts += ["--events", ",".join(weights)]
    if reading["skip_bad_rows"]:
        parts += ["--skip-bad-rows"]
    if split:
        parts += ["--split", split]
    parts += ["--seed", str(seed)]
    for name, value in found.settings.items():
        parts += ["--set", f"{name}={value}"]
    return shlex.join([*parts, "--out", "model"])
