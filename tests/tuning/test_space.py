import pytest

from evichain.errors import SettingsError
from evichain.recipes import settings_for
from evichain.tuning import SPACES, Choices, Range, search_space


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({"widht": Range(4, 8)}, "no setting 'widht'"),
        ({"width": Range(0, 8)}, "width: Input should be greater than or equal to 1"),
        ({"width": Range(4.5, 8)}, "width: Input should be a valid integer"),
        ({"width": Range(8, 4)}, "width: 8 to 4 is not a range"),
        ({"width": Choices((8, "8"))}, "width: one value is no choice"),
        ({"generator": Range("mean", "channels")}, "generator: has no range"),
        ({"telescoping": Range(0, 1)}, "telescoping: has no range"),
        ({"width": Range(8, 16), "hidden_layers": Range(1, 9)}, "hidden_layers: Input"),
        ({"max_depth": Range(2, 5)}, "is exact up to max_depth 4"),
        ({"seed": Range(0, 8)}, "seed: would make trials incomparable"),
        ({"validation": Range(0.1, 0.2)}, "validation: would make"),
    ],
)
def test_spaces_that_cannot_be(space: dict[str, Range | Choices], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        search_space("paper", {}, space)


def test_what_is_set_is_not_searched() -> None:
    assert "width" not in search_space("paper", {"width": 8})
    with pytest.raises(SettingsError, match="width: is both set and searched"):
        search_space("paper", {"width": 8}, {"width": Range(8, 16)})


@pytest.mark.parametrize("ratings", [10**4, 10**8])
@pytest.mark.parametrize("recipe", SPACES)
def test_the_recipes_lie_inside_their_spaces(recipe: str, ratings: int) -> None:
    own = settings_for(recipe, ratings=ratings).model_dump()
    for name, wanted in search_space(recipe, {}).items():
        assert isinstance(wanted, Range)
        assert wanted.low < own[name] < wanted.high
    with pytest.raises(SettingsError, match="nothing is left"):
        search_space(recipe, {name: own[name] for name in SPACES[recipe]})
