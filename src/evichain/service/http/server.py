"""The server: a model and a store at an address, in one process or several."""

import gc
import os
import socket
import sys
import tempfile
from pathlib import Path

import torch
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict
from uvicorn.supervisors import Multiprocess

from evichain.errors import SettingsError, cause_of
from evichain.recommender import REC
from evichain.service.http import logs
from evichain.service.http.app import create_app
from evichain.service.http.metrics import MULTIPROCESS_FOLDER, forget
from evichain.service.http.settings import ServiceSettings
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store import Store, open_store

_SERVING_VARIABLE = "EVICHAIN_SERVING_VARIABLE"
"""The environment variable by which workers get their `Serving`."""
_SWITCH_SECONDS = 0.0005
"""Seconds that a thread may run while another one waits."""
_GRACE = 10
"""Seconds that requests in progress have to finish when the server stops."""


class Serving(BaseModel):
    """What to serve, and how."""

    model_config = ConfigDict(frozen=True)

    model: Path
    store: str
    settings: ServiceSettings = ServiceSettings()
    json_logs: bool = False

    def app(self) -> FastAPI:
        """The application, with everything loaded."""
        logs.set_up(as_json=self.json_logs)
        # Parallel requests, not parallel parts of one; kernels read the variable.
        torch.set_num_threads(1)
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        # Otherwise the thread that refreshes embeddings would delay every answer.
        sys.setswitchinterval(_SWITCH_SECONDS)
        store = open_store(self.store)
        app = create_app(StoreFollower(REC.load(self.model), store), self.settings)
        # These objects stay. Collecting garbage among them again and again would delay answers by a
        # tenth of a second each time.
        gc.collect()
        gc.freeze()
        return app


def fill(store: Store, model: REC) -> int:
    """Fill an empty store with the ratings and titles of a model; returns how many ratings."""
    if store.version():
        return 0
    ratings = model.graph.to_ratings()
    store.import_ratings(ratings, progress=True)
    return len(ratings)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address.

    Raises:
        SettingsError: the address is in use or does not exist.
    """
    where = f"{host}:{port}"
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(address[:2], family=family, backlog=2048)
    except OverflowError as error:
        raise SettingsError("no such port", where=where) from error
    except OSError as error:
        raise SettingsError(
            f"cannot listen there ({cause_of(error)})",
            where=where,
            right="Give another --port or --host, or stop what listens there.",
        ) from error
    listening.set_inheritable(True)
    return listening


def address_of(listening: socket.socket) -> str:
    """The address to type into a browser."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(serving: Serving, listening: socket.socket, workers: int = 1) -> None:
    """Serve until stopped by a signal."""
    if workers == 1:
        uvicorn.Server(config(serving.app())).run(sockets=[listening])
        return
    os.environ[_SERVING_VARIABLE] = serving.model_dump_json()
    with tempfile.TemporaryDirectory(prefix="evichain-metrics-") as figures:
        os.environ[MULTIPROCESS_FOLDER] = figures
        shared = config(f"{__name__}:worker", workers=workers, factory=True)
        Workers(shared, sockets=[listening]).run()


def worker() -> FastAPI:
    """The application of one worker of several."""
    return Serving.model_validate_json(os.environ[_SERVING_VARIABLE]).app()


class Workers(Multiprocess):
    """Several workers, restarted when they die; gauges of dead ones are dropped."""

    _known: frozenset[int] = frozenset()

    def keep_subprocess_alive(self) -> None:
        super().keep_subprocess_alive()
        now = frozenset(one.pid for one in self.processes if one.pid is not None)
        for gone in self._known - now:
            forget(gone)
        self._known = now


def config(app: FastAPI | str, workers: int = 1, factory: bool = False) -> uvicorn.Config:
    """The configuration of uvicorn."""
    return uvicorn.Config(
        app,
        workers=workers,
        factory=factory,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=_GRACE,
        # A worker that reads many ratings does not answer for a while.
        timeout_worker_healthcheck=60,
    )
