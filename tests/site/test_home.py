"""The first page: what is here, how far to trust it, and the questions that can be asked."""

from dataclasses import replace

from kbtool.analysis.quality import MEASURES
from kbtool.site.cards import Card, card_of
from kbtool.site.views.home import HomeView, home_view
from kbtool.store.references import outgoing
from tests.site.samples import records


def view(status: str = "draft") -> HomeView:
    """Return the first page of the samples, whose records are all of one status."""
    cards = [card_of(ref, each, status, outgoing(each)) for ref, each in records().items()]
    return home_view(cards, None)


def cards() -> list[Card]:
    """Return the cards of the samples."""
    return [card_of(ref, each, "draft", outgoing(each)) for ref, each in records().items()]


def test_trust_is_what_the_data_quality_page_says() -> None:
    """Each share leads to the measure that it is of."""
    titles = {measure.code: measure.title for measure in MEASURES}
    found = view().trust
    assert {each.anchor for each in found} == {"engine_version", "load", "quote", "opened"}
    assert all(each.title == titles[each.anchor] and each.percent.endswith("%") for each in found)


def test_publishers_are_those_of_what_stands() -> None:
    """A publisher counts once, and none does whose records were retracted."""
    primary = {card.primary for card in cards() if card.kind == "benchmark"}
    names = {card.source.publisher for card in cards() if card.source is not None and card.ref in primary}
    assert view().publishers == len(names)
    assert view("retracted").publishers == 0


def test_freshness_is_the_newest_change() -> None:
    """The newest day of any record, and nothing where there is none."""
    later = [
        replace(card, updated="2027-01-02") if index == 0 else card for index, card in enumerate(cards())
    ]
    assert home_view(later, None).updated == "2027-01-02"
    assert home_view([], None).updated == ""
