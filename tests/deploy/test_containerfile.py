import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

CONTAINERFILE = Path(__file__).parents[2] / "deploy" / "Containerfile"


class _Ready(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health/ready" else 404)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), _Ready) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_the_health_check_asks_the_port_that_the_service_has(port: int) -> None:
    joined = CONTAINERFILE.read_text().replace("\\\n", "")
    (command,) = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", joined, re.MULTILINE)
    _, *arguments = json.loads(command)
    for asked, status in ((port, 0), (1, 1)):
        environment = {**os.environ, "EVICHAIN_PORT": str(asked)}
        found = subprocess.run(
            [sys.executable, *arguments], env=environment, stderr=subprocess.DEVNULL, check=False
        )
        assert found.returncode == status
