"""How far to trust a record: its derived status, what it lacks for the next one, and its confidence."""

from collections import Counter
from typing import NamedTuple

from markupsafe import Markup

from kbtool.analysis import confidence as rubric
from kbtool.analysis.review_gate import without_quote
from kbtool.schema import Benchmark, Record
from kbtool.site import charts
from kbtool.site.views.base import Context
from kbtool.site.views.text import plural, words
from kbtool.vocab.terms import Interest

__all__ = ["ConfidenceView", "Disclosure", "Reason", "TrustView", "trust_of"]


class Reason(NamedTuple):
    """One factor of the rubric."""

    code: str
    text: str
    raises: bool
    points: str


class ConfidenceView(NamedTuple):
    """A score with its reasons."""

    score: str
    label: str
    stated: bool
    """Whether a curator stated it; else it is the rubric's."""
    meter: Markup
    reasons: tuple[Reason, ...]
    other: str
    """The rubric's own score, where the curator's differs."""
    differs_because: str


class Disclosure(NamedTuple):
    """How many of the fields that it is asked for a benchmark gives, explains, or passes over."""

    asked: int
    given: int
    explained: int
    missing: int


class TrustView(NamedTuple):
    """Status and confidence."""

    lacks: tuple[str, ...]
    """What keeps the record from being called reviewed, or verified."""
    next_level: str
    reviewed_by: str
    confidence: ConfidenceView | None
    disclosure: Disclosure | None


def trust_of(record: Record, context: Context) -> TrustView:
    """Return what the rail of the page says."""
    status = context.card.status
    review = context.review if context.review_fits else None
    return TrustView(
        lacks=_lacks(record, context) if status == "draft" else (),
        next_level={"draft": "reviewed", "reviewed": "verified"}.get(status, ""),
        reviewed_by=f"{review.reviewer}, {review.reviewed.isoformat()}" if review else "",
        confidence=_confidence(record, context),
        disclosure=_disclosure(context) if context.accounts else None,
    )


def _lacks(record: Record, context: Context) -> tuple[str, ...]:
    """Say in a few words what a reviewer would ask for; `kbtool why` says it in full."""
    found = []
    if isinstance(record, Benchmark):
        unseen = sum(each.state == "missing" for each in context.accounts)
        if unseen:
            found.append(f"{plural(unseen, 'field')} nobody has looked for")
        bare = len(without_quote(record))
        if bare:
            found.append(f"{plural(bare, 'result')} without a quote")
        if record.confidence is None:
            found.append("no confidence stated")
    if record.sources and record.primary_source is None:
        found.append("no primary source")
    if record.exceptions:
        found.append(f"{plural(len(record.exceptions), 'finding')} excepted for a while")
    found.append("a review that fits its text" if context.review else "a review by a second person")
    return tuple(found)


def _disclosure(context: Context) -> Disclosure:
    states = Counter(each.state for each in context.accounts)
    explained = states["omitted_by_source"] + states["gap"]
    return Disclosure(len(context.accounts), states["given"], explained, states["missing"])


def _confidence(record: Record, context: Context) -> ConfidenceView | None:
    if not isinstance(record, Benchmark):
        return _stated_only(record)
    assessment = rubric.assess(record, _interest(record, context))
    stated = record.confidence
    holding = {each.code: each for each in assessment.factors}
    codes = stated.reasons if stated and stated.reasons else tuple(holding)
    known = {each.code: each for each in rubric.FACTORS}
    reasons = tuple(
        [
            Reason(code, known[code].reason, known[code].points > 0, f"{known[code].points:+d}")
            if code in known
            else Reason(code, words(code), False, "")
            for code in codes
        ]
    )
    score = stated.score if stated else assessment.score
    label = stated.label if stated else assessment.label
    differs = stated is not None and stated.score != assessment.score
    return ConfidenceView(
        score=f"{score:f}",
        label=label,
        stated=stated is not None,
        meter=charts.meter(score, label),
        reasons=reasons,
        other=f"{assessment.score:f}, {assessment.label}" if differs else "",
        differs_because=(stated.differs_because or "") if stated else "",
    )


def _stated_only(record: Record) -> ConfidenceView | None:
    stated = record.confidence
    if stated is None:
        return None
    reasons = tuple([Reason(code, words(code), False, "") for code in stated.reasons])
    meter = charts.meter(stated.score, stated.label)
    return ConfidenceView(
        f"{stated.score:f}", stated.label, True, meter, reasons, "", stated.differs_because or ""
    )


def _interest(record: Benchmark, context: Context) -> Interest | None:
    """Return what the publisher of the primary source gains from the figures, where it is known."""
    primary = record.primary_source
    card = context.find(primary) if primary else None
    return card.source.interest if card is not None and card.source is not None else None
