"""Servers as people start them: processes, workers, keys on the command line."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from evichain import REC
from evichain.ratings.side import Side
from evichain.service.http.keys import Key, KeyScope, new_secret
from evichain.service.store import open_store

Started = tuple[str, subprocess.Popen[str]]


@pytest.fixture(scope="module")
def saved(model: REC, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "small"
    model.save(path)
    return path


@contextmanager
def started(*arguments: object, **variables: str) -> Iterator[Started]:
    """A server with these arguments, at a port that is free, ready to answer."""
    process = subprocess.Popen(
        [sys.executable, "-m", "evichain", "serve", *map(str, arguments), "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | variables,
    )
    assert process.stderr is not None
    try:
        said = ""
        for line in process.stderr:
            said += line
            if found := re.search(r"at (http://\S+)", line):
                break
        else:
            pytest.fail(said)
        while True:
            try:
                httpx.get(f"{found[1]}/health/ready").raise_for_status()
                break
            except httpx.TransportError:
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.05)
        yield found[1], process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        process.stderr.close()


def test_serves_from_nothing_and_again(saved: Path, tmp_path: Path) -> None:
    environment = {"XDG_DATA_HOME": str(tmp_path)}
    with started(saved, **environment) as (address, _):
        assert httpx.get(f"{address}/v1/overview").json()["users"] == 60
        put = httpx.put(f"{address}/v1/users/eve/ratings/1", json={"rating": 4})
        assert put.status_code == 200
    (file,) = (tmp_path / "evichain").glob("small-*.db")
    with open_store(file) as store:
        assert [row.item for row in store.ratings_of(Side.USER, "eve")] == [1]
    with started(saved, **environment) as (address, _):
        assert httpx.get(f"{address}/v1/overview").json()["users"] == 61


def test_workers_see_what_each_other_writes(saved: Path, tmp_path: Path) -> None:
    store = tmp_path / "ratings.db"
    with started(saved, "--store", store, "--workers", 2) as (address, process):
        assert httpx.put(f"{address}/v1/users/eve/ratings/1", json={"rating": 4}).status_code == 200
        # A new connection each time, so that either worker may take it.
        known = 0
        while known < 20:
            found = httpx.get(f"{address}/v1/users/eve/recommendations")
            known = known + 1 if found.status_code == 200 else 0
        assert "evichain_requests_total" in httpx.get(f"{address}/metrics").text
        process.send_signal(signal.SIGINT)
        process.wait()


def test_a_worker_that_dies_is_replaced_and_its_gauges_go_with_it(
    saved: Path, tmp_path: Path
) -> None:
    def gauges() -> set[int]:
        files = tmp_path.glob("evichain-metrics-*/gauge_live*.db")
        return {int(file.stem.rsplit("_", 1)[1]) for file in files}

    environment = {"TMPDIR": str(tmp_path)}
    options = ("--store", tmp_path / "a.db", "--workers", 2)
    with started(saved, *options, **environment) as (address, _):
        while len(before := gauges()) < 2:
            time.sleep(0.05)
        gone = min(before)
        os.kill(gone, signal.SIGKILL)
        while gone in gauges() or len(gauges()) < 2:
            time.sleep(0.05)
        assert "evichain_version" in httpx.get(f"{address}/metrics").text


def test_keys_are_read_and_never_logged(saved: Path, tmp_path: Path) -> None:
    keys, secret = tmp_path / "keys", new_secret()
    keys.write_text(Key.of("page", KeyScope.READ, secret).line)
    options = ("--store", tmp_path / "a.db", "--keys", keys, "--host", "0.0.0.0", "--json-logs")
    with started(saved, *options, EVICHAIN_WRITE_KEY="known-to-few") as (address, process):
        assert httpx.get(f"{address}/v1/overview").status_code == 401
        path = f"{address}/v1/users/zoe-b/ratings/1"
        for key, status in ((secret, 403), ("known-to-few", 200)):
            found = httpx.put(path, json={"rating": 4}, headers={"X-API-Key": key})
            assert found.status_code == status
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        lines = process.stderr.read().splitlines()
    logged = [json.loads(line) for line in lines]
    answers = [
        (line["route"], line["status"]) for line in logged if line["logger"] == "evichain.http"
    ]
    assert answers[-3:] == [("-", 401), ("-", 403), ("/v1/users/{user}/ratings/{item}", 200)]
    assert not any(secret in line or "known-to-few" in line or "zoe-b" in line for line in lines)
