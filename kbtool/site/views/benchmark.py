"""The page of a benchmark: the number first, then how far to trust it and what it may be compared with."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple
from urllib.parse import quote

from kbtool.schema import Benchmark
from kbtool.schema.benchmark import Artifact, Client, Result
from kbtool.site.columns import headline_of
from kbtool.site.places import UP, anchor_of, facet_slug
from kbtool.site.views.base import Citations, Context, Link, citations_of
from kbtool.site.views.checked import CheckedView, checked_view
from kbtool.site.views.conditions import Condition, compared_at, conditions, unstated
from kbtool.site.views.facts import Group, Item, derivation_text
from kbtool.site.views.page import Common, common_of
from kbtool.site.views.results import ResultsView, results_of
from kbtool.site.views.setup import GapRows, layout_arithmetic, setup_groups
from kbtool.site.views.sources import SourceView, source_views
from kbtool.site.views.text import (
    Quantity,
    counted,
    listed,
    metric_of,
    one_line,
    plural,
    result_quantity,
    statistic_words,
    what_it_counts,
    words,
)
from kbtool.vocab.closed import titled
from kbtool.vocab.terms import DEFINITIONS

__all__ = ["BenchmarkView", "Headline", "benchmark_view", "results_view"]


_TO_REPEAT: Final = {
    "version, commit or image of the engine": ("engine.version", "engine.commit", "engine.image_digest"),
    "arguments of the engine": ("engine.arguments",),
    "revision of the checkpoint": ("model.revision",),
}
"""What a reader needs to set up the same run, and the fields of which any gives it."""


class Headline(NamedTuple):
    """The one number of a record, with everything that must stand beside it."""

    anchor: str
    quantity: Quantity
    metric: str
    metric_id: str
    counts: str
    """What one value counts: `output tokens of one user`."""
    statistic: str
    trap: str
    """The misreading that the metric's definition avoids."""
    compared_at: str
    """Conditions that a figure must share to be compared with it."""
    peers: str
    """Address of the benchmarks whose headline is in the same metric, below the folder of benchmarks."""
    chips: tuple[Condition, ...]
    unstated: tuple[str, ...]
    """Conditions without which it cannot be compared, and which nobody stated."""
    published: str
    quote: str
    locator: str
    source: Link | None
    second_hand: bool
    derivation: str
    standing: str
    note: str
    warnings: tuple[Item, ...]
    """What must be known before the figure is used, each with what it means."""


@dataclass(frozen=True, slots=True)
class BenchmarkView:
    """Everything on the page."""

    common: Common
    lead: str
    headline: Headline | None
    facts: tuple[Item, ...]
    """The four facts that place the record: accelerators, engine, model, layout."""
    measured: tuple[Item, ...]
    results: ResultsView
    result_gaps: tuple[Item, ...]
    setup: tuple[Group, ...]
    gotchas: tuple[Link, ...]
    tags: tuple[str, ...]
    comparison_class: str
    checked: CheckedView | None


class ResultsPage(NamedTuple):
    """A page that continues the results of a record."""

    title: str
    record: Link
    status: str
    results: ResultsView
    sources: tuple[SourceView, ...]


def benchmark_view(record: Benchmark, context: Context, *, whole: bool = False) -> BenchmarkView:
    """Return the page of a record; `whole` for the page that holds its evidence."""
    citations = citations_of(record, context, whole=whole)
    gaps = GapRows(record, context, citations)
    head = headline_of(record)
    headline = _headline(head, context, record.comparison_class) if head else None
    results = results_of(record, context, citations)
    result_gaps = gaps.of_results()
    setup = (*setup_groups(record, context, citations, gaps), *_more_groups(record, gaps, context))
    return BenchmarkView(
        common=common_of(record, context, citations),
        lead=_lead(record, context),
        headline=headline,
        facts=_facts(record, context),
        measured=tuple(_measured(record, context)),
        results=results,
        result_gaps=result_gaps,
        setup=setup,
        gotchas=tuple(
            dict.fromkeys(
                context.link(card.ref) for card, mention in context.incoming if mention.relation == "effect"
            )
        ),
        tags=record.tags,
        comparison_class=record.comparison_class or "",
        checked=None if whole else checked_view(record, context),
    )


def results_view(record: Benchmark, context: Context, number: int) -> ResultsPage:
    """Return a page that continues the results of a record."""
    citations = Citations()
    results = results_of(record, context, citations, number)
    return ResultsPage(
        f"{record.title}: results, page {number}",
        context.link(context.card.ref),
        context.card.status,
        results,
        source_views(record, context, citations),
    )


def _more_groups(record: Benchmark, gaps: GapRows, context: Context) -> Iterator[Group]:
    """Yield gaps that have no place among the fields, and the raw files."""
    rest = gaps.rest()
    if rest:
        yield Group("Other gaps", rest)
    if record.artifacts:
        yield Group("Raw files", tuple([_artifact(each, context) for each in record.artifacts]))


def _artifact(artifact: Artifact, context: Context) -> Item:
    sizes = plural(artifact.size_bytes, "byte")
    if artifact.unpacked_bytes:
        sizes += f", unpacked {counted(artifact.unpacked_bytes)}"
    name = artifact.path.rpartition("/")[2]
    here = artifact.path in context.raw_files
    link = Link(f"Download {name}", f"{UP}{quote(artifact.path)}") if here else None
    return Item(artifact.path, artifact.holds, link=link, notes=(sizes, f"sha256 {artifact.sha256}"))


