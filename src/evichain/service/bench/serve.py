"""The benchmark of the service: a real server under a real load, and what came of it."""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evichain.errors import StoreError
from evichain.ratings.table import Ratings
from evichain.recommender import REC
from evichain.service.bench.fold_in_latency import bench_fold_in
from evichain.service.bench.freshness import ratings_are_visible, until_refreshed
from evichain.service.bench.kill_test import kill_while_writing
from evichain.service.bench.load import LoadResult, drive, run
from evichain.service.bench.request_mix import RequestKind, RequestMix, SentRating
from evichain.service.bench.server_process import Server, on_core, two_cores
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store import open_store
from evichain.service.store.checks import checked_rating

_DRIVEN_ALONE = 1.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class Load:
    """How much load, and for how long.

    Attributes:
        rate: requests a second; 0 for as many as are answered.
        kills: how often the server is killed while it is written to.
    """

    seconds: float = 10.0
    connections: int = 8
    rate: float = 0.0
    kills: int = 0
    seed: int = 0


def bench_serve(
    model: REC, ratings: Ratings, load: Load, *, store: str | None = None, say: Say = lambda _: None
) -> dict[str, Any]:
    """Fill a store, serve it, drive the server, and report the figures.

    Args:
        model: what to serve.
        ratings: what the store is filled with.
        store: the address of an empty store; a file that is removed afterwards by default.
    """
    with tempfile.TemporaryDirectory(prefix="evichain-bench-") as name:
        folder = Path(name)
        url = store or f"sqlite:///{folder / 'ratings.db'}"
        say("filling a store")
        counts = _fill(url, ratings)
        say("lists for new users, in this process")
        found = {**counts, **_in_process(model, url, load.seed)}
        model.save(folder / "model")
        return found | _over_http(folder, url, ratings, load, say)


def _fill(url: str, ratings: Ratings) -> dict[str, int]:
    with open_store(url) as store:
        if store.version():
            raise StoreError("is not empty", where=store.name, right="Name one that is.")
        store.import_ratings(ratings)
        counts = store.counts()
    return {"ratings": counts.ratings, "users": counts.users, "items": counts.items}


def _in_process(model: REC, url: str, seed: int) -> dict[str, float | None]:
    with open_store(url) as store, on_core(two_cores()[0]):
        snapshot = StoreFollower(model, store).snapshot
        return bench_fold_in(snapshot, snapshot.rows[0].graph, seed=seed)


def _over_http(folder: Path, url: str, ratings: Ratings, load: Load, say: Say) -> dict[str, Any]:
    ours, theirs = two_cores()
    mix = RequestMix(ratings, load.seed)
    server = Server(folder / "model", url, folder / "log", core=theirs)
    try:
        say("starting the server")
        started = server.start()
        with on_core(ours):
            seen = run(ratings_are_visible(server.address, mix))
            say(f"{load.connections} connections for {load.seconds:g} s")
            before = server.cpu_seconds
            measured = run(
                drive(
                    server.address,
                    mix,
                    seconds=load.seconds,
                    connections=load.connections,
                    rate=load.rate,
                )
            )
            after = server.cpu_seconds
            refreshed = run(until_refreshed(server.address))
            alone = _driver_alone(ratings, load, theirs)
        found = {
            "start_seconds": started,
            "visible": seen,
            **_figures(measured),
            "refresh_seconds": refreshed,
            "server_cpu_ms_per_request": _each(before, after, measured),
            "server_peak_bytes": server.peak_bytes,
            "driver_requests_per_second": alone,
            "server_core": theirs,
        }
    finally:
        server.stop()
    found["acknowledged"], found["lost"] = kept(url, measured.written)
    if load.kills:
        found |= kill_while_writing(server, ratings, load.kills, load.seed, say)
    return found


def _figures(measured: LoadResult) -> dict[str, Any]:
    kinds = {
        kind.value: {"requests": len(measured.took[kind]), **measured.percentiles(kind)}
        for kind in RequestKind
    }
    return {
        "seconds": measured.seconds,
        "requests": measured.count,
        "requests_per_second": measured.count / measured.seconds,
        **measured.percentiles(),
        "errors": measured.errors.total(),
        "errors_by_status": {str(status): n for status, n in sorted(measured.errors.items())},
        "kinds": kinds,
    }


def _each(before: float | None, after: float | None, measured: LoadResult) -> float | None:
    """The server's CPU milliseconds per request, requests of the warm-up included."""
    if before is None or after is None or not measured.asked:
        return None
    return (after - before) / measured.asked * 1000


def kept(url: str, written: list[SentRating]) -> tuple[int, int]:
    """How many ratings were acknowledged, and how many of them the store does not hold.

    Of a pair that was written twice at the same time, either may be the last.
    """
    times = Counter((one.user, one.item) for one in written)
    single = [one for one in written if times[one.user, one.item] == 1]
    with open_store(url, create=False) as store:
        held = [store.get(one.user, one.item) for one in single]
    lost = sum(
        row is None or row.rating != checked_rating(one.rating)
        for row, one in zip(held, single, strict=True)
    )
    return len(written), lost


def _driver_alone(ratings: Ratings, load: Load, core: int | None) -> float:
    """The requests per second that the load generator makes if answers cost nothing."""
    with _idle(core) as port:
        found = run(
            drive(
                ("127.0.0.1", port),
                RequestMix(ratings, load.seed),
                seconds=_DRIVEN_ALONE,
                connections=load.connections,
                warm_up=0.1,
            )
        )
    return found.count / found.seconds


@contextmanager
def _idle(core: int | None) -> Iterator[int]:
    """The port of a server that does nothing."""
    with on_core(core):
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("idle_server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.stdin.close()
