"""Raw traces in, figures out: pure functions, so that a better definition can be applied to an old run.

`round_figures` gives every figure of one round, `summarize` the numbers of a cell; `cache_verdict`,
`speculation_verdict` and `reconcile` judge what the server says of itself, `check_outputs` the answers.
"""

from kbtool.runner.metrics.cache import cache_verdict
from kbtool.runner.metrics.cell import summarize
from kbtool.runner.metrics.figures import (
    CacheVerdict,
    CacheVerdictState,
    CellSummary,
    IntervalMethod,
    Measurement,
    Pool,
    RoundContext,
    RoundFigures,
    Sample,
    Slo,
    TokenTotals,
    Window,
)
from kbtool.runner.metrics.reconcile import Reconciliation, ServerTotals, reconcile
from kbtool.runner.metrics.round import round_figures
from kbtool.runner.metrics.sanity import Sanity, check_outputs
from kbtool.runner.metrics.speculation import (
    SpeculationCounters,
    SpeculationState,
    SpeculationVerdict,
    speculation_verdict,
)

__all__ = [
    "CacheVerdict",
    "CacheVerdictState",
    "CellSummary",
    "IntervalMethod",
    "Measurement",
    "Pool",
    "Reconciliation",
    "RoundContext",
    "RoundFigures",
    "Sample",
    "Sanity",
    "ServerTotals",
    "Slo",
    "SpeculationCounters",
    "SpeculationState",
    "SpeculationVerdict",
    "TokenTotals",
    "Window",
    "cache_verdict",
    "check_outputs",
    "reconcile",
    "round_figures",
    "speculation_verdict",
    "summarize",
]
