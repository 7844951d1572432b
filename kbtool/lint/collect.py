"""From one record to its facts: everything that rules over all records will want to know about it."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from functools import cache, lru_cache
from hashlib import blake2b
from sys import intern
from typing import Any, Final

from kbtool.analysis.likeness import load_of
from kbtool.lint.facts import (
    ExceptionFact,
    Measurement,
    Paragraph,
    RecordFacts,
    ReferenceFact,
    ReviewFacts,
    SourceFact,
)
from kbtool.lint.lookup import FileView
from kbtool.schema import Accelerator, Benchmark, Engine, Interconnect, Model, Record, Review, Source
from kbtool.schema.base import StrictModel
from kbtool.schema.benchmark import Result
from kbtool.store.fields import without_none
from kbtool.store.references import outgoing

__all__ = ["collect_facts"]

SHORTEST_PARAGRAPH: Final = 160
"""Characters; a shorter text may well be said twice in the same words."""

_SETUP: Final = ("system", "engine", "deployment", "model", "serving", "speculation")
_ABOUT_THE_SOURCE: Final = ("_as_published", "_basis")
_FUTURE_DATES: Final = frozenset({"until", "valid_until"})


def collect_facts(record: StrictModel, view: FileView, *, ref: str, sha256: str) -> RecordFacts:
    """Return the facts of a valid record.

    Args:
        record: The record.
        view: Its file.
        ref: Its reference.
        sha256: Of the file's bytes.
    """
    kind, path, value = view.kind, view.path, view.value
    references = [
        ReferenceFact(intern(at), intern(target), relation) for at, target, relation in outgoing(record)
    ]
    if isinstance(record, Review):
        review = ReviewFacts(
            record.record,
            record.record_sha256,
            record.author,
            record.reviewer,
            record.level,
            record.reviewed.isoformat(),
        )
        return RecordFacts(
            ref, kind, ref.rpartition("/")[2], path, "", "", sha256, references=references, review=review
        )
    if not isinstance(record, Record):
        return RecordFacts(ref, kind, value["id"], path, value["title"], "", sha256, references=references)
    latest_at, latest = max(_dates(record, ""), key=lambda each: each[1])
    return RecordFacts(
        ref,
        kind,
        record.id,
        path,
        record.title,
        record.status,
        sha256,
        record.updated.isoformat(),
        latest.isoformat(),
        latest_at,
        record.group if isinstance(record, Source) else "",
        (record.url or "") if isinstance(record, Source) else "",
        (record.content_sha256 or "") if isinstance(record, Source) else "",
        [each.id for each in record.results] if isinstance(record, Benchmark) else (),
        record.names if isinstance(record, Accelerator | Engine | Interconnect | Model) else (),
        references,
        [SourceFact(each.source, each.role, each.group) for each in record.sources],
        list(_paragraphs(view.prose)),
        list(_measurements(record, value)) if isinstance(record, Benchmark) else (),
        [ExceptionFact(each.rule, each.at or "", each.until.isoformat()) for each in record.exceptions],
    )


def _paragraphs(prose: Iterable[tuple[str, str]]) -> Iterator[Paragraph]:
    """Yield the long paragraphs among the texts in our own words."""
    for pointer, text in prose:
        if len(text) < SHORTEST_PARAGRAPH:
            continue
        for paragraph in text.split("\n\n"):
            words = " ".join(paragraph.casefold().split())
            if len(words) >= SHORTEST_PARAGRAPH:
                yield Paragraph(pointer, _hash(words))


def _measurements(record: Benchmark, value: Mapping[str, Any]) -> Iterator[Measurement]:
    setup = _hash(repr([_conditions(value.get(section)) for section in _SETUP]))
    for index, (result, plain) in enumerate(zip(record.results, value["results"], strict=True)):
        first = result.evidence[0]
        conditions = (setup, result.metric, result.statistic, _conditions(plain["at"]), plain.get("with"))
        yield Measurement(
            f"/results/{index}",
            result.metric,
            _hash(repr(conditions)),
            _hash(f"{first.source}\n{first.locator}\n{first.quote}\n{result.metric}"),
            _figure(result),
            result.standing,
            load_of(record, result),
        )


def _conditions(section: Any) -> Any:
    """Return what a section says about the run, in any order of its keys, without how its source words it."""
    if not isinstance(section, dict):
        return section
    keys, names = _telling_keys(tuple(section))
    return [names, *[section[key] for key in keys]]


@lru_cache(maxsize=4096)
def _telling_keys(keys: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return those of a section's keys that are about the run, in order, and all of them as one text."""
    telling = tuple(sorted(key for key in keys if not key.endswith(_ABOUT_THE_SOURCE)))
    return telling, " ".join(telling)


def _figure(result: Result) -> str:
    if result.value is not None:
        return format(result.value, "f")
    return f"{result.low}..{result.high}"


def _hash(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


# --- Dates ------------------------------------------------------------------------------------


def _dates(model: StrictModel, pointer: str) -> Iterator[tuple[str, date]]:
    """Yield every day that has already passed, by what its field means."""
    for name, key, is_date in _date_fields(type(model)):
        value = getattr(model, name)
        if is_date:
            if value is not None:
                yield f"{pointer}/{key}", value
        elif isinstance(value, tuple):
            for index, each in enumerate(value):
                yield from _dates(each, f"{pointer}/{key}/{index}")
        elif value is not None:
            yield from _dates(value, f"{pointer}/{key}")


@cache
def _date_fields(model: type[StrictModel]) -> tuple[tuple[str, str, bool], ...]:
    """Return attribute and key of the fields that are days, or lead to days."""
    found = []
    for name, field in model.model_fields.items():
        members = [inner for member in without_none(field.annotation) for inner in _items(member)]
        is_date = date in members and name not in _FUTURE_DATES
        leads = any(
            isinstance(each, type) and issubclass(each, StrictModel) and _date_fields(each)
            for each in members
        )
        if is_date or leads:
            found.append((name, field.alias or name, is_date))
    return tuple(found)


def _items(member: Any) -> tuple[Any, ...]:
    """Return what a list holds, or the member itself."""
    if getattr(member, "__origin__", None) is tuple:
        return without_none(member.__args__[0])
    return (member,)
