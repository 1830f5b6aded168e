"""The page in a real browser, on a real server: what someone does who has never seen it."""

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from tests.service.web.actions import FIVE, estimate, find, listed, rate, row, wait_for_list
from tests.service.web.conftest import Visit, Watch
from tests.service.web.site import HOSTILE, Site

from evichain.ratings.scale import Scale
from evichain.service.http import Key, Keys, KeyScope, ServiceSettings


def test_a_newcomer_rates_five_films_and_the_list_follows(visit: Visit) -> None:
    page = visit()
    expect(page.locator("#lead")).to_contain_text("what people like in general")
    lists = [listed(page)]
    for title, stars in FIVE.items():
        find(page, title.lower(), title)
        rate(page, title, stars)
    lists.append(listed(page))
    assert lists[0] != lists[1]
    # Someone who likes comets gets comets.
    assert all(title.startswith("Comet") for title in lists[1][:5])
    expect(page.locator("#count")).to_have_text("5")
    expect(page.locator("#suggestions .reason").first).to_have_text(
        re.compile(r"^because you gave .*Comet .* [45] stars$")
    )
    expect(page.locator("#suggestions .range").first).to_be_visible()


def test_a_rating_can_be_changed_and_removed(visit: Visit) -> None:
    page = visit(ratings=FIVE)
    liked = listed(page)
    for film in ("Comet of the North", "Comet 06", "Comet 09"):
        rate(page, film, 1)
    rate(page, "Harbour 01", 5)
    assert listed(page) != liked
    row(page, "Harbour 01").get_by_role("button", name="Remove").click()
    expect(page.locator("#count")).to_have_text("4")
    wait_for_list(page)
    expect(page.locator("#rated")).not_to_contain_text("Harbour 01")


def test_switching_evidence_off_changes_the_estimate_and_the_list(visit: Visit) -> None:
    page = visit(ratings=FIVE)
    before = page.locator("#suggestions").inner_text()
    page.locator("#suggestions button").first.click()
    switches = page.locator("#drawing").get_by_role("switch")
    expect(switches).to_have_count(5)
    expect(page.locator("#verdict")).to_have_attribute("aria-busy", "false")
    whole = estimate(page)
    switches.first.click()
    expect(switches.first).to_have_attribute("aria-checked", "false")
    expect(page.locator("#verdict .difference")).not_to_have_text("±0")
    expect(page.locator("#verdict .from")).to_contain_text(f"{whole:.2f}")
    expect(page.locator("#verdict")).to_have_attribute("aria-busy", "false")
    told = float(page.locator("#verdict .difference").inner_text().replace("\N{MINUS SIGN}", "-"))
    assert told == pytest.approx(estimate(page) - whole, abs=1e-6)
    expect(page.locator("#without")).to_be_visible()
    wait_for_list(page)
    assert page.locator("#suggestions").inner_text() != before
    page.get_by_role("button", name="Count everything again").click()
    expect(page.locator("#verdict .difference")).to_have_count(0)
    expect(page.locator("#verdict strong")).to_have_text(f"{whole:.2f}")
    expect(switches.first).to_have_attribute("aria-checked", "true")


def test_the_chain_tells_names_and_numbers_and_goes_deeper(visit: Visit) -> None:
    page = visit(ratings=FIVE)
    page.locator("#suggestions button").first.click()
    nodes = page.locator("#drawing .node")
    page.locator("#drawing .node.user", has_text=re.compile(r"^#\d+$")).first.hover()
    expect(page.locator("#readout")).to_have_text(
        re.compile(r"^Person #\d+ gave Comet .* stars?: .*estimate would be")
    )
    shallow = nodes.count()
    for depth in ("2", "3"):
        page.get_by_role("radio", name=depth, exact=True).check()
        expect(page.locator("#drawing .edge[d*='C']").first).to_be_attached()
    expect(page.locator("#drawing .node.stored").first).to_be_visible()
    assert nodes.count() > shallow
    widths = page.locator("#drawing .edge").evaluate_all(
        "edges => edges.map((edge) => Number(edge.getAttribute('stroke-width')))"
    )
    assert max(widths) > 2 * min(widths)


