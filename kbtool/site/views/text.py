"""How numbers, dates and the words of the vocabulary are written for a reader."""

from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

from kbtool.schema import Source
from kbtool.schema.benchmark import Result
from kbtool.schema.common import Figure, OtherFigure
from kbtool.vocab import METRICS, Metric
from kbtool.vocab.numbers import number_text
from kbtool.vocab.units import QUALIFIER_SIGNS, UNITS, format_number

__all__ = [
    "NOT_STATED",
    "Quantity",
    "counted",
    "figure_quantity",
    "listed",
    "metric_of",
    "one_line",
    "plural",
    "published_text",
    "quantity_text",
    "repeats_words",
    "result_quantity",
    "scalar_text",
    "statistic_words",
    "unit_symbol",
    "what_it_counts",
    "words",
]

NOT_STATED: Final = "not stated"
_EN_DASH: Final = "\N{EN DASH}"
_SCOPES: Final = {
    "request": "one request",
    "user": "one user",
    "accelerator": "one accelerator",
    "instance": "one engine instance",
    "system": "the whole system",
    "model": "the model",
}
_TOKENS: Final = {
    "output": "output tokens",
    "input": "input tokens",
    "input_and_output": "input and output tokens",
    "none": "no tokens",
}
_STATISTICS: Final = {
    "single": "a single run",
    "mean": "mean",
    "median": "median",
    "p50": "50th percentile",
    "p90": "90th percentile",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "min": "smallest seen",
    "max": "largest seen",
    "peak": "peak of the sweep",
}
_NAMES: Final = {
    "ttft": "TTFT", "rt": "RT", "l2": "L2", "mb": "MB", "mig": "MIG", "api": "API", "gpu": "GPU", "kv": "KV", "moe": "MoE", "cuda": "CUDA", "cpu": "CPU", "os": "OS", "tp": "TP", "pp": "PP",
    "dp": "DP", "ep": "EP", "dcp": "DCP", "lan": "LAN", "slo": "SLO", "pcie": "PCIe", "soc": "SoC",
}  # fmt: skip


class Quantity(NamedTuple):
    """A number as it is shown: sign of approximation, digits, unit, and the exact text to sort by."""

    text: str
    unit: str = ""
    sign: str = ""
    """`≈`, `≥`, `≤` or nothing."""
    sign_words: str = ""
    """What the sign means, in words."""
    raw: str = ""
    """The exact number, or the lower end of a range, for `data` and for sorting."""


def counted(value: Decimal | int) -> str:
    """Return a number with thousands separators and exactly the digits it has."""
    return format_number(value)


def plural(count: int, noun: str, plural_noun: str = "") -> str:
    """Return `1 record`, `2 records`."""
    return f"{count:,} {noun if count == 1 else plural_noun or noun + 's'}"


def listed(items: list[str] | tuple[str, ...]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))


def words(term: str) -> str:
    """Return a word of the vocabulary or a slug as text: `third_party` becomes `third party`."""
    return " ".join(_NAMES.get(part, part) for part in term.replace("_", " ").replace("-", " ").split())


def one_line(text: str, limit: int = 160) -> str:
    """Return text as one line, cut between words."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    return line[: limit - 1].rsplit(" ", 1)[0] + "\N{HORIZONTAL ELLIPSIS}"


def scalar_text(value: object) -> str:
    """Return a setting's value as a record writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return number_text(value)
    if isinstance(value, date):
        return value.isoformat()
    return str(value)


def published_text(source: Source) -> str:
    """Return when a source was published, in its own words where only part of the date is known."""
    return source.published_as or (source.published.isoformat() if source.published else "")


def unit_symbol(symbol: str) -> str:
    """Return what is printed behind a number: nothing for ratios and counts."""
    unit = UNITS.get(symbol)
    return "" if unit is None or unit.dimension in {"ratio", "count"} else unit.symbol


def metric_of(metric_id: str) -> Metric | None:
    """Return the metric, or None where the vocabulary does not know it."""
    return METRICS.get(metric_id)


def result_quantity(result: Result) -> Quantity:
    """Return the figure of a result, a range where only a range is given."""
    known = METRICS.get(result.metric)
    return _quantity(
        result.value, result.low, result.high, result.qualifier, unit_symbol(known.unit) if known else ""
    )


def figure_quantity(figure: Figure | OtherFigure, unit: str) -> Quantity:
    """Return a figure about a thing in the unit that its field carries."""
    if isinstance(figure, Figure):
        return _quantity(figure.value, figure.low, figure.high, figure.qualifier, unit)
    return _quantity(figure.value, None, None, None, unit)


def quantity_text(quantity: Quantity) -> str:
    """Return sign, number and unit as one text."""
    number = f"{quantity.sign} {quantity.text}" if quantity.sign else quantity.text
    return f"{number} {quantity.unit}" if quantity.unit else number


def statistic_words(result: Result) -> str:
    """Return which statistic a result is, and over how many runs."""
    statistic = _STATISTICS[result.statistic] if result.statistic else "statistic " + NOT_STATED
    if result.repeats and (result.repeats > 1 or result.sessions):
        return f"{statistic}, {repeats_words(result)}"
    return statistic


def repeats_words(result: Result) -> str:
    """Return how often a figure was measured: `3 rounds in 1 start` where starts are told, else `3 runs`."""
    if not result.repeats:
        return plural(result.sessions, "start") if result.sessions else ""
    if result.sessions:
        return f"{plural(result.repeats, 'round')} in {plural(result.sessions, 'start')}"
    return plural(result.repeats, "run")


def what_it_counts(metric: Metric) -> str:
    """Return scope and tokens counted: `output tokens of the whole system`."""
    if metric.tokens == "none":
        return f"of {_SCOPES[metric.scope]}"
    return f"{_TOKENS[metric.tokens]} of {_SCOPES[metric.scope]}"


def _quantity(
    value: Decimal | None, low: Decimal | None, high: Decimal | None, qualifier: str | None, unit: str
) -> Quantity:
    sign = QUALIFIER_SIGNS.get(qualifier or "", "")
    sign_words = words(qualifier) if qualifier else ""
    if value is not None:
        return Quantity(format_number(value), unit, sign, sign_words, format(value, "f"))
    ends = [each for each in (low, high) if each is not None]
    if len(ends) == 2:
        text = _EN_DASH.join(format_number(each) for each in ends)
    elif ends:
        sign, sign_words = (
            (QUALIFIER_SIGNS["at_least"], "at least")
            if low is not None
            else (QUALIFIER_SIGNS["at_most"], "at most")
        )
        text = format_number(ends[0])
    else:
        return Quantity(NOT_STATED)
    return Quantity(text, unit, sign, sign_words, format(ends[0], "f"))
