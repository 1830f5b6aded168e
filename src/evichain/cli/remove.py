"""`evichain remove`: forget ratings of a model, or erase a user."""

from pathlib import Path
from typing import Annotated

import typer

from evichain.cli._files import check_free
from evichain.cli._options import Force, Json, Model, examples, single
from evichain.cli._output import note, print_json

verb = single()


@verb.command(
    epilog=examples(
        "evichain remove model 42",
        "evichain remove model 42 --item 50 --item 181",
        "evichain remove model 42 --out smaller",
    )
)
def remove(
    model: Model,
    user: Annotated[str, typer.Argument(metavar="USER", help="A user.")],
    item: Annotated[
        list[str] | None,
        typer.Option(metavar="ITEM", help="Remove the rating of this item only; repeat for more."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the model here; by default it is replaced."),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Erase a user with all their ratings, or remove some of their ratings.

    Nothing is retrained: the weights stay as they were learned.
    """
    if out is not None:
        check_free(out, force=force)

    from evichain.recommender import REC

    loaded = REC.load(model)
    before = len(loaded.graph)
    if item:
        loaded.remove([(user, one) for one in item])
    else:
        loaded.remove(user=user)
    written = out or model
    loaded.save(written)
    removed = before - len(loaded.graph)
    if json:
        print_json(
            {"user": user, "removed": removed, "ratings": len(loaded.graph), "written": written}
        )
    else:
        note(f"{written}: {removed:,} ratings removed, {len(loaded.graph):,} left")
