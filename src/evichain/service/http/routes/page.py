"""The web page and its files."""

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse, Response

from evichain.service.http.problems import ProblemError

FILES = Path(__file__).parents[2] / "web"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-cache",
}


def router(folder: Path = FILES) -> APIRouter:
    """The routes of the page, for the files that exist when the server starts."""
    routes = APIRouter(include_in_schema=False)
    root = folder.resolve()
    # Looked up by name, so that no path leads out of the folder.
    files = {
        path.relative_to(root).as_posix(): path
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.suffix in _KINDS
    }

    def served(name: str) -> Response:
        path = files.get(name)
        if path is None:
            raise ProblemError(404, "No such file.")
        return FileResponse(path, media_type=_KINDS[path.suffix], headers=_HEADERS)

    @routes.get("/")
    async def page() -> Response:
        """The page."""
        return served("index.html")

    @routes.get("/static/{name:path}")
    async def static(name: str) -> Response:
        """A file of the page."""
        return served(name)

    return routes
