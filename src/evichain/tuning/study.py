"""Optuna studies: what identifies one, and the file that keeps it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evichain.errors import EvichainError, require
from evichain.ratings.graph import Graph
from evichain.recipes import Settings
from evichain.tuning.space import Space

if TYPE_CHECKING:
    import optuna

_NAME = "evichain"
# The part of training after which a trial may be pruned.
_PATIENCE_WITH_TRIALS = 0.2


class TuningError(EvichainError):
    """A search that cannot run, or not with this study."""


def check_installed() -> None:
    """Raise an error if Optuna is not installed."""
    require("optuna", "tuning needs Optuna", "tune", TuningError)


def question(recipe: str, graph: Graph, base: Settings, searched: Space) -> dict[str, Any]:
    """All that has to be equal for two errors to be comparable."""
    fixed = {name: value for name, value in base.model_dump().items() if name not in searched}
    return {
        "recipe": recipe,
        "data": graph.fingerprint,
        "settings": fixed,
        "space": {name: asdict(wanted) for name, wanted in searched.items()},
    }


def open_study(path: Path | None, asking: Mapping[str, Any], iterations: int) -> "optuna.Study":
    """A new study, or the one in the file if it asks the same question."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    storage = None
    if path is not None:
        try:
            _check_journal(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            storage = JournalStorage(JournalFileBackend(str(path)))
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise _no_study(path) from error
    pruner = optuna.pruners.MedianPruner(n_warmup_steps=int(iterations * _PATIENCE_WITH_TRIALS))
    study = optuna.create_study(
        storage=storage, pruner=pruner, study_name=_NAME, load_if_exists=True
    )
    asked = json.loads(json.dumps(asking))
    before = study.user_attrs.get("question")
    if before is None:
        study.set_user_attr("question", asked)
    elif before != asked:
        other = next(name for name in asked if asked[name] != before.get(name))
        raise TuningError(
            f"is a study of {'another ' if other in ('recipe', 'space') else 'other '}{other}",
            where=str(path),
            right="Use the same settings and data as before, or name another file.",
        )
    return study


def _check_journal(path: Path) -> None:
    """Refuse a file that is not a study, and drop a partial last line of a killed process."""
    if not path.exists() or not path.stat().st_size:
        return
    with path.open("rb+") as file:
        try:
            if "op_code" not in json.loads(file.readline()):
                raise _no_study(path)
        except (ValueError, TypeError) as error:
            raise _no_study(path) from error
        file.seek(0)
        held = file.read()
        file.truncate(held.rfind(b"\n") + 1)


def _no_study(path: Path) -> TuningError:
    return TuningError("holds no study, or a damaged one", where=str(path), right="Name another.")


@contextmanager
def quiet() -> Iterator[None]:
    """Silence Optuna's log; evichain shows its own progress bar."""
    from optuna import logging

    before = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        yield
    finally:
        logging.set_verbosity(before)
