"""The reference pages: metrics, rules, glossary."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from markupsafe import Markup

from kbtool.analysis.confidence import FACTORS, HIGH_FROM, MEDIUM_FROM
from kbtool.lint.pages import RulePage
from kbtool.lint.rule import FAMILIES
from kbtool.schema import KINDS
from kbtool.site.places import explorer
from kbtool.site.prose import prose_html
from kbtool.site.views.text import counted, words
from kbtool.vocab import METRICS, Metric
from kbtool.vocab.terms import DEFINITIONS
from kbtool.vocab.units import UNITS

__all__ = [
    "GlossarySet",
    "MetricView",
    "RuleFamily",
    "RuleView",
    "glossary_view",
    "metrics_view",
    "rules_view",
]

_DEFINED_BY: Final = {
    "vllm-bench": "vllm bench serve, calculate_metrics",
    "inference-perf": "kubernetes-sigs/inference-perf, docs/metrics.md",
    "nim-guide": "NVIDIA NIM for LLMs benchmarking guide, Metrics",
    "genai-bounds": "Leviathan et al., arXiv 2211.17192",
    "mlperf-rules": "MLCommons inference rules",
    "nvml": "NVIDIA Management Library API reference",
    "kbtool": "defined here",
}
_BETTER: Final = {
    "higher": "higher is better",
    "lower": "lower is better",
    "neither": "neither way is better",
}


class MetricView(NamedTuple):
    """One metric."""

    id: str
    title: str
    unit: str
    unit_title: str
    scope: str
    tokens: str
    direction: str
    formula: str
    defined_by: str
    conditions: str
    trap: str
    records: int
    """Records whose headline is in this metric."""
    results: int
    """Results in this metric."""
    href: str
    """Address of these in the explorer."""


class RuleView(NamedTuple):
    """One rule's page."""

    code: str
    name: str
    severity: str
    kinds: str
    """Kinds of record that it is about; empty for all."""
    summary: str
    in_short: str
    """What the list says of it: the reason, where the name says the rest."""
    paragraphs: tuple[Markup, ...]
    bad: tuple[str, ...]
    good: tuple[str, ...]


class RuleFamily(NamedTuple):
    """The rules of one family."""

    letter: str
    title: str
    rules: tuple[RuleView, ...]

    @property
    def path(self) -> str:
        """Page with reasons and examples."""
        return f"rules/{self.letter.lower()}.html"


class Term(NamedTuple):
    """One word of a set."""

    word: str
    anchor: str
    definition: str


class RubricRow(NamedTuple):
    """One factor of the confidence rubric."""

    code: str
    points: str
    reason: str


class GlossarySet(NamedTuple):
    """One closed set of words."""

    name: str
    title: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class GlossaryView:
    """All sets, the units, and the rubric of confidence."""

    sets: tuple[GlossarySet, ...]
    units: tuple[Term, ...]
    factors: tuple[RubricRow, ...]
    labels: str


def metrics_view(records_of: Mapping[str, int], results_of: Mapping[str, int]) -> tuple[MetricView, ...]:
    """Return the metrics in the order of the vocabulary.

    Args:
        records_of: Metric -> records whose headline is in it.
        results_of: Metric -> results in it.
    """
    return tuple(
        [_metric(each, records_of.get(each.id, 0), results_of.get(each.id, 0)) for each in METRICS.values()]
    )


def rules_view(pages: Iterable[RulePage]) -> tuple[RuleFamily, ...]:
    """Return the pages of all checks, by family."""
    by_letter: dict[str, list[RuleView]] = {}
    for page in pages:
        by_letter.setdefault(page.code[0], []).append(_rule(page))
    return tuple(
        [
            RuleFamily(letter, title[:1].upper() + title[1:], tuple(by_letter[letter]))
            for letter, title in FAMILIES.items()
            if letter in by_letter
        ]
    )


def glossary_view() -> GlossaryView:
    """Return every closed set with its definitions; anchors are `<set>-<word>`."""
    sets = [
        GlossarySet(
            name,
            words(name).capitalize(),
            tuple([Term(word, f"{name}-{word}", definition) for word, definition in definitions.items()]),
        )
        for name, definitions in DEFINITIONS.items()
    ]
    units = [Term(unit.symbol, "", f"{unit.title}: {unit.dimension}") for unit in UNITS.values()]
    factors = [RubricRow(each.code, f"{each.points / 100:+.2f}", each.reason) for each in FACTORS]
    labels = f"low below {MEDIUM_FROM}, medium below {HIGH_FROM}, high from there"
    return GlossaryView(tuple(sets), tuple(units), tuple(factors), labels)


def _metric(metric: Metric, records: int, results: int) -> MetricView:
    return MetricView(
        id=metric.id,
        title=metric.title,
        unit=metric.unit,
        unit_title=UNITS[metric.unit].title,
        scope=words(metric.scope),
        tokens=words(metric.tokens),
        direction=_BETTER[metric.direction],
        formula=metric.formula,
        defined_by=_DEFINED_BY.get(metric.definition, metric.definition),
        conditions=", ".join(words(each) for each in metric.conditions),
        trap=metric.trap
        + (
            f" Above {counted(metric.plausible_max)} {metric.unit} it is taken for a slip."
            if metric.plausible_max and not metric.trap
            else ""
        ),
        records=records,
        results=results,
        href=explorer(metric.id),
    )


def _rule(page: RulePage) -> RuleView:
    return RuleView(
        code=page.code,
        name=page.name,
        severity=page.severity_text,
        kinds=", ".join(page.kinds) if len(page.kinds) < len(KINDS) else "",
        summary=page.summary,
        in_short=page.summary if page.bad else " ".join(page.paragraphs[:1]) or page.summary,
        paragraphs=tuple([prose_html(each) for each in page.paragraphs]),
        bad=page.bad,
        good=page.good,
    )
