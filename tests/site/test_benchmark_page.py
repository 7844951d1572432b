"""What a reader finds on the page of a benchmark: the number with its conditions, its gaps, its provenance."""

from decimal import Decimal

import pytest

from kbtool.schema import Benchmark
from kbtool.schema.benchmark import Client, ClientError, Cliff
from kbtool.site.views.base import Context
from kbtool.site.views.benchmark import BenchmarkView, benchmark_view, results_view
from kbtool.site.views.facts import Item
from tests.site.samples import context_of, rich


def view(**changes: object) -> BenchmarkView:
    """Return the page of the sample benchmark, some fields replaced."""
    record = rich(**changes)
    return benchmark_view(record, context_of(record))


def rows(page: BenchmarkView, title: str) -> dict[str, list[Item]]:
    """Return the rows of one group of the setup by label."""
    found: dict[str, list[Item]] = {}
    for group in page.setup:
        if group.title == title:
            for item in group.items:
                found.setdefault(item.label, []).append(item)
    return found


def row(page: BenchmarkView, title: str, label: str) -> Item:
    """Return the only row with a label."""
    (found,) = rows(page, title)[label]
    return found


def test_the_headline_stands_with_what_it_counts() -> None:
    """Number, unit, metric, scope, statistic, conditions, and the place it was read."""
    head = view().headline
    assert head is not None
    assert head.quantity[:2] == ("93.9", "tok/s")
    assert (head.metric, head.counts) == ("Decode speed per user", "output tokens of one user")
    assert head.statistic == "mean, 5 runs"
    assert [(each.label, each.text) for each in head.chips] == [
        ("Concurrency", "1"),
        ("Prompts", "prose"),
        ("Measured", "through a tunnel"),
    ]
    assert head.unstated == ()
    assert (head.quote, head.locator) == ("prose 93.9 tok/s", "table 1, row prose")
    assert head.source is not None
    assert head.source.href == "../sources/field-report.html"


def test_conditions_that_a_comparison_needs_are_missed_aloud() -> None:
    """What the metric cannot be compared without, and nobody stated, stands beside the number."""
    head = view(headline="prefill-128k-repeat").headline
    assert head is not None
    assert head.unstated == ()
    bare = rich(
        headline="ttft", results=[{**RESULT, "metric": "ttft_ms", "id": "ttft", "at": {"concurrency": 1}}]
    )
    page = benchmark_view(bare, context_of(bare))
    assert page.headline is not None
    assert page.headline.unstated == ("input tokens", "prefix cache")


RESULT = {
    "id": "r-1",
    "metric": "tok_s_per_user",
    "value": 10,
    "as_published": "10",
    "at": {"concurrency": 1},
    "evidence": [{"source": "sources/field-report", "locator": "table 1"}],
}


def test_a_gap_stands_where_the_value_would_be() -> None:
    """Searched in vain, with the answer found elsewhere; impossible, with the reason; or nobody looked."""
    page = view()
    version = row(page, "Engine", "Version")
    assert version.gap == "omitted"
    assert version.source is not None
    assert (version.source.text, version.source.href) == ("source 1", "#S1")
    assert version.notes == ("searched: whole article",)
    driver = row(page, "System", "Driver")
    assert driver.text == "elsewhere: 595.84, by"
    assert driver.link is not None
    assert driver.link.href == "#S2"
    commit = row(page, "Engine", "Commit")
    assert (commit.gap, commit.notes) == ("gap", ("The server printed 0.0.0-dev.",))
    assert commit.text.startswith("unknown dev build: ")
    assert row(page, "Engine", "Image digest").gap == "missing"


def test_words_without_a_value_and_their_gap_have_two_names() -> None:
    """What a source prints is no value of the field: the gap of the exact one is not a second row of one name."""
    omitted = [{"field": "system.power_limit_w", "source": "sources/field-report"}]
    system = {"accelerator": "accelerators/acme-a1", "power_limit_as_published": "full power"}
    found = rows(view(system=system, omitted_by_source=omitted), "System")
    (published,) = found["Power limit in force"]
    assert (published.text, published.gap) == ("full power", "")
    assert [each.gap for each in found["The same, exactly"]] == ["omitted"]


def test_a_field_that_two_sources_leave_out_has_two_rows() -> None:
    """Each search in vain is kept."""
    twice = [{"field": "system.os", "source": f"sources/{name}"} for name in ("field-report", "cross-post")]
    sources = [item.source for item in rows(view(omitted_by_source=twice), "System")["Operating system"]]
    assert [each.text for each in sources if each] == ["source 1", "source 2"]


def test_a_gap_of_some_results_says_of_how_many() -> None:
    """Output tokens are asked of latencies and speeds only; the row counts those that lack them."""
    gaps = {item.label: item for item in view().result_gaps}
    assert gaps["Output tokens"].gap == "omitted"
    assert gaps["Output tokens"].notes == ("3 of 9 results",)


