"""The setup that was in force in one result: the record's, with what the result changed laid over it."""

from typing import Any

from kbtool.analysis.paths import RESULTS, is_known, is_open
from kbtool.schema import Benchmark
from kbtool.schema.benchmark import Result

__all__ = ["in_force"]


def in_force(record: Benchmark, result: Result) -> Benchmark:
    """Return the record as it was set up for one of its results.

    A changed setting whose path names no field is left out: a rule reports it. Values are as the result has them and are
    not validated anew.
    """
    changed: dict[str, dict[str, Any]] = {}
    for each in result.with_:
        section, _, name = each.field.partition(".")
        if is_known(each.field) and not each.field.startswith(RESULTS) and "." not in name:
            changed.setdefault(section, {})[name] = each.value
        elif is_open(each.field):
            mapping, _, key = name.partition(".")
            before = getattr(record.engine, mapping)
            held = changed.setdefault(section, {}).setdefault(mapping, dict(before))
            held[key] = each.value
    if not changed:
        return record
    sections = {name: getattr(record, name).model_copy(update=update) for name, update in changed.items()}
    return record.model_copy(update=sections)
