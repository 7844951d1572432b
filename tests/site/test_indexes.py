"""Long lists spread over pages of bounded size on which every record can be reached without scripts."""

from dataclasses import replace
from itertools import chain

from kbtool.site.cards import Card
from kbtool.site.columns import Cell
from kbtool.site.places import ROWS_PER_PAGE, facet_slug
from kbtool.site.render import render
from kbtool.site.views.base import Incoming
from kbtool.site.views.indexes import index_plans, index_view
from kbtool.site.views.lists import newest_first, usage_page, usage_plans
from kbtool.site.views.pager import pager_links
from tests.site.samples import Page, context_of, records

RICH = "benchmarks/ev-fastserve-demo-8xa1"


def many(count: int) -> list[Card]:
    """Return copies of the sample benchmark under other names."""
    card = context_of(records()[RICH]).card
    metrics = ("Prefill speed", "Output throughput")
    return [
        replace(
            card,
            ref=f"benchmarks/b-{number:05}",
            title=f"Run {number}",
            updated=f"2026-01-{number % 28 + 1:02}",
            cells=(card.cells[0], Cell(metrics[number % 2]), *card.cells[2:]),
        )
        for number in range(count)
    ]


def test_a_short_index_is_one_page_with_filters() -> None:
    """Facets with one value filter nothing and are left out."""
    (plan,) = index_plans("benchmark", many(20), context_of(records()[RICH]).find)
    view = index_view(plan, context_of(records()[RICH]).find)
    assert plan.path == "benchmarks/index.html"
    assert [facet.title for facet in view.table.facets] == ["Metric"]
    assert [(each.label, each.count) for each in view.table.facets[0].options] == [
        ("Output throughput", 10),
        ("Prefill speed", 10),
    ]
    assert view.browse == ()


def test_a_long_index_reaches_every_record_and_every_value() -> None:
    """Page by page, and by value: each list is complete, no page is large, and no record is listed twice."""
    find = context_of(records()[RICH]).find
    cards = many(950)
    plans = list(index_plans("benchmark", cards, find))
    assert len({plan.path for plan in plans}) == len(plans)
    whole = [plan for plan in plans if plan.title == "Benchmarks"]
    assert [card.ref for card in chain(*(plan.cards for plan in whole))] == [
        c.ref for c in newest_first(cards)
    ]
    prefill = [plan for plan in plans if plan.title == "Benchmarks: Prefill speed"]
    assert sum(len(plan.cards) for plan in prefill) == 475
    assert all(len(plan.cards) <= ROWS_PER_PAGE for plan in plans)
    html = render("index", whole[4].path, v=index_view(whole[4], find))
    assert len(html) < 100_000
    assert "../benchmarks/index.metric-prefill-speed.html" in Page(html).hrefs
    assert "../engines/fastserve.html" in Page(html).hrefs


def test_hub_pages_hold_the_beginning_of_a_list_and_the_way_to_the_rest() -> None:
    """The list on a thing's page stays short however many records use it."""
    context = context_of(records()["engines/fastserve"])
    incoming = [
        Incoming(card, mention)
        for card in many(120)
        for mention in card.mentions
        if mention.target == "engines/fastserve"
    ]
    (plan,) = usage_plans(context.card, incoming)
    first = usage_page(plan, 0, context.find)
    assert (len(first.rows), first.total) == (12, 120)
    assert [link.href for link in first.parts] == ["../engines/fastserve.benchmarks.html"]
    listed = [
        row.link.href
        for number in range(1, plan.pages + 1)
        for row in usage_page(plan, number, context.find).rows
    ]
    assert len(listed) == len(set(listed)) == 120


def test_records_that_no_longer_stand_come_last() -> None:
    """They keep their page and leave every ranking."""
    cards = many(5)
    gone = replace(cards[0], status="retracted", updated="2027-01-01")
    assert newest_first([gone, *cards[1:]])[-1] is gone


def test_pagers_show_both_ends_and_the_neighbours() -> None:
    """A list of a hundred pages has a short pager."""
    links = pager_links(50, 100, "p{}.html".format)
    assert [link.text for link in links] == ["1", "\u2026", "48", "49", "50", "51", "52", "\u2026", "100"]
    assert [link.href for link in links if link.text in {"49", "50", "\u2026"}] == ["", "p49.html", "", ""]
    assert pager_links(1, 1, str) == ()


def test_facet_values_are_words() -> None:
    """They stand in attributes and lists of words, whatever a record holds."""
    assert facet_slug("Decode speed per user") == "decode-speed-per-user"
    hostile = facet_slug('"><script> onload=x')
    assert set(hostile) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")
