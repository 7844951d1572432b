"""The figures about the data, day by day, as a file."""

from datetime import date

import pytest

from kbtool.analysis.quality import MEASURES, Quality, Share
from kbtool.analysis.quality_history import Entry, entries_of, read_history, with_day, write_history
from kbtool.errors import KbtoolError

DAY = date(2026, 11, 30)


def day(of: date, results: int = 4) -> list[Entry]:
    """Return the rows of one day."""
    return entries_of(
        of,
        [
            Quality(
                "all",
                2,
                results,
                tuple(Share(n, 4) for n in range(len(MEASURES)) if n < 4) + (Share(0, 0),) * 3,
            )
        ],
    )


def test_a_history_survives_its_file() -> None:
    """What is written is read again, to the letter."""
    history = [*day(date(2026, 10, 1)), *day(DAY)]
    assert read_history(write_history(history)) == history


def test_a_day_is_kept_once() -> None:
    """Saving a day again replaces its rows; an earlier day finds its place."""
    history = with_day(with_day([], day(DAY)), day(DAY, results=9))
    assert {each.results for each in history} == {9}
    earlier = with_day(history, day(date(2026, 9, 1)))
    assert [each.day for each in earlier] == ["2026-09-01"] * len(MEASURES) + ["2026-11-30"] * len(MEASURES)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("2026-11-30,all,1,2,quote,3", "is no row of the history"),
        ("30.11.2026,all,1,2,quote,1,2", "is no row of the history"),
        ("2026-11-30,all,1,2,quote,many,2", "is no row of the history"),
        ("2026-11-30,all,1,2,quote,3,2", "3 of 2 is no share"),
        ("2026-11-30,all,1,2,quote,-1,2", "-1 of 2 is no share"),
    ],
)
def test_a_spoilt_line_is_named(line: str, said: str) -> None:
    """The complaint has the file, the line and what was found."""
    with pytest.raises(KbtoolError, match=said) as raised:
        read_history(f"day,set,records,results,measure,count,of\n{line}\n")
    assert str(raised.value).startswith("site/data/quality-history.csv:2: ")


def test_another_file_is_no_history() -> None:
    """The columns say what the file is."""
    with pytest.raises(KbtoolError, match=r":1: the columns are a,b; expected day,set,"):
        read_history("a,b\n1,2\n")
