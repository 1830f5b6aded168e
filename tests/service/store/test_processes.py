"""Several processes on one store, and processes that are killed while they write."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.service.store.writer import SIZE

import evichain
from evichain.ratings import Side
from evichain.service.store import Rated, Store, open_store

WRITER = Path(__file__).with_name("writer.py")
Process = subprocess.Popen[str]


def writer(url: str, name: str, *, threads: int, batches: int = 0) -> Process:
    return subprocess.Popen(
        [sys.executable, str(WRITER), url, name, str(threads), str(batches)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(evichain.__file__).parents[1])},
    )


def test_a_follower_misses_nothing_that_several_processes_write(store: Store, url: str) -> None:
    processes = [writer(url, f"p{number}", threads=3, batches=20) for number in range(3)]
    expected = 3 * 3 * 20 * SIZE
    seen: list[Rated] = []
    version = 0
    while len(seen) < expected:
        running = any(process.poll() is None for process in processes)
        store.wait(version, 0.5)
        found = store.changes_since(version, 50)
        version = found.version
        seen += [change for change in found.changes if isinstance(change, Rated)]
        # Looked at before, so that what the last one wrote has been read by now.
        assert running or found.changes or len(seen) == expected
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    versions = [change.version for change in seen]
    assert versions == sorted(set(versions))
    assert len({(change.user, change.item) for change in seen}) == expected
    assert store.counts().ratings == expected
    # What one thread wrote comes in the order in which it wrote it.
    for user in {change.user for change in seen}:
        items = [change.item for change in seen if change.user == user]
        assert items == list(range(20 * SIZE))


def test_nothing_acknowledged_is_lost_when_the_writer_is_killed(url: str) -> None:
    for attempt in range(3):
        process = writer(url, f"killed {attempt}", threads=4)
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(20 + 15 * attempt)]
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate()
        # The last line may have been cut off: whoever read it got no acknowledgement.
        told = ("".join(lines) + rest).rpartition("\n")[0].splitlines()
        with open_store(url, create=False) as store:
            for thread in range(4):
                found = store.ratings_of(Side.USER, f"killed {attempt}/{thread}")
                batches = Counter(int(rating.item) // SIZE for rating in found)
                acknowledged = {int(line.split()[1]) for line in told if line[0] == str(thread)}
                assert acknowledged <= batches.keys()
                # None is half there, and at most one more was on its way.
                assert set(batches.values()) <= {SIZE}
                assert len(batches) <= len(acknowledged) + 1
            store.put([("after", attempt, 1)])


def test_two_handles_in_one_process_are_two_processes_to_each_other(store: Store, url: str) -> None:
    with open_store(url) as other:
        for number in range(10):
            (store if number % 2 else other).put([("u", number, 1)])
        assert store.version() == other.version() == 10
        assert store.changes_since(0) == other.changes_since(0)
