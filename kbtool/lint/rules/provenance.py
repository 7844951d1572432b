"""Rules about provenance: from each figure a reader gets to the words, the file and the people behind it."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from kbtool.analysis.parts import parts
from kbtool.lint.facts import Facts
from kbtool.lint.lookup import Lookup
from kbtool.lint.rule import CorpusProblem, Problem, corpus_rule, rule
from kbtool.schema import Accelerator, Benchmark, Engine, Interconnect, Model, Record, Source
from kbtool.schema.benchmark import Result
from kbtool.schema.common import Evidence, Fact, Figure

_LONGEST_QUOTE_WORDS: Final = 60
_SIDES_WITH_AN_INTEREST: Final = frozenset({"vendor", "sells_hardware"})


@rule("P001", "no-primary-source", draft="warning")
def no_primary_source(record: Benchmark) -> Iterator[Problem]:
    """Flag a benchmark none of whose sources is primary.

    Somebody measured. Unless their own account is among the sources, the figure is hearsay: it may have been
    rounded, converted or mixed up on the way.

    Bad:
        sources: [{source: sources/base-source, role: secondary, group: example-lab}]

    Good:
        sources: [{source: sources/base-source, role: primary, group: example-lab}]
    """
    if not any(each.role == "primary" for each in record.sources):
        yield Problem(
            "/sources", "no source is primary; expected the account of whoever measured: find it and list it"
        )


@rule("P002", "source-not-listed")
def source_not_listed(record: Record, refs: Lookup) -> Iterator[Problem]:
    """Flag evidence from a source that the record does not list.

    `sources` says what each source is to the record and which of them count once. A source that only an
    evidence names escapes that. What speaks against a claim (`counter`) may come from anywhere. A source that does
    not exist is another rule's.

    Bad:
        claims:
          - id: fast
            statement: It is fast.
            verdict: unresolved
            evidence: [{source: sources/other, locator: Section 1}]
        sources/other: {title: Another report, url: https://example.org/another, content_sha256: null}

    Good:
        claims:
          - id: fast
            statement: It is fast.
            verdict: unresolved
            counter: [{evidence: {source: sources/other, locator: Section 1}}]
        sources/other: {title: Another report, url: https://example.org/another, content_sha256: null}
    """
    listed = {each.source for each in record.sources}
    for pointer, evidence in parts(record, Evidence):
        if evidence.source not in listed and "/counter/" not in pointer:
            listed.add(evidence.source)  # one finding is enough to add it
            if refs.get(evidence.source) is not None:
                message = f"`{evidence.source}` is not among the record's sources: list it there"
                yield Problem(f"{pointer}/source", message)
    for index, omission in enumerate(record.omitted_by_source):
        if omission.source not in listed:
            listed.add(omission.source)
            if refs.get(omission.source) is not None:
                message = (
                    f"`{omission.source}` was searched, but is not among the record's sources: list it there"
                )
                yield Problem(f"/omitted_by_source/{index}/source", message)


@rule("P003", "source-listed-twice")
def source_listed_twice(record: Record) -> Iterator[Problem]:
    """Flag a source that is listed twice.

    It has one role; listed twice it counts as two.

    Bad:
        sources:
          - {source: sources/base-source, role: primary, group: example-lab}
          - {source: sources/base-source, role: secondary, group: example-lab}

    Good:
        sources:
          - {source: sources/base-source, role: primary, group: example-lab}
    """
    if len({each.source for each in record.sources}) == len(record.sources):
        return
    seen: set[str] = set()
    for index, use in enumerate(record.sources):
        if use.source in seen:
            yield Problem(
                f"/sources/{index}/source", f"`{use.source}` is listed above: keep the role that fits"
            )
        seen.add(use.source)


@rule("P004", "cross-post-counted")
def cross_post_counted(record: Record) -> Iterator[Problem]:
    """Flag a cross-post in an independence group of its own.

    The same text by the same author elsewhere confirms nothing. In its own group it would count as a second
    witness.

    Bad:
        sources:
          - {source: sources/base-source, role: primary, group: example-lab}
          - {source: sources/forum, role: cross_post, group: forum}
        sources/forum: {title: The same in a forum, url: https://example.org/forum, content_sha256: null, group: forum}

    Good:
        sources:
          - {source: sources/base-source, role: primary, group: example-lab}
          - {source: sources/forum, role: cross_post, group: example-lab}
        sources/forum: {title: The same in a forum, url: https://example.org/forum, content_sha256: null}
    """
    if len(record.sources) < 2:
        return
    groups = {each.group for each in record.sources if each.role != "cross_post"}
    for index, use in enumerate(record.sources):
        if use.role == "cross_post" and use.group not in groups:
            message = (
                f"a cross-post in group `{use.group}`; expected the group of what it repeats: use that group"
            )
            yield Problem(f"/sources/{index}/group", message)


@corpus_rule("P005", "group-not-the-sources")
def group_not_the_sources(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag a source whose group in a record is not the one in its own record.

    Groups say which sources count once. Two answers for one source make a witness of an echo.

    Bad:
        sources: [{source: sources/base-source, role: primary, group: another-lab}]

    Good:
        sources: [{source: sources/base-source, role: primary, group: example-lab}]
    """
    for ref, record in facts.records.items():
        for index, (source, _, group) in enumerate(record.sources):
            known = facts.records.get(source)
            if known is not None and known.group != group:
                message = f"group is `{group}`, but {source} says `{known.group}`: use the source's own group"
                yield CorpusProblem(ref, f"/sources/{index}/group", message, suggestion=known.group)


@rule("P006", "long-quote", severity="warning")
def long_quote(record: Record) -> Iterator[Problem]:
    """Flag a quote of more than 60 words.

    A quote proves a figure; more than a sentence or two is somebody else's text, and copied here it has
    neither its context nor its author's licence.

    Bad:
        claims:
          - id: fast
            statement: It is fast.
            verdict: unresolved
            evidence:
              - source: sources/base-source
                locator: Section 1
                quote: >-
                  a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m n o p q r s t u v w x y z
                  a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m n o p q r s t u v w x y z

    Good:
        claims:
          - id: fast
            statement: It is fast.
            verdict: unresolved
            evidence: [{source: sources/base-source, locator: Section 1, quote: a b c}]
    """
    for pointer, evidence in parts(record, Evidence):
        quote = evidence.quote
        if quote is None or len(quote) < 2 * _LONGEST_QUOTE_WORDS:
            continue
        count = len(quote.split())
        if count > _LONGEST_QUOTE_WORDS:
            message = f"a quote of {count} words; expected at most {_LONGEST_QUOTE_WORDS}: keep the words with the figure"
            yield Problem(f"{pointer}/quote", message)


@rule("P007", "derived-without-inputs")
def derived_without_inputs(
    record: Benchmark | Accelerator | Interconnect | Engine | Model,
) -> Iterator[Problem]:
    """Flag a derived value without its formula and inputs.

    A value that we computed is ours: without what went in nobody can check it, and a corrected input never
    reaches it.

    Bad:
        accelerators/other: {title: Other, memory: {capacity_gb: {basis: derived}}}

    Good:
        accelerators/other:
          title: Other
          memory: {capacity_gb: {basis: derived, derivation: {formula: dies x 48 GB, inputs: [dies in table 1]}}}
    """
    for pointer, part in _with_basis(record):
        if part.basis == "derived" and (part.derivation is None or not part.derivation.inputs):
            found = "no formula" if part.derivation is None else "no inputs"
            yield Problem(
                f"{pointer}/basis", f"a derived value with {found}: add `derivation` with formula and inputs"
            )


@rule("P008", "inferred-without-rule")
def inferred_without_rule(
    record: Benchmark | Accelerator | Interconnect | Engine | Model,
) -> Iterator[Problem]:
    """Flag an inferred value without the rule that gave it.

    The source does not say it; the reader has to see by what reasoning it came here.

    Bad:
        accelerators/other: {title: Other, memory: {capacity_gb: {basis: inferred}}}

    Good:
        accelerators/other:
          title: Other
          memory: {capacity_gb: {basis: inferred, derivation: {formula: same as the edition that it replaces}}}
    """
    for pointer, part in _with_basis(record):
        if part.basis == "inferred" and part.derivation is None:
            yield Problem(
                f"{pointer}/basis", "an inferred value without its rule: add `derivation` with the rule"
            )


@rule("P009", "stated-and-derived", severity="warning")
def stated_and_derived(record: Benchmark | Accelerator | Interconnect | Engine | Model) -> Iterator[Problem]:
    """Flag a value that is marked as stated and has a derivation.

    Either the source prints it, or somebody computed it; a reader who wants to check has to know which.

    Bad:
        accelerators/other: {title: Other, memory: {capacity_gb: {derivation: {formula: dies x 48 GB}}}}

    Good:
        accelerators/other: {title: Other, memory: {capacity_gb: {convention: as sold}}}
    """
    for pointer, part in _with_basis(record):
        if part.basis == "stated" and part.derivation is not None:
            yield Problem(
                f"{pointer}/derivation", "a stated value with a derivation: say `basis: derived`, or drop it"
            )


@rule("P010", "second-hand-headline", severity="warning")
def second_hand_headline(record: Benchmark) -> Iterator[Problem]:
    """Flag a headline that every one of its sources repeats from somebody else.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: 93.9 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3, second_hand: true}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: 93.9 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        if result.id == record.headline and all(each.second_hand for each in result.evidence):
            message = "the headline is second hand in every source: find the account of whoever measured, and cite it"
            yield Problem(f"/results/{index}/evidence", message)


@rule("P015", "interest-not-told", severity="warning")
def interest_not_told(record: Benchmark, refs: Lookup) -> Iterator[Problem]:
    """Flag a measurement by a third party whose source makes or sells what was measured.

    Whoever gains from a figure is no third party to it.

    Bad:
        sources: [{source: sources/maker, role: primary, group: example-lab}]
        setup_evidence: []
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: 93.9 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/maker, locator: Table 3}]}
        sources/maker: {title: Our cards, url: https://example.org/m, content_sha256: null, interest: vendor}

    Good:
        measured: {by: vendor}
        sources: [{source: sources/maker, role: primary, group: example-lab}]
        setup_evidence: []
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: 93.9 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/maker, locator: Table 3}]}
        sources/maker: {title: Our cards, url: https://example.org/m, content_sha256: null, interest: vendor}
    """
    if record.measured.by != "third_party":
        return
    for index, use in enumerate(record.sources):
        source = refs.get(use.source, Source) if use.role == "primary" else None
        if source is not None and source.interest in _SIDES_WITH_AN_INTEREST:
            message = f"measured by a third party, but source {index + 1} makes or sells it ({source.interest}): say who"
            yield Problem("/measured/by", message)


@rule("P016", "measured-after-publication")
def measured_after_publication(record: Benchmark, refs: Lookup) -> Iterator[Problem]:
    """Flag a measurement dated after every source of it was published.

    A source cannot report what has not happened; usually the day of reading was taken for the day of
    measuring.

    Bad:
        measured: {day: "2026-09-16"}

    Good:
        measured: {day: "2026-09-14"}
    """
    day = record.measured.day
    if day is None:
        return
    published = [
        source.published
        for use in record.sources
        if use.role in ("primary", "cross_post") and (source := refs.get(use.source, Source)) is not None
    ]
    if published and all(each is not None and each < day for each in published):
        latest = max(each for each in published if each is not None)
        yield Problem(
            "/measured/day", f"measured on {day}, but published by {latest}: correct the day that is wrong"
        )


@rule("P017", "changes-not-in-step")
def changes_not_in_step(record: Record) -> Iterator[Problem]:
    """Flag changes that are later than `updated`, or not in order.

    `updated` is the day of the last change of content; readers and feeds go by it.

    Bad:
        changes: [{date: "2026-09-21", fields: [system.driver], why: The source corrected it.}]

    Good:
        changes: [{date: "2026-09-20", fields: [system.driver], why: The source corrected it.}]
    """
    if not record.changes:
        return
    for index, (earlier, later) in enumerate(pairwise(record.changes)):
        if later.date < earlier.date:
            yield Problem(
                f"/changes/{index + 1}/date", f"{later.date} comes after {earlier.date}: sort oldest first"
            )
    last = max(each.date for each in record.changes)
    if last > record.updated:
        yield Problem(
            "/updated", f"updated is {record.updated}, but the last change is of {last}: set it to that day"
        )


def _with_basis(record: Record) -> Iterator[tuple[str, Result | Figure | Fact]]:
    """Yield every part that says how its value came about."""
    if isinstance(record, Benchmark):
        yield from ((f"/results/{index}", result) for index, result in enumerate(record.results))
    else:
        yield from parts(record, Figure)
        yield from parts(record, Fact)
