"""Records about evidence: sources, gotchas, reviews and withdrawn records."""

from typing import Literal

from kbtool.schema.base import (
    ExactText,
    IsoDate,
    Line,
    ModelVersion,
    Seq,
    Short,
    Slug,
    StrictModel,
    Url,
    need,
    opt,
    seq,
)
from kbtool.schema.common import Evidence, Record
from kbtool.schema.refs import AnyRef, EngineRef, Kind, SourceRef, TargetRef
from kbtool.vocab.terms import Interest, SourceKind

__all__ = ["Affected", "Effect", "Gotcha", "LastChecked", "Review", "Source", "SourceLink", "Withdrawn"]


class LastChecked(StrictModel):
    """When somebody or something last looked whether the source is still there."""

    day: IsoDate = need("Day of the check.")
    outcome: Literal[
        "reachable", "moved", "gone", "changed", "not_reachable_from_here", "stored_copy_read"
    ] = need("What was found.")
    note: Line | None = opt("Details.")


class SourceLink(StrictModel):
    """How this source relates to another one."""

    relation: Literal["cross_post_of", "quotes", "summarises", "updates", "corrects", "builds_on"] = need(
        "The relation."
    )
    source: SourceRef = need("The other source.")
    note: Line | None = opt("Details.")


class Source(Record):
    """Something published, or handed over, that records quote."""

    source_kind: SourceKind = need("What it is.")
    url: Url | None = opt("Where it was read or is published; null where no address is known.")
    archive_url: Url | None = opt("A stored copy that will not change.")
    publisher: Line = need("Who publishes it.")
    author: Line | None = opt("Who wrote it.")
    interest: Interest = need(
        "What the publisher gains from the figures; where it passes on an author's own, what the author gains."
    )
    published: IsoDate | None = opt("Day of publication.")
    published_as: Line | None = opt("Date of publication where only part of it is known.")
    accessed: IsoDate = need("Day on which it was read for this knowledge base.")
    read_via: Line | None = opt("How it was read, where not at its address.")
    last_checked: LastChecked | None = opt("Last look at the address.")
    content_sha256: str | None = opt("SHA-256 of the bytes that were read.", pattern="^[0-9a-f]{64}$")
    licence: Line | None = opt("Licence or terms of the text.")
    repository: Line | None = opt("Repository of a file, issue or pull request.")
    commit: ExactText | None = opt("Commit of a repository file.")
    path: Line | None = opt("Path in the repository, or number of an issue.")
    group: Slug = need("Independence group: sources of one group report one measurement.")
    related: Seq[SourceLink] = seq("Relations to other sources.")


class Affected(StrictModel):
    """What a trap concerns."""

    engine: EngineRef | None = opt("The engine; null where it is not tied to one.")
    versions: Line | None = opt("Versions or builds.")
    condition: Line | None = opt("Under what settings.")


class Effect(StrictModel):
    """A number that the trap changed."""

    target: TargetRef = need("The record or result.")
    note: Line = need("What it did to the number.")


class Gotcha(Record):
    """A known trap: it changed or falsified somebody's number, or stopped a run."""

    symptom: Short = need("What one sees.")
    cause: Short = need("Why.")
    detect: Short = need("How to find out whether one has it.")
    avoid: Short = need("What prevents it.")
    trap_class: Literal[
        "client_counting", "cache", "cuda_graph", "context_limit", "authentication", "environment", "topology",
        "kernel_support", "power", "comparison", "quality", "other",
    ] = need("What kind of trap.")  # fmt: skip
    affected: Seq[Affected] = seq("Engines, versions and settings.")
    effects: Seq[Effect] = seq("Numbers that it changed.")
    evidence: Seq[Evidence] = need("Where it is told.", min_length=1)


class Review(StrictModel):
    """What a maintainer checked in one record, bound to its exact bytes.

    `reviewed` and `verified` are derived from this file and from nothing in the record; any later edit of the
    record makes the review stale by itself.
    """

    schema_version: ModelVersion = need("Version of the record model.")
    record: AnyRef = need("The record.")
    record_sha256: str = need("SHA-256 of the record file's bytes.", pattern="^[0-9a-f]{64}$")
    author: Line = need("Who wrote the record.")
    reviewer: Line = need("Who checked it; somebody else.")
    reviewed: IsoDate = need("Day of the review.")
    level: Literal["reviewed", "verified"] = need("Sources read, or figures measured or recomputed.")
    checked: Seq[
        Literal[
            "source_opened", "quotes_found", "units", "layout_arithmetic", "system_against_user",
            "cold_against_warm", "omissions", "tried_to_disprove", "raw_data_recomputed", "replicated",
        ]
    ] = need("What was checked.", min_length=1)  # fmt: skip
    note: Short | None = opt("What the reviewer found.")


class Withdrawn(StrictModel):
    """The stone that stays where a record was removed: its id never comes back."""

    schema_version: ModelVersion = need("Version of the record model.")
    id: Slug = need("Id of the record that was removed.")
    kind: Kind = need("Its kind.")
    title: Line = need("Its title, or words that say what it was.")
    withdrawn: IsoDate = need("Day of the removal.")
    reason: Short = need("Why it was removed rather than retracted in place.")
    replaced_by: AnyRef | None = opt("What to read instead.")
