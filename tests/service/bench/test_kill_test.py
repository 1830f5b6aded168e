"""The server is killed while it is written to: nothing acknowledged is lost, nothing is half there.

`EVICHAIN_KILLS=20` kills it twenty times, and `evichain bench serve --kills 20` does so on data of
any size.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evichain import REC
from evichain.service.bench import kill_test
from evichain.service.bench.kill_test import BatchWriter, kill_while_writing
from evichain.service.bench.request_mix import SentRating
from evichain.service.bench.serve import kept
from evichain.service.bench.server_process import Server, ServerError
from evichain.service.store import open_store

KILLS = int(os.environ.get("EVICHAIN_KILLS", "3"))


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_no_acknowledged_write_is_lost_when_the_server_is_killed(
    backend: str, model: REC, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path / 'ratings.db'}"
    if backend == "postgres":
        url = request.getfixturevalue("postgres").fresh()
    table = model.graph.to_ratings()
    with open_store(url) as store:
        store.import_ratings(table)
    model.save(tmp_path / "model")
    server = Server(tmp_path / "model", url, tmp_path / "log")
    found = kill_while_writing(server, table, KILLS)
    assert found["kills"] == KILLS
    assert found["kills_acknowledged"] >= KILLS * 20
    assert (found["kills_lost"], found["kills_incomplete"]) == (0, 0)
    with open_store(url, create=False) as store:
        assert store.counts().ratings >= len(table)


def test_what_is_lost_or_half_there_is_found() -> None:
    more, again = BatchWriter(1, again=False), BatchWriter(2, again=True)
    for writer in (more, again):
        for _ in range(4):
            writer.batch([1.0, 5.0], integers=True)
        writer.acknowledged |= {1, 2, 3}
    assert more.judge([1, 1, 1, 2, 2, 2, 3, 3, 3]) == (0, 0)
    assert more.judge([1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]) == (0, 0)
    assert more.judge([1, 1, 1, 3, 3, 3, 4]) == (1, 1)
    assert again.judge([3, 3, 3]) == again.judge([4, 4, 4]) == (0, 0)
    assert again.judge([2, 2, 2]) == (1, 0)
    assert again.judge([3, 3, 4]) == (0, 2)


def test_a_server_that_ends_by_itself_is_not_waited_for(
    model: REC, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(tmp_path / "ratings.db")
    model.save(tmp_path / "model")
    server = Server(tmp_path / "model", url, tmp_path / "log")
    monkeypatch.setattr(kill_test, "_LEAST", 10**9)
    batch = BatchWriter.batch

    def last(self: BatchWriter, levels: list[float], integers: bool) -> dict[str, Any]:
        if self.sent == 3:
            server.kill()
        return batch(self, levels, integers)

    monkeypatch.setattr(BatchWriter, "batch", last)
    with pytest.raises(ServerError, match="ended while it was written to"):
        kill_while_writing(server, model.graph.to_ratings(), 1)


def test_ratings_that_32_bits_do_not_hold_exactly_are_not_taken_for_lost(tmp_path: Path) -> None:
    url, rating = str(tmp_path / "ratings.db"), float(np.float32(3.7))
    with open_store(url) as store:
        store.put([(1, 1, rating), (1, 2, 4.0)])
    written = [SentRating(1, 1, rating), SentRating(1, 2, rating), SentRating(1, 3, rating)]
    assert kept(url, written) == (3, 2)


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    server = Server(tmp_path / "nothing", str(tmp_path / "a.db"), tmp_path / "log")
    with pytest.raises(ServerError, match="nothing"):
        server.start()
