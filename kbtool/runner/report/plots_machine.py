"""Plots of the machine while a cell was measured: power, temperature and clocks of the cards, or the host's CPU."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from kbtool.runner.folder import RunFolder, Table
from kbtool.runner.report.charts import About, Mark, Panel, panels
from kbtool.runner.report.figure import CsvData, CsvValue, Figure, legend_of
from kbtool.runner.report.model import Column, DataTable, Entry
from kbtool.runner.report.numbers import NONE, cut, shown
from kbtool.runner.results import CellResult, VisitResult
from kbtool.runner.stats import median

__all__ = ["machine_figures"]

TABLE: Final = "telemetry"
VERSIONS: Final = (1,)
BINS: Final = 100
MAX_MARKS: Final = 4
_TOLD: Final = frozenset({"gpu_lost", "driver_hang", "sampler_died", "sampler_silent"})


@dataclass(frozen=True, slots=True)
class _Quantity:
    """What is drawn in one panel."""

    label: str
    unit: str
    column: str
    """Unit in the name of a column of the CSV file."""
    sources: tuple[str, ...]
    """Columns of the telemetry, of which the first that has a value is taken."""
    factor: float = 1.0
    """From their unit to the one shown."""
    from_zero: bool = True


@dataclass(frozen=True, slots=True)
class _Binned:
    """A quantity in equal stretches of time: median, least and most of the samples of all cards."""

    middle: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]


_POWER: Final = ("power_average_mw", "power_instant_mw")
_CARDS: Final = (
    _Quantity("Power of a card", "W", "w", _POWER, 0.001),
    _Quantity("Temperature", "\N{DEGREE SIGN}C", "c", ("temperature_c",), from_zero=False),
    _Quantity("SM clock", "MHz", "mhz", ("sm_clock_mhz",), from_zero=False),
)
Samples = list[tuple[int, float]]
"""Times in ns and values."""


def machine_figures(key: str, cell: CellResult, folder: RunFolder) -> Iterator[Figure]:
    """Yield the telemetry of the first visit to a cell and, where there are more, of the last."""
    several = len(cell.visits) > 1
    for name, visit in (
        (("first", cell.visits[0]), ("last", cell.visits[-1])) if several else (("", cell.visits[0]),)
    ):
        stored = folder.cell(visit.key)
        if f"{TABLE}.parquet" in stored.names:
            table = stored.read_table(TABLE, kind=TABLE, versions=VERSIONS)
            made = _figure(
                f"{key}-machine{f'-{name}' if name else ''}", name, visit, table, stored.state.folder
            )
            if made is not None:
                yield made


def _samples(table: Table, kind: str, sources: Sequence[str], factor: float = 1.0) -> Samples:
    """Return what the rows of one kind say of a quantity; what could not be read is left out."""
    columns = [table[name] for name in sources]
    found = []
    for at, (t_ns, each) in enumerate(zip(table["t_ns"], table["kind"], strict=True)):
        value = (
            next((column[at] for column in columns if column[at] is not None), None) if each == kind else None
        )
        if value is not None:
            found.append((t_ns, value * factor))
    return found


def _figure(key: str, name: str, visit: VisitResult, table: Table, place: str) -> Figure | None:
    times = [each for each in table["t_ns"] if isinstance(each, int)]
    marks = visit.rounds or visit.warm_up
    if not times or not marks:
        return None
    start_ns = min(times[0], *(each.note.start.monotonic_ns for each in marks))
    end_ns = max(times[-1], *(each.note.end.monotonic_ns for each in marks))
    span = _Span(start_ns, end_ns)
    cards = {card for card, kind in zip(table["card"], table["kind"], strict=True) if kind == "card"}
    parts = list(_card_parts(table, span)) if cards else list(_host_parts(table, span))
    if not parts:
        return None
    which = f", {name} visit (leg {visit.note.visit.leg_number + 1})" if name else ""
    title = f"{'Accelerators' if cards else 'Host CPU'} over the cell{which}"
    about = About(
        key,
        title,
        "Time since the first sample of the cell, s",
        " and ".join(part.quantity for part in parts),
    )
    windows = [
        (span.s(each.note.start.monotonic_ns), span.s(each.note.end.monotonic_ns)) for each in visit.rounds
    ]
    svg = panels(about, span.middles, [part.panel for part in parts], windows, _events(table, span))
    n_cards = len(cards)
    how = (
        f"Median of all samples of {n_cards} card{'s' * (n_cards != 1)}, least to most shaded"
        if cards
        else "Means between samples"
    )
    caption = f"{how}, in {span.bins} stretches of {shown(span.bin_s)} s. Grey: measured rounds. {_legend_words(parts)}"
    rows = tuple(_csv_rows(parts, span))
    data = CsvData(
        key,
        ("s_since_start", *(each for part in parts for each in part.columns)),
        rows,
        f"Here: {span.bins} stretches of time. All samples: {place}/{TABLE}.parquet",
    )
    legend = () if cards else legend_of(("whole host", "client"))
    return Figure(key, title, caption.strip(), svg, legend, _table(key, parts), data)


class _Span:
    """A stretch of time in equal parts."""

    def __init__(self, start_ns: int, end_ns: int) -> None:
        self.start_ns = start_ns
        self.length_ns = max(end_ns - start_ns, 1)
        self.bins = BINS
        self.bin_s = self.length_ns / self.bins / 1e9
        self.middles = [(at + 0.5) * self.bin_s for at in range(self.bins)]

    def s(self, t_ns: int) -> float:
        """Return seconds since the start."""
        return (t_ns - self.start_ns) / 1e9

    def bin(self, t_ns: int) -> int:
        """Return the number of the part that a moment lies in."""
        return min(max((t_ns - self.start_ns) * self.bins // self.length_ns, 0), self.bins - 1)


@dataclass(frozen=True, slots=True)
class _Part:
    """One panel with its figures."""

    quantity: str
    unit: str
    panel: Panel
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    """One sequence a column, over the parts of the time."""
    n: int
    """Samples behind it."""
    least: float
    middle: float
    most: float


def _card_parts(table: Table, span: _Span) -> Iterator[_Part]:
    limits = [value for _, value in _samples(table, "card", ("power_limit_mw",), 0.001)]
    for quantity in _CARDS:
        samples = _samples(table, "card", quantity.sources, quantity.factor)
        if not samples:
            continue
        found = _binned(samples, span)
        limit = max(limits) if limits and quantity.sources == _POWER else None
        lines, low, high = (_joined(found.middle),), _joined(found.low), _joined(found.high)
        panel = Panel(f"{quantity.label}, {quantity.unit}", lines, low, high, limit, quantity.from_zero)
        word = quantity.label.lower().replace(" ", "_")
        columns = tuple(f"{word}_{kind}_{quantity.column}" for kind in ("median", "least", "most"))
        values = sorted(value for _, value in samples)
        yield _Part(
            quantity.label,
            quantity.unit,
            panel,
            columns,
            (found.middle, found.low, found.high),
            len(values),
            values[0],
            median(values),
            values[-1],
        )


def _binned(samples: Sequence[tuple[int, float]], span: _Span) -> _Binned:
    held: list[list[float]] = [[] for _ in range(span.bins)]
    for t_ns, value in samples:
        held[span.bin(t_ns)].append(value)
    return _Binned(
        tuple(median(each) if each else None for each in held),
        tuple(min(each, default=None) for each in held),
        tuple(max(each, default=None) for each in held),
    )


def _joined(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return values without the holes that come from parts shorter than the time between samples.

    A hole as long as the longest usual one is filled with what came before; a longer one is a gap and stays.
    """
    known = [at for at, value in enumerate(values) if value is not None]
    if len(known) < 2:
        return tuple(values)
    usual = sorted(after - before for before, after in pairwise(known))[(len(known) - 1) // 2]
    filled = list(values)
    for before, after in pairwise(known):
        if after - before <= 2 * usual:
            filled[before:after] = [values[before]] * (after - before)
    return tuple(filled)


def _host_parts(table: Table, span: _Span) -> Iterator[_Part]:
    busy, total = _samples(table, "host", ("host_busy_ns",)), _samples(table, "host", ("host_total_ns",))
    own = _samples(table, "host", ("runner_cpu_ns",))
    whole = _rates(busy, dict(total))
    if not whole:
        return
    client = _rates(own, {t_ns: float(t_ns) for t_ns, _ in own})
    found = [_binned(each, span).middle for each in (whole, client)]
    label = "Busy: host as a share of all CPUs, client of one core, %"
    panel = Panel(label, tuple(_joined(each) for each in found))
    values = sorted(value for _, value in whole)
    columns = ("host_busy_percent", "client_cpu_percent_of_a_core")
    yield _Part(
        "Host CPU", "%", panel, columns, tuple(found), len(values), values[0], median(values), values[-1]
    )


def _rates(part: Samples, whole: Mapping[int, float]) -> Samples:
    """Return the middle of each two samples, and the rise of one counter as a share of that of another, in per cent."""
    found = []
    for (start_ns, before), (end_ns, after) in pairwise(part):
        low, high = whole.get(start_ns), whole.get(end_ns)
        if low is not None and high is not None and high > low and after >= before:
            found.append(((start_ns + end_ns) // 2, (after - before) / (high - low) * 100))
    return found


def _events(table: Table, span: _Span) -> list[Mark]:
    """Return what befell cards and sampler, the first few."""
    marks = []
    for t_ns, kind, event, xid in zip(
        table["t_ns"], table["kind"], table["event"], table["xid"], strict=True
    ):
        if kind == "xid" or event in _TOLD:
            text = f"Xid {xid}" if kind == "xid" else str(event).replace("_", " ")
            marks.append(Mark(span.s(t_ns), cut(text, 30)))
    return marks[:MAX_MARKS]


def _legend_words(parts: Sequence[_Part]) -> str:
    return "Dashed: the power limit in force." if any(part.panel.limit is not None for part in parts) else ""


def _table(key: str, parts: Sequence[_Part]) -> DataTable:
    columns = (
        Column("Quantity", align="left"),
        Column("Unit", align="left"),
        Column("Least"),
        Column("Median", main=True),
        Column("Most"),
        Column("Limit"),
        Column("Samples"),
    )
    rows = tuple(
        (
            Entry(part.quantity),
            Entry(part.unit),
            Entry(shown(part.least), value=part.least),
            Entry(shown(part.middle), value=part.middle),
            Entry(shown(part.most), value=part.most),
            Entry(NONE if part.panel.limit is None else shown(part.panel.limit), value=part.panel.limit),
            Entry(f"{part.n:,}", value=float(part.n)),
        )
        for part in parts
    )
    return DataTable(
        f"{key}-table",
        "Figures",
        columns,
        rows,
        "Over the whole time of the cell, pauses between rounds included.",
    )


def _csv_rows(parts: Sequence[_Part], span: _Span) -> Iterator[tuple[CsvValue, ...]]:
    for at, middle in enumerate(span.middles):
        values = tuple(
            None if value is None else round(value, 3)
            for part in parts
            for value in (column[at] for column in part.values)
        )
        if any(value is not None for value in values):
            yield (round(middle, 4), *values)
