"""How fast a store is here: imports, scans, single writes and reads, as one JSON object.

    python scripts/bench_store.py bench.db
    python scripts/bench_store.py postgresql://user@host/empty --ratings 20000000

The store has to be empty, and is left full.
"""

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from evichain.ratings import Ratings, Side
from evichain.service.store import Store, open_store
from evichain.service.store.address import SqliteAddress, parse


def main(
    url: Annotated[str, typer.Argument(help="An empty store.")],
    ratings: Annotated[int, typer.Option(help="How many to import.")] = 1_000_000,
    writers: Annotated[int, typer.Option(help="Threads that write at once.")] = 32,
    seconds: Annotated[float, typer.Option(help="For how long to write and to read.")] = 5.0,
) -> None:
    """Measure a store."""
    with open_store(url) as store:
        if store.version():
            sys.exit(f"{store.name}: is not empty")
        table = _table(ratings)
        found: dict[str, Any] = {"store": type(store).__name__, "ratings": ratings}
        found["import_seconds"] = _timed(lambda: store.import_ratings(table))
        found["import_again_seconds"] = _timed(lambda: store.import_ratings(table))
        found["scan_seconds"] = _timed(lambda: sum(len(frame) for frame in store.scan()))
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "ratings.parquet"
            found["export_seconds"] = _timed(lambda: store.export(out))
        found["counts_seconds"] = _timed(store.counts)
        for count in (1, writers):
            found[f"writes_per_second_{count}"] = _rate(_writes(store), count, seconds)
        users = table.frame["user_id"].unique(maintain_order=True).to_list()
        found["histories_per_second"] = _rate(_histories(store, users), 1, seconds)
        address = parse(url)
        if isinstance(address, SqliteAddress):
            found["syncs_per_second"] = _syncs(address.path.absolute().parent, seconds)
    typer.echo(json.dumps(found))


def _table(count: int) -> Ratings:
    """Random ratings with as many users and items to a rating as MovieLens has."""
    noise = np.random.default_rng(0)
    users, items = max(2, count // 140), max(2, count // 1000)
    cells = np.unique(noise.integers(0, users * items, count + count // 5))
    cells = noise.permutation(cells)[:count]
    times = noise.integers(10**9, 2 * 10**9, len(cells))
    values = noise.integers(1, 11, len(cells)) / 2
    return Ratings.from_arrays(cells // items, cells % items, values, times)


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return round(time.perf_counter() - begun, 3)


def _rate(work: Callable[[int, int], object], threads: int, seconds: float) -> float:
    """How often threads can do something in a second, all together."""
    done = [0] * threads
    end = time.perf_counter() + seconds

    def run(thread: int) -> None:
        while time.perf_counter() < end:
            work(thread, done[thread])
            done[thread] += 1

    workers = [threading.Thread(target=run, args=[thread]) for thread in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return round(sum(done) / seconds, 1)


def _writes(store: Store) -> Callable[[int, int], object]:
    return lambda thread, number: store.put([(f"writer {thread}", number, 1 + number % 5)])


def _histories(store: Store, users: list[int]) -> Callable[[int, int], object]:
    return lambda _, number: store.ratings_of(Side.USER, users[number % len(users)])


def _syncs(folder: Path, seconds: float) -> float:
    """How often the disk can sync a page, which bounds what one writer can do."""
    with tempfile.TemporaryFile(dir=folder) as file:

        def sync(_: int, __: int) -> None:
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())

        return _rate(sync, 1, seconds)


if __name__ == "__main__":
    typer.run(main)
