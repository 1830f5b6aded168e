"""The tables of a store, and the migration of older stores."""

from collections.abc import Sequence

from evichain.errors import StoreError
from evichain.service.store import queries
from evichain.service.store.session import Session

SCHEMA = 1
"""The version of the schema; a store with a newer one is refused."""

Step = Sequence[str]
"""The statements that migrate from one schema to the next; the first step creates it."""


def first_step(*, text: str, integer: str, keyed: str = "", strict: str = "") -> Step:
    """The tables of schema 1.

    Args:
        text: the type of text sorted by bytes.
        integer: the type of 64-bit integers.
        keyed: the suffix of a table clustered by its key.
        strict: the suffix of other tables.
    """
    required = f"{{0}}_text {text} NOT NULL, {{0}}_number {integer} NOT NULL"
    user, item = required.format("user"), required.format("item")
    return (
        f"CREATE TABLE evichain_state (id {integer} PRIMARY KEY CHECK (id = 1), "
        f"schema {integer} NOT NULL, version {integer} NOT NULL, floor {integer} NOT NULL){strict}",
        f"CREATE TABLE evichain_ratings ({user}, {item}, rating real NOT NULL, "
        f"timestamp {integer}, version {integer} NOT NULL, PRIMARY KEY ({queries.KEY})){keyed}",
        queries.CREATE_ITEM_INDEX,
        f"CREATE TABLE evichain_titles ({item}, title text NOT NULL, "
        f"PRIMARY KEY (item_text, item_number)){keyed}",
        f"CREATE TABLE evichain_changes (version {integer} PRIMARY KEY, kind text NOT NULL, "
        f"user_text {text}, user_number {integer}, item_text {text}, item_number {integer}, "
        f"rating real, timestamp {integer}, title text){strict}",
        "INSERT INTO evichain_state (id, schema, version, floor) VALUES (1, 0, 0, 0)",
    )


def migrate(session: Session, found: int, steps: Sequence[Step], name: str) -> None:
    """Run the steps that a store is missing, in the transaction of the session."""
    if found > SCHEMA:
        raise StoreError(
            f"has schema {found}, but this version of evichain reads up to {SCHEMA}",
            where=name,
            right="Upgrade evichain.",
        )
    for step in steps[found:]:
        for statement in step:
            session.change(statement)
    if found < SCHEMA:
        session.change("UPDATE evichain_state SET schema = ?", [SCHEMA])


def schema_of(session: Session) -> int:
    """The schema version of a store."""
    schema: int = session.rows("SELECT schema FROM evichain_state")[0][0]
    return schema
