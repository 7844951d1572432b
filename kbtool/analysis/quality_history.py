"""The figures of `kbtool.analysis.quality` over time, one row a day, set of records and measure, as CSV text.

The history is a file of the repository, so that the same files give the same site: nothing here knows the time.
A measure that was added later has no earlier rows, and a measure that is no longer taken keeps those that it has.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final, NamedTuple

from kbtool.analysis.quality import MEASURES, Quality, Share
from kbtool.errors import KbtoolError

__all__ = ["HISTORY_PATH", "Entry", "entries_of", "read_history", "with_day", "write_history"]

HISTORY_PATH: Final = "site/data/quality-history.csv"
"""From the project root; the site publishes it as a data file."""
_COLUMNS: Final = ("day", "set", "records", "results", "measure", "count", "of")


class Entry(NamedTuple):
    """One measure of one set of records on one day."""

    day: str
    """Such as 2026-11-30."""
    set: str
    """`all`, or the name of a collection."""
    records: int
    results: int
    measure: str
    """A code of `MEASURES`."""
    share: Share


def entries_of(day: date, qualities: Iterable[Quality]) -> list[Entry]:
    """Return the rows of one day, a set after the other."""
    return [
        Entry(day.isoformat(), each.group, each.records, each.results, measure.code, share)
        for each in qualities
        for measure, share in zip(MEASURES, each.shares, strict=True)
    ]


def with_day(history: Sequence[Entry], entries: Sequence[Entry]) -> list[Entry]:
    """Return a history with the rows of one day put in; they replace those that the day had."""
    days = {each.day for each in entries}
    return sorted(
        [each for each in history if each.day not in days] + list(entries), key=lambda each: each.day
    )


def read_history(text: str, place: str = HISTORY_PATH) -> list[Entry]:
    """Return the rows of a history.

    Args:
        text: CSV, as `write_history` writes it.
        place: What to call the file in a complaint.

    Raises:
        KbtoolError: It is no history; the message says in which line, and what was expected.
    """
    rows = csv.reader(io.StringIO(text))
    head = next(rows, [])
    if tuple(head) != _COLUMNS:
        raise KbtoolError(f"{place}:1: the columns are {','.join(head)}; expected {','.join(_COLUMNS)}")
    return [_entry(row, f"{place}:{rows.line_num}") for row in rows]


def write_history(history: Iterable[Entry]) -> str:
    """Return a history as CSV text with LF line ends."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows((*each[:-1], *each.share) for each in history)
    return buffer.getvalue()


def _entry(row: Sequence[str], place: str) -> Entry:
    try:
        day, group, records, results, measure, count, of = row
        entry = Entry(
            date.fromisoformat(day).isoformat(),
            group,
            int(records),
            int(results),
            measure,
            Share(int(count), int(of)),
        )
    except ValueError as error:
        raise KbtoolError(
            f"{place}: {','.join(row)!r} is no row of the history ({error}); expected {','.join(_COLUMNS)} with whole"
            " numbers: correct the line, or take the file of the last commit and save the day again"
        ) from None
    if not 0 <= entry.share.have <= entry.share.of or min(entry.records, entry.results) < 0:
        raise KbtoolError(f"{place}: {entry.share.have} of {entry.share.of} is no share: correct the line")
    return entry
