"""`kbtool query`: SQL over the tables of the data files."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from itertools import chain, islice
from typing import Annotated, Any, Final

import typer

from kbtool.cli.build import site_package
from kbtool.cli.console import complain, find_root, progress, say, say_csv, show_table
from kbtool.cli.options import RootOption, TableFormat
from kbtool.errors import ExitCode

__all__ = ["query"]

_Row = tuple[Any, ...]
_MOST_CELLS: Final = 20_000
"""Cells of a table, which takes 0.1 ms for each to find out how wide its columns are."""
_ROWS_AT_A_TIME: Final = 1000


def query(
    sql: Annotated[
        str,
        typer.Argument(metavar="SQL", help="One statement that reads, in DuckDB's SQL.", show_default=False),
    ],
    *,
    output: Annotated[TableFormat, typer.Option("--format", help="Form of the output.")] = TableFormat.TABLE,
    root: RootOption = None,
) -> None:
    """Answer a question in SQL, from the tables of the data files.

    Examples: `kbtool query "SHOW TABLES"`, `kbtool query "DESCRIBE results"`,
    `kbtool query "SELECT ref, value_text, unit FROM open_results WHERE metric = 'prefill_tok_s' ORDER BY value DESC LIMIT 5"`.

    The page Data of the site says what the columns mean, and which results may stand side by side. SQL can read these tables and
    nothing else: no file, no address, no setting. A table shows the first rows of a long answer; csv and json give all.
    """
    site_package()
    from kbtool.site.data.project import open_tables
    from kbtool.site.data.sql import answer, check, tables_in

    project = find_root(root)
    check(sql)
    with progress("Reading records") as advance:
        opened = open_tables(project, tables_in(sql), progress=advance)
    if opened.findings:
        complain(f"{len(opened.findings)} findings keep files from being records; `kbtool lint` lists them")
    with answer(sql, opened.tables.table) as found:
        noted = _Noted(found.rows)
        shown = _PRINT[output](found.columns, noted)
    if shown < noted.count:
        complain(f"the first {shown:,} rows are shown; --format csv and --format json give all")
    for line in noted.lines_below():
        complain(line)
    if not noted.count:
        complain("no row matches")
        raise typer.Exit(ExitCode.FINDINGS)


class _Noted:
    """Rows, and what there is to say of them once they were read."""

    def __init__(self, rows: Iterable[_Row]) -> None:
        from kbtool.vocab.closed import FAMILIES

        self.count = 0
        self._rows = rows
        self._left = {each.name.casefold(): each for each in FAMILIES}
        self._lines: list[str] = []

    def __iter__(self) -> Iterator[_Row]:
        for row in self._rows:
            self.count += 1
            if self._left:
                self._note(row)
            yield row

    def lines_below(self) -> list[str]:
        """Return what must stand below a list in which something names a closed family of results."""
        return self._lines

    def _note(self, row: _Row) -> None:
        text = " ".join(cell for cell in row if isinstance(cell, str)).casefold()
        for name in [name for name in self._left if name in text]:
            self._lines.append(self._left.pop(name).line)


def _print_table(names: Sequence[str], rows: Iterable[_Row]) -> int:
    """Print rows side by side and return how many; it asks for one more where it leaves some out."""
    from rich.table import Table
    from rich.text import Text

    from kbtool.escape import terminal

    ahead = iter(rows)
    shown = list(islice(ahead, _MOST_CELLS // len(names) + 1))
    table = Table(box=None, header_style="bold", pad_edge=False)
    for place, name in enumerate(names):
        numbers = all(isinstance(row[place], int | float | Decimal | None) for row in shown)
        table.add_column(Text(terminal(name)), justify="right" if numbers else "left", overflow="fold")
    for row in shown:
        table.add_row(*(Text(terminal(_shown(cell))) for cell in row))
    show_table(table)
    next(ahead, None)
    return len(shown)


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:.15g}" if isinstance(cell, float) else str(cell)


def _print_csv(names: Sequence[str], rows: Iterable[_Row]) -> int:
    count = 0
    # What is wrong with the first rows is said before anything is printed.
    for part in _in_parts(chain([names], (map(_plain, row) for row in rows))):
        say_csv(part)
        count += len(part)
    return count - 1


def _plain(cell: Any) -> str | int | float | Decimal | bool | None:
    if cell is None or isinstance(cell, str | int | float | Decimal):
        return cell
    return json.dumps(_json(cell)) if isinstance(cell, list | tuple | dict) else str(cell)


def _print_json(names: Sequence[str], rows: Iterable[_Row]) -> int:
    apart, count, waiting = _apart(names), 0, "["
    for part in _in_parts(rows):
        say(waiting)
        objects = (dict(zip(apart, map(_json, row), strict=True)) for row in part)
        texts = (json.dumps(each, indent=2, ensure_ascii=False, allow_nan=False) for each in objects)
        waiting = ",\n".join("  " + text.replace("\n", "\n  ") for text in texts) + ","
        count += len(part)
    if count:
        say(waiting.removesuffix(","))
    say("]" if count else "[]")
    return count


def _in_parts(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the rows some at a time, so that the longest answer needs no more memory than that."""
    ahead = iter(rows)
    while part := list(islice(ahead, _ROWS_AT_A_TIME)):
        yield part


def _json(cell: Any) -> Any:
    """Return a cell as strict JSON has it: what it has no number for is null."""
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    if isinstance(cell, Decimal):
        return int(cell) if cell == cell.to_integral_value() else float(cell)
    if isinstance(cell, list | tuple):
        return [_json(each) for each in cell]
    if isinstance(cell, dict):
        return {str(name): _json(each) for name, each in cell.items()}
    if cell is None or isinstance(cell, str | bool | int):
        return cell
    return cell.isoformat() if isinstance(cell, date) else str(cell)


def _apart(names: Sequence[str]) -> list[str]:
    """Return names of which no two are equal: the second `ref` becomes `ref_2`."""
    found: list[str] = []
    for name in names:
        unique, number = name, 2
        while unique in found:
            unique, number = f"{name}_{number}", number + 1
        found.append(unique)
    return found


_PRINT: Final[dict[TableFormat, Callable[[Sequence[str], Iterable[_Row]], int]]] = {
    TableFormat.TABLE: _print_table,
    TableFormat.JSON: _print_json,
    TableFormat.CSV: _print_csv,
}
