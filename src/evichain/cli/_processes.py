"""The same command in several processes that train one model together."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer

from evichain.cli._errors import INTERRUPTED, USER_ERROR, print_error
from evichain.errors import DistributedError
from evichain.training.rendezvous import RENDEZVOUS, rank_and_size

LOST = 1
"""The status of a run that lost one of its processes."""

_LAUNCHED = "EVICHAIN_LAUNCHED"
_POLL, _PATIENCE = 0.05, 10.0

Workers = list["subprocess.Popen[bytes]"]


def is_worker() -> bool:
    """Whether this process is one of several already, whoever started it."""
    return rank_and_size()[1] > 1


def is_first() -> bool:
    """Whether this process is the one that checks, writes files and prints."""
    return rank_and_size()[0] == 0


def is_launched() -> bool:
    """Whether `run_processes` started this process; if so, that reports how the run ended."""
    return _LAUNCHED in os.environ


def run_processes(count: int, arguments: Sequence[str], run: Path | None) -> NoReturn:
    """Run the command in this many processes, and exit with their status.

    Args:
        arguments: of the command.
        run: the folder with the checkpoints, if there is one.
    """
    with (
        tempfile.TemporaryDirectory(prefix="evichain-") as folder,
        _started(count, arguments, Path(folder)) as workers,
    ):
        statuses = _ended(workers)
        if not any(statuses):
            sys.exit(0)
        for status in (INTERRUPTED, USER_ERROR):
            if status in statuses:
                rank = statuses.index(status)
                if rank:  # else the first process has reported it
                    typer.echo("\n".join(_mistake(Path(folder), rank)), err=True)
                sys.exit(status)
        what = _loss(statuses, Path(folder))
    left = "Without a run folder (--run) there is no checkpoint to resume from."
    if run is not None:
        left = f"With --resume it continues from the checkpoint in {run}."
    print_error(DistributedError(what, right=left), arguments)
    sys.exit(LOST)


@contextmanager
def _started(count: int, arguments: Sequence[str], folder: Path) -> Iterator[Workers]:
    """Start the processes, and stop all of them at the end, also after an error."""
    workers: Workers = []
    # -P: a file in the current folder that is called as a module is stays out of it.
    command = [sys.executable, "-P", "-m", "evichain", *arguments]
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        for rank in range(count):
            environment = _environment(rank, count, folder / "rendezvous_url")
            if rank == 0:
                workers.append(subprocess.Popen(command, env=environment))
                continue
            with _errors(folder, rank).open("wb") as errors:
                workers.append(
                    subprocess.Popen(
                        command, env=environment, stdout=subprocess.DEVNULL, stderr=errors
                    )
                )
        yield workers
    finally:
        for worker in workers:
            if worker.poll() is None:
                worker.kill()
            worker.wait()
        signal.signal(signal.SIGTERM, before)


def _leave(number: int, frame: object) -> NoReturn:
    """A signal handler: exit by an exception, so that `finally` blocks run."""
    sys.exit(128 + number)


def _environment(rank: int, count: int, rendezvous_url: Path) -> dict[str, str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        # The cores are shared out, unless the user knows better.
        "OMP_NUM_THREADS": str(max(1, (cores or 1) // count)),
        **os.environ,
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(count),
        RENDEZVOUS: rendezvous_url.as_uri(),
        _LAUNCHED: "1",
    }


def _ended(workers: Workers) -> list[int | None]:
    """Each exit status; None for a process that still runs 10 seconds after another has failed."""
    try:
        failed = None
        while None in [worker.poll() for worker in workers]:  # each is asked, each time
            if any(worker.returncode for worker in workers):
                failed = failed or time.monotonic()
                if time.monotonic() - failed > _PATIENCE:
                    break
            time.sleep(_POLL)
    except KeyboardInterrupt:
        # They have been interrupted too, and the first says so.
        for worker in workers:
            worker.wait()
    return [worker.returncode for worker in workers]


def _errors(folder: Path, rank: int) -> Path:
    return folder / f"stderr-{rank}"


def _lines(folder: Path, rank: int) -> list[str]:
    return _errors(folder, rank).read_text(errors="replace").splitlines()


def _mistake(folder: Path, rank: int) -> list[str]:
    """The error message of a process other than the first; else its last line."""
    lines = _lines(folder, rank)
    errors = [number for number, line in enumerate(lines) if line.startswith("error: ")]
    return lines[errors[-1] if errors else -1 :]


def _loss(statuses: Sequence[int | None], folder: Path) -> str:
    """The message about the lost process: a killed one first, as others may fail because of it."""
    rank, status = min(
        ((rank, status) for rank, status in enumerate(statuses) if status),
        key=lambda ended: ended[1],
    )
    which = f"process {rank + 1} of {len(statuses)}"
    if status < 0:
        return f"{which} was ended by {signal.Signals(-status).name}"
    lines = _lines(folder, rank) if rank else []
    return f"{which} failed with status {status}" + (f" ({lines[-1]})" if lines else "")
