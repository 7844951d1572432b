"""The report of a run at a terminal: facts, tables, and what each warning means."""

from typing import TYPE_CHECKING

from kbtool.cli.console import console, say
from kbtool.escape import terminal

if TYPE_CHECKING:
    from rich.text import Text

    from kbtool.runner.report import DataTable, Entry, RunRows

__all__ = ["print_rows"]


def print_rows(found: "RunRows") -> None:
    """Print a report."""
    say(terminal(f"{found.title} ({found.run_id})"))
    say(terminal(found.verdict))
    for fact in found.facts:
        say(terminal(f"  {fact.label + ': ':<24}{fact.text}"))
    for table in found.tables:
        _print_table(table)
    if found.warnings:
        say()
    for met in found.warnings:
        where = "every cell" if met.everywhere else ", ".join(met.cells)
        say(terminal(f"{met.code.value.replace('_', ' ')} ({where}): {met.means} {met.remedy}"))
    for remark in found.remarks:
        say(terminal(remark))


def _print_table(table: "DataTable") -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    say()
    out.print(Text(terminal(table.title), style="bold"))
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for column in table.columns:
        title = f"{column.title} ({column.unit})" if column.unit else column.title
        shown.add_column(Text(terminal(title)), justify=column.align, overflow="fold")
    for row in table.rows:
        shown.add_row(*(_entry(each) for each in row))
    out.print(shown)
    if table.note:
        out.print(Text(f"  {terminal(table.note)}", style="dim"))


def _entry(entry: "Entry") -> "Text":
    from rich.text import Text

    text = Text(terminal(entry.text))
    if entry.detail:
        text.append(f"\n{terminal(entry.detail)}", style="dim")
    for code in entry.warnings:
        text.append(f"\n{code.value.replace('_', ' ')}", style="yellow")
    return text
