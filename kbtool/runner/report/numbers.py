"""Numbers as texts of a report."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kbtool.runner.metrics import Measurement
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.terms import Statistic

__all__ = ["NONE", "between", "cut", "percent", "short_title", "shown", "statistic_words", "unit_of"]

NONE: Final = "-"
"""Stands where there is no number."""
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
        "tok_per_step": "Tokens per step",
        "acceptance_length": "Acceptance length",
        "acceptance_ratio": "Draft acceptance",
        "cached_tok": "Cached input",
    }
)
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


def between(low: float | None, high: float | None) -> str:
    """Return an interval, or that there is none."""
    return NONE if low is None or high is None else f"{shown(low)} to {shown(high)}"


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
    unit = METRICS[metric].unit
    return "" if unit in {"count", "ratio"} else unit


def statistic_words(statistic: Statistic) -> str:
    """Return a statistic as a reader reads it."""
    return _WORDS.get(statistic, statistic)


def details(found: Measurement) -> str:
    """Return what stands under a number: its interval and its n."""
    interval = "" if found.low is None else f"{between(found.low, found.high)}, "
    return f"{interval}n {found.n_samples:,}"
