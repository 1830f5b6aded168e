"""A browser, a server, and pages that must keep quiet."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.chromium import running_browser
from tests.service.web.site import Site

Visit = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture(scope="session")
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
        self.server_may_be_gone = False

    def over(self, page: Page) -> None:
        page.on("console", lambda message: self._heard(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._asked(request.url))

    def _heard(self, kind: str, text: str) -> None:
        gone = self.server_may_be_gone and "Failed to load resource" in text
        if kind in ("error", "warning") and not gone:
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


@pytest.fixture
def visit(browser: Browser, site: Site, watch: Watch) -> Iterator[Visit]:
    """Opens the page as someone who has never been there; takes the options of a context."""
    contexts = []

    def visiting(**options: Any) -> Page:
        context = browser.new_context(**({"viewport": {"width": 1400, "height": 900}} | options))
        contexts.append(context)
        page = context.new_page()
        watch.over(page)
        page.goto(site.url)
        page.locator("#suggestions li").first.wait_for()
        page.locator("#popular li").first.wait_for()
        return page

    yield visiting
    for context in contexts:
        context.close()
