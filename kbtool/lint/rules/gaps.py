"""Rules about gaps: what a source does not say is listed, with where it was looked for, and never guessed."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from kbtool.analysis.completeness import accounts, missing
from kbtool.analysis.paths import RESULTS, benchmark_paths, is_given, is_known, pointer_of, value_at
from kbtool.lint.rule import Problem, rule
from kbtool.schema import Benchmark
from kbtool.store.suggest import nearest
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS

_BUILD_FIELDS: Final = ("engine.", "system.driver", "system.cuda", "system.os", "measured.tool")
_ALWAYS_APPLY: Final = frozenset(
    {
        "system.accelerator_count", "system.power_limit_w", "system.driver", "engine.version", "deployment.tp",
        "model.weight_dtype", "serving.kv_cache_dtype", "serving.context_tok", "measured.day", "results.at.input_tok",
    }
)  # fmt: skip
"""Fields that have a value in every run on an accelerator, whether or not anybody knows it."""
_IDENTIFIES_ENGINE: Final = ("engine.version", "engine.commit", "engine.image_digest")


@rule("G001", "field-not-accounted-for", draft="warning")
def field_not_accounted_for(record: Benchmark) -> Iterator[Problem]:
    """Flag a disclosure field that is neither given nor listed as left out.

    Without it the run cannot be compared or repeated. Where the source does not say, `omitted_by_source`
    says that it was looked for; a field that is simply empty tells nobody whether anyone looked.

    Bad:
        system: {driver: null}

    Good:
        system: {driver: null}
        omitted_by_source: [{field: system.driver, source: sources/base-source}]
    """
    for field in missing(record):
        where = "of some results " if field.path.startswith(RESULTS) else ""
        message = (
            f"{field.path} {where}is neither given nor listed: search the source, then give it, or list it in "
            "`omitted_by_source` or `gaps`"
        )
        at = f"/results/{_first_without(record, field.path)}" if where else pointer_of(field.path)
        yield Problem(at, message)


@rule("G002", "field-given-and-left-out")
def field_given_and_left_out(record: Benchmark) -> Iterator[Problem]:
    """Flag a field that has a value and is listed as left out.

    One of the two is wrong, and a page that shows a value under "not stated" is believed in neither.

    Bad:
        omitted_by_source: [{field: system.driver, source: sources/base-source}]

    Good:
        omitted_by_source: [{field: system.clocks, source: sources/base-source}]
    """
    listed = [(f"/omitted_by_source/{i}", each.field) for i, each in enumerate(record.omitted_by_source)]
    listed += [(f"/gaps/{i}", each.field) for i, each in enumerate(record.gaps)]
    for at, path in listed:
        if is_known(path) and _given_everywhere(record, path):
            yield Problem(
                f"{at}/field", f"{path} is listed as left out, but has a value: remove one of the two"
            )


@rule("G003", "unknown-field-path")
def unknown_field_path(record: Benchmark) -> Iterator[Problem]:
    """Flag a path that names no field.

    A gap under a misspelt name covers nothing, and the field that it was meant for counts as overlooked.

    Bad:
        gaps: [{field: system.clock, reason: not_observable}]

    Good:
        gaps: [{field: system.clocks, reason: not_observable}]
    """
    paths = [(f"/omitted_by_source/{i}/field", each.field) for i, each in enumerate(record.omitted_by_source)]
    paths += [(f"/gaps/{i}/field", each.field) for i, each in enumerate(record.gaps)]
    for index, evidence in enumerate(record.setup_evidence):
        paths += [(f"/setup_evidence/{index}/fields/{i}", each) for i, each in enumerate(evidence.fields)]
    for at, path in paths:
        if not is_known(path):
            near = nearest(path, benchmark_paths())
            hint = f": did you mean `{near}`?" if near else ": name a field, such as `serving.context_tok`"
            yield Problem(at, f"no field has the path `{path}`{hint}", suggestion=near)


@rule("G004", "field-listed-twice")
def field_listed_twice(record: Benchmark) -> Iterator[Problem]:
    """Flag a field that is listed as left out more than once.

    Two reasons for one gap contradict each other. One source is searched once; another source may be listed
    too.

    Bad:
        gaps:
          - {field: system.clocks, reason: not_observable}
          - {field: system.clocks, reason: not_applicable}

    Good:
        gaps: [{field: system.clocks, reason: not_observable}]
    """
    seen = {(each.field, each.source) for each in record.omitted_by_source}
    if len(seen) < len(record.omitted_by_source):
        found = Counter((each.field, each.source) for each in record.omitted_by_source)
        for index, each in reversed(list(enumerate(record.omitted_by_source))):
            if found[each.field, each.source] > 1:
                found[each.field, each.source] -= 1
                yield Problem(
                    f"/omitted_by_source/{index}", f"{each.field} is listed above: remove one of the two"
                )
    fields = {field for field, _ in seen}
    for index, gap in enumerate(record.gaps):
        if gap.field in fields:
            yield Problem(f"/gaps/{index}", f"{gap.field} is listed already: keep the reason that holds")
        fields.add(gap.field)


@rule("G005", "reproducible-without-version")
def reproducible_without_version(record: Benchmark) -> Iterator[Problem]:
    """Flag a run that is called fully reproducible, while nobody knows which engine it ran on.

    Engines gain or lose tens of per cent between versions: without version, commit or image nobody can repeat
    it.

    Bad:
        engine: {version: null, commit: null, image_digest: null}
        omitted_by_source:
          - {field: engine.version, source: sources/base-source}
          - {field: engine.commit, source: sources/base-source}
          - {field: engine.image_digest, source: sources/base-source}

    Good:
        reproducible: {assessed: settings_only}
        engine: {version: null, commit: null, image_digest: null}
        omitted_by_source:
          - {field: engine.version, source: sources/base-source}
          - {field: engine.commit, source: sources/base-source}
          - {field: engine.image_digest, source: sources/base-source}
    """
    if record.reproducible.assessed == "full" and not any(
        value_at(record, path) for path in _IDENTIFIES_ENGINE
    ):
        message = (
            "called fully reproducible without engine version, commit or image digest: say `settings_only`"
        )
        yield Problem("/reproducible/assessed", message)


@rule("G006", "resolution-without-value")
def resolution_without_value(record: Benchmark) -> Iterator[Problem]:
    """Flag an omission that another source fills, without what that source says.

    Where a record resolves it, its page shows the value; a source is text, and the reader would have to
    search it.

    Bad:
        system: {driver: null}
        omitted_by_source: [{field: system.driver, source: sources/base-source, resolved_by: sources/base-source}]

    Good:
        system: {driver: null}
        omitted_by_source:
          - {field: system.driver, source: sources/base-source, resolved_by: sources/base-source, resolved_value: "580.65"}
    """
    for index, each in enumerate(record.omitted_by_source):
        if each.resolved_value is not None and each.resolved_by is None:
            message = "a resolved value without its source: add `resolved_by`"
            yield Problem(f"/omitted_by_source/{index}/resolved_value", message)
        elif (
            each.resolved_by is not None
            and each.resolved_value is None
            and each.resolved_by.startswith("sources/")
        ):
            message = f"{each.resolved_by} resolves it, but what it says is missing: add `resolved_value`"
            yield Problem(f"/omitted_by_source/{index}/resolved_by", message)


@rule("G007", "resolved-by-itself")
def resolved_by_itself(record: Benchmark) -> Iterator[Problem]:
    """Flag an omission that is said to be resolved by the record itself.

    If the record has the value, it belongs into the field; the omission then goes.

    Bad:
        system: {driver: null}
        omitted_by_source:
          - {field: system.driver, source: sources/base-source, resolved_by: benchmarks/base-benchmark}

    Good:
        system: {driver: "580.65"}
    """
    for index, each in enumerate(record.omitted_by_source):
        if each.resolved_by is not None and each.resolved_by.partition("#")[0] == f"benchmarks/{record.id}":
            message = f"{each.field} is resolved by this record itself: put the value into the field"
            yield Problem(f"/omitted_by_source/{index}/resolved_by", message)


@rule("G008", "gap-reason-does-not-fit")
def gap_reason_does_not_fit(record: Benchmark) -> Iterator[Problem]:
    """Flag a gap whose reason cannot be the reason for this field.

    A development build explains a missing version, not a missing prompt length; and a field that every run
    has is unknown, but never not applicable.

    Bad:
        system: {numa_nodes: null}
        gaps: [{field: system.numa_nodes, reason: unknown_dev_build}]

    Good:
        system: {numa_nodes: null}
        gaps: [{field: system.numa_nodes, reason: not_observable}]
    """
    for index, gap in enumerate(record.gaps):
        at = f"/gaps/{index}/reason"
        if gap.reason == "unknown_dev_build" and not gap.field.startswith(_BUILD_FIELDS):
            yield Problem(
                at, f"a development build does not explain why {gap.field} is missing: name another reason"
            )
        elif gap.reason == "not_applicable" and gap.field in _ALWAYS_APPLY:
            yield Problem(
                at, f"every run has {gap.field}: say not_observable, or list it in `omitted_by_source`"
            )


@rule("G009", "not-applicable-though-used", severity="warning")
def not_applicable_though_used(record: Benchmark) -> Iterator[Problem]:
    """Flag a detail of speculation or parallelism that is called not applicable, while the run uses it.

    Bad:
        speculation: {acceptance_length: null}
        gaps: [{field: speculation.acceptance_length, reason: not_applicable}]

    Good:
        speculation: {acceptance_length: null}
        gaps: [{field: speculation.acceptance_length, reason: not_observable}]
    """
    if record.speculation.method in (None, "none"):
        return
    for index, gap in enumerate(record.gaps):
        if gap.reason == "not_applicable" and gap.field.startswith("speculation."):
            message = (
                f"{gap.field} applies: the run drafts by {record.speculation.method}. Say not_observable"
            )
            yield Problem(f"/gaps/{index}/reason", message)


def _first_without(record: Benchmark, path: str) -> int:
    """Return the index of the first result that is asked for a field and lacks it."""
    return next(account.absent_from[0] for account in accounts(record) if account.field.path == path)


def _given_everywhere(record: Benchmark, path: str) -> bool:
    """Return whether a field has a value: of the setup, or in each result that it is asked of."""
    if not path.startswith(RESULTS):
        return is_given(value_at(record, path))
    asked = next((each.metrics for each in DISCLOSURE_FIELDS if each.path == path), frozenset[str]())
    results = [each for each in record.results if not asked or each.metric in asked]
    return bool(results) and all(is_given(value_at(each, path)) for each in results)
