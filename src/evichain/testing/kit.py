"""The conformance kit: every check, and a way to run them all."""

from unittest import SkipTest

from evichain.testing import abilities, answers, conventions, learning
from evichain.testing.expectations import Check, CheckError, Make

CHECKS: list[Check] = [
    conventions.check_protocol,
    conventions.check_params,
    conventions.check_sklearn_clone,
    conventions.check_not_fitted,
    conventions.check_inputs_unchanged,
    conventions.check_answers_are_own,
    answers.check_scalars_and_arrays,
    answers.check_broadcasting,
    answers.check_lengths,
    answers.check_ids,
    answers.check_titles,
    answers.check_unknown_entities,
    answers.check_recommendations,
    answers.check_catalogue_end,
    learning.check_determinism,
    learning.check_global_state,
    learning.check_planted_structure,
    learning.check_planted_ranking,
    learning.check_odd_data,
    abilities.check_save_and_load,
    abilities.check_add_serves_new_entities,
    abilities.check_add_equals_having_had,
    abilities.check_add_leaves_its_input,
    abilities.check_explanations,
    abilities.check_similar_items,
    abilities.check_histories,
]


def check_recommender(make: Make) -> None:
    """Run every check that applies, and fail with all that went wrong.

    Args:
        make: makes an unfitted recommender, the same every time.

    Raises:
        CheckError: what was expected and not met, a line for each check that failed.
    """
    failures = []
    for check in CHECKS:
        try:
            check(make)
        except SkipTest:
            continue
        except Exception as error:
            reason = str(error) if isinstance(error, CheckError) else repr(error)
            failures.append(f"{check.__name__}: {reason}")
    if failures:
        raise CheckError("\n".join(failures))