def _lead(record: Benchmark, context: Context) -> str:
    """Say in one line what ran where; with every gap that a reader would trip over."""
    count = record.system.accelerator_count
    parts = [f"{context.link(record.engine.engine).text} serving {context.link(record.model.model).text}"]
    many = f"{count} \N{MULTIPLICATION SIGN} " if count else ""
    parts.append(f"on {many}{context.link(record.system.accelerator).text}")
    return " ".join(parts) + "."


def _headline(result: Result, context: Context, comparison_class: str | None) -> Headline:
    metric = metric_of(result.metric)
    stated = conditions(result.at)
    evidence = next((each for each in result.evidence if each.quote), result.evidence[0])
    return Headline(
        anchor=anchor_of(result.id),
        quantity=result_quantity(result),
        metric=metric.title if metric else result.metric,
        metric_id=result.metric if metric else "",
        counts=what_it_counts(metric) if metric else "",
        statistic=statistic_words(result),
        trap=metric.trap if metric else "",
        compared_at=", ".join(compared_at(result.metric)),
        peers=f"index.html#metric={facet_slug(titled(metric.title, comparison_class))}" if metric else "",
        chips=stated,
        unstated=unstated(result.metric, stated),
        published=result.as_published,
        quote=evidence.quote or "",
        locator=evidence.locator,
        source=context.link(evidence.source),
        second_hand=evidence.second_hand,
        derivation=derivation_text(result.derivation) if result.derivation else "",
        standing=f"{words(result.standing)}: {result.standing_reason or 'no reason given'}"
        if result.standing != "stands"
        else "",
        note=result.note or "",
        warnings=tuple([Item(words(each), DEFINITIONS["run_warning"][each]) for each in result.warnings]),
    )


def _facts(record: Benchmark, context: Context) -> tuple[Item, ...]:
    count = record.system.accelerator_count
    version = record.engine.version or record.engine.commit
    dtype = record.model.weight_dtype
    layout = layout_arithmetic(record)
    return (
        Item(
            "Accelerators",
            f"{count} \N{MULTIPLICATION SIGN}" if count else "",
            link=context.link(record.system.accelerator),
            notes=(f"{counted(record.system.power_limit_w)} W limit",) if record.system.power_limit_w else (),
        ),
        Item(
            "Engine",
            link=context.link(record.engine.engine),
            notes=(one_line(version, 30) if version else "version not stated",),
        ),
        Item(
            "Model",
            link=context.link(record.model.model),
            notes=(f"{dtype} weights" if dtype else "weight type not stated",),
        ),
        Item("Layout", layout or record.deployment.layout_as_published or "not stated"),
    )


def _measured(record: Benchmark, context: Context) -> Iterator[Item]:
    measured, reproducible = record.measured, record.reproducible
    yield Item("Measured by", words(measured.by), notes=(DEFINITIONS["measured_by"][measured.by],))
    if measured.day or measured.period:
        days = measured.day.isoformat() if measured.day else ""
        yield Item(
            "When",
            days or measured.period or "",
            notes=(measured.period,) if days and measured.period else (),
        )
    if measured.client is not None:
        yield _client(measured.client)
    if reproducible.claimed is not None:
        yield Item("Source says reproducible", "yes" if reproducible.claimed else "no")
    if reproducible.assessed:
        yield Item(
            "Reproducible",
            words(reproducible.assessed),
            notes=(DEFINITIONS["reproducibility"][reproducible.assessed], *_not_given(record, context)),
        )
    if reproducible.artifacts:
        found = {True: "found", False: "named, not found", None: "named"}[reproducible.artifacts_found]
        yield Item("Scripts and data", found, notes=reproducible.artifacts)


def _not_given(record: Benchmark, context: Context) -> Iterator[str]:
    """Yield what a repeat would need and the record does not give, where that is why it can be repeated in part."""
    if record.reproducible.assessed != "partial":
        return
    given = {each.field.path for each in context.accounts if each.state == "given"}
    lacking = [name for name, paths in _TO_REPEAT.items() if given.isdisjoint(paths)]
    if lacking:
        yield f"Not given: {listed(lacking)}."


def _client(client: Client) -> Item:
    stamped = {"kernel": "the kernel stamps what arrives", "user": "the program stamps what it reads"}[
        client.clock
    ]
    calibrated = (
        f"its error was measured on {client.calibrated}"
        if client.calibrated
        else "not calibrated on this host"
    )
    errors = [
        f"at {plural(each.streams, 'stream')} of {each.chunks} token{'s' * (each.chunks != '1')} a chunk: TTFT {_signed(each.ttft_error_ratio)}, "
        f"time per token {_signed(each.itl_error_ratio)}, "
        f"{'no wrong token count' if not each.token_errors else plural(each.token_errors, 'wrong token count')}"
        for each in client.errors
    ]
    return Item("Client", client.name, notes=(stamped, calibrated, *errors))


def _signed(ratio: Decimal) -> str:
    """Return a signed ratio as a percentage: `+0.3 %`; what rounds to nothing has no sign."""
    text = f"{ratio * 100:+.2f} %"
    return text[1:] if text[1:] == "0.00 %" else text
