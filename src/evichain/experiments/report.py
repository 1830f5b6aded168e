"""A report: tables, remarks and a picture, as Markdown, JSON and PNG."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Value = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Rows under a header; None is a hyphen.

    >>> print(Table(("model", "the paper", "ours"), [("REC", 0.91, None)]).markdown())
    | model | the paper | ours |
    |---|---|---|
    | REC | 0.910 | - |
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Value]]
    title: str = ""

    def markdown(self) -> str:
        """The table as Markdown has it."""
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        drawn = [f"| {' | '.join(map(formatted, line))} |" for line in lines]
        drawn[1] = drawn[1].replace(" ", "")
        return "\n".join([*([f"**{self.title}**", ""] if self.title else []), *drawn])

    def to_dict(self) -> dict[str, Any]:
        """The table, ready for JSON."""
        return {
            "title": self.title,
            "header": list(self.header),
            "rows": list(map(list, self.rows)),
        }


def formatted(value: Value) -> str:
    """A value as people read it.

    >>> formatted(0.91034), formatted(123456), formatted(1.5e9), formatted(None), formatted("a|b")
    ('0.910', '123,456', '1.500e+09', '-', 'a\\\\|b')
    """
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return (
            f"{value:.3f}"
            if abs(value) < 1000
            else f"{value:,.0f}"
            if abs(value) < 1e9
            else (f"{value:.3e}")
        )
    return value.replace("|", "\\|").replace("\n", " ")


@dataclass(frozen=True)
class Report:
    """What an experiment has to say.

    Attributes:
        draw: draws the picture on an empty figure.
        size: of the picture, in inches.
        remarks: what should be known of the tables, a paragraph each.
        files: further texts to write, by the end of their names.
    """

    tables: Sequence[Table]
    draw: "Callable[[Figure], None]"
    size: tuple[float, float] = (8.0, 4.5)
    remarks: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)


QUICK_RUN = "A quick run: few ratings and few steps. The figures mean nothing."


def markdown(
    report: Report,
    *,
    name: str,
    title: str,
    claim: str,
    command: str,
    several: bool = False,
    quick: bool = False,
) -> str:
    """The report as a page; `several`: its cells were not measured in one call."""
    warning = [QUICK_RUN] if quick else []
    parts = [
        f"# {title}",
        f"The paper: {claim}",
        *warning,
        *(table.markdown() for table in report.tables),
        f"![{title}]({name}.png)",
        *report.remarks,
        f"Made by `{command}`{', measured in several calls with `--system`' if several else ''}.",
    ]
    return "\n\n".join(parts) + "\n"
