"""A server as people start it, in a process of its own, on a core of its own where that can be."""

import http.client
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from evichain.errors import EvichainError
from evichain.resources import peak_bytes

_AT = re.compile(r"at http://([\d.]+):(\d+)")
_PAUSE = 0.02


class ServerError(EvichainError):
    """A server that ended before it answered, or does not do what it is to do."""


class Server:
    """`evichain serve` on a model and a store; may be killed and started again."""

    def __init__(
        self,
        model: Path,
        store: str,
        log: Path,
        core: int | None = None,
    ) -> None:
        program = [sys.executable, "-P", "-m", "evichain"]
        self._command = [*program, "serve", str(model), "--store", store]
        self._command += ["--port", "0", "--rate", "0"]
        self._log, self._core = log, core
        self._process: subprocess.Popen[bytes] | None = None
        self.address = ("", 0)

    def start(self) -> float:
        """Start it; the seconds until it was ready.

        Raises:
            ServerError: it ended instead.
        """
        begun = time.perf_counter()
        with self._log.open("wb") as log, on_core(self._core):
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_environment()
            )
        while not self._ready():
            if self._process.poll() is not None:
                lines = self._log.read_text(errors="replace").strip().splitlines()
                raise ServerError("the server ended", right=" ".join(lines[-2:]))
            time.sleep(_PAUSE)
        return time.perf_counter() - begun

    def _ready(self) -> bool:
        found = _AT.search(self._log.read_text(errors="replace"))
        if not found:
            return False
        self.address = found[1], int(found[2])
        with (
            suppress(OSError, http.client.HTTPException),
            closing(http.client.HTTPConnection(*self.address)) as connection,
        ):
            connection.request("GET", "/health/ready")
            return connection.getresponse().status == http.HTTPStatus.OK
        return False

    def kill(self) -> None:
        """End it at once, as a power cut would (SIGKILL)."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    @property
    def cpu_seconds(self) -> float | None:
        """The processor time it has taken, where the system reports it."""
        fields = self._proc_stat().rpartition(")")[2].split()
        ticks = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0
        return (int(fields[11]) + int(fields[12])) / ticks if fields and ticks else None

    @property
    def peak_bytes(self) -> int | None:
        """The most memory it has had resident, where the system reports it."""
        return None if self._process is None else peak_bytes(self._process.pid)

    def _proc_stat(self) -> str:
        with suppress(OSError):
            if self._process is not None:
                return Path(f"/proc/{self._process.pid}/stat").read_text()
        return ""


@contextmanager
def on_core(core: int | None) -> Iterator[None]:
    """What is done, and every process started, is done on one core; None changes nothing."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def two_cores() -> tuple[int | None, int | None]:
    """A core for the load and another for the server, where there are two and we may choose."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return (cores[0], cores[-1]) if len(cores) > 1 else (None, None)


def _environment() -> dict[str, str]:
    """This process's, with this package first, and one thread for each product."""
    here = str(Path(__file__).parents[3])
    search_path = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(search_path), "OMP_NUM_THREADS": "1"}
