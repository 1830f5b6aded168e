"""Take the pictures of docs/page.md from a server that runs: `screenshots.py URL FOLDER`."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

RATED = {"alien 1979": 5, "terminator 2": 5, "star wars": 4, "fargo": 5, "sleepless": 2, "babe": 4}
DESK = {"viewport": {"width": 1440, "height": 940}}
PHONE = {
    "viewport": {"width": 360, "height": 780},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}


def visited(browser: Browser, url: str, **options: Any) -> Page:
    """The page, with some films rated."""
    page = browser.new_context(reduced_motion="reduce", **options).new_page()
    page.goto(url)
    for text, stars in RATED.items():
        page.fill("#search", text)
        page.locator("#found [role=option]").first.click()
        page.locator("#rated li").first.locator(f"input[value='{stars}']").click()
        page.locator("#suggestions[aria-busy=false]").wait_for()
    return page


def explained(page: Page, *, depth: int = 1) -> Page:
    """The same with the evidence of the second film in the list."""
    page.locator("#suggestions button").nth(1).click()
    page.locator("#verdict[aria-busy=false]").wait_for()
    page.locator(f"input[name=depth][value='{depth}']").check()
    page.locator("#verdict[aria-busy=false]").wait_for()
    return page


def taken(page: Page, path: Path) -> None:
    """Take a picture, with the pointer and the focus out of sight, once the figures are in."""
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(1, 1)
    page.wait_for_timeout(2000)
    page.screenshot(path=path)
    page.context.close()


def main(url: str, folder: Path) -> None:
    """Take all pictures."""
    script = Path(__file__).with_name("chromium.sh")
    chromium = subprocess.run([script], check=True, capture_output=True, text=True).stdout.strip()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        taken(explained(visited(browser, url, **DESK)), folder / "page-light.png")
        deep = visited(browser, url, color_scheme="dark", **DESK)
        taken(explained(deep, depth=3), folder / "page-dark.png")
        less = explained(visited(browser, url, **DESK))
        less.locator("#drawing [role=switch]").first.click()
        less.locator("#verdict .difference").wait_for()
        taken(less, folder / "page-without.png")
        listed = visited(browser, url, **PHONE)
        listed.evaluate("document.getElementById('list').scrollIntoView()")
        taken(listed, folder / "page-phone.png")
        taken(explained(visited(browser, url, **PHONE)), folder / "page-phone-chain.png")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
