"""A real server in a thread, for what only a real one shows."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import uvicorn
from fastapi import FastAPI

from evichain.service.http.server import address_of, config, listen


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """The address of an application that is served."""
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(config(app))
    failed: list[BaseException] = []

    def run(**options: Any) -> None:
        try:
            server.run(**options)
        except BaseException as error:
            failed.append(error)

    thread = Thread(target=run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(0.01)
        assert not failed
        yield address_of(listening)
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
    assert not failed
