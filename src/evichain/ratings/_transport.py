"""Downloads of single files: of URLs by requests, of Python packages by pypi-simple."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import requests
from pypi_simple import (
    PYPI_SIMPLE_ENDPOINT,
    DigestMismatchError,
    NoDigestsError,
    NoSuchProjectError,
    PyPISimple,
    UnsupportedContentTypeError,
    UnsupportedRepoVersionError,
)

from evichain.errors import DownloadError
from evichain.progress import Advance, progress

# To connect, short because there may be another source; and to read.
TIMEOUT = (5.0, 30.0)
_PIECE = 1 << 18
_LARGEST = 4 << 30
_INDEX_FAILURES: dict[type[Exception], str] = {
    NoSuchProjectError: "the index has no such package",
    DigestMismatchError: "its digest is not the one the index gives",
    NoDigestsError: "the index gives no digest",
    UnsupportedContentTypeError: "the index answers in an unknown format",
    UnsupportedRepoVersionError: "the index answers in an unknown format",
}
_FAILURES: tuple[type[Exception], ...] = (requests.RequestException, *_INDEX_FAILURES)


@contextmanager
def _session() -> Iterator[requests.Session]:
    """A session that trusts the certificates that pip trusts; its failures are `DownloadError`s.

    requests itself only reads REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE.
    """
    with requests.Session() as session:
        authorities = os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE")
        if authorities and Path(authorities).exists():
            session.verify = authorities
        try:
            yield session
        except _FAILURES as error:
            raise DownloadError(_reason(error)) from error


def _reason(error: Exception) -> str:
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP status {error.response.status_code}"
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not trusted"
    if isinstance(error, requests.ConnectionError):
        return "cannot be reached"
    # Not the error's own message: it may have the index's address, with a password in it.
    return _INDEX_FAILURES.get(type(error), f"failed with {type(error).__name__}")


def download_file(url: str, target: Path) -> None:
    """Download an address into a file; an incomplete or endless answer is an error."""
    with _session() as session, session.get(url, stream=True, timeout=TIMEOUT) as answer:
        answer.raise_for_status()
        length = answer.headers.get("Content-Length")
        total = int(length) if length is not None and length.isdigit() else None
        name = url.rsplit("/", 1)[-1]
        done = 0
        with progress(f"Downloading {name}", total, unit="B") as advance, target.open("wb") as sink:
            for piece in answer.iter_content(_PIECE):
                done += len(piece)
                if done > _LARGEST:
                    raise DownloadError(f"more than {_LARGEST >> 30} GiB", where=url)
                sink.write(piece)
                advance(len(piece))
    if total is not None and done < total:
        raise DownloadError(f"ended after {done} of {total} bytes", where=url)


def download_package(project: str, filename: str, target: Path) -> None:
    """Download a file of a published package, verified by the index's digest."""
    endpoint = os.environ.get("PIP_INDEX_URL") or PYPI_SIMPLE_ENDPOINT
    with _session() as session, PyPISimple(endpoint, session=session) as index:
        page = index.get_project_page(project, timeout=TIMEOUT)
        package = next((p for p in page.packages if p.filename == filename), None)
        if package is None:
            raise DownloadError(f"the index has no {filename}", where=project)
        index.download_package(
            package,
            target,
            progress=lambda total: _Tracker(f"Downloading {filename}", total),
            timeout=TIMEOUT,
        )


class _Tracker:
    """Our progress bar, in the form that pypi-simple takes."""

    def __init__(self, description: str, total: int | None) -> None:
        self._context: AbstractContextManager[Advance] = progress(description, total, unit="B")

    def __enter__(self) -> "_Tracker":
        self._advance = self._context.__enter__()
        return self

    def __exit__(self, *error: object) -> bool | None:
        return self._context.__exit__(*error)  # type: ignore[arg-type]

    def update(self, increment: int) -> None:
        self._advance(increment)
