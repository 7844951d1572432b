"""What a benchmark record says, and what it says about the things it does not say.

Each disclosure field (`kbtool.vocab.disclosure`) is *given*, listed as *omitted by the source*, listed as a
*gap* with a reason, or *missing*: nobody has looked. A field of the results is given where every result that
it is asked of has it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from kbtool.analysis.paths import RESULTS, is_given, value_at
from kbtool.schema import Benchmark
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS, DisclosureField
from kbtool.vocab.terms import Disclosure

__all__ = ["LESS_EXACT", "Account", "Completeness", "accounts", "completeness", "is_listed", "missing"]

LESS_EXACT: Final[Mapping[str, str]] = {
    "measured.day": "measured.period",
    "model.weight_dtype": "model.quantization_as_published",
    "results.at.concurrency": "results.at.request_rate_req_s",
    "results.at.input_tok": "results.at.input_nominal",
    "results.at.prompt_class": "results.at.prompt_as_published",
    "speculation.draft_tok": "speculation.block_size",
    "system.host_memory_gib": "system.host_memory_as_published",
}
"""Disclosure field -> the field that answers the same question where the source is less exact."""

_NOT_ASKED_WITHOUT_SPECULATION: Final = frozenset({"speculation.draft_tok", "speculation.acceptance_length"})
_SETUP: Final = tuple(each for each in DISCLOSURE_FIELDS if not each.path.startswith(RESULTS))
_RESULT: Final = tuple(each for each in DISCLOSURE_FIELDS if each.path.startswith(RESULTS))
_SETUP_VALUES: Final = attrgetter(*(each.path for each in _SETUP))
_RESULT_VALUES: Final = attrgetter(*(each.path.removeprefix(RESULTS) for each in _RESULT))


@dataclass(frozen=True, slots=True)
class Account:
    """How a record answers for one disclosure field."""

    field: DisclosureField
    state: Disclosure
    omission: int | None = None
    """Index in `omitted_by_source`, where it is listed there."""
    gap: int | None = None
    """Index in `gaps`, where it is listed there."""
    absent_from: tuple[int, ...] = ()
    """For a field of the results: indices of the results that are asked for it and lack it."""


@dataclass(frozen=True, slots=True)
class Completeness:
    """How many of the fields that a record is asked for it gives, explains or passes over."""

    given: int
    explained: int
    missing: int

    @property
    def asked(self) -> int:
        """Number of fields that the record is asked for."""
        return self.given + self.explained + self.missing


def accounts(record: Benchmark) -> tuple[Account, ...]:
    """Return one account for each disclosure field that the record is asked for, in the order of the record page."""
    omissions = {each.field: index for index, each in enumerate(record.omitted_by_source)}
    gaps = {each.field: index for index, each in enumerate(record.gaps)}
    absent = _absent(record)
    asked = {*_asked_of_setup(record), *_asked_of_results(record)}
    return tuple(
        _account(field, absent.get(field.path), omissions.get(field.path), gaps.get(field.path))
        for field in DISCLOSURE_FIELDS
        if field.path in asked
    )


def completeness(record: Benchmark) -> Completeness:
    """Return how many fields are given, explained and missing."""
    states = [each.state for each in accounts(record)]
    given, unexplained = states.count("given"), states.count("missing")
    return Completeness(given, len(states) - given - unexplained, unexplained)


def missing(record: Benchmark) -> tuple[DisclosureField, ...]:
    """Return the fields that the record neither gives nor lists."""
    absent = _absent(record)
    if not absent:
        return ()
    listed = {each.field for each in record.omitted_by_source}
    listed.update(each.field for each in record.gaps)
    if listed.issuperset(absent):
        return ()
    return tuple(field for field in DISCLOSURE_FIELDS if field.path in absent and field.path not in listed)


def is_listed(record: Benchmark, path: str) -> bool:
    """Return whether a field is listed as left out, for whatever reason."""
    omitted = any(each.field == path for each in record.omitted_by_source)
    return omitted or any(each.field == path for each in record.gaps)


def _account(
    field: DisclosureField, absent_from: tuple[int, ...] | None, omission: int | None, gap: int | None
) -> Account:
    state: Disclosure
    if absent_from is None:
        state = "given"
    elif omission is not None:
        state = "omitted_by_source"
    else:
        state = "missing" if gap is None else "gap"
    return Account(field, state, omission, gap, absent_from or ())


def _absent(record: Benchmark) -> dict[str, tuple[int, ...]]:
    """Return the paths that are asked for and not given, with the results that lack them."""
    absent: dict[str, tuple[int, ...]] = {}
    no_speculation = record.speculation.method == "none"
    for field, value in zip(_SETUP, _SETUP_VALUES(record), strict=True):
        if not value and value is not False:  # like is_given, at a third of the cost
            path = field.path
            if no_speculation and path in _NOT_ASKED_WITHOUT_SPECULATION:
                continue
            if not _given_elsewhere(record, path) and not field.is_answered_by(record.results):
                absent[path] = ()
    for index, result in enumerate(record.results):
        metric, values = result.metric, _RESULT_VALUES(result)
        for field, value in zip(_RESULT, values, strict=True) if None in values else ():
            if value is None and (not field.metrics or metric in field.metrics):
                other = LESS_EXACT.get(field.path)
                if other is None or value_at(result, other) is None:
                    absent[field.path] = (*absent.get(field.path, ()), index)
    return absent


def _given_elsewhere(record: Benchmark, path: str) -> bool:
    """Return whether a less exact field answers, or each result states the setting for itself (`with`)."""
    other = LESS_EXACT.get(path)
    if other is not None and is_given(value_at(record, other)):
        return True
    return all(any(each.field == path for each in result.with_) for result in record.results)


def _asked_of_setup(record: Benchmark) -> set[str]:
    paths = {each.path for each in _SETUP}
    return paths - _NOT_ASKED_WITHOUT_SPECULATION if record.speculation.method == "none" else paths


def _asked_of_results(record: Benchmark) -> set[str]:
    metrics = {each.metric for each in record.results}
    return {each.path for each in _RESULT if not each.metrics or not each.metrics.isdisjoint(metrics)}
