"""Renderings say what the trace says, and nothing in a title breaks them."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evichain.evidence.rendering.words import plain, shortened, width
from evichain.evidence.trace import Piece, Trace
from evichain.ratings.side import Side

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "Evil\r\n├─ fake\x1b[2J]]></svg><script>alert(1)</script>&\x00\ud800\ufffe\u202e" + "W" * 90
)


def example(title: str = "Fargo (1996)") -> Trace:
    proto = Piece(Side.USER, 405, "405", 2, 5.0, True, 0.3, own=0.3)
    pieces = (
        Piece(Side.ITEM, 50, "Star Wars (1977)", 1, 5.0, True, 0.61, own=0.61),
        Piece(Side.ITEM, 100, title, 1, 3.5, False, -0.25, -0.55, (proto,)),
    )
    user = Piece(Side.USER, 13, "13", 0, None, False, 1.2, 0.0, pieces, 35, 0.84)
    item = Piece(Side.ITEM, 8, "Babe (1995)", 0, None, True, 2.67, own=2.67)
    return Trace(user, item, 3.87)


def impossible() -> Trace:
    user = Piece(Side.USER, 13, "13", 0, None, False, 0.0)
    item = Piece(Side.ITEM, 8, "Babe (1995)", 0, None, False, 0.0)
    return Trace(user, item, 3.53, "no chain of evidence from item 8 to a prototype " * 5)


def test_text() -> None:
    assert example().text().splitlines() == [
        "user 13 would rate Babe (1995) 3.87",
        "                             rating   adds",
        "├─ ◇ user 13                         +1.20",
        "│  ├─ ◆ Star Wars (1977)          5  +0.61",
        "│  ├─ ◇ Fargo (1996)            3.5  -0.25",
        "│  │  ├─ ◆ user 405               5  +0.30",
        "│  │  └─ the rating itself           -0.55",
        "│  └─ … and 35 more (+0.84)",
        "└─ ◆ Babe (1995)                     +2.67",
        "◆ prototype, its embedding stored   ◇ generated from its evidence",
        "The contributions add up to the estimate: 1.20 + 2.67 = 3.87.",
    ]


def test_a_guest_is_you() -> None:
    guest = replace(example().user, id="you", title="you")
    lines = replace(example(), user=guest).text().splitlines()
    assert lines[0] == "you would rate Babe (1995) 3.87"
    assert lines[2].split() == ["├─", "◇", "you", "+1.20"]


def test_text_without_a_chain_gives_the_reason_and_no_contributions() -> None:
    text = impossible().text()
    assert text.splitlines()[0] == "user 13 would rate Babe (1995) 3.53"
    assert "The estimate is only a mean or a prior: no chain" in text
    assert "0.00" not in text
    assert max(map(width, text.splitlines())) <= 100


def test_thin_evidence_gets_more_decimals() -> None:
    part = Piece(Side.ITEM, 1, "Heat", 1, 5.0, True, 0.0123, own=0.0123)
    user = Piece(Side.USER, 1, "1", 0, None, False, 0.0123, pieces=(part,))
    text = replace(example(), user=user).text()
    assert "+0.012" in text


def deep(below: float) -> Trace:
    """Evidence behind a piece of the user's, and what it adds."""
    proto = Piece(Side.USER, 405, "405", 2, 5.0, True, below, own=below)
    part = Piece(Side.ITEM, 1, "Heat", 1, 5.0, False, 0.31, 0.31, (proto,), 3, -0.00003)
    user = Piece(Side.USER, 13, "13", 0, None, False, 0.31, pieces=(part,))
    return replace(example(), user=user)


def test_each_depth_has_the_decimals_that_it_takes() -> None:
    assert deep(-0.004).text().splitlines()[1:-2] == [
        "                                rating     adds",
        "├─ ◇ user 13                            +0.31",
        "│  └─ ◇ Heat                         5  +0.31",
        "│     ├─ ◆ user 405                  5  -0.0040",
        "│     ├─ the rating itself              +0.3100",
        "│     └─ … and 3 more (0.0000)",
        "└─ ◆ Babe (1995)                        +2.67",
    ]
    assert "\N{MINUS SIGN}0.0040" in words_of(deep(-0.004).svg())


def test_what_is_too_small_to_be_seen_has_no_sign() -> None:
    words = words_of(deep(-0.00004).svg())
    assert words.count("0.0000") == 2
    assert not {"+0.0000", "\N{MINUS SIGN}0.0000"} & set(words)


def test_evidence_that_is_not_shown_is_counted() -> None:
    pruned = example().pruned(depth=1, pieces=9)
    assert "Fargo (1996) · from 1 rating" in pruned.text()
    assert "Fargo (1996) · 1 rating" in words_of(pruned.svg())


