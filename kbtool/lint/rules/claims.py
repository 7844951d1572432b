"""Rules about claims: what was said, what it is about, and what speaks for and against it."""

from collections.abc import Iterator
from typing import Final

from kbtool.analysis.paths import benchmark_paths, is_known
from kbtool.lint.rule import Problem, rule
from kbtool.schema import Benchmark, Record
from kbtool.store.fields import annotation_at, keys
from kbtool.store.suggest import nearest

_DISAGREEING: Final = frozenset({"contradicted", "qualified", "not_reproduced", "superseded"})


@rule("P018", "verdict-without-evidence", severity="warning")
def verdict_without_evidence(record: Record) -> Iterator[Problem]:
    """Flag a verdict against a claim that shows nothing against it.

    "Contradicted" without what contradicts it is one more claim.

    Bad:
        claims: [{id: fast, statement: It is fast., verdict: contradicted}]

    Good:
        claims: [{id: fast, statement: It is fast., verdict: contradicted, note: "The same table says 12 tok/s."}]
    """
    for index, claim in enumerate(record.claims):
        told = claim.counter or claim.resolved_by is not None or claim.note is not None
        if claim.verdict in _DISAGREEING and not told:
            message = f"{claim.verdict}, and nothing says by what: add `counter`, `resolved_by` or `note`"
            yield Problem(f"/claims/{index}/verdict", message)


@rule("P019", "claim-about-no-field")
def claim_about_no_field(record: Record) -> Iterator[Problem]:
    """Flag a claim about a field or a result that the record does not have.

    The page shows a claim beside what it is about; under a misspelt name it stands alone, and a doubted figure
    looks undisputed.

    Bad:
        claims:
          - {id: fast, statement: It is fast., verdict: unresolved, fields: [decode-prose-9],
             evidence: [{source: sources/base-source, locator: Section 1}]}

    Good:
        claims:
          - {id: fast, statement: It is fast., verdict: unresolved, fields: [decode-prose-1, deployment.tp],
             evidence: [{source: sources/base-source, locator: Section 1}]}
    """
    results = [each.id for each in record.results] if isinstance(record, Benchmark) else []
    for index, claim in enumerate(record.claims):
        for number, path in enumerate(claim.fields):
            if path in results or _is_field(record, path):
                continue
            near = nearest(path, [*results, *(benchmark_paths() if results else keys(type(record)))])
            hint = f": did you mean `{near}`?" if near else ": name a result, or a field by its path"
            yield Problem(
                f"/claims/{index}/fields/{number}",
                f"no field and no result is called `{path}`{hint}",
                suggestion=near,
            )


def _is_field(record: Record, path: str) -> bool:
    """Return whether the model of a record has a field at this path; the items of a list have one path."""
    if isinstance(record, Benchmark) and is_known(path):
        return True
    location: list[str | int] = []
    for part in path.split("."):
        if annotation_at(type(record), [*location, part]) is None:
            location.append(0)  # into the items of a list
        location.append(part)
    return annotation_at(type(record), location) is not None
