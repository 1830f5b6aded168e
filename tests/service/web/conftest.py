"""A browser, a server, and pages that must keep quiet."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.chromium import running_browser
from tests.service.web.site import Site, titles

Visit = Callable[..., Page]


# Only as long as its tests: a browser has an event loop that runs, which others must not meet.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    started = Site(tmp_path_factory.mktemp("site"))
    try:
        yield started
    finally:
        started.stop()


class Watch:
    """What no page may do: complain, fail, or ask anyone but its own server."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.complaints: list[str] = []
        self.strangers: list[str] = []
        self.server_may_refuse = False

    def over(self, page: Page) -> None:
        page.on("console", lambda message: self._heard(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._asked(request.url))

    def _heard(self, kind: str, text: str) -> None:
        told = self.server_may_refuse and "Failed to load resource" in text
        if kind in ("error", "warning") and not told:
            self.complaints.append(text)

    def _asked(self, url: str) -> None:
        if not url.startswith(self.origin):
            self.strangers.append(url)


@pytest.fixture
def watch(site: Site) -> Iterator[Watch]:
    watching = Watch(site.url)
    yield watching
    assert not watching.complaints
    assert not watching.strangers


def remembered(site: Site, ratings: Mapping[str, int]) -> Any:
    """What the browser of someone with ratings has stored."""
    rated = [
        (str(item), title, ratings[name])
        for item, title in titles().items()
        for name in ratings
        if title.startswith(name)
    ]
    saved = {"name": "evichain", "value": json.dumps({"ratings": rated})}
    return {"origins": [{"origin": site.url.rstrip("/"), "localStorage": [saved]}]}


@pytest.fixture
def visit(browser: Browser, site: Site, watch: Watch) -> Iterator[Visit]:
    """Opens the page as someone new, or who had rated films before; takes a context's options."""
    contexts = []

    def visiting(ratings: Mapping[str, int] | None = None, **options: Any) -> Page:
        viewport = {"width": 1400, "height": 900}
        state = remembered(site, ratings or {})
        context = browser.new_context(**({"viewport": viewport, "storage_state": state} | options))
        contexts.append(context)
        page = context.new_page()
        watch.over(page)
        page.goto(site.url)
        if not watch.server_may_refuse:
            page.locator("#suggestions li").first.wait_for()
            page.locator("#popular li").first.wait_for()
        return page

    yield visiting
    for context in contexts:
        context.close()
