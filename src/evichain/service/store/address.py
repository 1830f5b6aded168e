"""Where a store is: `sqlite:///path`, a bare path or `postgresql://…`."""

from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

from evichain.errors import StoreError, with_extra

OFFER = "It is sqlite:///path, a path, or postgresql://user@host/database."
_POSTGRES = ("postgresql", "postgres")
# So that a server that has gone silent is given up, where the address says nothing of it.
_DEFAULTS = {"connect_timeout": "10", "keepalives_idle": "10", "keepalives_interval": "5"}
_DEFAULTS |= {"keepalives_count": "3", "tcp_user_timeout": "20000"}


@dataclass(frozen=True)
class SqliteAddress:
    """A file."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class PostgresAddress:
    """A database on a server, as psycopg is told of it.

    Attributes:
        conninfo: with the password, if there is one; shown nowhere.
        said: the same as shown to people.
    """

    conninfo: str = field(repr=False)
    said: str

    def __str__(self) -> str:
        return self.said


def is_url(text: str) -> bool:
    """Whether a text can only be the address of a store."""
    return text.partition("://")[0].lower() in ("sqlite", *_POSTGRES) and "://" in text


def parse(url: str | Path) -> SqliteAddress | PostgresAddress:
    """The address that a URL or path means.

    >>> str(parse("sqlite:///ratings.db")), str(parse("sqlite:////data/ratings.db"))
    ('ratings.db', '/data/ratings.db')
    """
    if isinstance(url, Path):
        return SqliteAddress(url.expanduser())
    scheme, separator, rest = url.partition("://")
    if not separator:
        return _file(url, url)
    if scheme.lower() == "sqlite":
        host, slash, path = rest.partition("/")
        if host or not slash:
            right = "A file has three slashes, and a fourth if its path begins with one."
            raise StoreError("names a host, but a file has none", where=url, right=right)
        return _file(unquote(path), url)
    if scheme.lower() in _POSTGRES:
        return _postgres(url)
    # Not the whole of it, as what looks like an address may hold a password.
    shown = f"{scheme[:20]}://…" if scheme.isalnum() else "the address"
    raise StoreError("is not the address of a store", where=shown, right=OFFER)


def _file(path: str, url: str) -> SqliteAddress:
    if not path or path == ":memory:" or "\0" in path or path.endswith("/"):
        right = "Name a file, such as sqlite:///ratings.db: a store has to last."
        raise StoreError("does not name a file", where=repr(url), right=right)
    return SqliteAddress(Path(path).expanduser())


def _postgres(url: str) -> PostgresAddress:
    psycopg = installed_psycopg()
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        # What is wrong with it is not passed on: parts of a password may be in there.
        raise _misunderstood(url) from None
    user, host = parts.get("user") or "", parts.get("host") or parts.get("hostaddr") or ""
    port, database = parts.get("port") or "", parts.get("dbname") or ""
    # A sign such as @ in a password, written as it is, makes its rest pass for another part.
    if "@" in f"{user}{host}{database}" or (port and not port.replace(",", "0").isdigit()):
        raise _misunderstood(url)
    said = f"postgresql://{user}{'@' * bool(user)}{host}{':' * bool(port)}{port}/{database}"
    conninfo = psycopg.conninfo.make_conninfo(**{**_DEFAULTS, **parts, "client_encoding": "utf8"})
    return PostgresAddress(conninfo, said)


def _misunderstood(url: str) -> StoreError:
    return StoreError(
        "cannot be understood",
        where=f"{url.partition('://')[0]}://…",
        right="It is postgresql://user:password@host:port/database, with signs such as @ in a "
        "password written as %40.",
    )


def installed_psycopg() -> ModuleType:
    """Psycopg, or what to do about its absence."""
    try:
        import psycopg
    except ImportError as error:
        raise StoreError(
            "PostgreSQL needs psycopg, which is not installed",
            right=with_extra("postgres"),
        ) from error
    return psycopg
