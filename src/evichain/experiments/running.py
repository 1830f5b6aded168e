"""Runs an experiment: keeps what each cell has found, and writes the report.

A cell that was measured in the same folder, by the same version, of the same data and with the same
settings, is read instead of measured, so that a run that was interrupted continues, and a longer
one (more data, more seeds) adds to it.
"""

import json
import platform
import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from evichain import __version__
from evichain.atomic_write import write_file_atomically
from evichain.errors import SettingsError, SplitError, reported_as, require
from evichain.experiments import make_experiment
from evichain.experiments.drawing import save_png
from evichain.experiments.experiment import Cell, Experiment, Measured, Request, Results, key_of
from evichain.experiments.report import markdown
from evichain.experiments.systems import check_system

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What came of an experiment.

    Attributes:
        document: the whole of it, as it stands in the JSON file.
        page: the Markdown.
        files: what was written.
        measured: how many cells were measured just now; the others were there.
    """

    name: str
    document: Mapping[str, Any]
    page: str
    files: list[Path]
    measured: int


def check_request(names: Iterable[str], request: Request) -> None:
    """Raise an error, before hours of work, for missing libraries, impossible splits and misspelled
    systems."""
    require("matplotlib", "pictures need Matplotlib", "paper")
    experiments = {name: make_experiment(name) for name in names}
    for experiment in experiments.values():
        for system in filter(request.asks_for, experiment.systems):
            check_system(system)
    for source, seed in request.over():
        source.ratings()
        for name, experiment in experiments.items():
            try:
                list(experiment.splits(source, seed))
            except SplitError as error:
                where = f"{name} of {source.label}, seed {seed}"
                raise SplitError(error.what, where=where, right=error.right) from error
    _check_systems(experiments, request)


def _check_systems(experiments: Mapping[str, Experiment], request: Request) -> None:
    if not request.systems:
        return
    cells = (cell for experiment in experiments.values() for cell in experiment.cells(request))
    known = list(dict.fromkeys(cell.system for cell in cells if cell.system is not None))
    unknown = next((system for system in request.systems if system not in known), None)
    if unknown is not None:
        raise SettingsError(
            f"no system {unknown!r} in {', '.join(experiments)}",
            right=f"Choose among: {', '.join(known)}." if known else "Ask for no system.",
        )


def run(
    name: str,
    request: Request,
    out: Path,
    *,
    anew: bool = False,
    progress: bool = False,
    say: Say = lambda line: None,
) -> Outcome:
    """Make an experiment and write its report into a folder.

    Args:
        out: where to; what cells have found is kept there, in `cells/NAME`.
        anew: forget what these cells have found before.
        progress: show progress bars.
        say: called with a line about each cell.
    """
    experiment = make_experiment(name)
    check_request([name], request)
    kept = out / "cells" / name
    right = "Name a folder that can be written to."
    with reported_as(SettingsError, "results cannot be kept here", out, right):
        kept.mkdir(parents=True, exist_ok=True)
    cells = list(experiment.cells(request))
    for cell in cells if anew else ():
        if request.asks_for(cell.system):
            _position(kept, name, cell).unlink(missing_ok=True)
    cells = [cell for cell in cells if request.asks_for(cell.system) or _kept(kept, name, cell)]
    found, measured = [], 0
    for number, cell in enumerate(cells, 1):
        line = f"{name} {number}/{len(cells)}: {cell.name}"
        result = _kept(kept, name, cell)
        if result is None:
            say(line)
            result = _measure(kept, name, cell, progress=progress)
            measured += 1
        else:
            say(f"{line} (measured before)")
        found.append(result)
    report = experiment.report(Results(found))
    # Cells that were not asked for now were measured by other calls.
    several = not all(request.asks_for(cell.system) for cell in cells)
    command = _command(name, request, systems=not several)
    document = {
        "experiment": name,
        "title": experiment.title,
        "command": command,
        "several_calls": several,
        "quick": request.quick,
        "seeds": list(request.seeds),
        "versions": {
            "evichain": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        "tables": [table.to_dict() for table in report.tables],
        "remarks": list(report.remarks),
        "cells": [{"of": m.of, "found": m.found, "seconds": m.seconds} for m in found],
    }
    page = markdown(
        report,
        name=name,
        title=experiment.title,
        claim=experiment.claim,
        command=command,
        several=several,
        quick=request.quick,
    )
    texts = {".json": json.dumps(document, indent=1) + "\n", ".md": page, **report.files}
    files = [out / f"{name}{end}" for end in (*texts, ".png")]
    for path, text in zip(files, texts.values(), strict=False):
        _write(path, text)
    save_png(report, files[-1], quick=request.quick)
    return Outcome(name, document, page, files, measured)


def _position(folder: Path, name: str, cell: Cell) -> Path:
    return folder / f"{key_of(cell.identity(name, __version__))}.json"


def _kept(folder: Path, name: str, cell: Cell) -> Measured | None:
    """The stored result of a cell; None if there is none, or only an incomplete or wrong one."""
    try:
        saved = json.loads(_position(folder, name, cell).read_text("utf-8"))
        if saved["of"] != cell.identity(name, __version__):
            return None
        return Measured(saved["of"], saved["found"], saved["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _measure(folder: Path, name: str, cell: Cell, *, progress: bool) -> Measured:
    identity = cell.identity(name, __version__)
    begun = time.perf_counter()
    found = cell.measure(progress)
    seconds = round(time.perf_counter() - begun, 3)
    saved = {"of": identity, "found": found, "seconds": seconds}
    text = json.dumps(saved, indent=1, allow_nan=False)
    _write(_position(folder, name, cell), text + "\n")
    # As it will be read back: JSON has no tuples, and its keys are text.
    return Measured(identity, json.loads(text)["found"], seconds)


def _write(path: Path, text: str) -> None:
    with write_file_atomically(path) as made:
        made.write_text(text, encoding="utf-8")


def _command(name: str, request: Request, *, systems: bool) -> str:
    """The command that makes this report; with `systems`, it names the systems that were chosen."""
    parts = ["evichain", "paper", name]
    for data in request.data:
        parts += ["--data", data]
    for seed in request.seeds:
        parts += ["--seed", str(seed)]
    for system in request.systems if systems else ():
        parts += ["--system", system]
    return shlex.join([*parts, *(["--quick"] if request.quick else [])])
