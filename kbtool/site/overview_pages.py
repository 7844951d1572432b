"""Pages over all records: home, indexes, changes, withdrawn and broken records, and the reference pages."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final

from markupsafe import Markup

from kbtool.analysis.quality_history import read_history
from kbtool.findings import Finding
from kbtool.lint.pages import rule_pages
from kbtool.schema import KINDS
from kbtool.site.cards import Card
from kbtool.site.data.feed import feed_link
from kbtool.site.library import Library
from kbtool.site.places import UP, record_page, tombstone_page
from kbtool.site.products import Product, key_of
from kbtool.site.render import render
from kbtool.site.shell import Crumb, PageParts, Shell
from kbtool.site.views.base import Link
from kbtool.site.views.home import ChangesView, changes_pages, home_view, tombstone_view
from kbtool.site.views.indexes import IndexPlan, index_plans, index_view
from kbtool.site.views.lists import PLURALS
from kbtool.site.views.quality import HISTORY_PLACE, quality_view
from kbtool.site.views.reference import glossary_view, metrics_view, rules_view

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
        yield self._quality()
        yield from self._tombstones()
        yield from self._broken()
        yield self._metrics()
        yield from self._rules()
        yield self._glossary()

    @cached_property
    def _cards(self) -> tuple[Card, ...]:
        return tuple(self.library.cards.values())

    def _digests(self, cards: Iterable[Card]) -> Iterator[str]:
        return (self.library.row_digest(card.ref) for card in cards)

    def _home(self) -> Product:
        key = key_of(self.shell.fingerprint, self._digests(self._cards))
        return Product("index.html", key, self._make_home)

    def _make_home(self) -> bytes:
        body = render("home", "index.html", v=home_view(self._cards), site_name=self.shell.site_name)
        parts = PageParts(path="index.html", title="", body=body, description=_HOME, page_class="kb-home")
        return self._bytes(parts)

    def _indexes(self) -> Iterator[Product]:
        for kind in KINDS:
            cards = [card for card in self._cards if card.kind == kind]
            for plan in index_plans(kind, cards, self.library.find):
                key = key_of(self.shell.fingerprint, self._digests(plan.cards), repr(plan._replace(cards=())))
                yield Product(plan.path, key, partial(self._make_index, plan))

    def _make_index(self, plan: IndexPlan) -> bytes:
        view = index_view(plan, self.library.find)
        first = f"{view.folder}/index.html"
        crumbs = () if plan.path == first else (Crumb(PLURALS[plan.kind], first),)
        title = plan.title if plan.number == 1 else f"{plan.title}, page {plan.number}"
        body = render("index", plan.path, v=view)
        return self._bytes(PageParts(plan.path, title, body, view.lead, nav=first, crumbs=crumbs))

    def _changes(self) -> Iterator[Product]:
        for view in changes_pages(self._cards):
            yield Product(
                view.path, key_of(self.shell.fingerprint, repr(view)), partial(self._make_changes, view)
            )

    def _make_changes(self, view: ChangesView) -> bytes:
        body = render("changes", view.path, v=view)
        return self._bytes(
            PageParts(
                view.path, "Changes", body, "What was changed in records, when and why.", head=feed_link("")
            )
        )

    def _quality(self) -> Product:
        history = self.shell.files.get(HISTORY_PLACE, b"").decode()
        view = quality_view(self._cards, self.library.group, read_history(history) if history else [])
        lead = "How many results say what a reader needs to judge them, by collection, by publisher and over time."
        return self._reference("quality.html", "Data quality", lead, "quality", view)

    def _tombstones(self) -> Iterator[Product]:
        rows = []
        for ref, stone in self.library.withdrawn.items():
            view = tombstone_view(stone, self.library.find)
            rows.append((Link(stone.title, UP + tombstone_page(stone.id)), view.day))
            # The address that the record had leads here too: links to it never break.
            former = () if ref in self.library.cards else (record_page(ref),)
            for path in (tombstone_page(stone.id), *former):
                parts = PageParts(path, view.title, Markup(), crumbs=(_WITHDRAWN,), listed=False)
                key = key_of(self.shell.fingerprint, repr(view))
                yield Product(path, key, partial(self._make, parts, "tombstone", view))
        parts = PageParts("withdrawn/index.html", "Withdrawn records", Markup(), "Removed, with the reason.")
        key = key_of(self.shell.fingerprint, repr(rows))
        yield Product(parts.path, key, partial(self._make, parts, "withdrawn", tuple(rows)))

    def _broken(self) -> Iterator[Product]:
        """Yield a page for each file that should hold a record and does not, so that its address says why."""
        by_path: dict[str, list[Finding]] = {}
        for finding in self.library.findings:
            by_path.setdefault(finding.path, []).append(finding)
        for ref, path in self.library.broken().items():
            findings = by_path.get(path, [])
            page = record_page(ref)
            key = key_of(self.shell.fingerprint, path, repr(findings))
            yield Product(page, key, partial(self._make_broken, page, path, findings))

    def _make_broken(self, page: str, path: str, findings: list[Finding]) -> bytes:
        body = render("broken", page, title=path, findings=findings)
        return self._bytes(PageParts(page, path, body, listed=False))

    def _metrics(self) -> Product:
        headlines = Counter(card.metric for card in self._cards if card.metric and card.stands)
        results: Counter[str] = Counter()
        for card in self._cards:
            for each in card.measured if card.stands else ():
                results[each.metric] += each.results
        lead = "What each metric is, what one value of it describes and which tokens it counts."
        return self._reference("metrics.html", "Metrics", lead, "metrics", metrics_view(headlines, results))

    def _rules(self) -> Iterator[Product]:
        """Yield the list of all rules, and a page with the reasons and examples of each family."""
        families = rules_view(rule_pages())
        yield self._reference("rules.html", "Rules", "What kbtool lint checks, and why.", "rules", families)
        for family in families:
            about = f"What kbtool lint checks about {family.title}, with reasons and examples."
            yield self._reference(family.path, family.title, about, "rule_family", family, nav="rules.html")

    def _glossary(self) -> Product:
        lead = "The words that records use, and what each means."
        return self._reference("glossary.html", "Glossary", lead, "glossary", glossary_view())

    def _reference(
        self, path: str, title: str, description: str, template: str, view: Any, *, nav: str = ""
    ) -> Product:
        """Return a page whose view does not depend on the records' own pages; it stands in the navigation."""
        crumbs = (Crumb("Rules", nav),) if nav else ()
        parts = PageParts(path, title, Markup(), description, nav=nav or path, crumbs=crumbs)
        return Product(
            path, key_of(self.shell.fingerprint, repr(view)), partial(self._make, parts, template, view)
        )

    def _make(self, parts: PageParts, template: str, view: Any) -> bytes:
        return self._bytes(replace(parts, body=render(template, parts.path, v=view)))

    def _bytes(self, parts: PageParts) -> bytes:
        return self.shell.page(parts).encode("utf-8", "replace")


_WITHDRAWN: Final = Crumb("Withdrawn records", "withdrawn/index.html")
_HOME: Final = (
    "Measured LLM inference performance with its conditions, its source and its gaps: traceable numbers that are"
    " compared only where that is fair."
)