def test_the_layout_is_recomputed() -> None:
    """So that a reader sees which ranks own accelerators and which reuse them."""
    groups = {group.title: group for group in view().setup}
    assert groups["Deployment"].note == "TP 8 = 8 accelerators; EP 8 over the same"
    two = view(deployment={"instances": 2, "tp": 4, "pp": 2, "attn_dp": 4})
    assert {g.title: g for g in two.setup}["Deployment"].note == (
        "2 instances \N{MULTIPLICATION SIGN} TP 4 \N{MULTIPLICATION SIGN} PP 2 = 16 accelerators; attention DP 4 over the same"
    )


def test_what_was_filled_in_says_so() -> None:
    """An interconnect that the source does not name is marked as inferred."""
    link = row(view(), "System", "Host link")
    assert (link.basis, link.notes) == (
        "inferred",
        ("the source does not show whether traffic crossed it",),
    )


def test_the_setup_leads_to_its_evidence() -> None:
    """A group that the source states as a whole lends its evidence to each field of it."""
    page = view()
    assert [ref.text for ref in row(page, "Deployment", "Instances").evidence] == [
        ref.text for ref in row(page, "System", "Accelerators used").evidence
    ]
    assert row(page, "Serving", "Attention kernels").evidence == ()


def test_results_of_one_metric_stand_in_one_table() -> None:
    """What varies is a column, what all share is said once, what a result changes stands beside it."""
    tables = {table.title: table for table in view().results.tables}
    assert list(tables) == ["Decode speed per user", "Prefill speed", "Also measured"]
    prefill = tables["Prefill speed"]
    assert [title for title, _ in prefill.columns] == ["Input"]
    assert [(each.label, each.text) for each in prefill.shared] == [
        ("Concurrency", "1"),
        ("Prefix cache", "cold (by its label only)"),
        ("Measured", "through a tunnel"),
    ]
    by_name = {each.name: each for each in prefill.rows}
    assert by_name["prefill-128k-chunk-1024"].settings == "Prefill chunk: 1,024 tok"
    assert by_name["prefill-128k-repeat"].repeats == "repeats prefill-128k-chunk-2048"
    assert by_name["prefill-128k-chunk-2048"].repeats == "2 runs, 0.013 apart (ratio)"
    assert by_name["prefill-32k"].standing == "disputed"
    assert by_name["prefill-32k"].notes[0] == "disputed: The raw log shows a warm prefix cache."


def test_a_figure_as_published_is_shown_where_it_says_more() -> None:
    """`6,853` is what the cell says already; `6,765 (-1.3%)` is not."""
    rows_of = {each.name: each for table in view().results.tables for each in table.rows}
    assert rows_of["prefill-128k-chunk-2048"].published == ""
    assert rows_of["prefill-128k-repeat"].published == "6,765 (-1.3%)"
    assert rows_of["Ratio of throughputs"].published == "43% faster"
    assert rows_of["Time to first token (TTFT)"].published == ""


def test_a_sweep_is_drawn_as_a_line_and_the_rest_as_bars() -> None:
    """The chunk sweep takes its middle point from the setup; a repeat is no point of its own."""
    prefill = next(table for table in view().results.tables if table.title == "Prefill speed")
    (chart,) = prefill.charts
    assert chart.title == "Prefill speed by prefill chunk"
    assert [text in chart.svg for text in ("6,012", "6,853", "6,301", "6,765")] == [True, True, True, False]
    assert "kb-is-draft" in chart.svg
    decode = next(table for table in view().results.tables if table.title == "Decode speed per user")
    assert [each.title for each in decode.charts] == ["Decode speed per user by prompts"]


def test_claims_stand_with_verdict_and_counter_evidence() -> None:
    """Contradictions are shown, not smoothed over."""
    (claim,) = view().common.claims
    assert (claim.verdict, claim.tone) == ("contradicted", "disputed")
    assert claim.counter[0].value == "9,871 tok/s"
    assert claim.about == "Interconnect, prefill 128k chunk 2048"
    assert claim.resolved_by is not None
    assert claim.resolved_by.href == "../benchmarks/ev-fastserve-demo-8xa1-p2p.html"


def test_relations_are_gathered_by_record() -> None:
    """What this record says and what others say of it, each relation to a record once."""
    found = {(each.relation, each.link.text) for each in view().common.relations}
    other = "FastServe on 8x Acme A1: load sweep after peer copies were enabled"
    assert found == {("Was measured on the same system as", other), ("Is contradicted by", other)}


def test_sources_hold_their_quotes_and_their_group() -> None:
    """Each source once, with every place that the page quotes."""
    sources = view().common.sources
    assert [(each.number, each.role, each.group) for each in sources] == [
        (1, "primary", "field-report"),
        (2, "cross post", "field-report"),
    ]
    assert view().common.sources_note.startswith("2 sources in 1 independence group:")
    assert "prose 93.9 tok/s" in [place.quote for place in sources[0].places]
    assert sources[0].is_interested
    assert [place.second_hand for place in sources[1].places] == [True, False]


