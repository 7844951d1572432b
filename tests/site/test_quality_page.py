"""The page about the quality of the data."""

from collections.abc import Sequence
from datetime import date

from kbtool.analysis.quality import MEASURES, Quality, Share
from kbtool.analysis.quality_history import Entry, entries_of
from kbtool.site.cards import Card, card_of
from kbtool.site.views.quality import QualityView, quality_view
from kbtool.store.references import outgoing
from tests.site.samples import records


def view(
    history: Sequence[Entry] = (), groups: dict[str, str] | None = None, status: str = "draft"
) -> QualityView:
    """Return the page of the samples, all of one status."""
    cards: list[Card] = [card_of(ref, each, status, outgoing(each)) for ref, each in records().items()]
    return quality_view(cards, lambda ref: (groups or {}).get(ref, ""), history)


def kept(day: date, *groups: str) -> list[Entry]:
    """Return the kept rows of a day."""
    shares = tuple(Share(1, 2) for _ in MEASURES)
    return entries_of(day, [Quality(group, 1, 2, shares) for group in groups])


def test_all_then_collections_then_publishers() -> None:
    """The parts add up to the whole, which stands first; each measure has its cell."""
    made = view(groups={"benchmarks/ev-fastserve-demo-8xa1-p2p": "some-set"})
    whole, *parts = made.collections
    assert whole.title == "All records"
    assert {each.title for each in parts} == {"Curated one by one", "Imported: some-set"}
    for rows in (parts, made.publishers):
        assert sum(each.results for each in rows) == whole.results
    assert all(len(each.cells) == len(MEASURES) for each in (whole, *parts, *made.publishers))


def test_what_does_not_stand_does_not_count() -> None:
    """Retracted records leave the figures; a page without any says so."""
    assert view(status="retracted").publishers == ()


def test_the_newest_day_comes_first() -> None:
    """Each set has its days, the newest first; a measure that a day lacks is not made up."""
    later = [each for each in kept(date(2026, 11, 30), "all", "curated") if each.measure != "quote"]
    made = view([*kept(date(2026, 10, 1), "all"), *later])
    assert [each.title for each in made.past] == ["All records", "Curated one by one"]
    first = made.past[0]
    assert [row.title for row in first.rows] == ["2026-11-30", "2026-10-01"]
    place = [each.code for each in MEASURES].index("quote")
    assert [row.cells[place].percent for row in first.rows] == ["", "50 %"]


def test_no_history_is_no_link() -> None:
    """A site whose records were never counted before has no such file."""
    assert (view().past, view().history) == ((), "")
