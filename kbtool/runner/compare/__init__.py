"""Two runs, or the legs of one, compared: ratios, intervals, and what may be claimed.

conditions  whether two cells are one load     figures  values by session
ratios      pairs, groups, claims              runs     two runs
legs        a sweep against its base           words    the same object for a reader
"""

from kbtool.runner.compare.legs import compare_legs
from kbtool.runner.compare.model import Claimed, Compared, Comparison, Differs, Refusal, Strength
from kbtool.runner.compare.runs import compare_runs
from kbtool.runner.compare.words import sentence

__all__ = [
    "Claimed",
    "Compared",
    "Comparison",
    "Differs",
    "Refusal",
    "Strength",
    "compare_legs",
    "compare_runs",
    "sentence",
]
