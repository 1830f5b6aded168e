"""Several systems on the same split: errors where they apply, and lists."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from evichain.evaluation import evaluate
from evichain.ratings.splits import Split


def compare_systems(
    split: Split,
    systems: Mapping[str, Any],
    *,
    n: int = 10,
    progress: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, dict[str, Any]]:
    """Train each system on the training part, and test it once.

    What comes after training is added to those that can take it in. A test rating is relevant to
    lists if it is at or above the mean of the training part, for all systems alike.

    Args:
        systems: unfitted recommenders by name.
        n: the length of the lists; 0 for no lists.

    Returns:
        For each system `test` (what `evaluate(...).to_dict()` gives; errors are NaN for systems
        whose estimates are scores), `seconds` of training, `parameters`, `settings`, and
        `added`: whether it knows what came after training, None if nothing did.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, system in systems.items():
        say(name)
        begun = time.perf_counter()
        system.fit(split.train, progress=progress)
        seconds = time.perf_counter() - begun
        added = None
        if split.later is not None:
            added = hasattr(system, "add")
            if added:
                system.add(split.later)
        test = evaluate(system, split.test, n=n, threshold=split.train.mean, progress=progress)
        found[name] = {
            "test": test.to_dict(),
            "seconds": seconds,
            "parameters": system.parameter_count,
            "settings": system.settings.model_dump(),
            "added": added,
        }
    return found
