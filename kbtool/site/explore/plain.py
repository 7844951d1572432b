"""The explorer without scripts: the results of each metric as a plain table, over as many pages as that takes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple

from kbtool.analysis.rows import Cell, Row
from kbtool.escape import file_name
from kbtool.site.cards import Card
from kbtool.site.explore.describe import metric_order
from kbtool.site.places import ROWS_PER_PAGE, UP, pages_of, result_place
from kbtool.site.views.base import Link
from kbtool.site.views.pager import pager_links
from kbtool.site.views.text import metric_of, plural, unit_symbol, what_it_counts, words
from kbtool.vocab.closed import FAMILIES, family_of
from kbtool.vocab.units import format_number

__all__ = ["MetricRow", "PlainPlan", "PlainView", "metric_page", "metric_rows", "plain_plans", "plain_view"]

_SIGNS: Final = {
    "approx": "\N{ALMOST EQUAL TO}", "at_least": "\N{GREATER-THAN OR EQUAL TO}", "at_most": "\N{LESS-THAN OR EQUAL TO}",
}  # fmt: skip


class MetricRow(NamedTuple):
    """One metric in the overview."""

    metric: str
    title: str
    about: str
    results: int
    """Those that stand: as many as the explorer counts."""
    records: int
    path: str


class PlainRow(NamedTuple):
    """One result."""

    link: Link
    value: str
    unit: str
    statistic: str
    system: str
    engine: str
    model: str
    load: str
    publisher: str
    status: str
    is_draft: bool


class PlainPlan(NamedTuple):
    """One page, before it is made."""

    path: str
    title: str
    about: str
    rows: tuple[Row, ...]
    number: int
    total: int
    fallen: int
    """How many of them were withdrawn, or are of a record that was retracted or superseded."""


@dataclass(frozen=True, slots=True)
class PlainView:
    """One page of the results of one metric."""

    title: str
    lead: str
    count_text: str
    rows: tuple[PlainRow, ...]
    parts: tuple[Link, ...]
    lines_below: tuple[str, ...]


def metric_page(metric: str, number: int = 1) -> str:
    """Return one page of the results of a metric; the name of an unknown one is escaped."""
    name = metric.replace("_", "-") if metric_of(metric) else f"other-{file_name(metric)}"
    return f"explore/{name}.html" if number == 1 else f"explore/{name}.{number}.html"


def metric_rows(rows: Sequence[Row]) -> tuple[MetricRow, ...]:
    """Return the metrics that some result has, those with most results that compare freely first."""
    metrics = [str(row.cells["metric"]) for row in rows]
    classes = [row.cells["comparison_class"] for row in rows]
    records: dict[str, set[str]] = {}
    fallen: dict[str, int] = {}
    for metric, row in zip(metrics, rows, strict=True):
        records.setdefault(metric, set()).add(row.ref)
        fallen[metric] = fallen.get(metric, 0) + (not row.stands)
    return tuple(
        [
            MetricRow(
                metric, *_named(metric), count - fallen[metric], len(records[metric]), metric_page(metric)
            )
            for metric, count in metric_order(
                metrics, [each if isinstance(each, str) else None for each in classes]
            )
        ]
    )


def plain_plans(rows: Sequence[Row]) -> Iterator[PlainPlan]:
    """Yield the pages: results of closed classes after the others, each in the order of their records."""
    by_metric: dict[str, list[Row]] = {}
    for row in rows:
        by_metric.setdefault(str(row.cells["metric"]), []).append(row)
    for metric, found in by_metric.items():
        found.sort(key=lambda row: str(row.cells["comparison_class"] or ""))
        title, about = _named(metric)
        fallen = sum(not row.stands for row in found)
        for number in range(1, pages_of(len(found), ROWS_PER_PAGE) + 1):
            shown = tuple(found[(number - 1) * ROWS_PER_PAGE : number * ROWS_PER_PAGE])
            yield PlainPlan(metric_page(metric, number), title, about, shown, number, len(found), fallen)


def plain_view(plan: PlainPlan, find: Callable[[str], Card | None]) -> PlainView:
    """Return the page of a plan."""
    count = pages_of(plan.total, ROWS_PER_PAGE)
    metric = str(plan.rows[0].cells["metric"])
    shown = {family_of(each) for row in plan.rows if isinstance(each := row.cells["comparison_class"], str)}
    return PlainView(
        title=plan.title,
        lead=plan.about,
        count_text=_counted(plan.total, plan.fallen),
        rows=tuple([_row(row, find) for row in plan.rows]),
        parts=pager_links(plan.number, count, lambda number: UP + metric_page(metric, number)),
        lines_below=tuple([each.line for each in FAMILIES if each in shown]),
    )


def _counted(total: int, fallen: int) -> str:
    """Return how many stand, as the explorer counts them, and how many more the page lists."""
    standing = plural(total - fallen, "result")
    return f"{standing}, and {fallen} withdrawn, retracted or superseded" if fallen else standing


def _named(metric: str) -> tuple[str, str]:
    known = metric_of(metric)
    return (known.title, what_it_counts(known)) if known else (metric, "")


def _row(row: Row, find: Callable[[str], Card | None]) -> PlainRow:
    cells = row.cells
    card = find(row.ref)
    place = result_place(row.ref, card.results, row.anchor) if card else ""
    status = str(cells["status"] if cells["standing"] == "stands" else cells["standing"])

    def named(column: str) -> str:
        ref = cells[column]
        found = find(ref) if isinstance(ref, str) else None
        return found.title if found else str(ref or "")

    count = cells["accelerators_serving"]
    return PlainRow(
        link=Link(card.title if card else row.ref, UP + place if place else ""),
        value=_value(cells["value"], cells["low"], cells["high"], cells["qualifier"]),
        unit=unit_symbol(str(cells["unit"] or "")),
        statistic=words(str(cells["statistic"] or "")),
        system=f"{count} \N{MULTIPLICATION SIGN} {named('accelerator')}" if count else named("accelerator"),
        engine=named("engine"),
        model=named("model"),
        load=_load(row),
        publisher=str(cells["publisher"] or ""),
        status=status,
        is_draft=status == "draft",
    )


def _value(value: Cell, low: Cell, high: Cell, qualifier: Cell) -> str:
    if isinstance(value, int | Decimal):
        return _SIGNS.get(str(qualifier), "") + format_number(value)
    ends = [format_number(each) for each in (low, high) if isinstance(each, int | Decimal)]
    return "\N{EN DASH}".join(ends)


def _load(row: Row) -> str:
    said = []
    for column, noun in (
        ("concurrency", "in flight"), ("request_rate_req_s", "req/s"), ("input_tok", "in"), ("output_tok", "out"),
        ("depth_tok", "before the input"),
    ):  # fmt: skip
        number = row.cells[column]
        if isinstance(number, int | Decimal):
            said.append(f"{format_number(number)} {noun}")
    return ", ".join(said)