def test_everything_can_be_done_with_the_keyboard(visit: Visit) -> None:
    page = visit(ratings={"Harbour 01": 1})
    keys = page.keyboard
    page.get_by_role("combobox").focus()
    keys.type("waltz")
    expect(page.get_by_role("option").first).to_have_attribute("aria-selected", "true")
    keys.press("ArrowDown")
    chosen = page.locator("#found [aria-selected=true] span").inner_text()
    keys.press("Enter")
    # The stars of the film have the focus: arrows and digits rate.
    keys.press("ArrowRight")
    keys.press("5")
    expect(page.locator("#rated li").first).to_contain_text(chosen[:8])
    expect(page.locator("#rated li").first.get_by_role("radio", name="5 stars")).to_be_checked()
    keys.press("ArrowLeft")
    expect(page.locator("#rated li").first.get_by_role("radio", name="4 stars")).to_be_focused()
    wait_for_list(page)
    page.locator("#suggestions button").first.focus()
    keys.press("Enter")
    expect(page.locator("#close")).to_be_focused()
    switch = page.locator("#drawing").get_by_role("switch").first
    expect(switch).to_be_visible()
    keys.press("Tab")
    keys.press("Tab")
    expect(switch).to_be_focused()
    keys.press("Space")
    expect(switch).to_have_attribute("aria-checked", "false")
    expect(switch).to_be_focused()
    keys.press("ArrowRight")
    expect(page.locator("#readout")).to_contain_text("Person")
    keys.press("ArrowLeft")
    keys.press("Enter")
    expect(switch).to_have_attribute("aria-checked", "true")
    keys.press("Escape")
    expect(page.locator("#why-body")).to_be_hidden()
    expect(page.locator("#suggestions button").first).to_be_focused()
    page.locator("#rated input:checked").first.focus()
    keys.press("Delete")
    expect(page.locator("#count")).to_have_text("1")
    expect(page.locator("#rated input:checked")).to_be_focused()
    keys.press("Delete")
    expect(page.locator("#mine")).to_be_hidden()
    expect(page.get_by_role("combobox")).to_be_focused()


def test_a_film_that_is_offered_keeps_the_focus_while_it_is_rated(visit: Visit) -> None:
    page = visit()
    page.locator("#popular input").first.focus()
    for stars in (2, 3, 4):
        page.keyboard.press("ArrowRight")
        expect(page.locator("#rated").get_by_role("radio", name=f"{stars} stars")).to_be_focused()


def test_search_can_be_left_and_says_when_there_is_nothing(visit: Visit) -> None:
    page = visit()
    field = page.get_by_role("combobox")
    field.fill("no such film")
    expect(page.locator("#found")).to_contain_text("No film of that name")
    page.keyboard.press("Escape")
    expect(page.locator("#found")).to_be_hidden()
    expect(field).to_have_attribute("aria-expanded", "false")


