"""An option for every setting, made from the settings themselves so that none is forgotten."""

from collections.abc import Callable, Collection, Iterator, Mapping
from inspect import Parameter, signature
from typing import Annotated, Any

import typer
from pydantic.fields import FieldInfo

from evichain.cli._errors import OptionError
from evichain.cli._options import with_options
from evichain.recipes import ADAPTIVE, PARTS, RECIPES

Changes = Mapping[str, Any]
"""The settings that the user gave, by name; the recipe has the others."""

Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set any setting by its name; may be given again and again.",
    ),
]

_SIMPLE = (bool, int, float, str)


def settings_options(
    verb: Callable[..., None], *, without: Collection[str] = ()
) -> Callable[..., None]:
    """Give a verb an option per setting, and `--set`.

    What was given arrives in the verb's parameter `settings`. A setting that the verb has a
    parameter for already, such as `seed`, is left to it.

    Args:
        without: settings that make no sense for the verb, and get no option.
    """
    taken = signature(verb).parameters.keys() | set(without)

    def chosen(given: dict[str, Any]) -> Changes:
        named = assigned(given.pop("set_"))
        changes = {name: value for name, value in given.items() if value is not None}
        twice = sorted(changes.keys() & named.keys())
        if twice:
            option = f"--{twice[0].replace('_', '-')}"
            raise OptionError(f"{twice[0]} is given twice", right=f"Use --set or {option}.")
        return changes | named

    options = [_parameter("set_", Assignments), *_options(taken)]
    return with_options(verb, "settings", options, chosen)


def _options(taken: set[str]) -> Iterator[Parameter]:
    for part in PARTS.values():
        for name, field in part.model_fields.items():
            if name not in taken:
                yield _parameter(name, _annotation(name, field))


def _annotation(name: str, field: FieldInfo) -> Any:
    simple: type = str
    if isinstance(field.annotation, type) and field.annotation in _SIMPLE:
        simple = field.annotation
    about = " ".join((field.description or "").split())
    option = typer.Option(
        help=f"{about} [{_defaults(name, field.default)}]",
        metavar={int: "N", float: "X"}.get(simple),
    )
    return Annotated[simple | None, option]


def _parameter(name: str, annotation: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def assigned(assignments: list[str] | None) -> dict[str, str]:
    """The settings given by `--set`. Values stay text, which the settings convert.

    The seed cannot be set this way, because a verb uses it for more, such as the split.
    """
    found = {}
    for assignment in assignments or []:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            right = "It is NAME=VALUE, such as --set iterations=500."
            raise OptionError(f"{assignment!r} sets nothing", where="--set", right=right)
        if name.strip() == "seed":
            right = "Use --seed."
            raise OptionError("the seed has an option of its own", where="--set", right=right)
        found[name.strip().replace("-", "_")] = value.strip()
    return found


def _defaults(name: str, common: Any) -> str:
    """The default of each recipe; a star where it depends on the number of ratings."""
    shown = {
        recipe: _shown(changes.get(name, common)) + "*" * (name in ADAPTIVE.get(recipe, ()))
        for recipe, changes in RECIPES.items()
    }
    if len(set(shown.values())) == 1:
        return next(iter(shown.values()))
    return ", ".join(f"{recipe}: {value}" for recipe, value in shown.items())


def _shown(default: Any) -> str:
    return {True: "on", False: "off"}[default] if isinstance(default, bool) else str(default)
