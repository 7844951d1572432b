"""A run as one HTML file that needs nothing else: no request, no script, no font."""

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kbtool.escape import html_attribute
from kbtool.runner.folder import RunFolder
from kbtool.runner.metrics import Measurement
from kbtool.runner.report.choose import common_warnings, head_of
from kbtool.runner.report.figure import CsvData, Figure, data_link
from kbtool.runner.report.model import DataTable
from kbtool.runner.report.numbers import counted, interval_of, short_title, shown, statistic_words, unit_of
from kbtool.runner.report.numbers_table import all_numbers, all_numbers_csv
from kbtool.runner.report.plots_cell import round_figure, timeline_figure
from kbtool.runner.report.plots_latency import latency_figures
from kbtool.runner.report.plots_load import load_figures
from kbtool.runner.report.plots_machine import machine_figures
from kbtool.runner.report.plots_sweep import sweep_figures
from kbtool.runner.report.raw import CellRaw, read_raw
from kbtool.runner.report.results import load_words, setting_words
from kbtool.runner.report.rows import rows_of
from kbtool.runner.report.surroundings import settings_table
from kbtool.runner.results import Run
from kbtool.vocab.warnings import WARNINGS, WarningCode, in_order

__all__ = ["MAX_BYTES", "html_report"]

_TURNS: Final = {
    code: f"\\u{code:04x}"
    for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
"""Marks that turn the direction of a text: a server's name with one would show the rest of its line backwards."""

MAX_BYTES: Final = 2_900_000
"""Size beyond which plots and tables of single cells are left out, the last ones first."""
_CODE: Final = re.compile(r"`([^`\n]+)`")
OPEN_CELLS: Final = 3
"""Cells that are open at once where there are no more."""


def html_report(run: Run, folder: RunFolder) -> bytes:
    """Return the page of a run. Equal runs give equal bytes.

    Args:
        run: What `load_run` returned for the folder.
        folder: Where single requests and telemetry are read from.

    Raises:
        DamagedError: a sealed file is not what it was.
    """
    raw = read_raw(run, folder)
    rows = rows_of(run, raw.examples)
    style = _style()
    room = _Room(MAX_BYTES - _reserve(run))
    loads = tuple(_workloads(run, rows.results, raw.cells, room))
    sweeps = tuple(html for each in sweep_figures(run) if (html := room.take(each.title, _figure(each))))
    cells = tuple(_cell(index, run, picked, folder, room) for index, picked in enumerate(raw.cells))
    text = (
        _environment()
        .get_template("page.html")
        .render(
            run=rows,
            style=Markup(style),  # noqa: S704 - our own file
            policy=_policy(style),
            loads=loads,
            sweeps=sweeps,
            highlights=tuple(_highlights(run)),
            cells=cells,
            open_cells=len(cells) <= OPEN_CELLS,
            settings=settings_table(run),
            left_out=tuple(room.left_out),
            everywhere=tuple(each for each in rows.warnings if each.everywhere),
        )
    )
    return text.translate(_TURNS).encode()


def _reserve(run: Run) -> int:
    """Return the bytes to keep for what is never left out."""
    return 60_000 + 4_000 * len(run.cells)


@dataclass(slots=True)
class _Room:
    """How much of the page is left for plots and long tables."""

    left: int
    left_out: list[str] = field(default_factory=list)

    def take(self, name: str, html: Markup) -> Markup | None:
        """Return a part if it still fits; note its name if it does not."""
        size = len(html.encode())
        if size > self.left:
            self.left_out.append(name)
            return None
        self.left -= size
        return html


@dataclass(frozen=True, slots=True)
class _Load:
    """One workload of the page."""

    key: str
    title: str
    table: DataTable
    figures: tuple[Markup, ...]


@dataclass(frozen=True, slots=True)
class _CellPart:
    """One cell of the page."""

    index: int
    name: str
    load: str
    setting: str
    head: str
    unit: str
    interval: str
    warnings: tuple[WarningCode, ...]
    figures: tuple[Markup, ...]
    numbers: Markup | None


@dataclass(frozen=True, slots=True)
class _Highlight:
    """The best cell of a workload."""

    workload: str
    metric: str
    value: float
    text: str
    unit: str
    interval: str
    under: str
    n: str
    index: int
    warnings: tuple[WarningCode, ...]


def _workloads(
    run: Run, tables: Sequence[DataTable], raws: Sequence[CellRaw], room: _Room
) -> Iterator[_Load]:
    for table in tables:
        numbered = [
            (entry.cell, run.cells[entry.cell]) for row in table.rows if (entry := row[0]).cell is not None
        ]
        made = [*load_figures(run, table.key, numbered, raws), *latency_figures(table.key, numbered)]
        figures = tuple(
            html for each in made if (html := room.take(f"{table.title}: {each.title}", _figure(each)))
        )
        yield _Load(table.key, table.title, table, figures)


def _cell(index: int, run: Run, raw: CellRaw, folder: RunFolder, room: _Room) -> _CellPart:
    cell = run.cells[index]
    key = f"cell-{index}"
    made = [
        timeline_figure(key, raw),
        round_figure(key, cell, folder),
        *machine_figures(key, cell, folder),
    ]
    figures = tuple(
        html for each in made if each and (html := room.take(f"{cell.name}: {each.title}", _figure(each)))
    )
    numbers = _macro("numbers", all_numbers(key, cell), _link(all_numbers_csv(f"{key}-{cell.name}", cell)))
    head = head_of(cell)
    return _CellPart(
        index=index,
        name=cell.name,
        load=load_words(cell),
        setting="" if cell.setting is None else setting_words(cell),
        head="-" if head is None else shown(head.value),
        unit=""
        if head is None
        else f"{unit_of(head.metric)} {short_title(head.metric)}, {statistic_words(head.statistic)}".strip(),
        interval="" if head is None or head.low is None else interval_of(head),
        warnings=tuple(each for each in cell.summary.warnings if each not in common_warnings(run)),
        figures=figures,
        numbers=room.take(f"{cell.name}: all numbers", numbers),
    )


def _highlights(run: Run) -> Iterator[_Highlight]:
    """Yield the highest number of each workload, of its base cells; times are not compared with speeds.

    A number of broken answers stands only where all are broken.
    """
    for workload in run.plan.workloads:
        found: list[tuple[float, int, Measurement]] = []
        for index, cell in enumerate(run.cells):
            head = head_of(cell) if cell.cell.workload == workload.id and cell.setting is None else None
            if head is not None and head.metric != "ttft_ms":
                found.append((head.value, -index, head))
        if not found:
            continue
        _, negative, head = max(found, key=lambda each: (_is_sound(each[2]), *each[:2]))
        cell = run.cells[-negative]
        yield _Highlight(
            workload=workload.id,
            metric=f"{short_title(head.metric)}, {statistic_words(head.statistic)}",
            value=head.value,
            text=shown(head.value),
            unit=unit_of(head.metric),
            interval="" if head.low is None else interval_of(head),
            under=f"{load_words(cell)}{f'; the highest of {len(found)} cells' if len(found) > 1 else ''}",
            n=f"n {head.n_samples:,} in {counted(head.n_rounds, 'round')}",
            index=-negative,
            warnings=in_order({*cell.summary.warnings, *head.warnings}),
        )


def _is_sound(head: Measurement) -> bool:
    return WarningCode.GARBAGE_OUTPUT not in head.warnings


def _figure(figure: Figure) -> Markup:
    return _macro("figure", figure, _link(figure.data))


def _link(data: CsvData) -> dict[str, Any]:
    name, address = data_link(data)
    return {"name": name, "address": address, "source": data.source, "rows": len(data.rows)}


def _macro(name: str, *arguments: Any) -> Markup:
    found: Markup = getattr(_environment().get_template("parts.html").module, name)(*arguments)
    return found


@cache
def _environment() -> Environment:
    """Return the templates. Whatever they put out is escaped by `kbtool.escape`, for text and attributes alike."""
    environment = Environment(
        loader=PackageLoader("kbtool.runner.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_escaped,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals["meaning"] = _meaning
    environment.filters["coded"] = _coded
    return environment


def _escaped(value: object) -> Markup:
    """Return a value as markup that is inert in text and in quoted attributes."""
    if isinstance(value, Markup):
        return value
    return Markup(html_attribute(str(value)))  # noqa: S704 - this is where it is escaped


def _coded(text: str) -> Markup:
    """Return text with what stands in backticks as code."""
    parts = _CODE.split(text)
    marked = (
        f"<code>{html_attribute(each)}</code>" if at % 2 else html_attribute(each)
        for at, each in enumerate(parts)
    )
    return Markup("".join(marked))  # noqa: S704 - each part is escaped


def _meaning(code: WarningCode) -> str:
    return WARNINGS[code].means


@cache
def _style() -> str:
    """Return the style sheet without comments and indentation."""
    text = files("kbtool.runner.report").joinpath("templates/report.css").read_text("utf-8")
    return "\n".join(
        line.strip() for line in text.split("\n") if line.strip() and not line.strip().startswith("/*")
    )


def _policy(style: str) -> str:
    """Return the Content-Security-Policy: nothing but this one style sheet, and pictures inside the file."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
