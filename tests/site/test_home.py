"""The first page: what is here, how far to trust it, and the questions that can be asked."""

from dataclasses import replace

from kbtool.analysis.quality import MEASURES
from kbtool.site.cards import Card, card_of
from kbtool.site.columns import Cell
from kbtool.site.data.feed import atom_bytes
from kbtool.site.views.home import HomeView, changes_pages, home_view
from kbtool.site.views.text import Quantity
from kbtool.store.references import outgoing
from kbtool.vocab.terms import Interest
from tests.site.samples import records


def view(status: str = "draft") -> HomeView:
    """Return the first page of the samples, whose records are all of one status."""
    cards = [card_of(ref, each, status, outgoing(each)) for ref, each in records().items()]
    return home_view(cards)


def cards() -> list[Card]:
    """Return the cards of the samples."""
    return [card_of(ref, each, "draft", outgoing(each)) for ref, each in records().items()]


def test_trust_is_what_the_data_quality_page_says() -> None:
    """Each share leads to the measure that it is of."""
    titles = {f"quality.html#{measure.code}": measure.title for measure in MEASURES}
    *measures, independent = view().trust
    assert [each.title for each in measures] == [
        "Source opened",
        "Quoted",
        "Load",
        "Engine version",
        "Measured twice or more",
    ]
    assert all(each.title == titles[each.path] and each.percent.endswith("%") for each in measures)
    assert independent.path == "sources/index.html"


def test_independence_is_that_of_the_primary_source() -> None:
    """By results: a publisher who makes or sells what was measured does not count, nor does a record without a source."""
    found = cards()
    own = {card.primary for card in found if card.kind == "benchmark"}

    def share(interest: Interest) -> tuple[str, str]:
        changed = [
            replace(card, source=card.source._replace(interest=interest))
            if card.ref in own and card.source
            else card
            for card in found
        ]
        return home_view(changed).trust[-1][1:]

    assert share("independent") == ("100 %", "sources/index.html")
    assert share("none_stated") == ("100 %", "sources/index.html")
    assert share("sells_hardware") == ("0 %", "sources/index.html")


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
    assert home_view(later).updated == "2027-01-02"
    assert home_view([]).updated == ""


def test_drafts_are_said_once_where_all_are() -> None:
    """A mark that every record has tells nothing of any."""
    assert view().all_drafts
    mixed = [replace(card, status="reviewed") if index == 0 else card for index, card in enumerate(cards())]
    assert not home_view(mixed).all_drafts


def lone(
    name: str, accelerator: str, value: str, *, users: str = "1", model: str = "models/demo-moe"
) -> Card:
    """Return the card of a benchmark whose headline is the speed of one user."""
    card = next(each for each in cards() if each.kind == "benchmark" and each.stands)
    head, metric, _, _, engine, _, by = card.cells
    cells = (
        head._replace(text=value, raw=value), metric, Cell(users, raw=users), Cell("1 x", ref=accelerator), engine, Cell(ref=model), by,
    )  # fmt: skip
    return replace(
        card,
        ref=f"benchmarks/{name}",
        title=name,
        metric="tok_s_per_user",
        headline=Quantity(value, "tok/s"),
        cells=cells,
    )


def test_the_chart_is_of_the_model_that_most_accelerators_have() -> None:
    """The fastest record of each, by speed; others' users, other models and figures with a sign are left out."""
    chosen = [
        lone("a", "accelerators/a", "9"),
        lone("b", "accelerators/b", "10.5"),
        lone("b-slower", "accelerators/b", "8"),
        lone("crowd", "accelerators/c", "90", users="8"),
        lone("other", "accelerators/c", "91", model="models/other"),
        lone("about", "accelerators/d", "\N{ALMOST EQUAL TO} 92"),
    ]
    found = home_view(chosen).fastest
    assert found is not None
    assert [(row.record.text, row.records) for row in found.rows] == [("b", 2), ("a", 1)]
    assert (found.accelerators, found.records) == (2, 3)
    assert found.href == "explore.html#metric=tok_s_per_user&model=demo-moe&concurrency=1"
    assert home_view(chosen[:1]).fastest is None


def test_the_newest_are_spread_over_publishers() -> None:
    """By day of change, then by day of publication; a publisher who adds many on one day has one line."""
    source = next(card for card in cards() if card.source is not None)
    assert source.source is not None
    found: list[Card] = []
    for number, (publisher, day) in enumerate(
        [("One", "2026-01-02"), ("One", "2026-01-03"), ("Two", "2026-01-01"), ("Three", "about spring")]
    ):
        facts = source.source._replace(publisher=publisher, published=day)
        found.append(replace(source, ref=f"sources/s-{number}", source=facts))
        found.append(replace(lone(f"r-{number}", "accelerators/a", "1"), primary=f"sources/s-{number}"))
    newest = home_view(found).newest
    assert [(each.publisher, each.published, each.link.text) for each in newest] == [
        ("One", "2026-01-03", "r-1"),
        ("Two", "2026-01-01", "r-2"),
        ("Three", "", "r-3"),
    ]


def test_changes_lead_to_the_feed_and_list_its_records() -> None:
    """What a feed reader is told of stands on the page as well."""
    (page,) = changes_pages(cards())
    feed = atom_bytes(cards(), site_name="Evidence", site_url="").decode()
    assert page.feed == "changes.atom"
    assert {each.link.text for each in page.records} == {card.title for card in cards()}
    assert page.all_records == len(page.records)
    assert all(f'href="{each.link.href}"' in feed for each in page.records)
