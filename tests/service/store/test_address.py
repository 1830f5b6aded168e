"""Addresses: what they mean, and that a password is shown nowhere."""

import sys
import traceback
from pathlib import Path

import pytest

from evichain.errors import StoreError, with_extra
from evichain.service.store import is_url, open_store
from evichain.service.store.address import PostgresAddress, SqliteAddress, parse


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///ratings.db", "ratings.db"),
        ("SQLite:///a%20b.db", "a b.db"),
        ("sqlite:////data/ratings.db", "/data/ratings.db"),
        ("data/ratings", "data/ratings"),
        ("100%.db", "100%.db"),
        (Path("x.db"), "x.db"),
    ],
)
def test_files(url: str | Path, path: str) -> None:
    assert parse(url) == SqliteAddress(Path(path))


def test_a_home_folder() -> None:
    assert parse("~/ratings.db") == SqliteAddress(Path.home() / "ratings.db")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://ann:pw@host:5433/films", "postgresql://ann@host:5433/films"),
        ("postgres://host/films?password=pw&sslmode=require", "postgresql://host/films"),
        ("postgresql://ann@/films?host=/run/postgresql", "postgresql://ann@/run/postgresql/films"),
        ("postgresql://a:1,b:2/films", "postgresql://a,b:1,2/films"),
        ("postgresql://", "postgresql:///"),
    ],
)
def test_databases(url: str, said: str) -> None:
    address = parse(url)
    assert isinstance(address, PostgresAddress)
    assert str(address) == said
    assert "pw" not in repr(address)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://ann:hidden@host/films", "mysql://…: is not the address of a store"),
        ("ann:hidden@host://films", "is not the address of a store"),
        ("sqlite://ratings.db", "names a host"),
        ("sqlite://", "names a host"),
        ("sqlite:///", "does not name a file"),
        ("sqlite:///:memory:", "does not name a file"),
        ("sqlite:///folder/", "does not name a file"),
        ("", "does not name a file"),
        ("a\0b", "does not name a file"),
    ],
)
def test_what_is_no_address(url: str, said: str) -> None:
    with pytest.raises(StoreError) as caught:
        open_store(url)
    assert said in str(caught.value)
    assert caught.value.right
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:hid@den@host/films",
        "postgresql://user:hid/den@host/films",
        "postgresql://user:12/hidden@host/films",
        "postgresql://user:hidden%ZZ@host/films",
        "postgresql://user:hidden@[::1/films",
        "postgresql://user:hidden@host:port/films",
        "postgresql://user:hidden@host/films?colour=red",
    ],
)
def test_nothing_of_a_password_is_in_the_message(url: str) -> None:
    with pytest.raises(StoreError, match="invalid address") as caught:
        parse(url)
    told = "".join(traceback.format_exception(caught.value))
    assert not [part for part in ("hid", "den", "films") if part in told]
    assert "%40" in caught.value.right


def test_psycopg_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError) as caught:
        open_store("postgresql://host/films")
    assert caught.value.right == with_extra("postgres")


def test_what_can_only_be_a_store() -> None:
    assert is_url("sqlite:///a.db")
    assert is_url("postgres://host/films")
    assert not is_url("ratings.csv")
    assert not is_url("sqlite")
    assert not is_url("https://host/films")
