"""Which results of a record make a chart: sweeps over a number, and figures that differ by a word."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from kbtool.analysis.paths import is_known, value_at
from kbtool.schema import Benchmark
from kbtool.schema.benchmark import Result
from kbtool.site import charts
from kbtool.site.views.conditions import conditions
from kbtool.site.views.fields import field_label, setting_value
from kbtool.site.views.text import listed, metric_of, quantity_text, result_quantity, unit_symbol

__all__ = ["Chart", "charts_of"]

_FEWEST_POINTS: Final = 3
_FEWEST_BARS: Final = 2
_MOST_BARS: Final = 8
_MOST_SERIES: Final = 6
_AXES: Final = {
    "concurrency": "requests in flight",
    "request_rate": "requests offered a second",
    "input": "input tokens",
    "output": "output tokens",
    "turn": "turn of the conversation",
    "instances": "instances in use",
    "accelerators": "accelerators in use",
}
"""Conditions that a sweep may go over."""


_NAMED_BY_VALUE: Final = frozenset({"prompt", "cache", "path", "input", "statistic"})
"""Conditions whose value says what they are."""
_SAME_STATISTIC: Final[Mapping[str, str]] = {"single": "median"}
"""Of a figure that a round has as a whole, the one of one round is its median."""
_CONSEQUENCES: Final = frozenset({"queued"})
"""Conditions that follow from the others and set no run apart."""


class Chart(NamedTuple):
    """A drawing, what it shows, and the legend where it has several lines."""

    title: str
    svg: Markup
    legend: tuple[str, ...]
    note: str


class _Case(NamedTuple):
    """One result with everything that sets it apart from the others."""

    result: Result
    value: Decimal
    settings: dict[str, tuple[str, str, Any]]
    """Key -> label, text, number or None."""


class _Sweep(NamedTuple):
    """Results that differ in one number; each series holds the rest fixed."""

    axis: str
    label: str
    series: tuple[tuple[str, tuple[_Case, ...]], ...]


def charts_of(record: Benchmark, metric_id: str, *, hollow: bool, key: str) -> tuple[Chart, ...]:
    """Return the charts of one metric of a record: the widest sweep, and bars for what is not part of it.

    Args:
        record: The record.
        metric_id: The metric.
        hollow: Whether every figure is provisional, which the drawing shows.
        key: Start of the ids in the drawing, unique on its page.
    """
    results = [each for each in record.results if each.metric == metric_id]
    if len(results) < _FEWEST_BARS:
        return ()
    cases = list(_cases(record, results))
    found: list[Chart] = []
    sweep = _sweep(cases)
    if sweep is not None:
        found.append(_sweep_chart(f"{key}-sweep", metric_id, sweep, hollow))
        used = {case.result.id for _, each in sweep.series for case in each}
        cases = [case for case in cases if case.result.id not in used]
    cases = sorted(_of_one_statistic(cases, record.headline), key=_load_of)
    has_headline = any(case.result.id == record.headline for case in cases)
    if len(cases) >= (_FEWEST_BARS if has_headline else _FEWEST_BARS + 1):
        found.append(_bar_chart(f"{key}-bars", metric_id, cases, record.headline, hollow))
    return tuple(found)


def _cases(record: Benchmark, results: Sequence[Result]) -> Iterator[_Case]:
    """Yield the results of a metric that have one value, with conditions and effective settings."""
    changed = dict.fromkeys(each.field for result in results for each in result.with_)
    base = {path: _base_value(record, path) for path in changed}
    for result in results:
        if result.value is None or result.standing == "withdrawn" or result.repeat_of:
            continue
        settings = {
            each.key: (_AXES.get(each.key, each.label.lower()), each.text, _number(each.raw))
            for each in conditions(result.at)
            if each.key not in _CONSEQUENCES
        }
        here = {**base, **{each.field: each.value for each in result.with_}}
        for path, value in here.items():
            number = (
                Decimal(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None
            )
            settings[path] = (field_label(path).lower(), _setting(path, value), number)
        if result.statistic:
            settings["statistic"] = ("statistic", result.statistic, None)
        yield _Case(result, result.value, settings)


def _of_one_statistic(cases: list[_Case], headline: str) -> list[_Case]:
    """Return the cases of one statistic, the headline's or the most frequent: a p50 beside a mean would be compared.

    Cases that differ in their statistic alone stay together: there it is what the bars show.
    """
    stated = {case.result.id: case.result.statistic for case in cases if case.result.statistic}
    counts = Counter(_SAME_STATISTIC.get(each, each) for each in stated.values())
    others = {
        tuple(sorted((k, v[1]) for k, v in case.settings.items() if k != "statistic")) for case in cases
    }
    if len(counts) < 2 or len(others) < 2:
        return cases
    wanted = stated.get(headline) or counts.most_common(1)[0][0]
    alike = {None, wanted, *(each for each in stated.values() if _SAME_STATISTIC.get(each) == wanted)}
    return [case for case in cases if stated.get(case.result.id) in alike]


def _load_of(case: _Case) -> tuple[Decimal, Decimal]:
    """Return where a bar stands among its neighbours: by users, else by arrivals; the order of the record else."""
    at = case.result.at
    return Decimal(at.concurrency or 0), at.request_rate_req_s or Decimal(0)


def _base_value(record: Benchmark, path: str) -> Any:
    """Return what the setup holds at a path; None where a record names a path that no field has."""
    return value_at(record, path) if is_known(path) and not path.startswith("results.") else None


def _setting(path: str, value: object) -> str:
    return "" if value is None else f"{field_label(path).lower()} {setting_value(path, value)}"


def _number(raw: str) -> Decimal | None:
    return Decimal(raw) if raw else None


def _sweep(cases: Sequence[_Case]) -> _Sweep | None:
    """Return the widest sweep: at least three values of one number, the rest equal."""
    best: _Sweep | None = None
    size = 0
    for axis in dict.fromkeys(key for case in cases for key in case.settings):
        groups: dict[tuple[tuple[str, str], ...], list[_Case]] = {}
        for case in cases:
            found = case.settings.get(axis)
            if found is None or found[2] is None:
                continue
            rest = tuple(sorted((key, value[1]) for key, value in case.settings.items() if key != axis))
            groups.setdefault(rest, []).append(case)
        series = [_one_series(axis, rest, each) for rest, each in groups.items()]
        kept = [each for each in series if len(each[1]) >= _FEWEST_POINTS]
        total = sum(len(each[1]) for each in kept)
        if total > size:
            label = next(case.settings[axis][0] for case in cases if axis in case.settings)
            size = total
            best = _Sweep(axis, label, _named(axis, kept[:_MOST_SERIES]))
    return best


_Rest = tuple[tuple[str, str], ...]


def _one_series(axis: str, rest: _Rest, cases: list[_Case]) -> tuple[_Rest, tuple[_Case, ...]]:
    """Sort a series by its number; of several figures at one number the first stands."""
    by_x: dict[Decimal, _Case] = {}
    for case in cases:
        number = case.settings[axis][2]
        assert number is not None
        by_x.setdefault(number, case)
    return rest, tuple([by_x[x] for x in sorted(by_x)])


def _named(
    axis: str, series: list[tuple[_Rest, tuple[_Case, ...]]]
) -> tuple[tuple[str, tuple[_Case, ...]], ...]:
    """Name each series by what sets it apart from the others."""
    common = set.intersection(*(set(rest) for rest, _ in series))
    return tuple([(_label(cases[0], common, skip=axis), cases) for _, cases in series])


def _sweep_chart(key: str, metric_id: str, sweep: _Sweep, hollow: bool) -> Chart:
    metric = metric_of(metric_id)
    name = metric.title if metric else metric_id
    unit = unit_symbol(metric.unit) if metric else ""
    series = tuple(
        [
            charts.Series(
                label,
                tuple(
                    [
                        charts.Point(
                            number, case.value, _text(case), hollow or case.result.standing != "stands"
                        )
                        for case in cases
                        if (number := case.settings[sweep.axis][2]) is not None
                    ]
                ),
            )
            for label, cases in sweep.series
        ]
    )
    title = f"{name} by {sweep.label}"
    y_label = f"{name}, {unit}" if unit else name
    legend = tuple([each.label or "as set up" for each in series]) if len(series) > 1 else ()
    svg = charts.lines(key, title, sweep.label, y_label, series)
    return Chart(title, svg, legend, _note(metric.direction if metric else "neither", hollow))


def _bar_chart(key: str, metric_id: str, cases: Sequence[_Case], headline: str, hollow: bool) -> Chart:
    metric = metric_of(metric_id)
    name = metric.title if metric else metric_id
    shown = cases[:_MOST_BARS]
    common = set.intersection(*({(k, v[1]) for k, v in case.settings.items()} for case in shown))
    items = [
        charts.Bar(
            _label(case, common),
            case.value,
            quantity_text(result_quantity(case.result)),
            hollow or case.result.standing != "stands",
            case.result.id == headline,
        )
        for case in shown
    ]
    differing = list(
        dict.fromkeys(
            value[0]
            for case in shown
            for k, value in case.settings.items()
            if (k, value[1]) not in common and value[1]
        )
    )
    title = f"{name} by {listed(differing[:3])}" if differing else name
    more = len(cases) - len(shown)
    note = _note(metric.direction if metric else "neither", hollow) + (
        f" {more} more in the table." if more else ""
    )
    return Chart(title, charts.bars(key, title, items), (), note)


def _label(case: _Case, common: set[tuple[str, str]], skip: str = "") -> str:
    """Return what sets a result apart from the others in its chart; its id where nothing does."""
    apart = [
        text if key in _NAMED_BY_VALUE or "." in key else f"{label} {text}"
        for key, (label, text, _) in case.settings.items()
        if key != skip and text and (key, text) not in common
    ]
    return ", ".join(apart) or ("" if skip else case.result.id)


def _text(case: _Case) -> str:
    quantity = result_quantity(case.result)
    return f"{quantity.sign}{quantity.text}"


def _note(direction: str, hollow: bool) -> str:
    better = {"higher": "Higher is better.", "lower": "Lower is better."}.get(direction, "")
    return f"{better} Hollow: provisional." if hollow else better
