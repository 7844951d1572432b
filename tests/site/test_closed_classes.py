"""Results of a closed class stand apart in every list, and its publisher's line stands below."""

from dataclasses import replace

from kbtool.schema import Benchmark
from kbtool.site.cards import Card, card_of
from kbtool.site.render import render
from kbtool.site.views.benchmark import benchmark_view
from kbtool.site.views.home import home_view
from kbtool.site.views.indexes import index_plans, index_view
from kbtool.vocab.closed import FAMILIES, family_of, lines_below, titled
from tests.site.samples import RICH, context_of, records, rich

CLASS = "mlperf-inference-v6.0/llama2-70b-99/closed/datacenter/offline"
LINE = "The MLPerf name and logo are registered and unregistered trademarks of MLCommons Association"


def closed() -> Benchmark:
    """Return the sample benchmark as one of a closed class."""
    record: Benchmark = rich(comparison_class=CLASS)
    return record


def card(record: Benchmark) -> Card:
    """Return its card."""
    return card_of(RICH, record, "draft", ())


def test_metric_of_a_closed_class_is_a_value_of_its_own() -> None:
    """Filtered or sorted by metric, MLPerf's figures are never among others."""
    ours, theirs = card(rich()), card(closed())
    assert theirs.cells[1].text == f"{ours.cells[1].text}, MLPerf"


def test_list_with_a_closed_class_has_its_line_below() -> None:
    """The trademark line stands on each page that shows such a figure, and on no other."""
    find = context_of(records()[RICH]).find
    for cards, count in (
        ([card(rich())], 0),
        ([card(rich()), replace(card(closed()), ref="benchmarks/b")], 1),
    ):
        (plan, *_) = index_plans("benchmark", cards, find)
        page = render("index", plan.path, v=index_view(plan, find))
        assert page.count(LINE) == count


def test_page_links_to_figures_of_its_own_family() -> None:
    """`Compare only with figures in this metric` leads to MLPerf's, and the class is named."""
    view = benchmark_view(closed(), context_of(closed()))
    assert view.headline is not None
    assert view.headline.peers.endswith("-mlperf")
    assert view.comparison_class == CLASS


def test_newest_of_the_first_page_are_open() -> None:
    """The first page shows figures beside one another, so that those of a closed class are not among them."""
    sources = [
        card_of(ref, each, "draft", ()) for ref, each in records().items() if ref.startswith("sources/")
    ]
    view = home_view([card(rich()), replace(card(closed()), ref="benchmarks/b"), *sources])
    assert [each.link.href for each in view.newest] == [f"{RICH}.html"]


def test_family_is_told_by_the_class() -> None:
    """A class of no known family, or none, changes nothing."""
    assert family_of(CLASS) == FAMILIES[0]
    assert family_of("other/class") is None
    assert titled("Output throughput", None) == "Output throughput"
    assert lines_below(["Output throughput"]) == ()
