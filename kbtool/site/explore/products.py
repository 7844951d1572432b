"""The page of the explorer, its files, and the plain tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

from markupsafe import Markup

from kbtool.analysis.rows import Cell
from kbtool.site.data.layout import LICENCE, LICENCE_NAME
from kbtool.site.explore.data import explorer_columns, explorer_file, part_path
from kbtool.site.explore.describe import COLOURS, FACETS, NUMBERS, PARTS, title_of
from kbtool.site.explore.plain import MetricRow, PlainPlan, metric_rows, plain_plans, plain_view
from kbtool.site.products import Product, key_of
from kbtool.site.render import render
from kbtool.site.shell import Crumb, PageParts, Shell
from kbtool.site.table import RESULT_COLUMNS, ResultTable

__all__ = ["PAGE", "ExplorePages", "explorer_page"]

PAGE: Final = "explore.html"
SCRIPTS: Final = ("assets/explore.js",)
_LEAD: Final = (
    "Every result with its conditions: filter, sort, draw, and take what is shown with you. One metric, one statistic and"
    " one comparison class on an axis."
)
_MODULES: Final = (
    "columns", "dom", "empty", "export", "facets", "filter", "grid", "order", "paint", "picks", "plot", "scales", "scene",
    "sheet", "state",
)  # fmt: skip
_HEAD: Final = Markup("\n").join(
    [
        Markup('<link rel="stylesheet" href="assets/explore.css">'),
        Markup('<link rel="preload" as="fetch" crossorigin href="{}">').format(part_path("main")),
        *[Markup('<link rel="modulepreload" href="assets/explore/{}.js">').format(name) for name in _MODULES],
    ]
)
"""The page is in the root of the site. What the script would ask for in turn is fetched at once."""


@dataclass
class ExplorePages:
    """Makes everything that shows all results as rows."""

    table: ResultTable
    shell: Shell

    def products(self) -> Iterator[Product]:
        """Yield the page, its data and the plain tables."""
        # Titles stand in the files in place of references.
        cards = self.table.library.cards.values()
        build = key_of(self.table.digest, (f"{card.ref} {card.title}" for card in cards))
        for part in PARTS:
            yield Product(part_path(part), build, partial(self._file, part, build))
        metrics = metric_rows(self.table.rows)
        key = key_of(self.shell.fingerprint, repr(metrics))
        yield Product(PAGE, key, partial(explorer_page, self.shell, metrics))
        for plan in plain_plans(self.table.rows):
            yield Product(plan.path, self._key(plan), partial(self._plain, plan))

    def _key(self, plan: PlainPlan) -> str:
        cards = (self.table.library.row_digest(ref) for ref in dict.fromkeys(row.ref for row in plan.rows))
        named = (f"{row.ref}#{row.anchor}" for row in plan.rows)
        rest = repr((plan.path, plan.number, plan.total, plan.fallen))
        # A cell may come from a source or an accelerator whose title no card of the row shows.
        cells = (repr(tuple(row.cells.values())) for row in plan.rows)
        return key_of(self.shell.fingerprint, cards, named, cells, rest)

    def _file(self, part: str, build: str) -> bytes:
        return explorer_file(part, self._column, self._label, build)

    def _column(self, name: str) -> Sequence[Cell]:
        return self.table.column(name) if name in RESULT_COLUMNS else self._added[name]

    @cached_property
    def _added(self) -> dict[str, Sequence[Cell]]:
        return explorer_columns(self.table)

    def _label(self, ref: str) -> str:
        card = self.table.library.cards.get(ref)
        return card.title if card else ref

    def _plain(self, plan: PlainPlan) -> bytes:
        view = plain_view(plan, self.table.library.find)
        title = plan.title if plan.number == 1 else f"{plan.title}, page {plan.number}"
        body = render("explore_plain", plan.path, v=view)
        about = (
            f"All results in {plan.title}{', ' + plan.about if plan.about else ''}, with their conditions."
        )
        parts = PageParts(plan.path, title, body, about, nav=PAGE, crumbs=(Crumb("Explore", PAGE),))
        return self.shell.page(parts).encode("utf-8", "replace")


def explorer_page(shell: Shell, metrics: Sequence[MetricRow]) -> bytes:
    """Return the page itself, which holds no result: a script fills it from the files."""
    body = render(
        "explore", PAGE, metrics=metrics, facets=[(name, title_of(name)) for name in FACETS], lead=_LEAD,
        numbers=[(name, title_of(name)) for name in NUMBERS], colours=[(name, title_of(name)) for name in COLOURS],
        columns=[(name, title_of(name)) for name in RESULT_COLUMNS if name not in {"ref", "metric"}],
        site_name=shell.site_name, site_url=shell.site_url, licence=f"{LICENCE_NAME}, {LICENCE}",
    )  # fmt: skip
    return shell.page(PageParts(PAGE, "Explore", body, _LEAD, nav=PAGE, scripts=SCRIPTS, head=_HEAD)).encode(
        "utf-8", "replace"
    )
