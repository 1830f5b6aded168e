from tests.experiments.conftest import Make

from evichain.experiments.cold_start import COLD_USERS, LEFT, SYSTEMS, ColdStart, _of_those_cut
from evichain.experiments.frame import Request
from evichain.ratings.splits import cold_split, random_split
from evichain.testing import planted_blocks


def test_the_grid_is_the_papers() -> None:
    cells = list(ColdStart().cells(Request(["ml-100k"])))
    grid = {(cell.of["cold"], cell.of["left"]) for cell in cells}
    warm = {(0, LEFT[-1])}
    assert grid - warm == {(count, left) for count in COLD_USERS[1:] for left in LEFT}
    assert len(cells) == len(grid) * len(SYSTEMS)


def test_cold_users_are_those_who_have_lost_ratings() -> None:
    ratings = planted_blocks(30, 20)
    whole, cold = random_split(ratings, 0.8, 4), cold_split(ratings, 6, 2, 4)
    test = _of_those_cut(cold.test, whole.train, cold.train)
    counts = dict(cold.train.frame.group_by("user_id").len().iter_rows())
    users = set(test.frame["user_id"].to_list())
    assert users
    assert users == {u for u in cold.test.frame["user_id"].to_list() if counts[u] == 2}


def test_the_report_has_both_recipes_and_gc_mc(make: Make) -> None:
    outcome = make("cold-start")
    everyone, cold = outcome.document["tables"]
    assert [row[0] for row in everyone["rows"]] == [
        "REC, recipe `paper`",
        "REC, recipe `plus`",
        "GC-MC",
    ]
    assert everyone["header"] == ["system", "n_r", "N_c = 0", "N_c = 5"]
    assert cold["header"] == ["system", "n_r", "N_c = 5"]
    assert "1.15" in outcome.page
    assert all(float(cell) > 0 for row in everyone["rows"] for cell in row[2:])
