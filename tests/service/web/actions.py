"""What visitors do, as often as tests need it."""

from playwright.sync_api import Locator, Page, expect
from tests.service.web.site import titles

FIVE = {"Comet of the North": 5, "Comet 06": 5, "Comet 09": 4, "Harbour 01": 1, "Waltz 02": 2}
"""The ratings of someone who likes comets."""


def row(page: Page, title: str) -> Locator:
    """The row in which a film is rated."""
    return page.locator(".films li").filter(has_text=title)


def find(page: Page, text: str, title: str) -> None:
    """Search for a film and choose it."""
    page.get_by_role("combobox", name="Find a film").fill(text)
    page.get_by_role("option").filter(has_text=title).click()
    expect(row(page, title)).to_be_visible()


def rate(page: Page, title: str, stars: int) -> None:
    """Click on stars."""
    row(page, title).get_by_role("radio", name=f"{stars} star").click()
    expect(row(page, title).get_by_role("radio", name=f"{stars} star")).to_be_checked()
    wait_for_list(page)


def wait_for_list(page: Page) -> None:
    """Wait for the list to be up to date."""
    expect(page.locator("#suggestions")).to_have_attribute("aria-busy", "false")


def listed(page: Page) -> list[str]:
    """The titles recommended, in order."""
    wait_for_list(page)
    items = page.locator("#suggestions button").evaluate_all(
        "all => all.map((one) => one.dataset.item)"
    )
    return [titles()[int(item)] for item in items]


def estimate(page: Page) -> float:
    """The estimate that the panel tells."""
    return float(page.locator("#verdict strong").inner_text())
