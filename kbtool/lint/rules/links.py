"""Rules about links: what a record refers to exists, and the relations make sense together."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from kbtool.analysis.published import agree
from kbtool.lint.facts import Facts
from kbtool.lint.lookup import Lookup
from kbtool.lint.rule import CorpusProblem, Problem, corpus_rule, rule
from kbtool.schema import FOLDERS, MODELS, Benchmark, Record, Source
from kbtool.schema.refs import split
from kbtool.store.suggest import nearest

_BENCHMARKS_ONLY: Final = frozenset({"replicates", "same_run_as", "same_system_as"})
_ONE_KIND: Final = frozenset({"supersedes"})
_RATIO_TOLERANCE: Final = Decimal("0.01")
_FOLDER_OF: Final = {MODELS[kind]: folder for folder, kind in FOLDERS.items()}
_GONE: Final = ("retracted", "superseded")
_HISTORY: Final = frozenset({"supersedes", "superseded_by", "corrects", "withdraws", "contradicts", "record"})
"""Relations that are about what became of a record, so that the record may well be gone."""


@corpus_rule("L001", "reference-not-found", partial=True)
def reference_not_found(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag a reference to a record that does not exist.

    A dead reference breaks the chain from a figure to its source, and every joined view drops the row.

    Bad:
        system: {accelerator: accelerators/base-acelerator}

    Good:
        system: {accelerator: accelerators/base-accelerator}
    """
    for ref, record in facts.records.items():
        for pointer, target, _ in record.references:
            if facts.exists(target):
                continue
            bare = target.partition("#")[0]
            if bare in facts.withdrawn:
                message = f"`{bare}` was withdrawn: refer to what replaced it, or drop the reference"
                yield CorpusProblem(ref, pointer, message)
                continue
            near = facts.nearest(target)
            hint = f": did you mean `{near}`?" if near else ": add the record, or correct the reference"
            yield CorpusProblem(ref, pointer, f"there is no record `{bare}`{hint}", suggestion=near)


