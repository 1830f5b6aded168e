"""Progress of long work: a bar on a terminal, plain lines where there is none, on stderr."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

_SHARE_A_LINE = 0.1
_SECONDS_A_LINE = 10.0
_SECONDS_BETWEEN_LINES = 0.5


class Advance:
    """Counts work done; `advance(n, rmse=0.93)` adds n and shows the fields at the line's end."""

    def __init__(self, show: Callable[[float, str], None]) -> None:
        self._show = show
        self.done = 0.0
        self.fields = ""

    def __call__(self, n: float = 1, **fields: object) -> None:
        self.done += n
        if fields:
            self.fields = "  ".join(f"{name} {_said(value)}" for name, value in fields.items())
        self._show(self.done, self.fields)


@contextmanager
def progress(
    description: str, total: float | None, *, enabled: bool = True, unit: str = ""
) -> Iterator[Advance]:
    """Show how far a piece of work has come.

    Args:
        description: what is being done.
        total: how much there is to do, None when that is not known.
        enabled: False shows nothing.
        unit: what is counted; `B` shows bytes as megabytes.

    >>> with progress("Training", total=3, enabled=False) as advance:
    ...     for step in range(3):
    ...         advance(rmse=1 / (step + 1))
    >>> advance.done, advance.fields
    (3.0, 'rmse 0.3333')
    """
    console = Console(stderr=True)
    if not enabled:
        yield Advance(lambda done, fields: None)
    elif console.is_terminal:
        with _bar(console) as bar:
            task = bar.add_task(description, total=total, amount="", shown="")

            def show(done: float, fields: str) -> None:
                amount = _amount(done, total, unit)
                bar.update(task, completed=done, amount=amount, shown=fields)

            yield Advance(show)
    else:
        lines = _Lines(description, total, unit)
        advance = Advance(lines.show)
        ended = "stopped after"
        try:
            yield advance
            ended = "done,"
        finally:
            lines.end(ended, advance)


class _Lines:
    """A line at the start, about every tenth of the work or ten seconds, and at the end."""

    def __init__(self, description: str, total: float | None, unit: str) -> None:
        self._description, self._total, self._unit = description, total, unit
        self._started = self._last_time = time.monotonic()
        self._last_done = 0.0
        self._write(_amount(0, total, unit) if total is not None else "started")

    def show(self, done: float, fields: str) -> None:
        now = time.monotonic()
        waited = now - self._last_time
        share = (done - self._last_done) / self._total if self._total else 0.0
        last = self._total is not None and done >= self._total
        due = share >= _SHARE_A_LINE or waited >= _SECONDS_A_LINE
        if last or not due or waited < _SECONDS_BETWEEN_LINES:
            return
        self._last_time, self._last_done = now, done
        percent = f" ({done / self._total:.0%})" if self._total else ""
        self._write(f"{_amount(done, self._total, self._unit)}{percent}", fields)

    def end(self, ended: str, advance: Advance) -> None:
        seconds = time.monotonic() - self._started
        amount = _amount(advance.done, None, self._unit)
        self._write(f"{ended} {amount} in {seconds:.1f} s", advance.fields)

    def _write(self, text: str, fields: str = "") -> None:
        tail = f"  {fields}" if fields else ""
        sys.stderr.write(f"{self._description}: {text}{tail}\n")
        sys.stderr.flush()


def _bar(console: Console) -> Progress:
    columns: list[ProgressColumn] = [
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[amount]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[shown]}", style="cyan"),
    ]
    return Progress(*columns, console=console)


def _amount(done: float, total: float | None, unit: str) -> str:
    if unit == "B":
        of = f"/{total / 1e6:.1f}" if total is not None else ""
        return f"{done / 1e6:.1f}{of} MB"
    of = f"/{_count(total)}" if total is not None else ""
    return f"{_count(done)}{of} {unit}".rstrip()


def _count(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def _said(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
