"""`kbtool query`: SQL over the tables of the data files."""

import json
import math
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbtool.cli.build import site_package
from kbtool.cli.console import complain, find_root, progress, say, say_csv, show_table
from kbtool.cli.options import RootOption, TableFormat
from kbtool.errors import ExitCode

if TYPE_CHECKING:
    from kbtool.site.data.sql import Answer

__all__ = ["query"]


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
    nothing else: no file, no address, no setting.
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
    found = answer(sql, opened.tables.table)
    _PRINT[output](found)
    for line in _lines_below(found):
        complain(line)
    if not found.rows:
        complain("no row matches")
        raise typer.Exit(ExitCode.FINDINGS)


def _lines_below(found: "Answer") -> Iterable[str]:
    """Return what must stand below a list in which something names a closed family of results."""
    from kbtool.vocab.closed import FAMILIES

    texts = {cell.casefold() for row in found.rows for cell in row if isinstance(cell, str)}
    return [each.line for each in FAMILIES if any(each.name.casefold() in text for text in texts)]


def _print_table(found: "Answer") -> None:
    from rich.table import Table
    from rich.text import Text

    from kbtool.escape import terminal

    table = Table(box=None, header_style="bold", pad_edge=False)
    for place, name in enumerate(found.columns):
        numbers = all(isinstance(row[place], int | float | Decimal | None) for row in found.rows)
        table.add_column(Text(terminal(name)), justify="right" if numbers else "left", overflow="fold")
    for row in found.rows:
        table.add_row(*(Text(terminal(_shown(cell))) for cell in row))
    show_table(table)


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:.12g}" if isinstance(cell, float) else str(cell)


def _print_csv(found: "Answer") -> None:
    say_csv([found.columns, *(map(_plain, row) for row in found.rows)])


def _plain(cell: Any) -> str | int | float | Decimal | bool | None:
    if cell is None or isinstance(cell, str | int | float | Decimal):
        return cell
    return json.dumps(_json(cell)) if isinstance(cell, list | tuple | dict) else str(cell)


def _print_json(found: "Answer") -> None:
    names = _apart(found.columns)
    rows = [dict(zip(names, map(_json, row), strict=True)) for row in found.rows]
    say(json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False))


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


_PRINT = {TableFormat.TABLE: _print_table, TableFormat.JSON: _print_json, TableFormat.CSV: _print_csv}
