"""The pages of records, with what is split off them, and the data files beside them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from markupsafe import Markup

from kbtool.analysis.completeness import accounts
from kbtool.analysis.limits import limits
from kbtool.analysis.sides import packed
from kbtool.escape import script_json
from kbtool.findings import Finding
from kbtool.schema import Benchmark, Record
from kbtool.site.analysed import Analysed
from kbtool.site.cards import Card
from kbtool.site.columns import Cell, headline_of
from kbtool.site.data_files import record_json_bytes
from kbtool.site.library import Library
from kbtool.site.places import (
    RESULTS_PER_PAGE,
    ROWS_AT_FIRST,
    evidence_page,
    index_page,
    pages_of,
    raw_path,
    record_json,
    record_page,
    results_page,
)
from kbtool.site.products import Product, key_of
from kbtool.site.raw_files import published_files, raw_products
from kbtool.site.render import render
from kbtool.site.shell import Crumb, PageParts, Shell
from kbtool.site.views.base import Checked, Context, to_record
from kbtool.site.views.benchmark import BenchmarkView, benchmark_view, results_view
from kbtool.site.views.cite import citation_of
from kbtool.site.views.cost import RecordCost, record_cost
from kbtool.site.views.jsonld import json_ld
from kbtool.site.views.lists import PLURALS, UsagePlan, usage_page, usage_plans
from kbtool.site.views.text import one_line, plural, quantity_text
from kbtool.site.views.things import ThingView, thing_view
from kbtool.vocab import METRICS

__all__ = ["RecordPages"]

_KICKERS = {
    "accelerator": "Accelerator", "interconnect": "Interconnect", "engine": "Engine", "model": "Model",
    "source": "Source", "gotcha": "Gotcha",
}  # fmt: skip
_MOST_CHARACTERS: Final = 30_000
"""Of a benchmark's page without its shell; beyond, it lists fewer comparable results."""


