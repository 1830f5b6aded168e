"""`evichain serve`: serve a model over HTTP."""

import os
from hashlib import blake2b
from pathlib import Path
from typing import Annotated

import typer

from evichain.cli._errors import OptionError
from evichain.cli._options import Model, examples, single
from evichain.cli._output import note
from evichain.errors import with_extra

verb = single()
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def _new_key(wanted: str | None) -> None:
    if wanted is None:
        return
    from evichain.service.http.keys import Key, KeyScope, new_secret

    name, _, scope = wanted.partition(":")
    if not name or " " in name or scope not in ("read", "write"):
        raise OptionError(f"--new-key {wanted!r}", right="Give NAME:read or NAME:write.")
    secret = new_secret()
    note(f"The key, shown only once: {secret}")
    note("Its line for the key file:")
    typer.echo(Key.of(name, KeyScope[scope.upper()], secret).line)
    raise typer.Exit


@verb.command(
    epilog=examples(
        "evichain serve model",
        "evichain serve model --store postgresql://evichain@localhost/films --workers 4",
        "evichain serve --new-key page:read >> keys",
        "evichain serve model --keys keys --host 0.0.0.0",
    )
)
def serve(
    model: Model,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            envvar="EVICHAIN_STORE",
            help="sqlite:///path, a path, or postgresql://user@host/database; by default a file "
            "in your data folder, one per model.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="NAME", envvar="EVICHAIN_HOST", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", envvar="EVICHAIN_PORT", min=0, max=65535)
    ] = 8000,
    workers: Annotated[
        int,
        typer.Option(
            metavar="N",
            envvar="EVICHAIN_WORKERS",
            min=1,
            max=256,
            help="Processes; each holds all ratings in memory and follows the store.",
        ),
    ] = 1,
    keys: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            envvar="EVICHAIN_KEYS",
            help="A file of keys, one per line: name, read or write, SHA-256. EVICHAIN_READ_KEY "
            "and EVICHAIN_WRITE_KEY add one key each.",
        ),
    ] = None,
    open_: Annotated[
        bool,
        typer.Option(
            "--open",
            envvar="EVICHAIN_OPEN",
            help="Answer other machines without keys: everyone may do everything.",
        ),
    ] = False,
    rate: Annotated[
        float,
        typer.Option(
            metavar="N",
            envvar="EVICHAIN_RATE",
            min=0,
            help="Requests per second of one key, or of one address without keys; 0: no limit. "
            "Each worker counts for itself.",
        ),
    ] = 1000.0,
    max_body: Annotated[int, typer.Option(metavar="BYTES", envvar="EVICHAIN_MAX_BODY", min=1)] = 1
    << 20,
    in_progress: Annotated[
        int,
        typer.Option(
            metavar="N",
            envvar="EVICHAIN_IN_PROGRESS",
            min=1,
            help="Requests at a time; further ones get 503.",
        ),
    ] = 128,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            envvar="EVICHAIN_TIMEOUT",
            min=0.1,
            help="The longest a write or an explanation may take.",
        ),
    ] = 15.0,
    refresh_timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            envvar="EVICHAIN_REFRESH_TIMEOUT",
            min=0.1,
            help="The longest a write may wait for a refresh of the embeddings: erasing, "
            "refresh=true, --strict.",
        ),
    ] = 120.0,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            envvar="EVICHAIN_STRICT",
            help="Answer every write only after the embeddings are refreshed. By default this "
            "happens within seconds afterwards, and writes are faster.",
        ),
    ] = False,
    feedback_rating: Annotated[
        float | None,
        typer.Option(
            metavar="RATING",
            envvar="EVICHAIN_FEEDBACK_RATING",
            help="The rating of feedback without a value in gorse's API; the highest rating by "
            "default.",
        ),
    ] = None,
    names: Annotated[
        bool,
        typer.Option(
            "--names",
            envvar="EVICHAIN_NAMES",
            help="Show the ids of other users in explanations to everyone; by default only to "
            "keys with write access, and aliases to others.",
        ),
    ] = False,
    empty: Annotated[
        bool, typer.Option("--empty", help="Do not fill an empty store with the model's ratings.")
    ] = False,
    json_logs: Annotated[
        bool, typer.Option("--json-logs", envvar="EVICHAIN_JSON_LOGS", help="Log as JSON.")
    ] = False,
    new_key: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:SCOPE",
            callback=_new_key,
            is_eager=True,
            help="Make a key (scope: read or write), print it and its line, and exit.",
        ),
    ] = None,
) -> None:
    """Serve a model. New ratings count at once; nothing is retrained.

    Ratings are kept in a store. An empty store is filled with the model's own ratings.
    Without keys, only this machine is answered.
    """
    try:
        from evichain.service.http.server import Serving, address_of, fill, listen, run
    except ModuleNotFoundError as error:
        needed = f"serving needs {error.name}"
        raise OptionError(needed, right=with_extra("serve")) from error
    from evichain.recommender import REC
    from evichain.service.http.keys import Key, Keys, KeyScope
    from evichain.service.http.settings import ServiceSettings
    from evichain.service.store import open_store

    # Not options: everyone on the machine can read a command line.
    given = [(scope, os.environ.get(f"EVICHAIN_{scope.name}_KEY")) for scope in KeyScope]
    known = Keys(
        [
            *(Keys.read(keys) if keys is not None else ()),
            *(
                Key.of(f"environment-{scope.name.lower()}", scope, secret)
                for scope, secret in given
                if secret
            ),
        ]
    )
    if keys is not None and not len(known):
        raise OptionError("contains no keys", where=str(keys), right="evichain serve --new-key")
    if not len(known) and not open_ and host not in _LOOPBACK:
        raise OptionError(
            f"without keys, {host} would let everyone do everything",
            right="Give --keys FILE, or --open if you want that.",
        )
    loaded = REC.load(model)
    url = store or _default_store(model)
    settings = ServiceSettings(
        keys=known,
        hosts=None if len(known) or open_ else frozenset({*_LOOPBACK, "[::1]"}),
        max_body=max_body,
        rate=rate,
        in_progress=in_progress,
        timeout=timeout,
        refresh_timeout=refresh_timeout,
        strict=strict,
        feedback_rating=feedback_rating,
        names=names,
    )
    # Before anything is filled or started: otherwise every worker would fail.
    settings.check(loaded.graph.scale)
    if not loaded.estimates_ratings:
        note("The model scores what people choose: where the page shows ratings, these are scores")
    serving = Serving(model=model, store=url, settings=settings, json_logs=json_logs)
    with listen(host, port) as listening:
        with open_store(url) as opened:
            note(f"Store: {opened.name}")
            if not empty and (filled := fill(opened, loaded)):
                note(f"The store was empty: added {filled:,} ratings of the model")
        del loaded
        note(f"Serving {model} at {address_of(listening)}")
        run(serving, listening, workers)


def _default_store(model: Path) -> str:
    """A file in the user's data folder, one per model."""
    import platformdirs

    path = model.absolute()
    mark = blake2b(str(path).encode(), digest_size=4).hexdigest()
    folder = platformdirs.user_data_path("evichain")
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder / f"{path.name}-{mark}.db")
