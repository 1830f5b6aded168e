"""A Chromium for the tests of the page: one that is installed, never one that is downloaded."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright
from tests.programs import place_of


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A browser as long as this lasts; skips the test where there can be none."""
    program = place_of("chromium")
    # Its sandbox refuses to run as root.
    arguments = [] if os.geteuid() else ["--no-sandbox"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=arguments, handle_sigint=False
        )
        try:
            yield browser
        finally:
            browser.close()