@corpus_rule("L002", "result-not-found")
def result_not_found(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag a reference to a result that its record does not have.

    `benchmarks/x#decode` is the address of one figure; without the result nobody knows which was meant.

    Bad:
        links: [{relation: contradicts, target: "benchmarks/base-benchmark#ttft-1k-2", result: decode-prose-1}]

    Good:
        links: [{relation: contradicts, target: "benchmarks/base-benchmark#ttft-1k-1", result: decode-prose-1}]
    """
    for ref, record in facts.records.items():
        for pointer, target, _ in record.references:
            bare, _, result = target.partition("#")
            known = facts.records.get(bare) if result else None
            if known is None or result in known.result_ids:
                continue
            near = nearest(result, known.result_ids)
            hint = (
                f": did you mean `{bare}#{near}`?"
                if near
                else ": name one of its results, or the record alone"
            )
            suggestion = f"{bare}#{near}" if near else None
            yield CorpusProblem(
                ref, pointer, f"`{bare}` has no result `{result}`{hint}", suggestion=suggestion
            )


@rule("L003", "link-to-itself")
def link_to_itself(record: Record) -> Iterator[Problem]:
    """Flag a link of a record to itself as a whole.

    A record cannot replace, repeat or correct itself. Two of its results may contradict each other: then the
    link names both.

    Bad:
        links: [{relation: corrects, target: benchmarks/base-benchmark}]

    Bad:
        sources/base-source: {related: [{relation: summarises, source: sources/base-source}]}

    Good:
        links: [{relation: contradicts, result: decode-prose-1, target: "benchmarks/base-benchmark#ttft-1k-1"}]
    """
    own = f"{_FOLDER_OF[type(record)]}/{record.id}"
    for index, link in enumerate(record.links):
        bare, _, result = link.target.partition("#")
        if bare == own and not (link.result and result and link.result != result):
            message = (
                f"the record is linked to itself as {link.relation}: name the other record, or two results"
            )
            yield Problem(f"/links/{index}/target", message)
    if record.superseded_by == own:
        yield Problem(
            "/superseded_by", "the record names itself as its successor: name the record that replaces it"
        )
    for index, relation in enumerate(record.related if isinstance(record, Source) else ()):
        if relation.source == own:
            message = f"the source is related to itself as {relation.relation}: name the other source"
            yield Problem(f"/related/{index}/source", message)


@rule("L004", "link-from-unknown-result")
def link_from_unknown_result(record: Record) -> Iterator[Problem]:
    """Flag a link that is said to be about a result which the record does not have.

    Bad:
        links: [{relation: contradicts, result: decode-prose, target: engines/base-engine}]

    Good:
        links: [{relation: contradicts, result: decode-prose-1, target: engines/base-engine}]
    """
    if not record.links:
        return
    ids = [each.id for each in record.results] if isinstance(record, Benchmark) else []
    for index, link in enumerate(record.links):
        if link.result is not None and link.result not in ids:
            near = nearest(link.result, ids)
            hint = f": did you mean `{near}`?" if near else ": name one of its results, or none"
            yield Problem(
                f"/links/{index}/result", f"there is no result `{link.result}` here{hint}", suggestion=near
            )


@rule("L005", "relation-between-wrong-kinds")
def relation_between_wrong_kinds(record: Record) -> Iterator[Problem]:
    """Flag a relation that cannot hold between two records of these kinds.

    Only benchmarks are replicated, share a run or share a system; a record is replaced by one of its own
    kind.

    Bad:
        links: [{relation: same_run_as, target: engines/base-engine}]

    Good:
        links: [{relation: contradicts, target: engines/base-engine}]
    """
    if not record.links:
        return
    own = _FOLDER_OF[type(record)]
    for index, link in enumerate(record.links):
        other = split(link.target)[0]
        if link.relation in _ONE_KIND and other != own:
            message = f"a record of {own} {link.relation} one of {other}; expected one of {own}: name another relation"
            yield Problem(f"/links/{index}/relation", message)
        elif link.relation in _BENCHMARKS_ONLY and (own, other) != ("benchmarks", "benchmarks"):
            message = (
                f"{link.relation} holds between benchmarks only, not {own} and {other}: name another relation"
            )
            yield Problem(f"/links/{index}/relation", message)


@rule("L006", "link-given-twice", severity="warning")
def link_given_twice(record: Record) -> Iterator[Problem]:
    """Flag a relation that is stated twice.

    The page would show it twice, and a later change to one of the two goes unnoticed.

    Bad:
        links: [{relation: contradicts, target: engines/base-engine}, {relation: contradicts, target: engines/base-engine}]

    Good:
        links: [{relation: contradicts, target: engines/base-engine}]
    """
    if len(record.links) < 2:
        return
    seen = set()
    for index, link in enumerate(record.links):
        key = (link.relation, link.target, link.result)
        if key in seen:
            yield Problem(
                f"/links/{index}", f"{link.relation} {link.target} is stated above: remove one of the two"
            )
        seen.add(key)


@corpus_rule("L007", "supersedes-in-a-circle")
def supersedes_in_a_circle(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag records that replace one another in a circle.

    None of them is then current, and whoever follows the successors never arrives.

    Bad:
        engines/one: {title: One, status: superseded, status_reason: Renamed., superseded_by: engines/two}
        engines/two: {title: Two, status: superseded, status_reason: Renamed., superseded_by: engines/one}

    Good:
        engines/one: {title: One, status: superseded, status_reason: Renamed., superseded_by: engines/two}
        engines/two: {title: Two}
    """
    successors = _successors(facts)
    settled: set[str] = set()
    for start in sorted(successors):
        path: list[str] = []
        ref: str | None = start
        # Step by step and not by recursion: a chain may be longer than Python's stack.
        while ref is not None and ref not in settled:
            settled.add(ref)
            path.append(ref)
            # Of two successors, which is a finding of its own, the first is followed.
            ref = min(successors.get(ref, ()), default=None)
        if ref in path:
            circle = path[path.index(ref) :]
            holder, pointer = successors[circle[-1]][ref]
            names = " -> ".join([*circle, ref])
            yield CorpusProblem(holder, pointer, f"{names} replace one another: say which of them is current")


@corpus_rule("L008", "two-successors")
def two_successors(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag a record that two others replace.

    A reader of the old record has to be sent to one current record; of two nobody knows which it is.

    Bad:
        engines/old: {title: Old, status: superseded, status_reason: Renamed., superseded_by: engines/next}
        engines/next: {title: Next}
        engines/third: {title: Third, links: [{relation: supersedes, target: engines/old}]}

    Good:
        engines/old: {title: Old, status: superseded, status_reason: Renamed., superseded_by: engines/next}
        engines/next: {title: Next, links: [{relation: supersedes, target: engines/old}]}
    """
    for ref, found in _successors(facts).items():
        first, *others = sorted(found)
        for other in others:
            holder, pointer = found[other]
            message = (
                f"{ref} is replaced by {first} and by {other}: keep one, and let the other replace that one"
            )
            yield CorpusProblem(holder, pointer, message)


@corpus_rule("L009", "replaced-but-current")
def replaced_but_current(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag a record that another one replaces, and that does not say so itself.

    It would stay in every ranking beside its successor, and its page would not send the reader on.

    Bad:
        engines/old: {title: Old}
        engines/next: {title: Next, links: [{relation: supersedes, target: engines/old}]}

    Good:
        engines/old: {title: Old, status: superseded, status_reason: Renamed., superseded_by: engines/next}
        engines/next: {title: Next, links: [{relation: supersedes, target: engines/old}]}
    """
    for ref, record in facts.records.items():
        for pointer, target, relation in record.references:
            old = facts.records.get(target) if relation == "supersedes" else None
            if old is not None and old.status not in _GONE and target != ref:
                yield CorpusProblem(
                    ref, pointer, f"{target} is replaced by this record, but says {old.status}: set its status to "
                    f"superseded and its superseded_by to {ref}"
                )  # fmt: skip


@corpus_rule("L010", "reference-to-what-is-gone", severity="warning")
def reference_to_what_is_gone(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag a record that rests on one that was retracted or replaced.

    A bound computed from a retracted datasheet figure is as wrong as the figure.

    Bad:
        engines/old: {title: Old, status: retracted, status_reason: It never existed.}
        engine: {engine: engines/old}

    Good:
        engines/old: {title: Old, status: retracted, status_reason: It never existed.}
        engines/next: {title: Next, links: [{relation: withdraws, target: engines/old}]}
    """
    for ref, record in facts.records.items():
        if record.status in _GONE:
            continue
        for pointer, target, relation in record.references:
            other = facts.records.get(target.partition("#")[0]) if relation not in _HISTORY else None
            if other is not None and other.status in _GONE:
                yield CorpusProblem(
                    ref, pointer, f"`{other.ref}` is {other.status}: refer to what replaced it, or to none"
                )


@rule("L011", "replication-without-ratio")
def replication_without_ratio(record: Benchmark) -> Iterator[Problem]:
    """Flag a replication that does not say how near it came.

    "Replicated" can mean 0.2 % or 20 % off; the ratio is the result of a replication.

    Bad:
        links: [{relation: replicates, result: decode-prose-1, target: benchmarks/other}]
        benchmarks/other: {title: The first run}

    Good:
        links: [{relation: replicates, result: decode-prose-1, target: benchmarks/other, ratio: 1.02}]
        benchmarks/other: {title: The first run}
    """
    for index, link in enumerate(record.links):
        if link.relation == "replicates" and link.ratio is None:
            message = "a replication without ratio; expected this value / the target's value: add `ratio`"
            yield Problem(f"/links/{index}", message)


@rule("L012", "ratio-of-no-replication")
def ratio_of_no_replication(record: Record) -> Iterator[Problem]:
    """Flag a ratio on a link that is no replication.

    The ratio of two figures that were not meant to be equal is a result (`throughput_ratio`) with a baseline.

    Bad:
        links: [{relation: contradicts, target: engines/base-engine, ratio: 1.2}]

    Good:
        links: [{relation: contradicts, target: engines/base-engine}]
    """
    for index, link in enumerate(record.links):
        if link.ratio is not None and link.relation != "replicates":
            message = f"a ratio stands on {link.relation}; expected on `replicates` alone: make it a result, or drop it"
            yield Problem(f"/links/{index}/ratio", message)


@rule("L013", "replication-ratio-not-the-quotient")
def replication_ratio_not_the_quotient(record: Benchmark, refs: Lookup) -> Iterator[Problem]:
    """Flag a replication whose ratio is not this value divided by the target's.

    The two are easily divided the wrong way round, which turns 20 % slower into 25 % faster.

    Bad:
        links: [{relation: replicates, result: ttft-1k-1, target: "benchmarks/base-benchmark#decode-prose-1", ratio: 0.66}]

    Good:
        links: [{relation: replicates, result: ttft-1k-1, target: "benchmarks/base-benchmark#decode-prose-1", ratio: 1.52}]
    """
    for index, link in enumerate(record.links):
        if link.ratio is None or link.result is None or "#" not in link.target:
            continue
        target = refs.get(link.target, Benchmark)
        theirs = _value(target, split(link.target)[2]) if target else None
        ours = _value(record, link.result)
        if ours is None or not theirs:
            continue
        quotient = ours / theirs
        if not agree(link.ratio, quotient, _RATIO_TOLERANCE):
            message = f"ratio is {link.ratio}, but {ours} / {theirs} is {quotient:.3f}: correct the one that is wrong"
            yield Problem(f"/links/{index}/ratio", message)


def _successors(facts: Facts) -> Mapping[str, Mapping[str, tuple[str, str]]]:
    """Return record -> what replaces it -> the record and the place that say so."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for ref, record in facts.records.items():
        for pointer, target, relation in record.references:
            if relation == "supersedes":
                found.setdefault(target.partition("#")[0], {}).setdefault(ref, (ref, pointer))
            elif relation == "superseded_by":
                found.setdefault(ref, {}).setdefault(target, (ref, pointer))
    return found


def _value(record: Benchmark, result_id: str) -> Decimal | None:
    return next((each.value for each in record.results if each.id == result_id), None)
