"""The rubric behind a benchmark record's confidence: a start by who measured, then reasons up and down.

The score is the sum of the points of the factors that hold, as a share of 100, cut off at 0 and 1. The label
follows from the score. A curator may state another score and says why (`differs_because`); both are shown.

Source: the scheme follows GRADE, which starts from the design of a study and moves the grade up or down for stated
reasons. The points were chosen so that field reports of an operator come out at 0.75 to 0.80, and a vendor's figure that
was reviewed under published rules above a third party's that nobody reviewed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter
from typing import Final, Literal

from kbtool.analysis.consistency import falling_percentiles, longest_acceptance, relative_difference
from kbtool.analysis.paths import is_given
from kbtool.schema import Benchmark
from kbtool.schema.benchmark import Result
from kbtool.vocab.closed import family_of
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.terms import Interest
from kbtool.vocab.warnings import WarningCode

__all__ = [
    "CONFIG_FIELDS",
    "FACTORS",
    "HIGH_FROM",
    "MEDIUM_FROM",
    "Assessment",
    "Factor",
    "assess",
    "label_of",
    "would_raise",
]

Label = Literal["low", "medium", "high"]

MEDIUM_FROM: Final = Decimal("0.60")
HIGH_FROM: Final = Decimal("0.85")
CONFIG_FIELDS: Final = (
    "system.accelerator_count",
    "deployment.tp",
    "serving.kv_cache_dtype",
    "serving.max_running_requests",
    "serving.cuda_graph_decode",
    "speculation.method",
)
"""The settings that move speed most: layout, cache type, batch limit, graphs and speculation."""
_CONFIG_VALUES: Final = attrgetter(*CONFIG_FIELDS)
_REPEAT_TOLERANCE: Final = Decimal("0.02")
_REPLICATION_TOLERANCE: Final = Decimal("0.05")
_BASE: Final = {
    "self": "base-self-measured",
    "auditor": "base-audited",
    "operator": "base-operator-report",
    "third_party": "base-third-party",
    "vendor": "base-vendor",
    "unknown": "base-anonymous",
}


@dataclass(frozen=True, slots=True)
class Context:
    """What the factors look at."""

    record: Benchmark
    headline: Result | None
    interest: Interest | None
    """Interest of the primary source; None where it is not known."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One reason for more or less confidence."""

    code: str
    points: int
    """Of 100."""
    reason: str
    """When it holds, and why it counts."""
    holds: Callable[[Context], bool]


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the rubric says of one record."""

    score: Decimal
    """0 to 1, two decimals."""
    label: Label
    factors: tuple[Factor, ...]
    """Those that hold, in the order of the rubric."""

    @property
    def codes(self) -> tuple[str, ...]:
        """The factors' codes."""
        return tuple(each.code for each in self.factors)


def assess(record: Benchmark, interest: Interest | None = None) -> Assessment:
    """Return the rubric's score of a record, with the reasons.

    Args:
        record: The record.
        interest: What the publisher of the primary source gains from the figures, where known.
    """
    headline = next((each for each in record.results if each.id == record.headline), None)
    context = Context(record, headline, interest)
    holding = tuple(each for each in FACTORS if each.holds(context))
    points = min(100, max(0, sum(each.points for each in holding)))
    score = Decimal(points).scaleb(-2).quantize(Decimal("0.01"))
    return Assessment(score, label_of(score), holding)


def would_raise(assessment: Assessment) -> tuple[Factor, ...]:
    """Return what would raise a score: what adds to it and does not hold, and what lowers it and holds.

    Whoever measured stays who they are, and the rules of a closed class hold for its own results: both are left out.
    """
    holding = set(assessment.codes)
    return tuple(
        [
            each
            for each in FACTORS
            if not each.code.startswith(("base-", "reviewed-"))
            and (each.points > 0) != (each.code in holding)
        ]
    )


def label_of(score: Decimal) -> Label:
    """Return the label of a score: low below 0.60, medium below 0.85, high from there."""
    if score < MEDIUM_FROM:
        return "low"
    return "medium" if score < HIGH_FROM else "high"


def _measured_by(code: str) -> Callable[[Context], bool]:
    return lambda context: _BASE[context.record.measured.by] == code


def _reviewed(context: Context) -> bool:
    family = family_of(context.record.comparison_class)
    return family is not None and family.is_reviewed


def _artifacts(context: Context) -> bool:
    return bool(context.record.artifacts or context.record.reproducible.artifacts)


def _config_complete(context: Context) -> bool:
    return all(map(is_given, _CONFIG_VALUES(context.record)))


