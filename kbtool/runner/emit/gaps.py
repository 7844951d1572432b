"""What a measured record cannot say, as typed gaps: why, and how the next run could say it."""

from collections.abc import Iterator
from typing import Any, Final

from kbtool.runner.engines.remedies import remedy_for
from kbtool.schema import Benchmark
from kbtool.schema.common import Gap
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS
from kbtool.vocab.terms import GapReason

__all__ = ["gaps_of"]

_NEEDS_SPECULATION: Final = frozenset({"speculation.draft_tok", "speculation.acceptance_length"})


def gaps_of(record: Benchmark, kind: str) -> tuple[Gap, ...]:
    """Return a gap for each disclosure field that the record does not give, in the order of the vocabulary.

    Args:
        record: The record without gaps.
        kind: Kind of server, on which it depends how a gap is filled.
    """
    return tuple(_gaps(record, kind))


def _gaps(record: Benchmark, kind: str) -> Iterator[Gap]:
    for field in DISCLOSURE_FIELDS:
        if field.path.startswith("results."):
            asked = [each for each in record.results if not field.metrics or each.metric in field.metrics]
            given = all(_given(each, field.path.removeprefix("results.").split(".")) for each in asked)
        else:
            given = _given(record, field.path.split("."))
        if not given:
            reason = _reason(field.path, record)
            remedy = "" if reason == "not_applicable" else remedy_for(field.path, kind)
            yield Gap(field=field.path, reason=reason, note=f"To fill it: {remedy}." if remedy else None)


def _given(value: Any, path: list[str]) -> bool:
    for name in path:
        value = getattr(value, name)
        if value is None:
            return False
    return value not in ((), {}, "")


def _reason(path: str, record: Benchmark) -> GapReason:
    if path in _NEEDS_SPECULATION and record.speculation.method == "none":
        return "not_applicable"
    if path == "engine.image_digest" and record.engine.image is None:
        return "not_applicable"
    if path == "results.at.concurrency":
        return "not_applicable"
    if path == "engine.version" and record.engine.commit is not None:
        return "unknown_dev_build"
    return "not_observable"