def test_the_rail_says_what_is_missing_for_the_next_status() -> None:
    """In a few words; `kbtool why` says it in full."""
    trust = view().common.trust
    assert trust.next_level == "reviewed"
    assert trust.lacks[-1] == "a review by a second person"
    assert any("nobody has looked for" in each for each in trust.lacks)
    assert trust.confidence is not None
    assert (trust.confidence.score, trust.confidence.label, trust.confidence.stated) == (
        "0.70",
        "medium",
        True,
    )
    assert trust.confidence.other == "0.75, medium"
    assert trust.confidence.differs_because.startswith("The rubric")


@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [
        ("draft", "draft", "Not yet checked"),
        ("disputed", "disputed", "Two logs differ."),
        ("superseded", "superseded", "Two logs differ."),
        ("retracted", "retracted", "Two logs differ."),
    ],
)
def test_the_banner_comes_before_the_number(status: str, kind: str, text: str) -> None:
    """A reader who sees nothing else sees that."""
    record: Benchmark = rich(status=status, status_reason="Two logs differ.")
    banner = benchmark_view(record, context_of(record, status=status)).common.banner
    assert banner is not None
    assert banner.kind == kind
    assert banner.text.startswith(text)


@pytest.mark.parametrize("status", ["reviewed", "verified"])
def test_a_checked_record_has_no_banner(status: str) -> None:
    """Nothing stands between the reader and the number."""
    record: Benchmark = rich()
    assert benchmark_view(record, context_of(record, status=status)).common.banner is None


def many_results(count: int) -> Benchmark:
    """Return the sample with many results of two metrics, in turns."""
    metrics = ("tok_s_per_user", "ttft_ms")
    results = [
        {**RESULT, "id": f"r-{n}", "metric": metrics[n % 2], "at": {"concurrency": n + 1}}
        for n in range(count)
    ]
    record: Benchmark = rich(results=results, headline="r-1")
    return record


def test_every_result_is_on_the_page_that_links_lead_to() -> None:
    """However many there are, and in whatever order they were written."""
    record = many_results(40)
    context = context_of(record)
    for number, page in enumerate(
        [
            benchmark_view(record, context).results,
            results_view(record, context, 2).results,
            results_view(record, context, 3).results,
        ],
        start=1,
    ):
        for table in page.tables:
            for each in table.rows:
                link = context.link(f"{context.card.ref}#{each.anchor}")
                part = "" if number == 1 else f".results-{number}"
                assert link.href == f"../benchmarks/{record.id}{part}.html#{each.anchor}"
    assert sorted(context.card.results) == sorted(each.id for each in record.results)


def test_an_unknown_metric_is_shown_as_it_stands() -> None:
    """Lint refuses it; the page must not fail for it."""
    record: Benchmark = rich(headline="r-1", results=[{**RESULT, "metric": "bananas"}])
    page = benchmark_view(record, context_of(record))
    assert page.headline is not None
    assert (page.headline.metric, page.headline.metric_id) == ("bananas", "")


def test_a_reference_to_nowhere_is_text() -> None:
    """Lint refuses it too."""
    record: Benchmark = rich(engine={"engine": "engines/nowhere"})
    page = benchmark_view(record, context_of(record))
    assert page.facts[1].link == Context.link(context_of(record), "engines/nowhere")
    assert page.facts[1].link is not None
    assert page.facts[1].link[:2] == ("engines/nowhere", "")


def test_what_was_measured_here_says_how_good_the_measurement_is() -> None:
    """Warnings stand at the number and are explained, the client's own error at the measurement, cliffs at the results."""
    record = rich()
    result = record.results[0].model_copy(
        update={"warnings": ("few_samples", "client_bound"), "repeats": 6, "sessions": 2, "samples": 480}
    )
    error = ClientError(
        streams=64,
        chunks="1",
        ttft_error_ratio=Decimal("0.008"),
        itl_error_ratio=Decimal("-0.0002"),
        step_gap_p99_error_ms=Decimal("0.03"),
        throughput_ratio=Decimal(1),
        token_errors=0,
    )
    client = Client(name="kbtool bench 1", clock="kernel", errors=(error,))
    page = view(
        results=(result, *record.results[1:]),
        measured=record.measured.model_copy(update={"client": client}),
        cliffs=(
            Cliff(
                metric="output_tok_s",
                last_good=16,
                first_bad=17,
                ratio=Decimal("0.22"),
                suspected="serving.cuda_graph_max_batch",
            ),
        ),
    )
    shown = next(each for table in page.results.tables for each in table.rows if each.warnings)
    assert shown.warnings == ("few samples", "client bound")
    assert page.headline is not None
    assert [each.label for each in page.headline.warnings] == ["few samples", "client bound"]
    assert all(each.text for each in page.headline.warnings)
    assert not any("quote" in each for each in page.common.trust.lacks)
    assert shown.repeats.startswith("6 rounds in 2 starts, 480 samples")
    assert [each.label for each in page.results.warnings] == ["few samples", "client bound"]
    assert page.results.cliffs[0].text == "best at 16 users or fewer, 0.22 of it at 17"
    (measured,) = [each for each in page.measured if each.label == "Client"]
    assert measured.notes[1:] == (
        "not calibrated on this host",
        "at 64 streams of 1 token a chunk: TTFT +0.80 %, time per token -0.02 %, no wrong token count",
    )
