"""`evichain compare`: several systems on the same split, in one table."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from evichain.cli._errors import OptionError
from evichain.cli._loading import load_parts, reading_options
from evichain.cli._options import Data, Json, Seed, Split, examples, single
from evichain.cli._output import Cell, note, print_json, print_table
from evichain.cli._scores import Top, figures_of, header_of
from evichain.cli._settings import assigned

verb = single()

DEFAULT = ("plus", "popularity", "biases", "item-cosine", "ease", "ials")
"""The systems that are compared if none is named."""


@verb.command(
    epilog=examples(
        "evichain compare ml-100k --split u1",
        "evichain compare ml-100k --split random:0.8 --system plus --system nnmf --system ease",
        "evichain compare mine.csv --split time:0.8 --set ease.regularization=200 --json",
    )
)
@reading_options
def compare(
    data: Data,
    reading: dict[str, Any],
    split: Split = None,
    seed: Seed = 0,
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A recipe of REC or a baseline; repeat for more. "
            f"By default: {', '.join(DEFAULT)}.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="SYSTEM.NAME=VALUE",
            help="Set a setting of one of the systems; may be given again and again.",
        ),
    ] = None,
    top: Top = 10,
    json: Json = False,
) -> None:
    """Train several systems on the same split, and show their errors and lists in one table.

    The test part is read once for each system, at the end. Baselines for lists have no errors,
    because their estimates are scores. Settings are the defaults; nothing is tuned.
    """
    names = list(dict.fromkeys(system)) if system else _installed()
    changes = _assigned_to(names, set_)
    systems = {name: _made(name, data, seed, changes[name]) for name in names}
    if split in (None, "none"):
        right = "Name a split, such as --split random:0.8."
        raise OptionError("there is nothing to test on", where="--split", right=right)
    parts = load_parts(data, split, seed, reading)
    assert parts.test is not None
    assert parts.name is not None
    from evichain.bench.compare import compare_systems
    from evichain.ratings import Split as Parted

    whole = Parted(parts.train, parts.test, parts.name, parts.later)
    found = compare_systems(whole, systems, n=top, progress=True, say=note)
    for name, one in found.items():
        if one["added"] is False:
            note(f"{name} cannot learn from the ratings that come later, so it was tested without")
    if json:
        heading = {"data": data, "split": parts.name, "seed": seed}
        counts = {"train_ratings": len(parts.train), "test_ratings": len(parts.test)}
        print_json({**heading, **counts, "systems": found})
        return
    lists = next(iter(found.values()))["test"]["lists"]
    rows: list[list[Cell]] = [
        [
            name,
            *figures_of(one["test"], one["test"]["lists"]),
            f"{one['seconds']:.1f}",
            one["parameters"],
        ]
        for name, one in found.items()
    ]
    title = f"{data}, {parts.name}, seed {seed}"
    print_table(title, ("", *header_of(lists), "seconds", "parameters"), rows)


def _installed() -> list[str]:
    """The default systems, without those that need a library that is missing."""
    from evichain.baselines import BASELINES, baseline_class
    from evichain.errors import SettingsError

    names = []
    for name in DEFAULT:
        try:
            if name in BASELINES:
                baseline_class(name).check_installed()
            names.append(name)
        except SettingsError as missing:
            note(f"without {name}: {missing.what}. {missing.right}")
    return names


def _made(name: str, data: str, seed: int, changes: Mapping[str, Any]) -> Any:
    """An unfitted system."""
    from evichain.baselines import BASELINES, make_baseline
    from evichain.errors import SettingsError
    from evichain.experiments.sources import Source
    from evichain.experiments.systems import check_system, suited
    from evichain.ratings.catalogue import is_name
    from evichain.recipes import RECIPES
    from evichain.recommender import REC

    if name in RECIPES:
        return REC(name, seed=seed, **changes)
    if name not in BASELINES:
        names = ", ".join([*RECIPES, *BASELINES])
        raise SettingsError(f"no system {name!r}", right=f"Choose from: {names}.")
    check_system(name)
    known = suited(name, Source(data)) if is_name(data) else {}
    return make_baseline(name, **{**known, "seed": seed, **changes})


def _assigned_to(
    systems: Sequence[str], assignments: list[str] | None
) -> dict[str, dict[str, str]]:
    """The settings of each system that were given by --set."""
    found: dict[str, dict[str, str]] = {name: {} for name in systems}
    for assignment in assignments or []:
        name, dot, rest = assignment.partition(".")
        if not dot or name not in found:
            right = f"It is SYSTEM.NAME=VALUE, with one of: {', '.join(systems)}."
            raise OptionError(f"{assignment!r} sets nothing", where="--set", right=right)
        found[name] |= assigned([rest])
    return found
