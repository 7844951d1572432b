"""What the page of every record has: head, banner, provenance, sources, claims, links, changes, citation."""

from collections import Counter
from dataclasses import dataclass
from typing import Final, NamedTuple

from markupsafe import Markup

from kbtool.findings import Finding
from kbtool.schema import Record
from kbtool.schema.common import Claim
from kbtool.site.cards import CardChange
from kbtool.site.places import raw_path, record_json
from kbtool.site.prose import prose_html
from kbtool.site.views.base import Citations, Context, Link, claim_anchor
from kbtool.site.views.cite import CiteView, citation_of
from kbtool.site.views.fields import field_label
from kbtool.site.views.relations import RelationView, relations_of
from kbtool.site.views.sources import SourceView, source_views
from kbtool.site.views.text import plural, words
from kbtool.site.views.trust import TrustView, trust_of
from kbtool.vocab.terms import DEFINITIONS

__all__ = ["Banner", "ClaimView", "Common", "CounterView", "common_of"]


class Banner(NamedTuple):
    """What a reader must know before anything else."""

    kind: str
    title: str
    text: str
    link: Link | None = None


class CounterView(NamedTuple):
    """Evidence against, or beside, a claim."""

    value: str
    evidence: tuple[Link, ...]


class ClaimView(NamedTuple):
    """One claim with its verdict."""

    anchor: str
    statement: str
    value: str
    verdict: str
    tone: str
    """Badge: `verified`, `disputed` or `plain`."""
    why: str
    evidence: tuple[Link, ...]
    counter: tuple[CounterView, ...]
    about: str
    resolved_by: Link | None


@dataclass(frozen=True, slots=True)
class Common:
    """The parts that all kinds share."""

    title: str
    ref: str
    kind: str
    status: str
    status_text: str
    banner: Banner | None
    trust: TrustView
    sources: tuple[SourceView, ...]
    sources_note: str
    evidence_href: str
    """Page of claims, sources and evidence, where this one does not hold them."""
    claims: tuple[ClaimView, ...]
    verdicts: tuple[tuple[str, str, int], ...]
    """Tone, verdict and number of claims."""
    relations: tuple[RelationView, ...]
    notes: Markup | None
    changes: tuple[CardChange, ...]
    """Newest first."""
    findings: tuple[Finding, ...]
    cite: CiteView
    edit_url: str
    yaml_path: str
    json_path: str
    updated: str
    verified: str
    """Day on which the sources were last read again; empty for never."""


def common_of(record: Record, context: Context, citations: Citations) -> Common:
    """Return what every record page shows; called last, when every place of the page has its number."""
    card = context.card
    claims = tuple([_claim(each, context, citations) for each in record.claims])
    return Common(
        title=record.title,
        ref=card.ref,
        kind=card.kind,
        status=card.status,
        status_text=DEFINITIONS["status"][card.status],
        banner=_banner(record, context),
        trust=trust_of(record, context),
        sources=source_views(record, context, citations),
        sources_note=_sources_note(record),
        evidence_href=citations.page,
        claims=claims,
        verdicts=tuple(
            [
                (*verdict, count)
                for verdict, count in Counter((each.tone, each.verdict) for each in claims).items()
            ]
        ),
        relations=relations_of(record, context),
        notes=prose_html(record.notes) if record.notes else None,
        changes=tuple(reversed(card.changes)),
        findings=context.findings,
        cite=_citation(context),
        edit_url=context.edit_url,
        yaml_path=raw_path(card.ref),
        json_path=record_json(card.ref),
        updated=card.updated,
        verified=record.last_verified.isoformat() if record.last_verified else "",
    )


_STALE: Final = "It was edited after its review: what changed has not been checked by a second person."
_DRAFT: Final = "Not yet checked by a second person: treat every number on this page as provisional."


def _banner(record: Record, context: Context) -> Banner | None:
    status = context.card.status
    reason = record.status_reason or ""
    if status == "draft":
        stale = context.review is not None and not context.review_fits
        return (
            Banner("stale", "Reviewed, then changed.", _STALE) if stale else Banner("draft", "Draft.", _DRAFT)
        )
    if status == "disputed":
        return Banner(
            "disputed", "Disputed.", reason or "Evidence stands against this record; both sides are below."
        )
    if status == "superseded":
        link = context.link(record.superseded_by) if record.superseded_by else None
        return Banner("superseded", "Superseded.", reason or "A later record replaces this one.", link)
    if status == "retracted":
        return Banner("retracted", "Retracted.", reason or "Wrong; kept so that links to it still lead here.")
    return None


def _sources_note(record: Record) -> str:
    if not record.sources:
        return ""
    groups = len({each.group for each in record.sources})
    return (
        f"{plural(len(record.sources), 'source')} in {plural(groups, 'independence group')}:"
        " sources of one group report one measurement and count once."
    )


_TONES: Final = {
    "confirmed": "verified", "consistent": "verified", "contradicted": "disputed", "inconsistent": "disputed",
    "not_reproduced": "disputed", "not_found": "disputed",
}  # fmt: skip


def _claim(claim: Claim, context: Context, citations: Citations) -> ClaimView:
    return ClaimView(
        anchor=claim_anchor(claim.id),
        statement=claim.statement,
        value=claim.value or "",
        verdict=words(claim.verdict),
        tone=_TONES.get(claim.verdict, "plain"),
        why=claim.note or DEFINITIONS["claim_verdict"][claim.verdict],
        evidence=citations.cite(claim.evidence),
        counter=tuple(
            [CounterView(each.value or "", citations.cite((each.evidence,))) for each in claim.counter]
        ),
        about=", ".join(field_label(each) if "." in each else each for each in claim.fields),
        resolved_by=context.link(claim.resolved_by) if claim.resolved_by else None,
    )


def _citation(context: Context) -> CiteView:
    card = context.card
    source = context.find(card.primary) if card.primary else None
    return citation_of(card, source, site_name=context.site_name, site_url=context.site_url)
