"""The tables of a project without a build: from what the last build worked out, where that still holds."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from kbtool.errors import UsageError
from kbtool.findings import Finding
from kbtool.schema import FOLDERS
from kbtool.site.builder import fingerprint
from kbtool.site.data.tables import Tables
from kbtool.site.library import CardCache, Library, RowCache, read_files
from kbtool.site.record_rows import RecordRows
from kbtool.site.state import State, state_path
from kbtool.site.table import ResultTable

__all__ = ["Opened", "open_tables"]


class Opened(NamedTuple):
    """The tables, and what kept files from being records."""

    tables: Tables
    findings: tuple[Finding, ...]


def open_tables(root: Path, names: Sequence[str], *, progress: Callable[[int, int], None]) -> Opened:
    """Return the tables of the records of a project.

    Args:
        root: The project root.
        names: The tables that will be asked for; what they need is worked out, and kept for the next time.
        progress: Called while records are read.
    """
    files = read_files(root)
    stored = State.peek(state_path(root), tool=fingerprint())
    cards, rows = CardCache(stored.cards), RowCache(stored.rows)
    library = Library(root, files, cards, rows)
    count, done = len(files.found), 0

    def step() -> None:
        nonlocal done
        done += 1
        progress(done, count)

    library.read(step)
    kinds = {FOLDERS[name] for name in names if name in FOLDERS} | (
        {"benchmark"} if "results" in names else set()
    )
    records = RecordRows(library)
    for ref, card in library.cards.items():
        if card.kind in kinds:
            records.ensure(ref)
    if cards.new or rows.new:
        _keep(root, cards, rows, library, {each.file.relative for each in files.found})
    return Opened(Tables(ResultTable(library)), tuple(sorted(library.findings, key=Finding.sort_key)))


def _keep(root: Path, cards: CardCache, rows: RowCache, library: Library, paths: set[str]) -> None:
    """Save what was worked out; where a build is running, that is the build's to save."""
    try:
        with State.open(state_path(root), tool=fingerprint(), out=None) as state:
            state.set_cards(cards.new, paths)
            state.set_rows(rows.new, library.cards)
    except UsageError:
        return
