"""The client of gorse works, unchanged, against the compatible routes."""

import asyncio
import json
from collections.abc import Iterator

import httpx
import pytest
from gorse import AsyncGorse, Gorse, GorseException
from pydantic import ValidationError
from tests.service.http.conftest import Caller
from tests.service.http.serving import serving
from tests.service.http.test_hostile import check_problem
from tests.service.http.test_keys import KEYS, READ, WRITE

from evichain.answering import answers
from evichain.answering.asker import find_user, make_guest
from evichain.errors import SettingsError
from evichain.ratings.side import Side
from evichain.service.http import ServiceSettings, create_app
from evichain.service.live.store_follower import StoreFollower


@pytest.fixture
def address(live: StoreFollower) -> Iterator[str]:
    with serving(create_app(live, ServiceSettings(keys=KEYS))) as found:
        yield found


@pytest.fixture
def client(address: str) -> Gorse:
    return Gorse(address, WRITE)


def test_feedback_is_a_rating(client: Gorse, live: StoreFollower) -> None:
    assert client.insert_feedback("star", "eve", "1", "2024-05-17T12:00:00Z", 4) == {
        "RowAffected": 1
    }
    (row,) = live.store.ratings_of(Side.USER, "eve")
    assert row == ("eve", 1, 4.0, 1715947200)
    found = client.list_feedbacks("star", "eve")
    assert found == [
        {
            "FeedbackType": "star",
            "UserId": "eve",
            "ItemId": "1",
            "Value": 4.0,
            "Timestamp": "2024-05-17T12:00:00Z",
            "Comment": "",
        }
    ]
    assert client.delete_feedback("eve", "1") == {"RowAffected": 1}
    assert client.list_feedbacks("star", "eve") == []


def test_values_are_cut_to_the_scale_and_none_is_the_best(
    client: Gorse, live: StoreFollower
) -> None:
    client.insert_feedbacks(
        [
            {"FeedbackType": "a", "UserId": "eve", "ItemId": "1", "Value": 99, "Timestamp": ""},
            {"FeedbackType": "a", "UserId": "eve", "ItemId": "2", "Value": -3},
            {"FeedbackType": "a", "UserId": "eve", "ItemId": "3"},
            {"FeedbackType": "a", "UserId": "eve", "ItemId": "4", "Value": 0},
        ]
    )
    found = {row.item: row.rating for row in live.store.ratings_of(Side.USER, "eve")}
    assert found == {1: 5.0, 2: 1.0, 3: 5.0, 4: 5.0}


def test_feedback_without_a_value_is_what_is_set(live: StoreFollower) -> None:
    ask = Caller(create_app(live, ServiceSettings(feedback_rating=3)))
    ask("PUT", "/api/feedback", json=[{"UserId": "eve", "ItemId": 1, "Value": 0}])
    assert live.store.ratings_of(Side.USER, "eve")[0].rating == 3.0


def test_what_is_set_for_feedback_is_a_rating(live: StoreFollower) -> None:
    with pytest.raises(ValidationError, match="finite number"):
        ServiceSettings(feedback_rating=float("nan"))
    for rating in (0.5, 6):
        with pytest.raises(SettingsError, match=f"a feedback rating of {rating}\n.*from 1 to 5"):
            create_app(live, ServiceSettings(feedback_rating=rating))


def test_times_of_feedback(live: StoreFollower) -> None:
    ask = Caller(create_app(live, ServiceSettings()))
    row = {"UserId": "eve", "ItemId": 1, "Value": 4}
    for text in ("soon", "1969-12-31T23:59:59Z", "0001-01-01T00:00:01Z", "10000-01-01T00:00:00Z"):
        told = ask("PUT", "/api/feedback", json=[{**row, "Timestamp": text}])
        assert "is not a time" in check_problem(told, 422)["detail"]
    for text, least in (("9999-12-31T23:59:59Z", 253402300799), ("1970-01-01", 0)):
        ask("PUT", "/api/feedback", json=[{**row, "Timestamp": text}])
        assert live.store.ratings_of(Side.USER, "eve")[0].timestamp == least
    # What clients send for no time at all means now.
    ask("PUT", "/api/feedback", json=[{**row, "Timestamp": "0001-01-01T00:00:00Z"}])
    assert (live.store.ratings_of(Side.USER, "eve")[0].timestamp or 0) > 1_700_000_000


def test_inserted_feedback_is_kept_and_put_feedback_is_overwritten(
    client: Gorse, address: str
) -> None:
    row = {"FeedbackType": "a", "UserId": "eve", "ItemId": "1", "Value": 4}
    assert client.insert_feedbacks([row])["RowAffected"] == 1
    assert client.insert_feedbacks([{**row, "Value": 2}])["RowAffected"] == 0
    assert client.list_feedbacks("a", "eve")[0]["Value"] == 4
    key = {"X-API-Key": WRITE}
    httpx.put(f"{address}/api/feedback", json=[{**row, "Value": 2}], headers=key)
    assert client.list_feedbacks("a", "eve")[0]["Value"] == 2


