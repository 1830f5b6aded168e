from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.choices import LIKED, liked_blocks
from typer.testing import Result

from evichain.baselines import LIST_PEERS, make_baseline
from evichain.evaluation import evaluate_held_out, held_out_users

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Users who choose items of their own block, as a file."""
    path = tmp_path_factory.mktemp("lists") / "ratings.csv"
    liked_blocks(100, 40).frame.write_csv(path)
    return path


def test_ours_and_the_peers_are_compared(run: Run, run_json: RunJson, blocks: Path) -> None:
    shape = ("--key-size", 8, "--prototype-items", 8)
    call: tuple[Any, ...] = ("bench", "lists", "--data", blocks, "--threshold", LIKED)
    call = (*call, "--seed", 2, *shape)
    call = (*call, "--peer", "popularity", "--peer", "ease")
    found = run_json(*call)
    assert list(found["systems"]) == ["choices", "popularity", "ease"]
    assert (found["ours"], found["best_peer"], found["seed"]) == ("choices", "ease", 2)
    ours, ease = found["systems"]["choices"], found["systems"]["ease"]
    assert found["ratio"] == pytest.approx(ours["ndcg_100"] / ease["ndcg_100"])
    assert ours["settings"]["key_size"] == 8
    assert ours["ndcg_100"] > 0.9 * ease["ndcg_100"]
    assert (found["train_users"], found["validation_users"], found["test_users"]) == (80, 10, 10)
    parts = held_out_users(blocks, LIKED, seed=2)
    assert found["train_interactions"] == len(parts.train)
    model = make_baseline("ease", regularization=ease["settings"]["regularization"])
    expected = evaluate_held_out(model.fit(parts.train), parts.test)
    assert {name: ease[name] for name in expected.to_dict()} == pytest.approx(expected.to_dict())
    tried = {
        trial["settings"]["regularization"]: trial["validation_ndcg_100"]
        for trial in ease["trials"]
    }
    assert len(tried) > 5
    assert tried[ease["settings"]["regularization"]] == max(tried.values())
    assert ease["validation_ndcg_100"] == max(tried.values())
    assert ease["search_seconds"] >= ease["seconds"] > 0
    assert ease["parameters"] == 1600
    shown = run(*call)
    assert "regularization=" in shown.stdout
    assert "our NDCG@100 over its" in shown.stdout
    assert "Tuning ease" in shown.stderr


def test_peers_alone_and_untuned(run: Run, run_json: RunJson, blocks: Path) -> None:
    call = ("bench", "lists", "--data", blocks, "--peers-only", "--no-tune")
    found = run_json(*call)
    assert list(found["systems"]) == list(LIST_PEERS)
    assert (found["ours"], found["ratio"], found["threshold"]) == (None, None, None)
    assert all(len(one["trials"]) == 1 for one in found["systems"].values())
    assert found["systems"]["ease"]["settings"] == make_baseline("ease").settings.model_dump()
    assert "over its" not in run(*call).stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--peer", "svd"], "no peer 'svd' for lists"),
        (["--peer", "biases"], "no peer 'biases' for lists"),
        (["--recipe", "minus"], "minus"),
    ],
)
def test_mistakes(refused: Refused, blocks: Path, options: list[Any], said: str) -> None:
    lines = refused("bench", "lists", "--data", blocks, *options, "--json")
    assert said in lines[0]


def test_too_few_users_are_refused(run: Run, blocks: Path) -> None:
    result = run("bench", "lists", "--data", blocks, "--threshold", 6)
    assert result.exit_code == 2
    assert "too few to hold out" in result.stderr
