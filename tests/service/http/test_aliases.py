"""Explanations do not tell strangers who other people are."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from tests.service.http.conftest import PATIENT, Caller
from tests.service.http.test_keys import KEYS, READ, WRITE

from evichain.evidence.trace import Piece, Trace
from evichain.ratings.side import Side
from evichain.service.http import ServiceSettings, create_app
from evichain.service.http.aliases import Aliases
from evichain.service.live.store_follower import StoreFollower

PATH = "/v1/users/3/explanations/5?pieces=20&depth=3"


def people(piece: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if piece["side"] == "user":
        yield piece["id"], piece["title"]
    for part in piece["pieces"]:
        yield from people(part)


def named(trace: dict[str, Any]) -> set[tuple[str, str]]:
    """Everyone in a trace but the asker."""
    found = {*people(trace["user"]), *people(trace["item"])}
    return found - {(trace["user"]["id"], trace["user"]["title"])}


def test_who_may_only_read_sees_aliases(live: StoreFollower) -> None:
    app = create_app(live, ServiceSettings(keys=KEYS, timeout=600))
    reader, writer = (Caller(app, {"X-API-Key": key}) for key in (READ, WRITE))
    known = named(writer("GET", PATH).json())
    users = {str(user) for user in range(60)}
    assert known
    assert {identifier for identifier, _ in known} <= users
    shown = named(reader("GET", PATH).json())
    assert len(shown) == len(known)
    assert all(identifier == title and title[0] == "#" for identifier, title in shown)
    # The asker is known already, and what stands in the trees is the same.
    asked = reader("GET", PATH).json()
    assert (asked["user"]["id"], asked["user"]["title"]) == ("3", "3")
    assert asked["estimate"] == writer("GET", PATH).json()["estimate"]
    for kind in ("text", "svg"):
        words = reader("GET", f"{PATH}&format={kind}").text
        assert any(title in words for _, title in shown)
        assert not any(f"user {identifier}<" in words for identifier in users - {"3"})


def test_without_keys_there_are_aliases_unless_names_are_wanted(live: StoreFollower) -> None:
    body = {"ratings": [{"item": 1, "rating": 5}], "item": 5}
    shown = named(Caller(create_app(live, PATIENT))("POST", "/v1/explanations", json=body).json())
    assert shown
    assert all(title.startswith("#") for _, title in shown)
    open_ = Caller(create_app(live, ServiceSettings(names=True, timeout=600)))
    assert not any(
        title.startswith("#")
        for _, title in named(open_("POST", "/v1/explanations", json=body).json())
    )


def test_an_alias_stays_with_its_question_only(live: StoreFollower) -> None:
    ask = Caller(create_app(live, PATIENT))
    first, again = (named(ask("GET", PATH).json()) for _ in range(2))
    assert first == again
    other = named(ask("GET", PATH.replace("users/3", "users/4")).json())
    assert first != other
    elsewhere = named(Caller(create_app(live, ServiceSettings(timeout=600)))("GET", PATH).json())
    assert first != elsewhere


def piece(side: Side, identifier: int, *pieces: Piece) -> Piece:
    return Piece(side, identifier, str(identifier), 0, None, False, 0.0, pieces=pieces)


@pytest.mark.parametrize("secret", ["a", "b", "c", "d"])
def test_an_alias_stays_when_evidence_is_left_out_or_in_another_order(secret: str) -> None:
    def names(people: Iterable[int]) -> dict[int, str]:
        order = list(people)
        item = piece(Side.ITEM, 9, *(piece(Side.USER, number) for number in order))
        found = Aliases(secret).applied(Trace(piece(Side.USER, 10**6), item, 3.0))
        return dict(zip(order, (one.title for one in found.item.pieces), strict=True))

    everyone = names(range(100))
    assert names(reversed(range(100))) == everyone
    assert names(range(1, 100, 2)).items() <= everyone.items()
    assert names(range(50)).items() <= everyone.items()


def test_everyone_has_an_alias_of_their_own() -> None:
    crowd = [piece(Side.USER, number) for number in range(1200)]
    twice = piece(Side.ITEM, 7, piece(Side.USER, 5), piece(Side.USER, 1))
    found = Aliases("secret").applied(
        Trace(piece(Side.USER, 5, twice), piece(Side.ITEM, 9, *crowd), 3.0)
    )
    names = [one.title for one in found.item.pieces]
    assert len(set(names)) == len(crowd)
    assert names[5] == "5"
    assert [one.title for one in found.user.pieces[0].pieces] == ["5", names[1]]
