"""The report of a run at a terminal: facts, tables, and what each warning means."""

from typing import TYPE_CHECKING

from kbtool.cli.console import console, say
from kbtool.escape import terminal

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from kbtool.runner.report import Column, DataTable, Entry, RunRows

__all__ = ["print_rows", "print_table"]


def print_rows(found: "RunRows") -> None:
    """Print a report."""
    say(terminal(f"{found.title} ({found.run_id})"))
    say(terminal(found.verdict))
    for fact in found.facts:
        say(terminal(f"  {fact.label + ': ':<24}{fact.text}"))
    for table in found.tables:
        print_table(table)
    if found.warnings:
        say()
    for met in found.warnings:
        where = "every cell" if met.everywhere else ", ".join(met.cells)
        say(terminal(f"{met.code.value.replace('_', ' ')} ({where}): {met.means} {met.remedy}"))
    for remark in found.remarks:
        say(terminal(remark))


def print_table(table: "DataTable") -> None:
    """Print a table, or its rows one value a line where the terminal is too narrow for it."""
    from rich.text import Text

    out = console()
    say()
    out.print(Text(terminal(table.title), style="bold"))
    if _narrowest(table) > out.width:
        _print_blocks(table)
    else:
        out.print(_as_table(table))
    if table.note:
        out.print(Text(f"  {terminal(table.note)}", style="dim"))


def _narrowest(table: "DataTable") -> int:
    """Return the columns of a terminal that a table needs for no word to be broken."""
    widths = [
        max(
            (
                len(word)
                for text in (_title(column), *(_plain(row[index]) for row in table.rows))
                for word in text.split()
            ),
            default=0,
        )
        for index, column in enumerate(table.columns)
    ]
    return sum(widths) + 2 * len(widths)


def _print_blocks(table: "DataTable") -> None:
    """Print each row as lines of its own, for a terminal too narrow for the table."""
    for row in table.rows:
        for number, (column, entry) in enumerate(zip(table.columns, row, strict=True)):
            text = ", ".join(_plain(entry).splitlines())
            say(f"{'' if number == 0 else '  '}{_title(column)}: {text or '-'}")


def _title(column: "Column") -> str:
    return terminal(f"{column.title} ({column.unit})" if column.unit else column.title)


def _plain(entry: "Entry") -> str:
    return _entry(entry).plain


def _as_table(table: "DataTable") -> "Table":
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, header_style="bold", pad_edge=False)
    for column in table.columns:
        shown.add_column(Text(_title(column)), justify=column.align, overflow="fold")
    for row in table.rows:
        shown.add_row(*(_entry(each) for each in row))
    return shown


def _entry(entry: "Entry") -> "Text":
    from rich.text import Text

    text = Text(terminal(entry.text))
    if entry.detail:
        text.append(f"\n{terminal(entry.detail)}", style="dim")
    for code in entry.warnings:
        text.append(f"\n{code.value.replace('_', ' ')}", style="yellow")
    return text
