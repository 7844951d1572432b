"""Rules about corrections: what a record says it has corrected stays corrected."""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from kbtool.lint.rule import Problem, rule
from kbtool.schema import Benchmark, Record
from kbtool.schema.base import StrictModel
from kbtool.schema.common import Change, Fact, Figure

_NOWHERE: Final = object()


@rule("P020", "corrected-value-back")
def corrected_value_back(record: Record) -> Iterator[Problem]:
    """Flag a field that has the value again from which it was corrected.

    A correction was merged, and an edit made from an older copy took it back without a word: it happens with every shared
    table. An entry of `changes` with `old` and `new` is a guard: the last one of a field is in force. Where the old value
    turned out right after all, say so with one more entry.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: 93.9 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 2048, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
        changes:
          - {date: "2026-09-19", fields: [results.decode-prose-1], old: 93.9, new: 95.1, why: The source corrected it.}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: 93.9 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 2048, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
        changes:
          - {date: "2026-09-19", fields: [results.decode-prose-1], old: 93.9, new: 95.1, why: The source corrected it.}
          - {date: "2026-09-20", fields: [results.decode-prose-1], old: 95.1, new: 93.9, why: The source took that back.}
    """
    last: dict[str, tuple[int, Change]] = {}
    for index, change in enumerate(record.changes):
        if len(change.fields) == 1 and (change.old is not None or change.new is not None):
            last[_normal(change.fields[0])] = (index, change)
    for field, (index, change) in last.items():
        value = _held(record, field)
        if value is _NOWHERE or not _same(value, change.old) or _same(change.old, change.new):
            continue
        message = (
            f"{change.fields[0]} is {value} again, which was corrected to {change.new} on {change.date}: "
            "restore the correction, or add a `changes` entry that says why the old value is right"
        )
        yield Problem(f"/changes/{index}", message)


def _normal(field: str) -> str:
    """Return one name for the spellings that `changes` uses for the figure of a result."""
    return field.removeprefix("results.").removesuffix(".value")


def _held(record: Record, field: str) -> Any:
    """Return what a record holds at a path as `changes` writes it; `_NOWHERE` where there is nothing of that name."""
    head, _, rest = field.partition(".")
    value: Any = record
    if isinstance(record, Benchmark) and (found := [each for each in record.results if each.id == head]):
        value, field = found[0], rest or "value"
    for part in field.split("."):
        if not isinstance(value, StrictModel) or part not in type(value).model_fields:
            return _NOWHERE
        value = getattr(value, part)
    return value.value if isinstance(value, Figure | Fact) else value


def _same(one: object, other: object) -> bool:
    """Return whether a value is the one that an entry names: 93.90 is 93.9, and version `0.10` is not `0.1`."""
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    return str(one) == str(other) if isinstance(one, str) else _number(one) == _number(other)


def _number(value: object) -> Decimal | None:
    try:
        return Decimal(str(value).replace(",", ""))
    except InvalidOperation:
        return None
