"""The results of a benchmark: one table for each metric that was measured more than once, one for the rest.

A table holds one metric, so that the values under one another are of one kind; its columns are the conditions
that vary in it, and what all its rows share is said once above it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kbtool.schema import Benchmark
from kbtool.schema.benchmark import Cliff, Result, Spread
from kbtool.site.columns import results_in_order
from kbtool.site.places import RESULTS_PER_PAGE, UP, anchor_of, pages_of, results_page
from kbtool.site.views.base import Citations, Context, Link
from kbtool.site.views.conditions import Condition, condition_title, conditions, is_asked
from kbtool.site.views.facts import Item, derivation_text, same_text
from kbtool.site.views.fields import field_label, setting_value
from kbtool.site.views.pager import pager_links
from kbtool.site.views.sweeps import Chart, charts_of
from kbtool.site.views.text import (
    Quantity,
    counted,
    metric_of,
    plural,
    quantity_text,
    repeats_words,
    result_quantity,
    unit_symbol,
    what_it_counts,
    words,
)
from kbtool.vocab.terms import DEFINITIONS

__all__ = ["ResultCell", "ResultRow", "ResultTable", "ResultsView", "results_of"]


_CHARTED: Final = 2
"""Metrics of a record that are drawn; the rest is in the tables."""


class ResultCell(NamedTuple):
    """One condition of one result."""

    text: str
    raw: str = ""
    is_gap: bool = False
    """Whether a reader would need it and nobody gives it."""


class ResultRow(NamedTuple):
    """One measurement."""

    anchor: str
    name: str
    """Id of the result, or its metric where the table holds several."""
    metric_id: str
    quantity: Quantity
    statistic: str
    """Which statistic; empty where the source does not say."""
    published: str
    """As published, where that says more than the figure."""
    cells: tuple[ResultCell, ...]
    conditions: str
    """All conditions in one text, in a table of several metrics."""
    settings: str
    """What this result changes against the setup."""
    repeats: str
    basis: str
    notes: tuple[str, ...]
    standing: str
    """`disputed` or `withdrawn`; empty for a figure that stands."""
    evidence: tuple[Link, ...]
    is_headline: bool
    warnings: tuple[str, ...]
    """What must be known before the figure is used, in a word or two each."""


class ResultTable(NamedTuple):
    """The results of one metric, or one each of several."""

    title: str
    metric_id: str
    """Empty for a table of several metrics."""
    what: str
    """Scope and tokens counted."""
    unit: str
    """Unit of all rows; empty where they have several, or none."""
    shared: tuple[Condition, ...]
    """Conditions that all rows have."""
    charts: tuple[Chart, ...]
    columns: tuple[tuple[str, bool], ...]
    """Conditions that vary: title, and whether all of them are numbers."""
    has_settings: bool
    has_repeats: bool
    has_notes: bool
    """Whether a row has warnings or notes."""
    rows: tuple[ResultRow, ...]


@dataclass(frozen=True, slots=True)
class ResultsView:
    """The results that one page shows."""

    tables: tuple[ResultTable, ...]
    count: int
    """Results of the record, on all pages."""
    parts: tuple[Link, ...]
    """The pages of the results, where there is more than one; this page without an address."""
    warnings: tuple[Item, ...]
    """The warnings on this page with what each means."""
    cliffs: tuple[Item, ...]
    """Drops of throughput at more users."""


def results_of(record: Benchmark, context: Context, citations: Citations, number: int = 1) -> ResultsView:
    """Return one page of the results; `number` counts from 1."""
    ordered = results_in_order(record)
    page = ordered[(number - 1) * RESULTS_PER_PAGE : number * RESULTS_PER_PAGE]
    by_metric: dict[str, list[Result]] = {}
    for result in page:
        by_metric.setdefault(result.metric, []).append(result)
    counts = {metric: sum(each.metric == metric for each in ordered) for metric in by_metric}
    hollow = context.card.status == "draft"
    several = [(metric, results) for metric, results in by_metric.items() if counts[metric] > 1]
    tables = [
        _table(record, metric, results, citations, hollow=hollow, charted=number == 1 and index < _CHARTED)
        for index, (metric, results) in enumerate(several)
    ]
    singles = [result for result in page if counts[result.metric] == 1]
    if singles:
        tables.append(_mixed_table(record, singles, citations, alone=not tables))
    pages = pages_of(len(ordered), RESULTS_PER_PAGE)

    def href_of(page: int) -> str:
        return f"{UP}{results_page(context.card.ref, page)}#Results"

    return ResultsView(
        tables=tuple(tables),
        count=len(ordered),
        parts=pager_links(number, pages, href_of),
        warnings=_warning_items(page),
        cliffs=tuple([_cliff(each) for each in record.cliffs]) if number == 1 else (),
    )


def _warning_items(results: Sequence[Result]) -> tuple[Item, ...]:
    found = {code for result in results for code in result.warnings}
    return tuple(
        [Item(words(code), text) for code, text in DEFINITIONS["run_warning"].items() if code in found]
    )


def _cliff(cliff: Cliff) -> Item:
    metric = metric_of(cliff.metric)
    fall = f"{counted(cliff.ratio)} of it at {counted(cliff.first_bad)}"
    return Item(
        metric.title if metric else cliff.metric,
        f"best at {plural(cliff.last_good, 'user')} or fewer, {fall}",
        notes=(f"the numbers point to {field_label(cliff.suspected)}",) if cliff.suspected else (),
    )


def _table(
    record: Benchmark,
    metric_id: str,
    results: Sequence[Result],
    citations: Citations,
    *,
    hollow: bool,
    charted: bool,
) -> ResultTable:
    metric = metric_of(metric_id)
    stated = [{each.key: each for each in conditions(result.at)} for result in results]
    keys = list(dict.fromkeys(key for each in stated for key in each))
    shared = [key for key in keys if len({each.get(key) for each in stated}) == 1]
    varying = [key for key in keys if key not in shared]
    rows = [
        _row(record, result, citations)._replace(
            name=_short_name(result),
            cells=tuple([_cell(key, each.get(key), metric_id) for key in varying]),
        )
        for result, each in zip(results, stated, strict=True)
    ]
    return ResultTable(
        title=metric.title if metric else metric_id,
        metric_id=metric_id if metric else "",
        what=what_it_counts(metric) if metric else "",
        unit=unit_symbol(metric.unit) if metric else "",
        shared=tuple([stated[0][key] for key in shared]),
        charts=charts_of(record, metric_id, hollow=hollow, key=f"Chart-{metric_id}") if charted else (),
        columns=tuple([(condition_title(key), _numeric(key, stated)) for key in varying]),
        has_settings=any(each.settings for each in rows),
        has_repeats=any(each.repeats for each in rows),
        has_notes=any(each.warnings or each.notes for each in rows),
        rows=tuple(rows),
    )


def _short_name(result: Result) -> str:
    """Return the id of a result without the metric and the statistic, which stand beside it."""
    name = result.id.removesuffix(f"-{result.statistic}")
    return name.removesuffix(f"-{result.metric.replace('_', '-')}")


def _mixed_table(
    record: Benchmark, results: Sequence[Result], citations: Citations, *, alone: bool
) -> ResultTable:
    rows = [
        _row(record, result, citations)._replace(
            conditions="; ".join(f"{each.label.lower()} {each.text}" for each in conditions(result.at))
        )
        for result in results
    ]
    return ResultTable(
        title="Measured" if alone else "Also measured",
        metric_id="",
        what="",
        unit="",
        shared=(),
        charts=(),
        columns=(),
        has_settings=any(each.settings for each in rows),
        has_repeats=any(each.repeats for each in rows),
        has_notes=any(each.warnings or each.notes for each in rows),
        rows=tuple(rows),
    )


def _numeric(key: str, stated: Sequence[dict[str, Condition]]) -> bool:
    return all(each[key].raw for each in stated if key in each)


def _row(record: Benchmark, result: Result, citations: Citations) -> ResultRow:
    quantity = result_quantity(result)
    metric = metric_of(result.metric)
    published = result.as_published
    if result.range_meaning == "ci95" and result.value is not None:
        published = published.partition(" (95 % interval")[0]  # it stands in the notes
    return ResultRow(
        anchor=anchor_of(result.id),
        name=metric.title if metric else result.metric,
        metric_id=result.metric if metric else "",
        quantity=quantity,
        statistic=result.statistic or "",
        published="" if same_text(published, quantity_text(quantity)) else published,
        cells=(),
        conditions="",
        settings="; ".join(
            f"{field_label(each.field)}: {setting_value(each.field, each.value)}" for each in result.with_
        ),
        repeats=_repeats(result),
        basis="" if result.basis == "stated" else result.basis,
        notes=_notes(result),
        standing="" if result.standing == "stands" else result.standing,
        evidence=citations.cite(result.evidence),
        is_headline=result.id == record.headline,
        warnings=tuple([words(each) for each in result.warnings]),
    )


def _cell(key: str, condition: Condition | None, metric_id: str) -> ResultCell:
    if condition is None:
        return ResultCell("", is_gap=is_asked(key, metric_id))
    return ResultCell(condition.text, condition.raw)


def _repeats(result: Result) -> str:
    often = repeats_words(result)
    parts = [often] if often else []
    if result.samples:
        parts.append(plural(result.samples, "sample"))
    if result.spread is not None:
        parts.append(_spread(result.spread))
    if result.repeat_of:
        parts.append(f"repeats {result.repeat_of}")
    return ", ".join(parts)


def _spread(spread: Spread) -> str:
    if spread.kind == "relative_difference":
        return f"{counted(spread.value)} apart (ratio)"
    names = {"stdev": "standard deviation", "ci95": "95 % interval", "half_range": "half range"}
    return f"\N{PLUS-MINUS SIGN} {counted(spread.value)} ({names[spread.kind]})"


def _notes(result: Result) -> tuple[str, ...]:
    notes = []
    meaning = DEFINITIONS["range_meaning"][result.range_meaning] if result.range_meaning else ""
    if result.value is not None:
        ends = _ends(result)
        notes += [f"{ends}: {meaning}" if meaning else ends] if ends else []
    elif meaning:
        notes.append(meaning)
    if result.derivation is not None:
        notes.append(derivation_text(result.derivation))
    if result.standing_reason:
        notes.append(f"{words(result.standing)}: {result.standing_reason}")
    if result.note:
        notes.append(result.note)
    return tuple(notes)


def _ends(result: Result) -> str:
    if result.low is not None and result.high is not None:
        return f"{counted(result.low)} to {counted(result.high)}"
    if result.low is not None:
        return f"not below {counted(result.low)}"
    return f"not above {counted(result.high)}" if result.high is not None else ""
