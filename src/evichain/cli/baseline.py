"""`evichain baseline`: list, describe, train and test the recommenders to compare with."""

import time
from typing import Annotated, Any

import typer

from evichain.cli._errors import OptionError
from evichain.cli._loading import load_parts, reading_options
from evichain.cli._options import Json, Seed, Split, examples, single
from evichain.cli._output import format_cell, note, print_json, print_table
from evichain.cli._scores import ByKnown, Top, measure_scores, no_scores, print_scores
from evichain.cli._settings import Assignments, assigned

verb = single()


@verb.command(
    epilog=examples(
        "evichain baseline",
        "evichain baseline nnmf",
        "evichain baseline nnmf ml-100k --split random:0.9 --seed 1",
        "evichain baseline pmf ml-1m --split random:0.9 --set iterations=4000 --json",
    )
)
@reading_options
def baseline(
    reading: dict[str, Any],
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The baseline. Without a name, all are listed."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="A name of `evichain data list`, or a path. Without it, the settings are listed.",
        ),
    ] = None,
    split: Split = None,
    seed: Seed = 0,
    set_: Assignments = None,
    top: Top = 10,
    by_known: ByKnown = False,
    json: Json = False,
) -> None:
    """Train and test one of the recommenders that REC is compared with.

    The seed is used for the split and for the recommender. The test part is read once, at the
    end. On a data set of the catalogue, the default settings are those for data of its size.
    """
    settings = {"seed": seed, **assigned(set_)}
    if name is None:
        _list(json=json)
    elif data is None:
        if split is not None or set_:
            raise OptionError("no data to train on", right="Name it after the baseline.")
        _describe(name, json=json)
    else:
        _train(name, data, reading, split, seed, settings, top=top, by_known=by_known, json=json)


def _list(*, json: bool) -> None:
    from evichain.baselines import BASELINES

    if not json:
        rows = [(name, entry.about) for name, entry in BASELINES.items()]
        print_table("Baselines", ("name", "about"), rows)
        return
    known = []
    for name, entry in BASELINES.items():
        figures = [
            {"data": data, "split": split, "rmse": rmse}
            for (data, split), rmse in entry.published.items()
        ]
        known.append({"name": name, "about": entry.about, "published": figures})
    print_json({"baselines": known})


def _describe(name: str, *, json: bool) -> None:
    from evichain.baselines import BASELINES, baseline_class

    fields = baseline_class(name).Settings.model_fields
    about = {key: " ".join((field.description or "").split()) for key, field in fields.items()}
    if json:
        settings = {
            key: {"default": field.default, "about": about[key]} for key, field in fields.items()
        }
        document = {"name": name, "about": BASELINES[name].about, "settings": settings}
        print_json({**document, "settings_by_data": BASELINES[name].settings})
        return
    rows = [(key, format_cell(field.default), about[key]) for key, field in fields.items()]
    print_table(f"{name}: {BASELINES[name].about}", ("setting", "default", "about"), rows)
    for data, changed in BASELINES[name].settings.items():
        shown = ", ".join(f"{key}={format_cell(value)}" for key, value in changed.items())
        note(f"on {data} and larger: {shown}")


def _train(
    name: str,
    data: str,
    reading: dict[str, Any],
    split: str | None,
    seed: int,
    settings: dict[str, Any],
    *,
    top: int,
    by_known: bool,
    json: bool,
) -> None:
    from evichain.baselines import BASELINES, baseline_class
    from evichain.experiments.sources import Source
    from evichain.experiments.systems import suited
    from evichain.ratings.catalogue import is_name

    kind = baseline_class(name)
    model = kind(**{**(suited(name, Source(data)) if is_name(data) else {}), **settings})
    parts = load_parts(data, split, seed, reading)
    begun = time.perf_counter()
    model.fit(parts.train, progress=True)
    seconds = time.perf_counter() - begun
    if parts.later is not None:
        if hasattr(model, "add"):
            model.add(parts.later)
        else:
            note(f"{name} cannot learn from later ratings, so {len(parts.later):,} are not used")
    scores = no_scores()
    if parts.test is not None:
        scores = measure_scores(model, parts.test, parts.name, top=top, by_known=by_known)
    published = BASELINES[name].published.get((data, parts.name or ""))
    found: dict[str, Any] = {
        "baseline": name,
        "data": data,
        "split": parts.name,
        "seed": seed,
        **scores,
        "published_rmse": published,
        "train_ratings": len(parts.train),
        "validation_rmse": model.training.get("validation_rmse"),
        "parameters": model.parameter_count,
        "seconds": seconds,
        "training": model.training,
        "settings": model.settings.model_dump(),
    }
    if json:
        print_json(found)
        return
    title = ", ".join(part for part in (name, data, parts.name) if part)
    more = {"published RMSE": f"{published:.3f}" if published else None}
    print_scores(f"{title}, seed {seed}", name, found, more)
