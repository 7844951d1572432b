"""Statistics of repeated measurements: pure functions over plain numbers, in the standard library alone.

The server session is the independent unit, rounds are nested in it; see `intervals` for the method and its
simulated coverage, `checks` for drift and outliers, `cliffs` and `pairs` for sweeps and comparisons.
"""

from kbtool.runner.stats.bootstrap import bootstrap_interval
from kbtool.runner.stats.checks import Drift, drift, outliers
from kbtool.runner.stats.cliffs import Cliff, bisect_next, find_cliffs
from kbtool.runner.stats.extension import Extension, extension
from kbtool.runner.stats.intervals import Interval, mean_interval
from kbtool.runner.stats.pairs import (
    Block,
    Claim,
    PairedRatio,
    abba_order,
    claims,
    holm,
    paired_ratio,
    pairs_needed,
)
from kbtool.runner.stats.samples import (
    mean,
    median,
    percentile,
    percentile_of_sorted,
    stdev,
    variation_ratio,
)
from kbtool.runner.stats.student import t_quantile, t_two_sided_p

__all__ = [
    "Block",
    "Claim",
    "Cliff",
    "Drift",
    "Extension",
    "Interval",
    "PairedRatio",
    "abba_order",
    "bisect_next",
    "bootstrap_interval",
    "claims",
    "drift",
    "extension",
    "find_cliffs",
    "holm",
    "mean",
    "mean_interval",
    "median",
    "outliers",
    "paired_ratio",
    "pairs_needed",
    "percentile",
    "percentile_of_sorted",
    "stdev",
    "t_quantile",
    "t_two_sided_p",
    "variation_ratio",
]
