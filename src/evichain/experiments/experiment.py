"""What an experiment is: cells to measure one by one, and a report on what was found.

The result of a cell depends only on its identity, so a measured cell is never measured again. A
report is made from the results of cells alone.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import product
from statistics import fmean, stdev
from typing import Any, ClassVar

from evichain.errors import SettingsError
from evichain.experiments.report import Report
from evichain.experiments.sources import Source
from evichain.ratings.splits import Split

Found = Mapping[str, Any]
"""What a cell has found: figures by name, ready for JSON."""

WITHIN = "_within"
"""Ends the name of an error that was measured with estimates cut to the scale."""


@dataclass(frozen=True)
class Request:
    """What is asked of an experiment.

    Attributes:
        data: names or paths of data sets.
        seeds: everything random is drawn from them; tables have the mean.
        quick: few ratings and few steps, to see that it works: the figures mean nothing.
        systems: those to measure; none for all. A report has the others too where they were
            measured before.
    """

    data: Sequence[str]
    seeds: Sequence[int] = (0,)
    quick: bool = False
    systems: Sequence[str] = ()

    def __post_init__(self) -> None:
        seed = next((seed for seed in self.seeds if list(self.seeds).count(seed) > 1), None)
        if seed is not None:
            raise SettingsError(f"the seed {seed} is given twice", right="Give each once.")
        labels = [source.label for source in self.sources]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice is not None:
            raise SettingsError(
                f"two data sets are called {twice!r}",
                right="Give each once, and give files or folders different names.",
            )

    @property
    def sources(self) -> list[Source]:
        """The data sets."""
        return [Source(data, self.quick) for data in self.data]

    def over(self, *kinds: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
        """Every data set with one of each kind and every seed, the seed last.

        >>> [combination[1:] for combination in Request(["a"], (0, 1)).over("xy")]
        [('x', 0), ('x', 1), ('y', 0), ('y', 1)]
        """
        return product(self.sources, *kinds, self.seeds)

    def asks_for(self, system: str | None) -> bool:
        """Whether a system is to be measured; cells without a system always are."""
        return system is None or not self.systems or system in self.systems


@dataclass(frozen=True)
class Cell:
    """One measurement.

    Attributes:
        source: the data.
        of: all that the outcome depends on beside the data, by name: system, settings, seed, ...
        measure: measures it; takes whether to show progress.
        shown: the names in `of` to show to people.
    """

    source: Source
    of: Mapping[str, Any]
    measure: Callable[[bool], Found]
    shown: Sequence[str] = ("system", "split", "seed")

    @property
    def name(self) -> str:
        """What is measured, in a line."""
        shown = [f"{key} {self.of[key]}" for key in self.shown if key in self.of]
        return ", ".join([self.source.label, *shown])

    @property
    def system(self) -> str | None:
        """The system that is measured; None if the cell has none."""
        return self.of.get("system")

    def identity(self, experiment: str, version: str) -> dict[str, Any]:
        """All that the outcome depends on."""
        return {
            "experiment": experiment,
            "version": version,
            "data": self.source.label,
            "paper_name": self.source.paper_name,
            "digest": self.source.identity,
            "quick": self.source.quick,
            **json.loads(json.dumps(self.of)),
        }


def key_of(identity: Mapping[str, Any]) -> str:
    """A name that no other cell has."""
    text = json.dumps(identity, sort_keys=True)
    return blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Measured:
    """The figures of a cell, how long they took, and what was measured."""

    of: Mapping[str, Any]
    found: Found
    seconds: float

    def __getitem__(self, name: str) -> Any:
        return self.found[name] if name in self.found else self.of[name]


@dataclass(frozen=True)
class Results:
    """The figures of many cells, to select from.

    >>> results = Results([Measured({"seed": s}, {"rmse": 0.9 + s / 100}, 1.0) for s in (1, 3)])
    >>> round(results.mean("rmse"), 3), results.formatted("rmse")
    (0.92, '0.920 ± 0.014')
    """

    cells: Sequence[Measured] = field(default_factory=list)

    def __iter__(self) -> Iterator[Measured]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def where(self, **of: Any) -> "Results":
        """The cells with these values."""
        chosen = of.items()
        return Results([c for c in self.cells if all(c.of.get(k) == v for k, v in chosen)])

    def distinct(self, name: str) -> list[Any]:
        """The distinct values of a name, in the order of the cells."""
        return list(dict.fromkeys(cell[name] for cell in self.cells))

    def values(self, name: str) -> list[float]:
        """A figure of each cell."""
        return [cell[name] for cell in self.cells]

    def mean(self, name: str) -> float:
        """The mean of a figure."""
        return fmean(self.values(name))

    def mean_known(self, name: str) -> float | None:
        """The mean of a figure over the cells that have it; None if no cell does."""
        known = [cell.found[name] for cell in self.cells if cell.found.get(name) is not None]
        return fmean(known) if known else None

    def formatted(self, name: str, decimals: int = 3) -> str | None:
        """The mean of a figure, with the std of several; None without cells."""
        values = self.values(name)
        if not values:
            return None
        spread = f" ± {stdev(values):.{decimals}f}" if len(values) > 1 else ""
        return f"{fmean(values):.{decimals}f}{spread}"

    def formatted_with_clipped(self, name: str, decimals: int = 3) -> str | None:
        """As `formatted`, with the error of clipped estimates in brackets where it differs.

        Left out if a cell was measured by a version without that figure.

        >>> found = {"rmse": 0.93, "rmse_within": 0.92}
        >>> Results([Measured({}, found, 1.0)]).formatted_with_clipped("rmse")
        '0.930 (0.920)'
        """
        plain = self.formatted(name, decimals)
        if any(cell.found.get(name + WITHIN) is None for cell in self.cells):
            return plain
        within = self.formatted(name + WITHIN, decimals)
        return plain if within == plain else f"{plain} ({within})"

    def differ_within(self, name: str) -> bool:
        """Whether clipping estimates to the scale changes any cell's error."""
        return any(cell.found.get(name + WITHIN, cell[name]) != cell[name] for cell in self.cells)


class Experiment(ABC):
    """A table or figure of the paper.

    Attributes:
        title: what it shows.
        claim: what the paper says.
        systems: those that are trained, by name.
    """

    title: ClassVar[str]
    claim: ClassVar[str]
    systems: ClassVar[Sequence[str]] = ()

    def splits(self, source: Source, seed: int) -> Iterable[Split]:
        """The splits the cells use, the hardest of each kind; an impossible split raises."""
        return ()

    @abstractmethod
    def cells(self, request: Request) -> Iterable[Cell]:
        """Everything to measure, cheap or important cells first."""

    @abstractmethod
    def report(self, results: Results) -> Report:
        """Our figures beside those of the paper."""
