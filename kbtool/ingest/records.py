"""An imported file as drafts of a benchmark record and its source record.

The same file with the same answers gives the same records. What the file does not say is listed as searched for in
vain; nothing is guessed.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from kbtool.escape import terminal
from kbtool.ingest.fault import IngestError, shown
from kbtool.ingest.model import Fact, Imported, Measurement
from kbtool.ingest.notes import client_note, result_notes
from kbtool.ingest.plain import left_out, validated
from kbtool.schema import Benchmark, Source
from kbtool.schema.benchmark import At
from kbtool.store import dump
from kbtool.vocab.terms import Interest, MeasuredBy, SourceKind

__all__ = ["Given", "record_text", "to_records"]

_MOST_RESULTS: Final = 500
_HEADLINES: Final = ("output_tok_s", "tok_s_per_user", "prefill_tok_s", "total_tok_s", "tpot_ms", "ttft_ms")
"""Metrics in the order in which one becomes the headline."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a result file cannot know: names of records, who measured, and where the file is."""

    benchmark_id: str
    source_id: str
    accelerator: str
    """Reference such as `accelerators/nvidia-h100-sxm`."""
    engine: str
    model: str
    publisher: str
    accessed: date
    """Day on which the file was read; it is also the day of the drafts."""
    url: str | None = None
    """Where the file is published; None where it is kept by path alone."""
    raw_path: str | None = None
    """Path under `raw/` where a copy is kept beside the records."""
    measured_by: MeasuredBy = "unknown"
    interest: Interest = "none_stated"
    source_kind: SourceKind = "result_database"
    group: str | None = None
    """Independence group; the source's id where none is named."""
    title: str | None = None
    author: str | None = None
    repository: str | None = None
    commit: str | None = None
    path: str | None = None
    """Path of the file in its repository."""
    licence: str | None = None
    day: date | None = None
    """Day of the run, where the file does not say."""
    accelerator_count: int | None = None
    conditions: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Fields of `At` that whoever imports knows and the file does not say, such as `concurrency`."""
    statistics: frozenset[str] | None = None
    """Only these statistics; None for all."""


def to_records(imported: Imported, given: Given) -> tuple[Benchmark, Source]:
    """Return drafts of a benchmark and of the source that its figures stand in.

    Raises:
        IngestError: There are more figures than a record holds, or an answer is none that a record holds.
    """
    chosen = [
        each
        for each in imported.measurements
        if given.statistics is None or each.statistic in given.statistics
    ]
    if not chosen or len(chosen) > _MOST_RESULTS:
        raise IngestError(
            imported.name, "", f"{len(chosen)} figures", f"1 to {_MOST_RESULTS} in a record", "choose other statistics, or import a part of the file"
        )  # fmt: skip
    _check_conditions(imported, given)
    source = validated(Source, _source(imported, given), imported.name, answered=True)
    draft = _benchmark(imported, given, chosen)
    record = validated(Benchmark, draft, imported.name, answered=True)
    omitted = [{"field": path, "source": f"sources/{given.source_id}"} for path in left_out(record)]
    return validated(Benchmark, draft | {"omitted_by_source": omitted}, imported.name, answered=True), source


def _check_conditions(imported: Imported, given: Given) -> None:
    """Raise an IngestError where a condition that somebody gives is none that a result has."""
    unknown = next((name for name in given.conditions if name not in At.model_fields), None)
    if unknown is not None:
        raise IngestError(
            imported.name, "the conditions given", f"`{unknown}`", f"one of {', '.join(At.model_fields)}", "correct it"
        )  # fmt: skip
    validated(At, dict(given.conditions), imported.name, answered=True)


def _head(record_id: str, title: str, given: Given) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "id": record_id,
        "title": title[:200],
        "status": "draft",
        "updated": given.accessed,
    }


def _source(imported: Imported, given: Given) -> dict[str, Any]:
    data = _head(
        given.source_id, f"Result file of {imported.title}: {_line(given.title or given.benchmark_id)}", given
    ) | {
        "source_kind": given.source_kind,
        "url": given.url,
        "publisher": given.publisher,
        "author": given.author,
        "interest": given.interest,
        "accessed": given.accessed,
        "content_sha256": imported.sha256,
        "licence": given.licence,
        "repository": given.repository,
        "commit": given.commit,
        "path": given.path,
        "group": given.group or given.source_id,
    }
    if given.url is None:
        data["read_via"] = f"the file {_line(imported.name)} itself, {imported.size_bytes} bytes"
    return {key: value for key, value in data.items() if value is not None}


def _benchmark(imported: Imported, given: Given, chosen: Sequence[Measurement]) -> dict[str, Any]:
    source = f"sources/{given.source_id}"
    model = imported.model and _model_line(imported.model)
    title = (
        given.title
        or f"{model or given.model.partition('/')[2]} on {given.accelerator.partition('/')[2]}, measured with {imported.title}"
    )
    data: dict[str, Any] = _head(given.benchmark_id, _line(title), given) | {
        "sources": [{"source": source, "role": "primary", "group": given.group or given.source_id}],
        "measured": {
            "by": given.measured_by,
            "day": imported.day or given.day,
            "tool": _line(imported.tool_line),
            "method": client_note(imported),
        },
        "reproducible": {},
        "system": {"accelerator": given.accelerator, "accelerator_count": given.accelerator_count},
        "engine": {"engine": given.engine},
        "deployment": {},
        "model": {"model": given.model, "as_published": model},
        "serving": {},
        "speculation": {},
    }
    stated = _set_facts(data, imported.facts)
    data["setup_evidence"] = [
        {"fields": fields, "evidence": {"source": source, "locator": place}}
        for place, fields in _by_place(stated).items()
    ]
    ids = _result_ids(chosen)
    notes = result_notes(imported, chosen, ids)
    data["results"] = [
        _result(given, one, result_id) | {"note": note}
        for one, result_id, note in zip(chosen, ids, notes, strict=True)
    ]
    data["headline"] = _headline(chosen, ids)
    if given.raw_path is not None:
        holds = f"The result file as {imported.title} wrote it."
        data["artifacts"] = [
            {
                "path": given.raw_path,
                "sha256": imported.sha256,
                "size_bytes": imported.size_bytes,
                "holds": holds,
            }
        ]
    return data


def _line(text: str) -> str:
    """Return a text of the file as one line that a record holds."""
    return terminal(text).strip()[:300] or "unnamed"


def _model_line(text: str) -> str | None:
    """Return the name of a model; None for a path, which tells about a machine and its users."""
    return None if text.startswith(("/", "~", ".")) or "\\" in text else _line(text)


def _set_facts(data: dict[str, Any], facts: Iterable[Fact]) -> list[Fact]:
    """Lay the facts into the record, and return those that stand there; two values for one field are none."""
    by_field: dict[str, list[Fact]] = {}
    for each in facts:
        by_field.setdefault(each.field, []).append(each)
    stated = []
    for path, found in by_field.items():
        if len({each.value for each in found}) > 1:
            continue
        section, _, name = path.partition(".")
        holder = data[section]
        if name.startswith("arguments."):
            holder, name = holder.setdefault("arguments", {}), name.removeprefix("arguments.")
        elif holder.get(name) is not None:
            continue
        holder[name] = found[0].value if not isinstance(found[0].value, str) else _line(found[0].value)[:200]
        stated.append(found[0])
    return stated


def _by_place(facts: Iterable[Fact]) -> dict[str, list[str]]:
    """Return the fields by the part of the file that states them."""
    places: dict[str, list[str]] = {}
    for each in facts:
        if each.field == "engine.arguments_basis":
            continue
        path = "engine.arguments" if each.field.startswith("engine.arguments.") else each.field
        above = re.sub(r"[.\[][^.\[]*$", "", each.place) or each.place
        fields = places.setdefault(above, [])
        if path not in fields:
            fields.append(path)
    return places


def _result(given: Given, one: Measurement, result_id: str) -> dict[str, Any]:
    data: dict[str, Any] = {
        "id": result_id,
        "metric": one.metric,
        "value": one.value,
        "statistic": one.statistic,
        "as_published": one.as_published[:300],
        "repeats": one.repeats,
        "at": _at(one.at, given),
        "basis": one.basis,
        "evidence": [{"source": f"sources/{given.source_id}", "locator": one.place[:300]}],
    }
    if one.stdev:
        data["spread"] = {"kind": "stdev", "value": one.stdev}
    if one.basis == "derived":
        data["derivation"] = {"formula": one.formula[:300], "inputs": [each[:300] for each in one.inputs]}
    return data


def _at(at: At, given: Given) -> At:
    """Return the conditions, with what whoever imports knows where the file is silent."""
    known = at.model_dump(exclude_none=True, exclude_defaults=True)
    return At.model_validate({**given.conditions, **known})


def _result_ids(chosen: Sequence[Measurement]) -> list[str]:
    """Return one anchor a figure: metric and statistic, and the conditions where the file has several."""
    all_at = list(dict.fromkeys(each.at for each in chosen))
    marks = {at: _mark(at) for at in all_at} if len(all_at) > 1 else dict.fromkeys(all_at, "")
    found: dict[str, int] = {}
    ids = []
    for each in chosen:
        parts = (each.metric.replace("_", "-"), each.statistic, marks[each.at])
        name = "-".join(part for part in parts if part)
        found[name] = found.get(name, 0) + 1
        ids.append(name if found[name] == 1 else f"{name}-{found[name]}")
    return ids


def _mark(at: At) -> str:
    parts = (
        ("c", at.concurrency),
        ("r", at.request_rate_req_s),
        ("in", at.input_tok),
        ("out", at.output_tok),
        ("d", at.depth_tok),
    )
    return "-".join(
        f"{letter}{format(value, 'f' if isinstance(value, Decimal) else '').replace('.', '-')}"
        for letter, value in parts
        if value is not None
    )


def _headline(chosen: Sequence[Measurement], ids: Sequence[str]) -> str:
    for metric in _HEADLINES:
        for each, result_id in zip(chosen, ids, strict=True):
            if each.metric == metric and each.statistic in ("single", "mean", "p50"):
                return result_id
    return ids[0]


def record_text(record: Benchmark | Source, relative: str) -> str:
    """Return the text of a record file.

    Args:
        record: The record.
        relative: Its path from the project root, such as `records/sources/x.yaml`.

    Raises:
        IngestError: A text of the file is one that no record holds.
    """
    try:
        return dump.record_text(record, type(record).__name__.lower(), relative)
    except ValueError as error:
        raise IngestError(
            relative, "", shown(error), "texts and numbers that a record holds", "correct the file"
        ) from None
