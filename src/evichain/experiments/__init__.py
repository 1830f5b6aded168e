"""The tables and figures of the paper, each reproduced by one call.

>>> list(EXPERIMENTS)
['rmse-table', 'online', 'convergence', 'complexity', 'cold-start', 'trace', 'scaling']
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from evichain.errors import SettingsError

if TYPE_CHECKING:
    from evichain.experiments.experiment import Experiment


class Entry(NamedTuple):
    """Where an experiment is, and what it shows in a line."""

    module: str
    name: str
    about: str


EXPERIMENTS: Mapping[str, Entry] = {
    "rmse-table": Entry("rmse_table", "RmseTable", "test RMSE of all systems (Table 1)"),
    "online": Entry("online", "Online", "users and items that come after training (Table 2)"),
    "convergence": Entry("convergence", "Convergence", "the first iterations, against PMF"),
    "complexity": Entry("complexity", "Complexity", "what each complexity control saves"),
    "cold-start": Entry("cold_start", "ColdStart", "users with few ratings, beside GC-MC"),
    "trace": Entry("trace", "TraceFigure", "an evidence chain, drawn"),
    "scaling": Entry("scaling", "Scaling", "time, memory and parameters by size of the data"),
}
"""Every experiment, by the name it is asked for."""


def make_experiment(name: str) -> "Experiment":
    """An experiment by name, imported on first use: all need PyTorch.

    >>> make_experiment("table-1")
    Traceback (most recent call last):
        ...
    evichain.errors.SettingsError: no experiment 'table-1'
    Choose one of: rmse-table, online, convergence, complexity, cold-start, trace, scaling.
    """
    if name not in EXPERIMENTS:
        raise SettingsError(
            f"no experiment {name!r}", right=f"Choose one of: {', '.join(EXPERIMENTS)}."
        )
    entry = EXPERIMENTS[name]
    found: Experiment = getattr(import_module(f"evichain.experiments.{entry.module}"), entry.name)()
    return found
