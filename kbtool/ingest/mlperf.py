"""MLPerf Inference, as MLCommons publishes it: result tables, system descriptions and LoadGen's summaries to drafts.

Each row becomes one record, except that a 99 and a 99.9 row of one measurement are one, and that a row is refused
with its reason where it would say something false or needs a record that does not exist.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final
from urllib.parse import quote

from kbtool.ingest.document import Document, parse_document
from kbtool.ingest.fault import IngestError
from kbtool.ingest.mlperf_files import Summary, SystemFile, is_summary, is_system, read_summary, read_systems
from kbtool.ingest.mlperf_names import benchmark_of, device_of, engine_of, model_of
from kbtool.ingest.mlperf_records import benchmark_record, record_id
from kbtool.ingest.mlperf_rows import Row, is_table, location_key, read_rows
from kbtool.ingest.mlperf_run import Run
from kbtool.ingest.mlperf_submitters import submitter_of
from kbtool.ingest.model import LeftOut
from kbtool.ingest.plain import validated
from kbtool.ingest.published import (
    Catalogue,
    Drafts,
    File,
    Origin,
    Refused,
    RowRefusedError,
    line,
    slug,
)
from kbtool.schema import Benchmark, Source

__all__ = ["ID", "TITLE", "drafts", "wanted"]

ID: Final = "mlperf"
TITLE: Final = "MLPerf Inference"
_LLM: Final = ("llama", "gptj", "mixtral", "deepseek", "gpt-oss", "qwen")
_SCENARIOS: Final = ("Offline", "Server", "Interactive", "SingleStream", "MultiStream")


_SourceIds = Mapping[tuple[str, str], str]
"""Group and division -> id of the source."""
_WANTED: Final = re.compile(
    r"(?:^|/)(?:closed|open)/[^/]+/(?:systems/[^/]+\.json|results/.+/performance/run_1/mlperf_log_summary\.txt)$"
)
_TABLE: Final = re.compile(r"(?:^|/)(?:summary_results|summary)\.json$")
_SUBMITTED: Final = re.compile(r"(?:^|/)(?:closed|open)/")


def wanted(path: str) -> bool:
    """Return whether a file of a results repository is read: tables, system descriptions, summaries of runs.

    Submitters keep files of the same names in their code and beside their measurements; those are something else.
    """
    if _TABLE.search(path):
        return _SUBMITTED.search(path) is None
    return _WANTED.search(path) is not None


@dataclass(slots=True)
class _Files:
    rows: list[Row] = field(default_factory=list)
    others: int = 0
    systems: dict[tuple[str, str, str], SystemFile] = field(default_factory=dict)
    summaries: dict[str, Summary] = field(default_factory=dict)
    left: dict[str, LeftOut] = field(default_factory=dict)


def drafts(files: Sequence[File], catalogue: Catalogue, origin: Origin) -> Drafts:
    """Return drafts of the language-model rows of one or more rounds.

    Raises:
        IngestError: A file is none of MLPerf, or holds what none holds.
    """
    found = _read(files)
    refused: list[Refused] = []
    names = _source_ids(found.rows)
    kept = list(_records(list(_runs(found, catalogue, refused)), names, catalogue, origin, refused))
    if found.others:
        text = f"{found.others} rows of benchmarks that are no language models"
        found.left[text] = LeftOut(text, "irrelevant", "not asked for")
    return Drafts(
        tuple(sorted((made for _, made in kept), key=lambda each: each.id)),
        tuple(_sources([run for run, _ in kept], names, origin)),
        len(found.rows),
        sum(len(run.rows) for run, _ in kept),
        tuple(refused),
        tuple(found.left.values()),
    )


def _records(
    runs: list[Run], names: _SourceIds, catalogue: Catalogue, origin: Origin, refused: list[Refused]
) -> Iterator[tuple[Run, Benchmark]]:
    """Yield each run with its draft; the scenarios of one system are linked to the first of them."""
    runs.sort(key=lambda run: (_system_key(run), _scenario_rank(run.row)))
    for _, group in groupby(runs, key=_system_key):
        sibling: str | None = None
        for run in group:
            source, accelerator = names[_source_key(run.row)], catalogue.accelerators[run.device.id]
            try:
                made = benchmark_record(
                    run, accelerator, source, _group_id(run.row), accessed=origin.accessed, sibling=sibling
                )
            except RowRefusedError as reason:
                refused += [Refused(each.name, str(reason)) for each in run.rows]
                continue
            yield run, made
            sibling = sibling or made.id


def _sources(runs: Sequence[Run], names: _SourceIds, origin: Origin) -> Iterator[Source]:
    """Yield one source for each submitter, round and division, of all rows that became drafts."""
    rows: dict[str, list[Row]] = {}
    for run in runs:
        rows.setdefault(names[_source_key(run.row)], []).extend(run.rows)
    for source_id, found in sorted(rows.items()):
        yield _source(source_id, found, origin)


def _read(files: Sequence[File]) -> _Files:
    found = _Files()
    seen: set[tuple[str, ...]] = set()
    for each in files:
        if is_summary(each.data):
            key, summary = read_summary(each.data, each.name)
            found.summaries[key] = summary
            continue
        try:
            document = parse_document(each.data, each.name)
        except IngestError as error:
            if "/systems/" not in each.name:
                raise
            # Submitters write these by hand, some with a key twice: the row stands without what it adds.
            found.left[each.name] = LeftOut(each.name, "unmapped", str(error).removeprefix(f"{each.name}: "))
            continue
        if is_system(document):
            found.systems.update(read_systems(document, each.name))
        elif is_table(document):
            _take_table(found, document, each, seen)
        else:
            raise IngestError(
                each.name, "", document.kind, "a result table, a system description or a LoadGen summary of MLPerf",
                "give the files of a results repository",
            )  # fmt: skip
    if not found.rows:
        raise IngestError(
            "MLPerf", "", "no result table with a language model", "at least one", "give summary_results.json"
        )
    return found


def _take_table(found: _Files, document: Document, file: File, seen: set[tuple[str, ...]]) -> None:
    """Take the rows of a table; a row that an earlier table has is the same result and counts once."""
    rows, others, left = read_rows(document, file.name, benchmarks=_LLM)
    found.others += others
    found.left.update({each.place: each for each in left})
    for row in rows:
        key = (row.round, row.result_id or "", location_key(row.location) or row.name)
        if key in seen:
            continue
        seen.add(key)
        found.rows.append(row)


def _runs(found: _Files, catalogue: Catalogue, refused: list[Refused]) -> Iterable[Run]:
    for rows in _measurements(found):
        try:
            yield _run(rows, found, catalogue)
        except RowRefusedError as reason:
            refused += [Refused(each.name, str(reason)) for each in rows]


def _run(rows: tuple[Row, ...], found: _Files, catalogue: Catalogue) -> Run:
    row = rows[0]
    if row.result_id is None:
        raise RowRefusedError("no result ID: the footnote that MLCommons asks for cannot be made")
    summary = found.summaries.get(location_key(row.location))
    if summary is not None and not summary.valid:
        raise RowRefusedError("LoadGen's summary does not say VALID")
    system = _system_of(row, found)
    return Run(
        rows,
        submitter_of(row),
        device_of(row, catalogue),
        model_of(row, catalogue),
        engine_of(row, system, catalogue),
        system,
        summary,
    )


def _system_of(row: Row, found: _Files) -> SystemFile | None:
    folder = location_key(row.location).split("/")
    submitter = folder[1] if len(folder) > 1 else row.submitter.casefold()
    return found.systems.get((row.division.casefold(), submitter, row.platform))


def _measurements(found: _Files) -> Iterable[tuple[Row, ...]]:
    """Yield the rows of each measurement: one, or the two accuracy targets that one run met."""
    alike: dict[Any, list[Row]] = {}
    for row in found.rows:
        key = (row.round, row.result_id, row.submitter, row.division, row.suite, row.platform, row.scenario,
               benchmark_of(row.model), benchmark_of(row.used_model))  # fmt: skip
        alike.setdefault(key, []).append(row)
    for rows in alike.values():
        rows.sort(key=lambda row: not row.model.endswith("99.9"))
        if len(rows) == 2 and _one_measurement(rows, found):
            yield tuple(rows)
        else:
            yield from ((row,) for row in rows)


def _one_measurement(rows: Sequence[Row], found: _Files) -> bool:
    first, second = rows
    if first.model == second.model or not second.model.endswith("99"):
        return False
    ours, theirs = (found.summaries.get(location_key(each.location)) for each in rows)
    if (ours is None) != (theirs is None) or (ours and theirs and not ours.same_run(theirs)):
        return False
    return all(
        getattr(first, name) == getattr(second, name)
        for name in ("value", "units", "power", "weight_types", "ttft_p99_ms", "tpot_p99_ms")
    )


def _system_key(run: Run) -> tuple[str, ...]:
    row = run.row
    return (
        row.round,
        row.result_id or "",
        row.suite,
        benchmark_of(row.model),
        row.used_model,
        record_id(run).rpartition("-")[0],
    )


def _scenario_rank(row: Row) -> int:
    return _SCENARIOS.index(row.scenario) if row.scenario in _SCENARIOS else len(_SCENARIOS)


def _group_id(row: Row) -> str:
    """Return the independence group of a submitter's results of one round.

    Submitters measure apart: in one group, two that print the same figure would count as one measurement.
    """
    return f"mlperf-inference-{slug(row.round)}-{slug(row.submitter)}"[:95].rstrip("-")


def _source_key(row: Row) -> tuple[str, str]:
    return _group_id(row), row.division


def _source_ids(rows: Iterable[Row]) -> _SourceIds:
    """Return the id of the source of each submitter, round and division.

    The divisions are folders of their own, and an address leads to one. The open one's id says so where the
    submitter has both; where it has one alone, that one has the group's name.
    """
    keys = {_source_key(row) for row in rows}
    return {
        (group, division): f"{group}-open" if division == "open" and (group, "closed") in keys else group
        for group, division in keys
    }


def _source(source_id: str, rows: Sequence[Row], origin: Origin) -> Source:
    row = rows[0]
    if origin.commit is None:
        raise IngestError(
            row.name,
            "",
            "no commit of the repository",
            "one, as submitters correct their folders",
            "give the commit that was read",
        )
    repository = f"https://github.com/mlcommons/inference_results_{row.round}"
    folders = sorted({_folder(each) for each in rows})
    data = {
        "schema_version": 1,
        "id": source_id,
        "title": f"MLPerf Inference {row.round}, results of {line(row.submitter)[:60]}{_in_division(row)}",
        "status": "draft",
        "source_kind": "result_database",
        "url": f"{repository}/tree/{origin.commit}/{quote(folders[0])}",
        "publisher": "MLCommons",
        "author": line(row.submitter),
        "interest": submitter_of(row).interest,
        **origin.reading(),
        "repository": repository,
        "commit": origin.commit,
        "path": f"summary_results.json, and {'/, '.join(folders)}/ with system descriptions and summaries of runs",
        "group": _group_id(row),
    }
    return validated(Source, data, row.name)


def _in_division(row: Row) -> str:
    return "" if row.division == "closed" else f", {row.division} division"


def _folder(row: Row) -> str:
    """Return the submitter's folder, spelled as the repository does."""
    parts = row.location.removeprefix("./").split("/")
    return "/".join(parts[:2]) if len(parts) > 1 else f"{row.division}/{row.submitter}"