def test_items_without_titles_and_other_kinds_of_contribution() -> None:
    trace = replace(example("100"), kind="leave-one-out")
    assert "◇ item 100 " in trace.text()
    assert "leave-one-out contributions" in trace.text()


@given(st.text() | st.just(HOSTILE))
def test_no_title_breaks_the_tree(title: str) -> None:
    lines = example(title).text().splitlines()
    assert len(lines) == 11
    assert all(width(line) <= 100 for line in lines)
    assert all(line[:1] in "├│└" for line in lines[2:9])
    "".join(lines).encode()
    assert all(
        character.isprintable() or character in "\u200c\u200d" for character in "".join(lines)
    )


@given(st.text() | st.just(HOSTILE))
def test_no_title_breaks_the_picture(title: str) -> None:
    picture = example(title).svg()
    root = ET.fromstring(picture)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        *("svg", "title", "desc", "g", "rect", "path", "text", "circle", "line"),
    }
    picture.encode()


@given(st.text(), st.integers(1, 40))
def test_shortened_texts_fit(text: str, columns: int) -> None:
    assert width(shortened(plain(text), columns)) <= columns
    assert plain(plain(text)) == plain(text)


def words_of(picture: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(picture).iter(f"{SVG}text")]


def test_picture_says_what_the_trace_says() -> None:
    words = words_of(example().svg())
    for said in ("3.87", "user 13", "Babe (1995)", "Star Wars (1977)", "5", "+0.61", "3.5"):
        assert said in words
    for said in ("\N{MINUS SIGN}0.25", "… and 35 more", "+0.84", "the rating itself", "user 405"):
        assert said in words


def test_picture_stands_alone_and_speaks() -> None:
    picture = example().svg()
    root = ET.fromstring(picture)
    assert root.get("role") == "img"
    title, desc = root[0], root[1]
    assert (title.tag, desc.tag) == (f"{SVG}title", f"{SVG}desc")
    assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    assert title.text == "user 13 would rate Babe (1995) 3.87"
    assert "Star Wars (1977), rated 5, +0.61" in (desc.text or "")
    assert not re.search(r"href|url\(|@import|<script|<style|<image", picture)
    assert picture.count("http") == 1, "the namespace and no other address"
    assert root[2].tag == f"{SVG}rect", "a background of its own"


def test_long_titles_are_shortened_with_the_whole_in_a_tooltip() -> None:
    title = "Dr. Strangelove or: How I Learned to Stop Worrying and Love the Bomb (1963)"
    picture = example(title).svg()
    assert title not in words_of(picture)
    tooltips = [element.text or "" for element in ET.fromstring(picture).iter(f"{SVG}title")]
    assert any(tooltip.startswith(title) for tooltip in tooltips)


def test_thickness_follows_contribution_and_dashes_follow_sign() -> None:
    root = ET.fromstring(example().svg())
    edges = [path for path in root.iter(f"{SVG}path") if path.get("fill") == "none"][:7]
    thickness = [float(edge.get("stroke-width", 0)) for edge in edges]
    assert thickness == sorted(thickness, reverse=True)
    assert sum(edge.get("stroke-dasharray") is not None for edge in edges) == 2


def test_picture_grows_with_the_tree() -> None:
    def size(trace: Trace) -> tuple[int, int]:
        root = ET.fromstring(trace.svg())
        return int(root.get("width", 0)), int(root.get("height", 0))

    flat, deep = size(example().pruned(depth=0, pieces=0)), size(example())
    assert flat[0] < deep[0]
    assert flat[1] < deep[1]


@pytest.mark.parametrize("trace", [impossible(), example()], ids=["impossible", "possible"])
def test_every_mark_lies_on_the_paper(trace: Trace) -> None:
    root = ET.fromstring(trace.svg())
    wide = float(root.get("width", 0))
    for parent in root.iter(f"{SVG}g"):
        shift = re.match(r"translate\(([\d.]+)", parent.get("transform", "translate(0"))
        across = float(shift.group(1)) if shift else 0.0
        for rect in parent.findall(f"{SVG}rect"):
            left = across + float(rect.get("x", 0))
            assert left >= 0
            assert left + float(rect.get("width", 0)) <= wide


def test_picture_without_a_chain_gives_the_reason() -> None:
    words = words_of(impossible().svg())
    assert "mean or prior" in words
    assert not any("contribution" in line for line in words)
    assert any("no chain of evidence" in line for line in words)
    assert not any("+0" in line for line in words)


def test_notebooks_and_print_show_it() -> None:
    trace = example()
    assert trace._repr_svg_() == trace.svg()
    assert str(trace) == trace.text()
