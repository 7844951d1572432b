"""The explorer's files: the table of all results, in columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from kbtool.analysis.rows import Cell
from kbtool.analysis.sweeps import configurations, setups
from kbtool.site.explore.describe import FACETS, PARTS, REFERENCES, header, metric_order
from kbtool.site.explore.pack import PackedColumn, pack
from kbtool.site.places import RESULTS_PER_PAGE
from kbtool.site.table import ResultTable

__all__ = ["FOLDER", "explorer_columns", "explorer_file", "part_path"]

FOLDER: Final = "data/explore/"


def part_path(part: str) -> str:
    """Return where a part is, from the root of the site."""
    return f"{FOLDER}{part}.bin.gz"


def explorer_columns(table: ResultTable) -> dict[str, Sequence[Cell]]:
    """Return what the explorer adds to the columns of the table."""
    rows = table.rows
    setup = setups(rows)
    speeds: list[Cell] = [None] * len(rows)
    for each in configurations(rows, setup):
        speeds[each.row] = each.user_tok_s
    return {"setup": setup, "user_tok_s": speeds, "page": list(_pages(table))}


def _pages(table: ResultTable) -> Iterator[int]:
    cards = table.library.cards
    places: dict[str, dict[str, int]] = {}
    for row in table.rows:
        if row.ref not in places:
            places[row.ref] = {result: place for place, result in enumerate(cards[row.ref].results)}
        yield places[row.ref][row.anchor] // RESULTS_PER_PAGE + 1


def explorer_file(
    part: str,
    column: Callable[[str], Sequence[Cell]],
    labels: Callable[[str], str],
    build: str,
) -> bytes:
    """Return one part.

    Args:
        part: Its name.
        column: Returns a column of the table, or one that the explorer adds.
        labels: Returns the title of a record by its reference.
        build: What all parts of one build share, so that parts of two are never joined.
    """
    packed = [_column(name, column(name), labels) for name in PARTS[part]]
    head: dict[str, object] = {"build": build}
    if part == "main":
        order = metric_order(_texts(column("metric")), _texts(column("comparison_class")))
        head |= header([metric for metric, _ in order])
        head["day"] = max(map(str, filter(None, column("updated"))), default="")
    return pack(packed, head)


def _column(name: str, cells: Sequence[Cell], label: Callable[[str], str]) -> PackedColumn:
    labels: Mapping[str, str] = {}
    if name in REFERENCES:
        labels = {cell: label(cell) for cell in set(cells) if isinstance(cell, str)}
    return PackedColumn(name, cells, labels, coded=name in FACETS)


def _texts(cells: Sequence[Cell]) -> list[str]:
    return [cell if isinstance(cell, str) else "" for cell in cells]
