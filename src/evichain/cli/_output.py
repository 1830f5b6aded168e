"""Output on stdout: one JSON object, or tables, drawn on a terminal and plain in a pipe."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import typer

Cell = str | int | float | None


def print_json(document: Mapping[str, Any]) -> None:
    """Print one object on one line; NaN and infinity become null."""
    typer.echo(json.dumps(_plain(document), allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def note(text: str) -> None:
    """Print a note on stderr."""
    typer.echo(text, err=True)


def print_facts(title: str, facts: Mapping[str, Cell]) -> None:
    """Print facts, one per line; those that are None are left out."""
    known = [(name, value) for name, value in facts.items() if value is not None]
    print_table(title, (), known)


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Print rows under a header; numbers are right-aligned."""
    right = [
        any(isinstance(row[i], (int, float)) for row in rows) and bool(header)
        for i in range(len(rows[0]) if rows else len(header))
    ]
    cells = [[format_cell(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _draw(title, header, cells, right)
    else:
        typer.echo(title)
        for line in _aligned([list(header)] * bool(header) + cells, right):
            typer.echo(line)


def format_cell(cell: Cell) -> str:
    """A cell as text.

    >>> format_cell(100000), format_cell(0.91034), format_cell(None)
    ('100,000', '0.9103', '')
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def format_size(nbytes: int) -> str:
    """A number of bytes as text.

    >>> format_size(1_500_000)
    '1.5 MB'
    """
    number, unit = float(nbytes), "B"
    for larger in ("kB", "MB", "GB"):
        if number < 1000:
            break
        number, unit = number / 1000, larger
    return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"


def _aligned(rows: list[list[str]], right: Sequence[bool]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = zip(row, widths, right, strict=True)
        parts = [cell.rjust(width) if r else cell.ljust(width) for cell, width, r in cells]
        lines.append(f"  {'  '.join(parts)}".rstrip())
    return lines


def _draw(title: str, header: Sequence[str], rows: list[list[str]], right: Sequence[bool]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title, style="bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD if header else box.SIMPLE,
        show_header=bool(header),
    )
    for i, justify_right in enumerate(right):
        style = "cyan" if not header and i == 0 else ""
        name = header[i] if header else ""
        table.add_column(name, justify="right" if justify_right else "left", style=style)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)