def _repeated(context: Context) -> bool:
    headline = context.headline
    if headline is None or not headline.value:
        return False
    spread = headline.spread
    if spread is not None:
        share = spread.value if spread.kind == "relative_difference" else spread.value / headline.value
        if abs(share) <= _REPEAT_TOLERANCE:
            return True
    return any(
        each.repeat_of == headline.id
        and each.value is not None
        and abs(relative_difference(each.value, headline.value)) <= _REPEAT_TOLERANCE
        for each in context.record.results
    )


def _replicates(context: Context) -> bool:
    return any(
        each.relation == "replicates"
        and each.ratio is not None
        and abs(each.ratio - 1) <= _REPLICATION_TOLERANCE
        for each in context.record.links
    )


def _single_run(context: Context) -> bool:
    """Only a run that is stated to be single: a number of runs that nobody states is a gap, and is listed as one."""
    headline = context.headline
    return (
        headline is not None
        and headline.repeats == 1
        and not any(each.repeat_of == headline.id for each in context.record.results)
    )


def _version_omitted(context: Context) -> bool:
    engine = context.record.engine
    return engine.version is None and engine.commit is None


def _vendor_interest(context: Context) -> bool:
    """Not for vendors' own figures, whose start is lower for the same reason."""
    return context.interest in ("vendor", "sells_hardware") and context.record.measured.by != "vendor"


def _second_hand(context: Context) -> bool:
    return context.headline is not None and all(each.second_hand for each in context.headline.evidence)


def _edition_ambiguous(context: Context) -> bool:
    return context.record.system.accelerator_basis != "stated"


def _implausible(context: Context) -> bool:
    headline = context.headline
    if headline is None or headline.value is None:
        return False
    metric = METRICS.get(headline.metric)
    if metric is not None and metric.plausible_max is not None and headline.value > metric.plausible_max:
        return True
    speculation = context.record.speculation
    longest = longest_acceptance(speculation)
    if (
        longest is not None
        and speculation.acceptance_length is not None
        and speculation.acceptance_length > longest
    ):
        return True
    return any(True for _ in falling_percentiles(context.record.results))


def _warned_of(code: WarningCode) -> Callable[[Context], bool]:
    return lambda context: context.headline is not None and code.value in context.headline.warnings


def _disputed(context: Context) -> bool:
    headline = context.headline
    return context.record.status == "disputed" or (headline is not None and headline.standing == "disputed")


FACTORS: Final = (
    Factor("base-audited", 85, "Measured by a body under its own published rules.", _measured_by("base-audited")),
    Factor("base-self-measured", 85, "Measured here, with the raw data kept.", _measured_by("base-self-measured")),
    Factor("base-operator-report", 60, "Whoever runs the system reports on it.", _measured_by("base-operator-report")),
    Factor("base-third-party", 60, "Measured by somebody who neither makes nor sells it.", _measured_by("base-third-party")),
    Factor("base-vendor", 45, "Measured by the maker or seller.", _measured_by("base-vendor")),
    Factor("base-anonymous", 30, "The source does not say who measured.", _measured_by("base-anonymous")),
    Factor("reviewed-under-rules", 25, "Reviewed under published rules, by the publisher and by competitors, before publication.", _reviewed),
    Factor("artifacts", 10, "The source names the scripts, settings or data by which it can be repeated.", _artifacts),
    Factor("config-complete", 10, "Count, layout, cache type, running limit, graphs and speculation are all stated.", _config_complete),
    Factor("repeat-within-2pct", 5, "A repeat under the same settings is within 2 %.", _repeated),
    Factor("independent-repeat", 15, "It replicates another record's figure within 5 %.", _replicates),
    Factor("version-omitted", -5, "Neither version nor commit of the engine is stated.", _version_omitted),
    Factor("vendor-interest", -10, "The publisher makes or sells what is measured.", _vendor_interest),
    Factor("single-run", -5, "The source states a single run and shows no repeat.", _single_run),
    Factor("second-hand-only", -10, "Every source of the headline repeats somebody else's figure.", _second_hand),
    Factor("edition-ambiguous", -5, "The edition of the accelerator is inferred, not stated.", _edition_ambiguous),
    Factor("implausible", -30, "The figures contradict one another or exceed what is plausible.", _implausible),
    Factor("garbage-output", -30, "The headline carries `garbage_output`: the answers look broken, and the speed of broken answers says little.", _warned_of(WarningCode.GARBAGE_OUTPUT)),
    Factor("synthetic-acceptance", -30, "The headline carries `synthetic_acceptance`: drafts were accepted by decree, and no text is that fast.", _warned_of(WarningCode.SYNTHETIC_ACCEPTANCE)),
    Factor("disputed", -20, "Evidence stands against the record or its headline.", _disputed),
)  # fmt: skip
"""The rubric, in the order in which it is read: exactly one base, then what raises, then what lowers."""
