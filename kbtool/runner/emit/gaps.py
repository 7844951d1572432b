"""What a measured record cannot say, as typed gaps: why, and how the next run could say it."""

from collections.abc import Iterator
from typing import Any

from kbtool.runner.emit.setup import Setup
from kbtool.runner.engines.disclosed import gap_reason
from kbtool.runner.engines.remedies import remedy_for
from kbtool.schema import Benchmark
from kbtool.schema.common import Gap
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS

__all__ = ["gaps_of"]


def gaps_of(record: Benchmark, setup: Setup) -> tuple[Gap, ...]:
    """Return a gap for each disclosure field that the record does not give, in the order of the vocabulary.

    Args:
        record: The record without gaps.
        setup: What is known of the servers, on which it depends why there is a gap, and how it is filled.
    """
    return tuple(_gaps(record, setup))


def _gaps(record: Benchmark, setup: Setup) -> Iterator[Gap]:
    for field in DISCLOSURE_FIELDS:
        if field.path.startswith("results."):
            asked = [each for each in record.results if not field.metrics or each.metric in field.metrics]
            given = all(_given(each, field.path.removeprefix("results.").split(".")) for each in asked)
        else:
            given = _given(record, field.path.split(".")) or field.is_answered_by(record.results)
        if not given:
            method = record.speculation.method
            reason = gap_reason(
                field.path,
                drafts=None if method is None else method != "none",
                contained=setup.contained,
                unknown_build=setup.unknown_build,
            )
            remedy = "" if reason == "not_applicable" else remedy_for(field.path, setup.kind)
            yield Gap(field=field.path, reason=reason, note=f"To fill it: {remedy}." if remedy else None)


def _given(value: Any, path: list[str]) -> bool:
    for name in path:
        value = getattr(value, name)
        if value is None:
            return False
    return value not in ((), {}, "")