def test_a_phone_needs_no_sideways_scrolling_and_has_room_for_fingers(visit: Visit) -> None:
    page = visit(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    rate(page, "Harbour 01", 5)
    expect(page.locator("#peek")).to_be_in_viewport()
    page.locator("#suggestions button").first.tap()
    expect(page.locator("#drawing").get_by_role("switch").first).to_be_in_viewport()
    page.get_by_role("radio", name="2", exact=True).check()
    expect(page.locator("#drawing .edge[d*='C']").first).to_be_attached()
    expect(page.locator("#verdict")).to_have_attribute("aria-busy", "false")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    small = page.locator("button:visible, .giving label:visible, .node[role=switch]").evaluate_all(
        """targets => targets
            .map((target) => [target.outerHTML.slice(0, 80), target.getBoundingClientRect()])
            .filter(([, { width, height }]) => width < 44 || height < 44)
            .map(([html, { width, height }]) => `${html} ${width} ${height}`)"""
    )
    assert not small


def test_a_hostile_title_stays_text(visit: Visit) -> None:
    page = visit()
    title = HOSTILE.removesuffix(" (1999)")
    expect(page.locator("#popular")).to_contain_text(title)
    page.get_by_role("combobox").fill("onerror")
    expect(page.get_by_role("option")).to_contain_text(title)
    page.keyboard.press("Escape")
    rate(page, "onerror", 5)
    rate(page, "Harbour 01", 1)
    page.locator("#suggestions button").first.click()
    node = page.locator("#drawing").get_by_role("switch", name="onerror")
    node.hover()
    expect(page.locator("#readout")).to_contain_text(title)
    assert page.locator("img[src=x], b").count() == 0
    assert page.evaluate("window.harmed") is None


def test_the_server_may_go_and_come_back(visit: Visit, watch: Watch, site: Site) -> None:
    page = visit()
    rate(page, "Harbour 01", 5)
    before = listed(page)
    watch.server_may_refuse = True
    site.stop()
    try:
        row(page, "Waltz 02").get_by_role("radio", name="5 stars").click()
        expect(page.locator("#trouble")).to_contain_text("Trying again")
        expect(page.locator("#suggestions li")).to_have_count(len(before))
    finally:
        site.start()
    expect(page.locator("#trouble")).to_be_hidden(timeout=30_000)
    expect(page.locator("#lead")).to_contain_text("From 2 ratings")
    wait_for_list(page)


def test_a_server_with_keys_asks_for_one(visit: Visit, watch: Watch, site: Site) -> None:
    watch.server_may_refuse = True
    site.stop()
    site.start(ServiceSettings(keys=Keys([Key.of("page", KeyScope.READ, "a-key-for-the-page")])))
    try:
        page = visit()
        page.get_by_label("Key").fill("a-key-for-the-page")
        page.get_by_role("button", name="Use it").click()
        expect(page.locator("#suggestions li").first).to_be_visible()
        expect(page.locator("#trouble")).to_be_hidden()
    finally:
        site.stop()
        site.start()


def test_an_error_is_told_until_it_is_over(visit: Visit, watch: Watch, site: Site) -> None:
    watch.server_may_refuse = True
    site.stop()
    site.start(ServiceSettings(keys=Keys([Key.of("page", KeyScope.READ, "a-key-for-the-page")])))
    try:
        page = visit()
        page.get_by_label("Key").fill("a-key-for-the-page")
        page.get_by_role("button", name="Use it").click()
        rate(page, "Harbour 01", 5)
        page.get_by_role("button", name="Keep my ratings").click()
        expect(page.locator("#trouble")).to_contain_text("could not be kept")
        # Who may not write is a guest again, and may ask again later.
        expect(page.locator("#kept-where")).to_contain_text("Nothing is stored on the server")
        expect(page.get_by_role("button", name="Keep my ratings")).to_be_visible()
        assert page.evaluate("JSON.parse(localStorage.getItem('evichain')).user") is None
        # Answers to other questions do not wipe it away.
        page.get_by_role("combobox").fill("waltz")
        expect(page.get_by_role("option").first).to_be_visible()
        page.keyboard.press("Escape")
        page.locator("#suggestions button").first.click()
        expect(page.locator("#verdict")).to_have_attribute("aria-busy", "false")
        expect(page.locator("#verdict strong")).to_be_visible()
        expect(page.locator("#trouble")).to_contain_text("could not be kept")
        rate(page, "Waltz 02", 5)
        expect(page.locator("#trouble")).to_be_hidden()
    finally:
        site.stop()
        site.start()


def test_a_server_that_asks_for_patience_gets_it(visit: Visit, watch: Watch, site: Site) -> None:
    watch.server_may_refuse = True
    site.stop()
    site.start(ServiceSettings(rate=1, burst=40))
    try:
        page = visit()
        page.evaluate(
            """() => {
                window.said = "";
                const place = document.getElementById("trouble-what");
                new MutationObserver(() => (window.said += place.textContent))
                    .observe(place, { childList: true });
            }"""
        )
        page.locator("#popular input").first.focus()
        for _ in range(20):
            page.keyboard.press("ArrowRight", delay=70)
            page.keyboard.press("ArrowLeft", delay=70)
        expect(page.locator("#trouble")).to_be_hidden(timeout=30_000)
        assert "patience" in page.evaluate("window.said")
        wait_for_list(page)
        expect(page.locator("#lead")).to_contain_text("From 1 rating of yours")
    finally:
        site.stop()
        site.start()


def test_answers_that_come_late_are_not_shown(visit: Visit) -> None:
    page = visit()
    rate(page, "Harbour 01", 5)
    # The next answer is held back until a newer question has been answered.
    page.evaluate(
        """() => {
            const asked = window.fetch;
            let held;
            window.held = new Promise((go) => (held = go));
            window.fetch = async (address, options) => {
                const answer = await asked(address, { ...options, signal: undefined });
                if (String(address).endsWith("recommendations")) {
                    window.fetch = asked;
                    await new Promise((go) => held((window.release = go)));
                }
                return answer;
            };
        }"""
    )
    row(page, "Waltz 02").get_by_role("radio", name="1 star").click()
    page.evaluate("window.held.then(() => null)")
    rate(page, "Waltz 05", 5)
    newest = listed(page)
    page.evaluate("window.release()")
    page.evaluate("new Promise((go) => setTimeout(go, 100))")
    assert listed(page) == newest
    expect(page.locator("#lead")).to_contain_text("From 3 ratings")


def test_a_guest_leaves_nothing_on_the_server_and_is_known_after_a_reload(visit: Visit) -> None:
    page = visit()
    changes: list[str] = []
    page.on("request", lambda one: changes.append(one.method))
    rate(page, "Harbour 01", 5)
    rate(page, "Waltz 02", 1)
    before = listed(page)
    assert not {"PUT", "DELETE"} & set(changes)
    page.reload()
    expect(page.locator("#count")).to_have_text("2")
    page.locator("#suggestions li").first.wait_for()
    assert listed(page) == before


def test_ratings_are_kept_on_request_and_erased_again(visit: Visit, site: Site) -> None:
    page = visit()
    rate(page, "Harbour 01", 5)
    page.get_by_role("button", name="Keep my ratings").click()
    expect(page.locator("#kept-where")).to_contain_text("are kept on the server")
    rate(page, "Waltz 02", 2)
    rate(page, "Harbour 01", 4)
    expect(page.locator("#kept-where")).to_contain_text("are kept on the server")
    user = page.evaluate("JSON.parse(localStorage.getItem('evichain')).user")
    assert re.fullmatch(r"guest-[0-9a-f]{32}", user)
    assert site.stored(user) == {1: 4.0, 2: 2.0}
    page.evaluate("user => localStorage.setItem('evichain', JSON.stringify({ user }))", user)
    page.reload()
    expect(page.locator("#count")).to_have_text("2")
    row(page, "Waltz 02").get_by_role("button", name="Remove").click()
    expect(page.locator("#kept-where")).to_contain_text("are kept on the server")
    assert site.stored(user) == {1: 4.0}
    page.get_by_role("button", name="Erase everything").click()
    expect(page.locator("#mine")).to_be_hidden()
    assert site.stored(user) == {}
    assert page.evaluate("JSON.parse(localStorage.getItem('evichain')).user") is None


def test_figures_are_those_of_the_model(visit: Visit) -> None:
    page = visit()
    figures = page.locator("#figures")
    expect(figures).to_contain_text("60 films")
    expect(figures).to_contain_text("does not grow")
    expect(figures).to_contain_text("99 % within")


def test_motion_is_left_out_for_those_who_want_none(visit: Visit) -> None:
    page: Page = visit(reduced_motion="reduce")
    page.evaluate(
        """() => {
            window.moved = 0;
            const animate = Element.prototype.animate;
            Element.prototype.animate = function (...how) {
                window.moved++;
                return animate.apply(this, how);
            };
        }"""
    )
    rate(page, "Harbour 01", 5)
    page.locator("#suggestions button").first.click()
    page.locator("#drawing").get_by_role("switch").first.click()
    expect(page.locator("#verdict .difference")).to_be_visible()
    assert page.evaluate("window.moved") == 0


def test_find_a_film_by_part_of_its_name(visit: Visit) -> None:
    page = visit()
    find(page, "north com", "The Comet of the North")
    expect(row(page, "The Comet of the North").get_by_role("radio").first).to_be_focused()


def test_what_can_be_given_is_on_the_scale(visit: Visit) -> None:
    page = visit()
    low, high = (float(np.float32(end)) for end in (0.333, 3.7))
    given = page.evaluate(
        "async (span) => new (await import('./static/stars.js')).Scale(span).levels",
        {"low": low, "high": high},
    )
    assert (given[0], given[-1]) == (low, 3.7)
    scale = Scale.of(np.array([low, high], np.float32))
    assert all(map(scale.holds, given))
