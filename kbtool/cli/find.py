"""`kbtool find`: rows of records and results by words, filters and order."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kbtool.cli.console import complain, console, find_root, say, say_csv
from kbtool.cli.options import RootOption, TableFormat
from kbtool.errors import ExitCode, UsageError

if TYPE_CHECKING:
    # The models behind it take as long to import as a whole lint run over an unchanged project.
    from rich.console import Console

    from kbtool.analysis.rows import Cell, Row

__all__ = ["find"]

TABLE_COLUMNS: Final = {
    "benchmark": (
        "ref",
        "result",
        "as_published",
        "metric",
        "accelerator",
        "engine",
        "model",
        "concurrency",
        "standing",
        "status",
    ),
    "accelerator": ("ref", "vendor", "form", "memory_gb", "bandwidth_gb_s", "power_w", "status"),
    "source": ("ref", "source_kind", "publisher", "published", "group"),
}
"""What a terminal is wide enough for; other forms give every column."""


NUMBERS: Final = frozenset({"value", "low", "high", "concurrency"})
FOLDER_OF: Final = {"accelerator": "accelerators/", "engine": "engines/", "model": "models/"}
"""Columns whose references all begin alike; a table leaves that out."""


class KindName(StrEnum):
    """Kinds of record."""

    BENCHMARK = "benchmark"
    ACCELERATOR = "accelerator"
    INTERCONNECT = "interconnect"
    ENGINE = "engine"
    MODEL = "model"
    SOURCE = "source"
    GOTCHA = "gotcha"


def find(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Words that must all occur; `6,853` finds 6853.", show_default=False),
    ] = None,
    *,
    kind: Annotated[
        KindName, typer.Option(help="Kind of record; benchmarks give a row a result.")
    ] = KindName.BENCHMARK,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            "-w",
            help="Filter such as 'value>100' or 'engine~sglang'; may be repeated.",
            show_default=False,
        ),
    ] = None,
    sort: Annotated[
        str | None, typer.Option(help="Column to order by; -COLUMN for descending.", show_default=False)
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns to show, by comma.", show_default=False)
    ] = None,
    withdrawn: Annotated[
        bool, typer.Option("--withdrawn", help="Also what was withdrawn, retracted or superseded.")
    ] = False,
    limit: Annotated[int, typer.Option(help="Rows at most; 0 for all.", min=0)] = 0,
    output: Annotated[TableFormat, typer.Option("--format", help="Form of the output.")] = TableFormat.TABLE,
    root: RootOption = None,
) -> None:
    """Find records and results.

    Examples: `kbtool find rtx pro 6000 -w metric=prefill_tok_s --sort -value`, `kbtool find --kind gotcha cuda`,
    `kbtool find -w 'concurrency>=16' --format csv`.

    Results of different metrics, scopes or conditions stand in one list without being comparable.
    """
    from kbtool.analysis.query import parse_filter, select, sort_rows
    from kbtool.analysis.rows import COLUMNS

    known = COLUMNS[kind.value]
    filters = [parse_filter(text, known) for text in where or ()]
    shown = _columns(columns, known) or (
        TABLE_COLUMNS.get(kind.value, known) if output is TableFormat.TABLE else known
    )
    found = select(_matching_rows(root, kind, words or ()), filters)
    rows = found if withdrawn else [row for row in found if row.stands]
    if sort is not None:
        name = sort.removeprefix("-")
        _columns(name, known)
        rows = sort_rows(rows, name, descending=sort.startswith("-"))
    cut = rows[:limit] if limit else rows
    _print(cut, shown, output)
    if len(rows) < len(found):
        complain(f"{len(found) - len(rows)} rows that no longer stand are left out; --withdrawn shows them")
    if len(cut) < len(rows):
        complain(f"{len(rows) - len(cut)} more rows; --limit 0 shows all")
    if not rows:
        complain("no row matches")
        raise typer.Exit(ExitCode.FINDINGS)


def _matching_rows(root: object, kind: KindName, words: Sequence[str]) -> "list[Row]":
    from kbtool.analysis.query import matches_words
    from kbtool.analysis.rows import rows_of
    from kbtool.store import load

    corpus = load(find_root(root))  # type: ignore[arg-type]  # typer hands over what RootOption says
    if corpus.findings:
        complain(
            f"{len(corpus.findings)} findings in unreadable or invalid records; `kbtool lint` lists them"
        )
    found = []
    for record in corpus.by_kind(kind.value):
        ref = corpus.ref_of(record)
        text = corpus.loaded(ref).data.decode()
        rows = list(rows_of(ref, record, corpus.status(ref), corpus.get))
        if matches_words(text + " " + ref, words):
            narrowed = [row for row in rows if matches_words(" ".join(map(str, row.cells.values())), words)]
            found += narrowed or rows
    return found


def _columns(text: str | None, known: Sequence[str]) -> tuple[str, ...]:
    from kbtool.analysis.query import columns_hint

    names = tuple(name.strip() for name in text.split(",")) if text else ()
    for name in names:
        if name not in known:
            raise UsageError(f"there is no column {name!r}; {columns_hint(name, known)}")
    return names


def _print(rows: "Sequence[Row]", columns: Sequence[str], output: TableFormat) -> None:
    if output is TableFormat.JSON:
        from kbtool.store.exactjson import exact_json

        found = [{name: row.cells.get(name) for name in columns} for row in rows]
        say(exact_json(found, indent=2).removesuffix("\n"))
        return
    if output is TableFormat.CSV:
        say_csv([columns, *([_plain(row.cells.get(name)) for name in columns] for row in rows)])
        return
    _print_table(rows, columns)


def _print_table(rows: "Sequence[Row]", columns: Sequence[str]) -> None:
    """Print a line a row, or a few lines each where the terminal is too narrow for the columns."""
    out = console()
    cells = [[_shown(name, row.cells.get(name)) for name in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    if out.is_terminal and sum(widths) + 2 * (len(columns) - 1) > out.width:
        _print_blocks(out, cells, columns)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right" if name in NUMBERS else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    out.print(table)


def _print_blocks(out: "Console", rows: Sequence[Sequence[str]], columns: Sequence[str]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    for first, *others in rows:
        stated = [f"{name} {cell}" for name, cell in zip(columns[1:], others, strict=True) if cell]
        out.print(Text(first, style="bold", overflow="fold"))
        out.print(Padding(Text(", ".join(stated), overflow="fold"), (0, 0, 0, 2), expand=False))


def _shown(name: str, cell: "Cell") -> str:
    from kbtool.escape import terminal
    from kbtool.vocab.units import format_number

    if cell is None:
        return ""
    if isinstance(cell, int | Decimal) and not isinstance(cell, bool):
        return str(cell) if name == "year" else format_number(cell)
    return terminal(str(cell)).removeprefix(FOLDER_OF.get(name, "\n"))


def _plain(cell: "Cell") -> str | int | Decimal | bool | None:
    return cell.isoformat() if isinstance(cell, date) else cell
