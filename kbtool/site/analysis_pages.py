"""The pages that answer questions over all results: limits, cost, coverage, conflicts, gaps, compare."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from kbtool.analysis.compare import rules_as_data
from kbtool.site.analysed import Analysed
from kbtool.site.library import Library
from kbtool.site.products import Product, key_of, ready
from kbtool.site.render import render
from kbtool.site.shell import Crumb, PageParts, Shell
from kbtool.site.views.comparing import CompareView, ConflictsView, compare_view, conflicts_view
from kbtool.site.views.cost import CostPage, CostView, Priced, cost_pages, cost_view, priced_of
from kbtool.site.views.coverage import ModelCoverage, coverage_pages, coverage_view, measured_of
from kbtool.site.views.gaps import gaps_view
from kbtool.site.views.limits import Checked, LimitsView, limits_view
from kbtool.site.views.lists import is_open
from kbtool.store.exactjson import exact_json

__all__ = ["COSTS", "PAGES", "AnalysisPages"]

COSTS: Final = "cost/"
"""Folder of the pages that `AnalysisPages.cost_products` yields, and of nothing else."""

RULES_PLACE: Final = "data/comparison-rules.json"
"""What the browser compares by, for pairs that no page was made for."""


class _Page(NamedTuple):
    template: str
    title: str
    description: str

    @property
    def path(self) -> str:
        return f"{self.template}.html"


_COMPARE: Final = _Page(
    "compare",
    "Compare",
    "Two to six results side by side, differences first, with the verdict or the reason against it.",
)
_LIMITS: Final = _Page(
    "limits",
    "Limits",
    "Which results come nearest to what their hardware allows, and how that is worked out.",
)
_COST: Final = _Page(
    "cost", "Cost", "What a million tokens cost, with every step: price, day, accelerators, throughput."
)
_COVERAGE: Final = _Page(
    "coverage", "Coverage", "What was measured on which accelerator, and what to measure next."
)
_CONFLICTS: Final = _Page(
    "conflicts", "Conflicts", "Figures of one load on one kind of system that disagree by more than 5 %."
)
_GAPS: Final = _Page("gaps", "Gaps", "Which publisher tells what a reader needs, field by field.")
PAGES: Final = (_COMPARE, _LIMITS, _COST, _COVERAGE, _CONFLICTS, _GAPS)


@dataclass
class AnalysisPages:
    """Makes these pages of one library."""

    library: Library
    shell: Shell
    analysed: Analysed

    def products(self) -> Iterator[Product]:
        """Yield every page, and the rules that the browser compares by."""
        cards = tuple(self.library.cards.values())
        measured = measured_of(cards)
        yield self._of_view(_COVERAGE, coverage_view(measured, self.library.find))
        for page in coverage_pages(measured, self.library.find):
            yield Product(
                page.path, key_of(self.shell.fingerprint, repr(page)), partial(self._model_coverage, page)
            )
        yield self._of_view(_GAPS, gaps_view(cards, self.library.find))
        yield self._of_analysis(_LIMITS, self._limits)
        yield self._of_analysis(_COST, self._cost, self.analysed.prices_digest)
        yield self._of_analysis(_CONFLICTS, self._conflicts)
        yield self._of_analysis(_COMPARE, self._compare)
        yield ready(RULES_PLACE, exact_json(rules_as_data()).encode())

    @cached_property
    def cost_key(self) -> str:
        """A hash of everything that the pages of costs are made from."""
        return self._key(self.analysed.prices_digest)

    def cost_products(self) -> Iterator[Product]:
        """Yield what is below `COSTS`: a page for each model, which only working all costs out tells."""
        for page in cost_pages(self._priced, self.library.find):
            yield Product(page.path, self.cost_key, partial(self._cost_page, page))

    def _of_view(self, page: _Page, view: Any) -> Product:
        """Return a page whose view is made from cards alone."""
        return Product(
            page.path, key_of(self.shell.fingerprint, repr(view)), partial(self._bytes, page, view)
        )

    def _of_analysis(self, page: _Page, view: Any, more: str = "") -> Product:
        """Return a page whose view is made where something changed that the analysis rests on."""
        return Product(page.path, self._key(more), lambda: self._bytes(page, view()))

    def _key(self, more: str) -> str:
        rows = (self.library.row_digest(ref) for ref in self.library.cards)
        return key_of(self.shell.fingerprint, self.analysed.digest, more, rows)

    def _limits(self) -> LimitsView:
        cards = [card for ref in self.analysed.refs if (card := self.library.cards[ref]).stands]
        return limits_view(
            [
                Checked(
                    card,
                    not is_open(card),
                    self.analysed.checks(card.ref),
                    partial(self.analysed.sides, card.ref),
                )
                for card in cards
            ],
            self.library.find,
        )

    @cached_property
    def _priced(self) -> Priced:
        standing = (ref for ref in self.analysed.refs if self.library.cards[ref].stands)
        return priced_of(
            (side for ref in standing for side in self.analysed.sides(ref)), self.analysed.prices
        )

    def _cost(self) -> CostView:
        return cost_view(self._priced, self.analysed.prices, self.analysed.accelerators, self.library.find)

    def _cost_page(self, view: CostPage) -> bytes:
        about = f"{view.title}: USD per million tokens by accelerator, one line a result."
        return self._below(_COST, "cost_model", about, view)

    def _model_coverage(self, view: ModelCoverage) -> bytes:
        about = f"{view.title}: on which accelerators and with which engines it was measured."
        return self._below(_COVERAGE, "coverage_model", about, view)

    def _below(self, page: _Page, template: str, about: str, view: CostPage | ModelCoverage) -> bytes:
        """Return a page of one model, which belongs to one of all models."""
        parts = PageParts(
            path=view.path,
            title=view.title,
            body=render(template, view.path, v=view),
            description=about,
            nav=page.path,
            crumbs=(Crumb(page.title, page.path),),
        )
        return self.shell.page(parts).encode("utf-8", "replace")

    def _conflicts(self) -> ConflictsView:
        return conflicts_view(self.analysed.conflicts, self.library.find)

    def _compare(self) -> CompareView:
        return compare_view(self.analysed.conflicts, self.library.find)

    def _bytes(self, page: _Page, view: Any) -> bytes:
        parts = PageParts(page.path, page.title, Markup(), page.description, nav=page.path)
        body = render(page.template, page.path, v=view)
        return self.shell.page(replace(parts, body=body)).encode("utf-8", "replace")
