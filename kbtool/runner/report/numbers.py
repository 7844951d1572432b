"""Numbers as texts of a report."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kbtool.runner.metrics import Measurement
from kbtool.runner.metrics.bounds import is_too_wide
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.terms import Statistic

__all__ = [
    "NONE",
    "TOO_WIDE",
    "counted",
    "cut",
    "details",
    "end_of",
    "interval_of",
    "percent",
    "rounds_of",
    "short_title",
    "shown",
    "statistic_words",
    "unit_of",
]

NONE: Final = "-"
"""Stands where there is no number."""
TOO_WIDE: Final = "too wide to give"
"""Stands for an interval that reaches beyond what the metric can be."""
DIGITS: Final = 4
MAX_DECIMALS: Final = 6
MAX_TEXT: Final = 200

_SHORT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ttft_ms": "TTFT",
        "ttft_content_ms": "TTFT, answer",
        "tpot_ms": "TPOT",
        "itl_ms": "ITL",
        "icl_ms": "ICL",
        "step_gap_ms": "Step gap",
        "e2el_ms": "E2E latency",
        "tok_s_per_user": "Speed per user",
        "output_tok_s": "Output",
        "prefill_tok_s": "Prefill speed",
        "req_s": "Requests",
        "goodput_req_s": "Goodput",
        "achieved_concurrency": "In flight",
        "energy_j_per_tok": "Energy",
        "tok_per_step": "Tokens per arrival",
        "acceptance_length": "Acceptance length",
        "acceptance_ratio": "Draft acceptance",
        "cached_tok": "Cached input",
    }
)
_UNITS: Final[Mapping[str, str]] = MappingProxyType({"tok_per_step": "tok/arrival"})
"""Units that say what they count: arrivals of text are not the steps of the acceptance length."""
_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {"single": "of the one round", "median": "median of rounds", "min": "smallest", "max": "largest"}
)


def shown(value: float | None) -> str:
    """Return a number with four significant digits, or all digits before the point where those are more."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    decimals = min(MAX_DECIMALS, max(0, DIGITS - 1 - math.floor(math.log10(abs(value)))))
    return f"{value:,.{decimals}f}"


def interval_of(found: Measurement) -> str:
    """Return the interval of a number, that it is too wide to be one, or that there is none."""
    if found.low is None or found.high is None:
        return NONE
    if is_too_wide(found.metric, found.low, found.high):
        return TOO_WIDE
    return f"{shown(found.low)} to {shown(found.high)}"


def end_of(found: Measurement, end: float | None) -> str:
    """Return one end of the interval of a number."""
    if end is not None and is_too_wide(found.metric, found.low, found.high):
        return TOO_WIDE
    return shown(end)


def counted(count: int, noun: str) -> str:
    """Return `1 cell`, `2 cells`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def rounds_of(least: int, most: int) -> str:
    """Return how many rounds there are: `3 rounds`, `3 to 9 rounds`."""
    return counted(least, "round") if least == most else f"{least} to {counted(most, 'round')}"


def percent(ratio: float | None) -> str:
    """Return a share in per cent."""
    return NONE if ratio is None else f"{ratio * 100:.1f} %"


def cut(text: str, limit: int = MAX_TEXT) -> str:
    """Return a text that is not longer than `limit`, and shows where it was cut."""
    return text if len(text) <= limit else f"{text[: limit - 1]}\N{HORIZONTAL ELLIPSIS}"


def short_title(metric: str) -> str:
    """Return the name of a metric for the head of a column."""
    return _SHORT.get(metric) or METRICS[metric].title


def unit_of(metric: str) -> str:
    """Return the unit of a metric; nothing for plain counts and ratios."""
    unit = _UNITS.get(metric) or METRICS[metric].unit
    return "" if unit in {"count", "ratio"} else unit


def statistic_words(statistic: Statistic) -> str:
    """Return a statistic as a reader reads it."""
    return _WORDS.get(statistic, statistic)


def details(found: Measurement) -> str:
    """Return what stands under a number: its interval and its n."""
    interval = "" if found.low is None else f"{interval_of(found)}, "
    return f"{interval}n {found.n_samples:,}"