@dataclass(slots=True)
class RecordPages:
    """Makes the pages of the records of one library."""

    library: Library
    shell: Shell
    edit_base: str = ""
    """Address that, with the path of a file behind it, edits that file; empty where there is none."""
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    """Path of a record's file -> what lint found in it."""
    analysed: Analysed = field(init=False)

    def __post_init__(self) -> None:
        """Make ready what the analysis says of the records."""
        self.analysed = Analysed(self.library)

    def products(self, ref: str) -> Iterator[Product]:
        """Yield every file of one record."""
        card = self.library.cards[ref]
        key = self._key(card)
        page = record_page(ref)
        yield Product(page, key, partial(self._page, card))
        for number in range(2, pages_of(len(card.results), RESULTS_PER_PAGE) + 1):
            path = results_page(ref, number)
            yield Product(path, key, partial(self._results_page, card, number, path))
        if card.evidence_apart:
            yield Product(evidence_page(ref), key, partial(self._evidence_page, card))
        yield from self._usage_products(card)
        digest = self.library.digest(ref)
        yield Product(record_json(ref), self._json_key(card), partial(self._json, card))
        yield Product(raw_path(ref), digest, partial(self.library.data, ref))
        yield from raw_products(self.library.root, card)

    def _key(self, card: Card) -> str:
        library = self.library
        findings = self.findings.get(library.relative(card.ref), ())
        return key_of(
            self.shell.fingerprint,
            self.edit_base,
            library.digest(card.ref),
            library.review_digest(card.ref),
            library.neighbour_digests(card.ref),
            repr(findings) if findings else "",
            self._published(card),
            self.analysed.digest_of(card.ref) if card.kind == "benchmark" else "",
            map(repr, map(self.analysed.prices, sorted({each.accelerator for each in card.measured}))),
        )

    def _published(self, card: Card) -> tuple[str, ...]:
        """Return the paths of the raw files that the site holds of a record."""
        return tuple([each.path for each in published_files(self.library.root, card)])

    def _context(self, card: Card, record: Record) -> Context:
        library = self.library
        state = library.review_state(card.ref)
        path = library.relative(card.ref)
        return Context(
            card=card,
            find=library.find,
            incoming=library.incoming(card.ref),
            accounts=accounts(record) if isinstance(record, Benchmark) else (),
            review=state.review if state else None,
            review_fits=bool(state and not state.stale),
            findings=self.findings.get(path, ()),
            site_name=self.shell.site_name,
            site_url=self.shell.site_url,
            edit_url=f"{self.edit_base}{path}" if self.edit_base else "",
            raw_files=frozenset(self._published(card)),
        )

    def _checked(self, card: Card, record: Benchmark) -> Checked:
        """Return what the analysis says of a benchmark."""
        head = headline_of(record)
        stands = head is not None and card.stands and head.standing == "stands"

        return Checked(
            limits=limits(record, head, self.library.whole) if head is not None and stands else (),
            checks=self.analysed.checks(card.ref),
            standing=self.analysed.standing_of(card),
            conflicts=self.analysed.conflicts_of(card.ref),
        )

    def _cost(self, card: Card, record: Record, *, brief: bool = False) -> RecordCost | None:
        """Return what tokens cost by a benchmark that stands; None where no price or no throughput says it."""
        if not isinstance(record, Benchmark) or not card.stands:
            return None
        sides = self.analysed.sides(card.ref)
        return record_cost(sides, record.headline or "", self.analysed.prices, brief=brief)

    def _page(self, card: Card) -> bytes:
        record = self.library.record(card.ref)
        context = self._context(card, record)
        if isinstance(record, Benchmark):
            context = replace(context, checked=self._checked(card, record))
        path = record_page(card.ref)
        view = _view(record, context)
        if isinstance(view, BenchmarkView):
            body = render("benchmark", path, v=view, cost=self._cost(card, record))
            if len(body) > _MOST_CHARACTERS:
                view, cost = (
                    _view(record, replace(context, brief=True)),
                    self._cost(card, record, brief=True),
                )
                body = render("benchmark", path, v=view, cost=cost)
        else:
            plans = usage_plans(card, context.incoming)
            lists = [usage_page(plan, 0, self.library.find) for plan in plans]
            body = render("thing", path, v=view, kicker=_KICKERS[card.kind], lists=lists)
        description = describe(card, self.library)
        data = script_json(json_ld(record, context, description))
        head = f'<script type="application/ld+json">{data}</script>'
        return self._wrapped(card, path, card.title, body, description=description, head=head)

    def _results_page(self, card: Card, number: int, path: str) -> bytes:
        record = self.library.record(card.ref)
        assert isinstance(record, Benchmark)
        view = results_view(record, self._context(card, record), number)
        body = render("results_page", path, v=view)
        return self._wrapped(card, path, view.title, body)

    def _evidence_page(self, card: Card) -> bytes:
        record = self.library.record(card.ref)
        context = self._context(card, record)
        view = _view(record, context, whole=True)
        path = evidence_page(card.ref)
        title = f"{card.title}: claims and evidence"
        body = render("evidence", path, c=view.common, title=title, of=context.link(card.ref))
        return self._wrapped(card, path, title, body)

    def _usage_products(self, card: Card) -> Iterator[Product]:
        """Yield the pages of long lists of who uses a record; a key is of the rows of its page alone."""
        incoming = self.library.incoming(card.ref)
        if len(incoming) <= ROWS_AT_FIRST:
            return
        for plan in usage_plans(card, incoming):
            frame = (self.shell.fingerprint, card.title, card.status, str(len(plan.cards)))
            for number in range(1, plan.pages + 1):
                rows = (self.library.row_digest(each.ref) for each in plan.rows(number))
                key = key_of(*frame, rows)
                yield Product(plan.path(number), key, partial(self._usage_page, plan, number))

    def _usage_page(self, plan: UsagePlan, number: int) -> bytes:
        card, path = plan.owner, plan.path(number)
        view = usage_page(plan, number, self.library.find)
        title = f"{card.title}: {view.title.lower()}, page {number}"
        of = to_record(card)
        body = render("list", path, title=title, of=of, table=view)
        return self._wrapped(card, path, title, body)

    def _wrapped(
        self, card: Card, path: str, title: str, body: Markup, *, description: str = "", head: str = ""
    ) -> bytes:
        index = index_page(f"{card.kind}s")
        crumbs = [Crumb(PLURALS[card.kind], index)]
        if path != record_page(card.ref):
            crumbs.append(Crumb(card.title, record_page(card.ref)))
        parts = PageParts(
            path=path,
            title=title,
            body=body,
            description=description,
            nav=index,
            crumbs=tuple(crumbs),
            head=Markup(head),  # noqa: S704 - script_json made it safe
        )
        return self.shell.page(parts).encode("utf-8", "replace")

    def _json_key(self, card: Card) -> str:
        library = self.library
        source = library.row_digest(card.primary) if card.primary in library.cards else ""
        return key_of(
            library.digest(card.ref), card.status, source, self.shell.site_name, self.shell.site_url
        )

    def _json(self, card: Card) -> bytes:
        cite = citation_of(
            card,
            self.library.find(card.primary),
            site_name=self.shell.site_name,
            site_url=self.shell.site_url,
        )
        record = self.library.record(card.ref)
        comparison = packed(self.analysed.sides(card.ref)) if isinstance(record, Benchmark) else None
        return record_json_bytes(card, record, cite, comparison)


def _view(record: Record, context: Context, *, whole: bool = False) -> BenchmarkView | ThingView:
    if isinstance(record, Benchmark):
        return benchmark_view(record, context, whole=whole)
    return thing_view(record, context, whole=whole)


def describe(card: Card, library: Library) -> str:
    """Return one sentence about a record for search engines and previews."""
    if card.headline is not None:
        metric = METRICS.get(card.metric)
        number = quantity_text(card.headline)
        name = metric.title if metric else card.metric
        return one_line(
            f"{name}: {number}. {plural(len(card.results), 'result')}, {card.status}. {card.title}", 300
        )
    said = (_said(cell, library) for cell in card.cells)
    return one_line(f"{card.title}. {', '.join(filter(None, said))}", 300)


def _said(cell: Cell, library: Library) -> str:
    """Return what a cell says, the title of the record behind it included."""
    named = library.find(cell.ref)
    return " ".join(filter(None, (cell.text, cell.unit, named.title if named else cell.ref)))
