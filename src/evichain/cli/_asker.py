"""Options that say who asks: a user, or a guest with ratings, with some of them left out."""

import math
from typing import Annotated

import typer

from evichain.cli._errors import OptionError

Rated = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ITEM=RATING",
        help="A rating of a guest who is not in the data; repeat for more.",
        show_default=False,
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ITEM",
        help="Leave out the asker's rating of this item; repeat for more.",
        show_default=False,
    ),
]


def parse_ratings(rated: list[str] | None) -> list[tuple[str, float]]:
    """The (item, rating) pairs of --rated."""
    found = []
    for text in rated or []:
        item, equals, rating = text.rpartition("=")
        try:
            number = float(rating)
        except ValueError:
            number = math.nan
        if not equals or not item or not math.isfinite(number):
            right = "Write ITEM=RATING, such as --rated 50=4.5."
            raise OptionError(f"{text!r} is not a rating", where="--rated", right=right)
        found.append((item, number))
    return found


def ignored_note(ignored: tuple[object, ...]) -> str:
    """What to say about unknown items that were given."""
    names = ", ".join(str(item) for item in ignored)
    return f"ignored, because the model does not know them: {names}"
