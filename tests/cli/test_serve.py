"""What `evichain serve` refuses before it serves, and the keys it makes."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from evichain.service.http import ServiceSettings, server
from evichain.service.http.keys import Key, Keys, KeyScope

Refused = Callable[..., list[str]]


def test_what_cannot_be_served(refused: Refused, model: Path, tmp_path: Path) -> None:
    store = ("--store", tmp_path / "a.db")
    assert "no model here" in refused("serve", tmp_path / "none", *store)[0]
    assert "cannot be read" in refused("serve", model, *store, "--keys", tmp_path / "none")[0]
    (tmp_path / "keys").write_text("# none yet")
    assert "no keys" in refused("serve", model, *store, "--keys", tmp_path / "keys")[0]
    assert "mysql" in refused("serve", model, "--store", "mysql://x/y")[0]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "cannot listen" in refused("serve", model, *store, "--port", port)[0]


def test_without_keys_only_this_machine_is_answered(
    refused: Refused, model: Path, tmp_path: Path
) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        said = refused("serve", model, "--store", tmp_path / "a.db", "--host", host)
        assert "--open" in said[1]
    assert not (tmp_path / "a.db").exists()


def test_feedback_stands_for_a_rating_of_the_scale(
    refused: Refused, model: Path, tmp_path: Path
) -> None:
    options = ("--store", tmp_path / "a.db", "--feedback-rating")
    assert "feedback_rating" in refused("serve", model, *options, "nan")[0]
    said = refused("serve", model, *options, "6")
    assert "a feedback rating of 6" in said[0]
    assert "from 1 to 5" in said[1]
    assert not (tmp_path / "a.db").exists()


def test_options_and_variables_are_what_is_served(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[ServiceSettings] = []
    monkeypatch.setattr(server, "run", lambda serving, *_: served.append(serving.settings))
    options = {
        "max_body": 1000,
        "rate": 7.0,
        "in_progress": 9,
        "timeout": 3.0,
        "refresh_timeout": 30.0,
        "strict": True,
        "feedback_rating": 4.0,
        "names": True,
    }
    given: list[object] = []
    for name, value in options.items():
        given += [f"--{name.replace('_', '-')}", *([] if value is True else [value])]
    base = ("serve", model, "--store", tmp_path / "a.db", "--port", 0)
    assert run(*base).exit_code == 0
    assert run(*base, *given).exit_code == 0
    for name, value in options.items():
        monkeypatch.setenv(f"EVICHAIN_{name.upper()}", str(value))
    assert run(*base).exit_code == 0
    plain, *others = [one.model_dump(include=set(options)) for one in served]
    assert plain == ServiceSettings().model_dump(include=set(options))
    assert others == [options, options]


def test_a_new_key_and_its_line(run: Run, refused: Refused, tmp_path: Path) -> None:
    made = run("serve", "--new-key", "page:read")
    assert made.exit_code == 0
    secret = made.stderr.splitlines()[0].rsplit(" ", 1)[1]
    assert made.stdout == Key.of("page", KeyScope.READ, secret).line + "\n"
    (tmp_path / "keys").write_text(made.stdout)
    assert Keys.read(tmp_path / "keys").find(secret) is not None
    for wrong in ("page", "page:all", ":read", "a b:read"):
        assert "NAME:read" in refused("serve", "--new-key", wrong)[1]
