"""A PostgreSQL server of the tests' own: in a temporary folder, reached by a socket in it."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from tests.programs import place_of

PASSWORD = "s3cret-and-known"
"""Of the role `guarded`, the only one that needs one."""

# The tests kill processes, not the machine: what is written needs no sync to outlive them.
_SETTINGS = ("listen_addresses=''", "fsync=off", "max_connections=50", "shared_buffers=32MB")


class Server:
    """A server that can be stopped and started again."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._folder = programs, folder
        # PostgreSQL refuses to run as root.
        self._user = None if os.geteuid() else _unprivileged()
        if self._user is not None:
            shutil.chown(folder, self._user)
        self._numbers = count(1)
        initdb = ["--username=evichain", "--auth=trust", "--encoding=UTF8", "--no-locale"]
        self._run("initdb", *initdb, "--no-sync", "--no-instructions")
        rules = folder / "data" / "pg_hba.conf"
        rules.write_text("local all guarded scram-sha-256\n" + rules.read_text())
        self.start()
        self.execute(f"CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'")

    def start(self) -> None:
        options = " ".join(f"-c {setting}" for setting in _SETTINGS) + f" -k {self._folder}"
        log = self._folder / "log"
        self._run("pg_ctl", "--log", str(log), "--wait", "--options", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "--mode=immediate", "--wait", "stop")

    def execute(self, sql: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql.encode())

    def url(self, *, user: str = "evichain", database: str = "postgres", schema: str = "") -> str:
        """An address of a database, and of one schema in it."""
        options = f"&options={quote(f'-csearch_path={schema}')}" if schema else ""
        return f"postgresql://{user}@/{database}?host={quote(str(self._folder), safe='')}{options}"

    def fresh(self) -> str:
        """The address of a schema with nothing in it."""
        schema = f"fresh_{next(self._numbers)}"
        self.execute(f"CREATE SCHEMA {schema}")
        return self.url(schema=schema)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._programs / program), "--pgdata", str(self._folder / "data"), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self._folder,
            user=self._user,
            group=self._user and pwd.getpwnam(self._user).pw_gid,
            extra_groups=self._user and [],
        )


@contextmanager
def running_server() -> Iterator[Server]:
    """A server as long as this lasts; skips the test where there can be none."""
    programs = place_of("postgres")
    # Not pytest's own folder: nobody else may look into that, and a socket's path is short.
    with tempfile.TemporaryDirectory(prefix="evichain-") as folder:
        server = Server(programs, Path(folder))
        try:
            yield server
        finally:
            server.stop()


def _unprivileged() -> str:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    pytest.fail("PostgreSQL does not run as root, and there is no user postgres or nobody.")
