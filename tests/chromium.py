"""A Chromium for the tests of the page: one that is installed, never one that is downloaded."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

SCRIPT = Path(__file__).parents[1] / "scripts" / "chromium.sh"


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A browser as long as this lasts; skips the test where there can be none.

    Where `CI` or `EVICHAIN_REQUIRE_CHROMIUM` is set, the test fails instead.
    """
    found = subprocess.run([SCRIPT], capture_output=True, text=True)
    if found.returncode:
        required = os.environ.get("CI") or os.environ.get("EVICHAIN_REQUIRE_CHROMIUM")
        (pytest.fail if required else pytest.skip)(found.stderr.strip())
    # Its sandbox refuses to run as root.
    arguments = [] if os.geteuid() else ["--no-sandbox"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found.stdout.strip(), args=arguments, handle_sigint=False
        )
        try:
            yield browser
        finally:
            browser.close()
