"""The same questions through Python, the command line and HTTP: same answers, same errors."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.cli.conftest import call
from tests.service.http.conftest import PATIENT, Caller

from evichain import REC
from evichain.errors import EvichainError
from evichain.ratings.side import Side
from evichain.service.http import create_app
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store import open_store
from evichain.testing import planted_blocks

SMALL: dict[str, Any] = {"iterations": 8, "prototype_users": 8, "prototype_items": 8}
RECIPES: dict[str, dict[str, Any]] = {
    "plus": {"embedding_size": 8, "key_size": 4, "channel_size": 4, "width": 8},
    "choices": {"key_size": 4, "prototype_users": 0, "max_depth": 3},
    "paper": {"cycle_blocking": False, "embedding_size": 4, "width": 8},
}
GUEST = [("0", 5.0), ("1", 1.0), ("2", 4.0), ("none such", 3.0)]
Answer = dict[str, Any]
PATHS = {
    "recommend": "recommendations",
    "predict": "predictions",
    "explain": "explanations",
}


class Failed(Exception):  # noqa: N818
    """An answer that is an error; its text says what is wrong and what would be right."""


class Doors:
    """One model behind three doors; each takes a question as plain data."""

    def __init__(self, model: REC, folder: Path, ask: Caller) -> None:
        self.model, self.folder, self.ask = model, folder, ask

    def python(self, verb: str, who: Any, **asked: Any) -> Answer:
        ask: dict[str, Callable[..., Any]] = {
            "similar": self.model.similar_items,
            "predict": self.model.predict,
            "explain": self.model.explain,
            "recommend": self.model.recommend,
        }
        try:
            answer: Answer = ask[verb](who, **asked).to_dict()
        except EvichainError as error:
            raise Failed(f"{error.what}. {error.right}") from error
        return answer

    def command(self, verb: str, who: Any, **asked: Any) -> Answer:
        words = {"recommend": "recommend", "similar": "recommend"}.get(verb, verb)
        args = [words, str(self.folder), "--json"]
        if verb == "similar":
            args += ["--similar-to", who]
        elif isinstance(who, list):
            args += [part for item, rating in who for part in ("--rated", f"{item}={rating}")]
        else:
            args += ["--user", who] if verb == "predict" else [who]
        for name, value in asked.items():
            if name == "n":
                args += ["-n", str(value)]
            elif name == "exclude_seen":
                args += ["--include-seen"] * (not value)
            elif name == "reasons":
                args += ["--reasons"] * value
            elif name == "items":
                args += [part for item in value for part in ("--item", item)]
            elif name == "without":
                args += [part for item in value for part in ("--without", item)]
            elif name == "item":
                args.append(value)
            else:
                args.append(f"--{name}={value}")
        done = call(*args)
        if done.exit_code:
            error = json.loads(done.stderr.strip().splitlines()[-1])["error"]
            raise Failed(f"{error['message']}. {error['right']}")
        answer: Answer = json.loads(done.stdout)
        return answer

    def http(self, verb: str, who: Any, **asked: Any) -> Answer:
        if "exclude_seen" in asked:
            asked["include_seen"] = not asked.pop("exclude_seen")
        if verb == "similar":
            found = self.ask("GET", f"/v1/items/{quote(who)}/similar", params=asked)
        elif isinstance(who, list):
            rated = [{"item": item, "rating": rating} for item, rating in who]
            path = PATHS[verb]
            found = self.ask("POST", f"/v1/{path}", json={"ratings": rated, **asked})
        else:
            path = PATHS[verb]
            if verb == "explain":
                path += f"/{quote(asked.pop('item'))}"
            if "items" in asked:
                asked["item"] = asked.pop("items")
            found = self.ask("GET", f"/v1/users/{quote(who)}/{path}", params=asked)
        answer: Answer = found.json()
        if found.status_code != 200:
            raise Failed(answer["detail"])
        answer.pop("version", None)
        return answer


@pytest.fixture(scope="module", params=sorted(RECIPES))
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("doors") / request.param
    settings = {**SMALL, **RECIPES[request.param]}
    REC(request.param, **settings).fit(planted_blocks()).save(folder)
    return folder


@pytest.fixture
def doors(trained: Path, tmp_path: Path) -> Iterator[Doors]:
    model = REC.load(trained)
    with open_store(tmp_path / "ratings.db") as store:
        store.import_ratings(model.graph.to_ratings())
        app = create_app(StoreFollower(model, store), PATIENT.model_copy(update={"names": True}))
        yield Doors(model, trained, Caller(app))


QUESTIONS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "a list": ("recommend", "3", {"n": 5}),
    "a list with what was seen": ("recommend", "3", {"n": 5, "exclude_seen": False}),
    "a list with reasons": ("recommend", "30", {"n": 4, "reasons": True}),
    "a list without some evidence": ("recommend", "30", {"n": 4, "without": ["1", "2"]}),
    "a guest's list": ("recommend", GUEST, {"n": 4, "reasons": True}),
    "a guest's list without": ("recommend", GUEST, {"n": 4, "without": ["1"]}),
    "predictions": ("predict", "3", {"items": ["4", "5", "none such"]}),
    "predictions without": ("predict", "30", {"items": ["4", "5"], "without": ["1"]}),
    "predictions for nobody": ("predict", "nobody", {"items": ["4"]}),
    "predictions for nobody called you": ("predict", "you", {"items": ["4"]}),
    "a guest's predictions": ("predict", GUEST, {"items": ["4", "5"]}),
    "ids of mixed type": ("predict", [(0, 5.0), ("1", 1.0)], {"items": [4, "5"]}),
    "similar items": ("similar", "4", {"n": 4}),
    "an explanation": ("explain", "30", {"item": "4", "pieces": 3, "depth": 1}),
    "a deep explanation": ("explain", "30", {"item": "4", "pieces": 2, "depth": 2}),
    "an explanation without": ("explain", "30", {"item": "4", "without": ["1", "2"]}),
    "a guest's explanation": ("explain", GUEST, {"item": "4", "pieces": 3}),
}
MISTAKES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "an unknown user": ("recommend", "nobody", {}),
    "an unknown item": ("similar", "none such", {}),
    "an explanation of an unknown item": ("explain", "3", {"item": "none such"}),
    "an explanation for nobody": ("explain", "nobody", {"item": "4"}),
    "a guest's rating off the scale": ("recommend", [("0", 9.0)], {}),
}


def rounded(answer: Any) -> Any:
    """The answer with its numbers as approximations, to 1e-6 of the scale."""
    if isinstance(answer, dict):
        return {name: rounded(value) for name, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [rounded(value) for value in answer]
    return pytest.approx(answer, abs=1e-6) if isinstance(answer, float) else answer


def other_doors(doors: Doors) -> list[Callable[..., Answer]]:
    return [doors.command, doors.http]


@pytest.mark.parametrize("question", sorted(QUESTIONS))
def test_all_doors_give_the_same_answer(doors: Doors, question: str) -> None:
    verb, who, asked = QUESTIONS[question]
    answer = doors.python(verb, who, **asked)
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer
    expected = rounded(answer)
    for door in other_doors(doors):
        assert door(verb, who, **asked) == expected


@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_all_doors_give_the_same_error(doors: Doors, mistake: str) -> None:
    verb, who, asked = MISTAKES[mistake]
    with pytest.raises(Failed) as expected:
        doors.python(verb, who, **asked)
    for door in other_doors(doors):
        with pytest.raises(Failed) as found:
            door(verb, who, **asked)
        assert found.value.args == expected.value.args


def test_caution_may_be_negative_at_every_door(doors: Doors) -> None:
    if doors.model.recipe != "plus":
        for door in (doors.python, *other_doors(doors)):
            with pytest.raises(Failed, match="no standard deviations"):
                door("recommend", "3", caution=-1.0)
        return
    expected = rounded(doors.python("recommend", "3", caution=-1.0, n=5))
    for door in other_doors(doors):
        assert door("recommend", "3", caution=-1.0, n=5) == expected


def test_unknown_items_of_a_guest_are_named(doors: Doors) -> None:
    for door in (doors.python, *other_doors(doors)):
        assert door("recommend", GUEST)["ignored"] == ["none such"]
        assert door("predict", GUEST, items=["4"])["ignored"] == ["none such"]
        assert door("explain", GUEST, item="4")["ignored"] == ["none such"]
        assert door("explain", "3", item="4", without=["no"])["ignored"] == ["no"]


def test_ratings_are_removed_and_users_erased_at_every_door(doors: Doors, tmp_path: Path) -> None:
    model = doors.model
    row = model.backend.row(Side.USER, int(model.backend.indices(Side.USER, ["30"])[0]))
    items = [str(model.graph.ids[Side.ITEM][i]) for i in row[0][:2].tolist()]
    model.remove([("30", item) for item in items]).remove(user="31")
    folder = tmp_path / "smaller"
    options = [part for item in items for part in ("--item", item)]
    assert call("remove", doors.folder, "30", *options, "--out", folder).exit_code == 0
    assert call("remove", folder, "31").exit_code == 0
    for item in items:
        assert doors.ask("DELETE", f"/v1/users/30/ratings/{item}").json()["deleted"] == 1
    assert doors.ask("DELETE", "/v1/users/31").status_code == 200
    doors.folder = folder
    for user in ("30", "3"):
        expected = rounded(doors.python("recommend", user, n=40))
        for door in other_doors(doors):
            assert door("recommend", user, n=40) == expected
    listed = {one["item"] for one in doors.python("recommend", "30", n=40)["recommendations"]}
    assert listed >= set(items)
    for door in (doors.python, *other_doors(doors)):
        with pytest.raises(Failed, match="unknown user '31'"):
            door("recommend", "31")
    with pytest.raises(EvichainError, match="no rating of item"):
        model.remove([("30", items[0])])
    assert call("remove", folder, "30", "--item", items[0]).exit_code == 2
