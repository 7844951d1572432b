"""Pages over all records: home, indexes, changes, withdrawn and broken records, and the reference pages."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from kbtool.findings import Finding
from kbtool.lint.rules import RULES
from kbtool.schema import FOLDERS, KINDS, Benchmark
from kbtool.site.cards import Card
from kbtool.site.library import Library
from kbtool.site.places import record_page, tombstone_page
from kbtool.site.products import Product, key_of
from kbtool.site.render import render
from kbtool.site.shell import Crumb, PageParts, Shell
from kbtool.site.views.base import Link
from kbtool.site.views.home import ChangesView, Spotlight, changes_pages, home_view, tombstone_view
from kbtool.site.views.indexes import TITLES, IndexPlan, index_plans, index_view
from kbtool.site.views.lists import newest_first
from kbtool.site.views.reference import glossary_view, metrics_view, rules_view
from kbtool.site.views.sweeps import charts_of

__all__ = ["OverviewPages"]


@dataclass
class OverviewPages:
    """Makes the pages that are about many records, or about none."""

    library: Library
    shell: Shell

    def products(self) -> Iterator[Product]:
        """Yield every such page."""
        yield self._home()
        yield from self._indexes()
        yield from self._changes()
        yield from self._tombstones()
        yield from self._broken()
        yield self._metrics()
        families = rules_view(RULES)
        yield self._reference("rules.html", "Rules", "What kbtool lint checks, and why.", "rules", families)
        glossary = glossary_view()
        yield self._reference("glossary.html", "Glossary", "The words that records use, and what each means.", "glossary", glossary)

    @cached_property
    def _cards(self) -> tuple[Card, ...]:
        return tuple(self.library.cards.values())

    def _digests(self, cards: Iterable[Card]) -> Iterator[str]:
        return (self.library.row_digest(card.ref) for card in cards)

    def _home(self) -> Product:
        chosen = self._spotlight_card
        key = key_of(self.shell.fingerprint, self._digests(self._cards), self.library.digest(chosen.ref) if chosen else "")
        return Product("index.html", key, self._make_home)

    @cached_property
    def _spotlight_card(self) -> Card | None:
        """The newest record that stands and has several results: with most of them, the most to see."""
        charted = [card for card in newest_first(self._cards) if card.chart and card.stands]
        return max(charted, key=lambda card: min(len(card.results), 8), default=None)

    def _make_home(self) -> bytes:
        view = home_view(self._cards, self._spotlight())
        body = render("home", "index.html", v=view, site_name=self.shell.site_name)
        parts = PageParts(path="index.html", title="", body=body, description=_HOME, page_class="kb-home")
        return self._bytes(parts)

    def _spotlight(self) -> Spotlight | None:
        card = self._spotlight_card
        if card is None:
            return None
        record = self.library.record(card.ref)
        assert isinstance(record, Benchmark)
        charts = charts_of(record, card.metric, hollow=card.status == "draft", key="Spotlight")
        self.library.forget(card.ref)
        link = Link(card.title, record_page(card.ref), status=card.status)
        return Spotlight(link, charts[0], card.updated) if charts else None

    def _indexes(self) -> Iterator[Product]:
        for kind in KINDS:
            cards = [card for card in self._cards if card.kind == kind]
            for plan in index_plans(kind, cards, self.library.find):
                key = key_of(
                    self.shell.fingerprint, self._digests(plan.cards), repr(plan._replace(cards=()))
                )
                yield Product(plan.path, key, partial(self._make_index, plan))

    def _make_index(self, plan: IndexPlan) -> bytes:
        view = index_view(plan, self.library.find)
        first = f"{view.folder}/index.html"
        crumbs = () if plan.path == first else (Crumb(TITLES[plan.kind], first),)
        title = plan.title if plan.number == 1 else f"{plan.title}, page {plan.number}"
        body = render("index", plan.path, v=view)
        return self._bytes(PageParts(plan.path, title, body, view.lead, nav=first, crumbs=crumbs))

    def _changes(self) -> Iterator[Product]:
        for view in changes_pages(self._cards):
            yield Product(view.path, key_of(self.shell.fingerprint, repr(view)), partial(self._make_changes, view))

    def _make_changes(self, view: ChangesView) -> bytes:
        body = render("changes", view.path, v=view)
        return self._bytes(PageParts(view.path, "Changes", body, "What was changed in records, when and why."))

    def _tombstones(self) -> Iterator[Product]:
        stones = self.library.withdrawn
        rows = []
        for ref, stone in stones.items():
            view = tombstone_view(stone, self.library.find)
            key = key_of(self.shell.fingerprint, repr(view))
            rows.append((Link(stone.title, tombstone_page(stone.id)), view.day))
            # The address that the record had leads here too: links to it never break.
            paths = [tombstone_page(stone.id)] + ([] if ref in self.library.cards else [record_page(ref)])
            for path in paths:
                yield Product(path, key, partial(self._make_simple, path, view.title, "tombstone", view, nav="", listed=False))
        path = "withdrawn/index.html"
        key = key_of(self.shell.fingerprint, repr(rows))
        yield Product(path, key, partial(self._make_simple, path, "Withdrawn records", "withdrawn", tuple(rows)))

    def _broken(self) -> Iterator[Product]:
        """Yield a page for each file that should hold a record and does not, so that its address says why."""
        by_path: dict[str, list[Finding]] = {}
        for finding in self.library.findings:
            by_path.setdefault(finding.path, []).append(finding)
        for ref, path in self.library.broken().items():
            findings = by_path.get(path, [])
            page = record_page(ref)
            key = key_of(self.shell.fingerprint, repr(findings))
            yield Product(page, key, partial(self._make_broken, page, path, findings))

    def _make_broken(self, page: str, path: str, findings: list[Finding]) -> bytes:
        body = render("broken", page, title=path, findings=findings)
        return self._bytes(PageParts(page, path, body, listed=False))

    def _metrics(self) -> Product:
        headlines = Counter(card.metric for card in self._cards if card.metric and card.stands)
        lead = "What each metric is, what one value of it describes and which tokens it counts."
        return self._reference("metrics.html", "Metrics", lead, "metrics", metrics_view(headlines))

    def _reference(self, path: str, title: str, description: str, template: str, view: Any) -> Product:
        key = key_of(self.shell.fingerprint, repr(view))
        return Product(path, key, partial(self._make_simple, path, title, template, view, description, path))

    def _make_simple(
        self, path: str, title: str, template: str, view: Any, description: str = "", nav: str = "", *, listed: bool = True
    ) -> bytes:
        body = render(template, path, v=view)
        return self._bytes(PageParts(path, title, body, description, nav=nav, listed=listed))

    def _bytes(self, parts: PageParts) -> bytes:
        return self.shell.page(parts).encode("utf-8", "replace")


_HOME = (
    "Measured LLM inference performance with its conditions, its source and its gaps: traceable numbers that are"
    " compared only where that is fair."
)
