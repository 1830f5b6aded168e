import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.tuning.small import SPACE, small, told

from evichain import Ratings
from evichain.testing import planted_blocks
from evichain.tuning import Range, TuningError


def test_a_study_taken_up_again_is_as_if_made_at_once(ratings: Ratings, tmp_path: Path) -> None:
    study = tmp_path / "new" / "study.jsonl"
    first = small(ratings, 2, storage=study)
    with study.open("a") as file:
        file.write('{"op_code": 4, "half a l')
    again = small(ratings, 11, storage=study)
    assert told(again.trials[:2]) == told(first.trials)
    assert told(again.trials) == told(small(ratings, 13).trials)
    assert all(json.loads(line) for line in study.read_text().splitlines())


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"seed": 5}, "other settings"),
        ({"recipe": "plus"}, "another recipe"),
        ({"fixed": {"patience": 2}}, "other settings"),
        ({"space": {**SPACE, "width": Range(4, 8)}}, "another space"),
    ],
)
def test_a_study_of_something_else_is_refused(
    ratings: Ratings, tmp_path: Path, other: dict[str, Any], said: str
) -> None:
    study = tmp_path / "study.jsonl"
    small(ratings, 1, storage=study)
    with pytest.raises(TuningError, match=said):
        small(ratings, 1, storage=study, **other)
    with pytest.raises(TuningError, match="other data"):
        small(planted_blocks(30, 20, seed=1), 1, storage=study)
    assert len(small(ratings, 0, storage=study).trials) == 1


@pytest.mark.parametrize("text", ["user,item\n1,2\n", "7\n", '{"a": 1}\n', "\x00"])
def test_a_file_that_is_no_study_is_left_alone(ratings: Ratings, tmp_path: Path, text: str) -> None:
    file = tmp_path / "file"
    file.write_text(text)
    with pytest.raises(TuningError, match="holds no study"):
        small(ratings, 1, storage=file)
    assert file.read_text() == text


def test_without_optuna_it_says_how_to_get_it(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(TuningError, match=r"its extra `tune`"):
        small(ratings, 1)
