"""What is answered in people's words is what the model says."""

import pytest
from tests.service.live.test_store_follower import model, store  # noqa: F401

from evichain import REC
from evichain.answering import answers
from evichain.answering.asker import find_user, make_guest
from evichain.errors import DataError, UnknownEntityError
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store import Store
from evichain.testing.traces import check_trace


@pytest.fixture
def live(model: REC, store: Store) -> StoreFollower:  # noqa: F811
    store.put_titles({0: "Alien", 1: "Amélie"})
    return StoreFollower(model, store)


def test_recommendations_are_those_of_the_model(live: StoreFollower) -> None:
    backend = live.backend
    found = answers.recommend(backend, find_user(backend, "3"), 5)
    expected = live.model.recommend(3, 5)
    assert [s.item for s in found] == [r.item for r in expected]
    for mine, other in zip(found, expected, strict=True):
        assert mine.estimate == pytest.approx(other.estimate, abs=1e-5)
        assert mine.std == pytest.approx(other.std, abs=1e-5)
    cautious = answers.recommend(backend, find_user(backend, "3"), 5, caution=2.0)
    assert [s.item for s in cautious] == [r.item for r in live.model.recommend(3, 5, caution=2.0)]


def test_a_guest_is_told_what_the_model_tells(live: StoreFollower) -> None:
    backend, rated = live.backend, [("0", 5.0), ("1", 1.0), ("2", 4.0), ("no such item", 3.0)]
    guest = make_guest(backend, rated)
    expected = live.model.recommend([(0, 5.0), (1, 1.0), (2, 4.0)], 5)
    assert [s.item for s in answers.recommend(backend, guest, 5)] == [r.item for r in expected]
    assert {s.item for s in answers.recommend(backend, guest, 99, exclude_seen=False)} >= {0, 1, 2}
    with pytest.raises(DataError, match="the rating 9 of item"):
        make_guest(backend, [("0", 9.0)])


def test_what_is_switched_off_is_as_if_never_rated_but_stays_seen(live: StoreFollower) -> None:
    backend = live.backend
    without = make_guest(backend, [("0", 5.0), ("1", 1.0)], without=["1"])
    never = make_guest(backend, [("0", 5.0)])
    assert [t.estimate for t in answers.predict(backend, without, ["4", "5"])] == [
        t.estimate for t in answers.predict(backend, never, ["4", "5"])
    ]
    assert 1 not in {s.item for s in answers.recommend(backend, without, 999)}


def test_a_reason_is_what_the_estimate_would_lose_most_by(live: StoreFollower) -> None:
    backend = live.backend
    rated = [("0", 5.0), ("1", 1.0), ("2", 4.0), ("7", 2.0)]
    guest = make_guest(backend, rated)
    for found in answers.recommend(backend, guest, 4, reasons=True):
        lost = {}
        for item, _ in rated:
            less = make_guest(backend, rated, without=[item])
            before, after = (answers.predict(backend, one, [found.item]) for one in (guest, less))
            lost[int(item)] = before[0].estimate - after[0].estimate
        best = max(lost, key=lambda item: lost[item])
        if found.reason is not None:
            assert found.reason.item == best
            assert found.reason.contribution == pytest.approx(lost[best], abs=1e-4)
        else:
            assert lost[best] < 1e-5


def test_explanations_keep_their_word(live: StoreFollower) -> None:
    backend = live.backend
    trace = answers.explain(backend, find_user(backend, "3"), "5", pieces=4, depth=2)
    check_trace(trace)
    expected = live.model.explain(3, 5, pieces=4, depth=2)
    assert trace.estimate == pytest.approx(expected.estimate, abs=1e-5)
    assert [p.id for p in trace.user.pieces] == [p.id for p in expected.user.pieces]
    for mine, other in zip(trace.item.pieces, expected.item.pieces, strict=True):
        assert mine.contribution == pytest.approx(other.contribution, abs=1e-4)
    nothing = answers.explain(backend, make_guest(backend, []), "5")
    assert nothing.reason is not None


def test_explains_what_has_lost_its_evidence_a_moment_ago(live: StoreFollower) -> None:
    """Before that has refreshed: the embedding is there still, and nothing behind it."""
    somebody = next(user for user in range(60) if user not in live.model.prototypes[0])
    live.store.put([(somebody, "x", 5.0), ("newcomer", "x", 4.0), ("newcomer", "y", 4.0)])
    live.refresh()
    live.store.delete([(somebody, "x")])
    live.catch_up()
    backend = live.backend
    trace = answers.explain(backend, find_user(backend, "3"), "x", pieces=4, depth=2)
    assert trace.item.pieces == ()
    live.refresh()
    backend = live.backend
    reason = answers.explain(backend, find_user(backend, "3"), "x").reason
    assert reason == "no chain of evidence from item 'x' to a prototype within depth 3"


def test_what_nobody_rates_any_more_is_gone_at_once(live: StoreFollower) -> None:
    live.store.put([(user, "x", 5.0) for user in range(9)])
    live.refresh()
    backend = live.backend
    assert "x" in {
        found.item for found in answers.recommend(backend, find_user(backend, "30"), 999)
    }
    live.store.delete([(user, "x") for user in range(9)])
    live.catch_up()
    backend = live.backend
    assert "x" not in {
        found.item for found in answers.recommend(backend, find_user(backend, "30"), 999)
    }


def test_strangers_are_named(live: StoreFollower) -> None:
    backend = live.backend
    with pytest.raises(UnknownEntityError, match="'nobody'"):
        find_user(backend, "nobody")
    (told,) = answers.predict(backend, find_user(backend, "3"), ["nothing"])
    assert told.reason == "unknown item 'nothing'"
    assert told.interval() is not None
    assert backend.search("AMEL", 3) == [1]