def test_inserted_feedback_overwrites_nothing_that_another_process_wrote(
    live: StoreFollower,
) -> None:
    ask = Caller(create_app(live, ServiceSettings()))
    live.store.put([("eve", 1, 2.0), (3, 77, 1.0)])  # which is not known here yet
    rows = [
        {"UserId": "eve", "ItemId": "1", "Value": 4},
        {"UserId": "3", "ItemId": "77", "Value": 4},
        {"UserId": "eve", "ItemId": "2", "Value": 4},
    ]
    assert ask("POST", "/api/feedback", json=rows).json() == {"RowAffected": 1}
    found = {row.item: row.rating for row in live.store.ratings_of(Side.USER, "eve")}
    assert found == {1: 2.0, 2: 4.0}
    assert live.store.get(3, 77) == (3, 77, 1.0, None)


def test_recommends_to_users_sessions_and_strangers(client: Gorse, live: StoreFollower) -> None:
    backend = live.backend
    user = find_user(backend, "3")
    expected = [str(one.item) for one in answers.recommend(backend, user, 8)]
    assert [score.id for score in client.get_recommend("3", n=5)] == expected[:5]
    assert [score.id for score in client.get_recommend("3", n=5, offset=3)] == expected[3:8]
    assert client.get_recommend("3", n=1)[0].score == pytest.approx(
        answers.recommend(backend, user, 1)[0].estimate
    )
    session = [{"FeedbackType": "a", "UserId": "", "ItemId": "0", "Value": 5, "Timestamp": ""}]
    found = client.session_recommend(session, n=4)
    guest = answers.recommend(backend, make_guest(backend, [("0", 5.0)]), 4)
    assert [entry["Id"] for entry in found] == [str(one.item) for one in guest]
    assert len(client.get_recommend("a stranger", n=4)) == 4
    with pytest.raises(GorseException) as refused:
        client.get_recommend("3", category="drama")
    assert refused.value.status_code == 422


def test_strangers_are_not_recommended_what_is_gone(client: Gorse, live: StoreFollower) -> None:
    before = [score.id for score in client.get_recommend("a stranger", n=5)]
    client.delete_item(before[0])
    assert [score.id for score in client.get_recommend("a stranger", n=4)] == before[1:]


def test_without_the_version_header_recommendations_are_ids(address: str) -> None:
    found = httpx.get(f"{address}/api/recommend/3?n=2", headers={"X-API-Key": READ}).json()
    assert len(found) == 2
    assert all(isinstance(item, str) for item in found)


def test_neighbors_of_items_and_of_users(client: Gorse, address: str, live: StoreFollower) -> None:
    found = client.get_neighbors("0", n=3)
    assert [entry["Id"] for entry in found] == [
        str(one.item) for one in answers.similar_items(live.backend, "0", 3)
    ]
    for slash in ("", "/"):
        path = f"{address}/api/user/3/neighbors{slash}?n=4"
        users = httpx.get(path, headers={"X-API-Key": READ}).json()
        scores = [entry["Score"] for entry in users]
        assert len(users) == 4
        assert "3" not in [entry["Id"] for entry in users]
        assert scores == sorted(scores, reverse=True)


def test_users_and_items_are_paged_named_and_deleted(client: Gorse, live: StoreFollower) -> None:
    assert client.insert_user({"UserId": "zoe", "Labels": ["a"]}) == {"RowAffected": 0}
    with pytest.raises(GorseException):
        client.get_user("zoe")
    assert client.get_user("3")["UserId"] == "3"
    users, cursor = [], ""
    while page := client.get_users(25, cursor):
        users += [user["UserId"] for user in page[0]]
        cursor = page[1]
        if not cursor:
            break
    assert sorted(users) == sorted(str(user) for user in range(60))
    assert client.delete_user("3")["RowAffected"] > 0
    with pytest.raises(GorseException):
        client.get_user("3")
    assert client.insert_item({"ItemId": "0", "Comment": "Aliens", "Categories": []}) == {
        "RowAffected": 1
    }
    assert client.get_item("0")["Comment"] == "Aliens"
    assert client.search_items("aliens")[0]["ItemId"] == "0"
    client.update_item("0", comment="Alien 3")
    assert client.get_item("0")["Comment"] == "Alien 3"
    assert client.delete_item("0")["RowAffected"] > 1
    with pytest.raises(GorseException):
        client.get_item("0")
    assert len(client.get_items(1000)[0]) == 39
    assert len(client.get_feedbacks(10)[0]) == 10
    assert live.snapshot.index(Side.ITEM, 0) < 0


def test_the_asynchronous_client_works_too(address: str) -> None:
    async def asked() -> list[str]:
        client = AsyncGorse(address, READ)
        return [score.id for score in await client.get_recommend("3", n=2)]

    assert len(asyncio.run(asked())) == 2


def test_a_key_that_reads_inserts_nothing(address: str) -> None:
    with pytest.raises(GorseException) as refused:
        Gorse(address, READ).insert_feedback("star", "eve", "1", "", 4)
    assert refused.value.status_code == 403
    assert json.loads(refused.value.message)["status"] == 403
