"""How good a recommender is, on ratings it has not seen: errors and list quality.

`evaluate` takes any recommender that keeps `evichain.protocol.Recommender`, or a plain function.

>>> from evichain.baselines import make_baseline
>>> from evichain.testing import planted_blocks
>>> model = make_baseline("popularity").fit(planted_blocks())
>>> round(evaluate(model, planted_blocks(seed=1), n=5).rmse, 2)
2.0
"""

from evichain.evaluation.evaluating import Evaluation, KnownGroup, evaluate, list_metrics
from evichain.evaluation.held_out_quality import HeldOutMetrics, evaluate_held_out
from evichain.evaluation.held_out_tuning import Trial, Tuned, tune_held_out
from evichain.evaluation.held_out_users import HeldOutPart, HeldOutUsers, held_out_users
from evichain.evaluation.list_quality import ListMetrics
from evichain.evaluation.prediction_errors import ErrorMetrics
from evichain.evaluation.scoring import Histories, ScoresHistories

__all__ = [
    "ErrorMetrics",
    "Evaluation",
    "HeldOutMetrics",
    "HeldOutPart",
    "HeldOutUsers",
    "Histories",
    "KnownGroup",
    "ListMetrics",
    "ScoresHistories",
    "Trial",
    "Tuned",
    "evaluate",
    "evaluate_held_out",
    "held_out_users",
    "list_metrics",
    "tune_held_out",
]
