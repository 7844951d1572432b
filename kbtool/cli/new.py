"""`kbtool new`: a record file with every required field, written from answers or options."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from kbtool.cli.console import complain, find_root, say
from kbtool.cli.find import KindName
from kbtool.cli.options import RootOption
from kbtool.errors import RecordError, UsageError

if TYPE_CHECKING:
    from kbtool.store import Corpus

__all__ = ["new"]


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that has to be known before a record can be written."""

    key: str
    ask: str
    default: str | None = None


_HEAD: Final = (
    Question("id", "Id (lower-case words joined by hyphens; it never changes)"),
    Question("title", "Title"),
)
_SOURCE: Final = (Question("source", "Source record, such as sources/helix-2026-08"),)
REFERENCES: Final = frozenset({"source", "accelerator", "engine", "model"})
"""Questions whose answer is a record of the kind that the question is called by."""
QUESTIONS: Final[dict[str, tuple[Question, ...]]] = {
    "benchmark": (
        *_HEAD,
        *_SOURCE,
        Question("measured_by", "Who measured: self, third_party, operator, vendor, auditor, unknown", "unknown"),
        Question("accelerator", "Accelerator record, such as accelerators/nvidia-h100-sxm"),
        Question("accelerator_count", "How many take part"),
        Question("engine", "Engine record, such as engines/vllm"),
        Question("model", "Model record, such as models/llama-3-1-8b"),
        Question("metric", "Metric of the headline figure (`kbtool explain METRIC`), such as output_tok_s"),
        Question("value", "Its value in the metric's unit"),
        Question("as_published", "The figure exactly as the source prints it"),
        Question("locator", "Where in the source: section, table and row, line"),
        Question("concurrency", "Requests in flight; empty where the source does not say", ""),
    ),
    "accelerator": (*_HEAD, Question("vendor", "Maker"), Question("form", "pcie_card, module, soc, rack_tray, wafer, cloud_chip, desktop")),
    "interconnect": (*_HEAD, Question("role", "host_link, scale_up, scale_out, die_to_die")),
    "engine": _HEAD,
    "model": (*_HEAD, Question("organisation", "Who published it"), Question("architecture", "dense, moe, hybrid, unknown")),
    "source": (
        *_HEAD,
        Question("source_kind", "article, repository_file, issue, documentation, vendor_page, result_database, paper, ..."),
        Question("publisher", "Who publishes it"),
        Question("url", "Address"),
        Question("interest", "vendor, sells_service, sells_hardware, none_stated, independent"),
    ),
    "gotcha": (
        *_HEAD,
        *_SOURCE,
        Question("locator", "Where in the source"),
        Question("symptom", "What one sees"),
        Question("cause", "Why"),
        Question("detect", "How to find out whether one has it"),
        Question("avoid", "What prevents it"),
        Question("trap_class", "client_counting, cache, cuda_graph, context_limit, environment, topology, other, ...", "other"),
    ),
}  # fmt: skip


def new(
    kind: Annotated[KindName, typer.Argument(help="Kind of record.", show_default=False)],
    *,
    answers: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            "-s",
            help="An answer, such as -s id=ev-x -s value=93.9; may be repeated.",
            show_default=False,
        ),
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Folder inside the kind's folder.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
    root: RootOption = None,
) -> None:
    """Write a new record: every required field, comments that explain the others, and its gaps listed.

    On a terminal it asks for what is missing; elsewhere every answer comes by --set.
    """
    from kbtool.store import load
    from kbtool.store.files import write_atomic
    from kbtool.store.fmt import format_text
    from kbtool.store.scaffold import scaffold

    project = find_root(root)
    known = _collect(kind.value, _given(answers or (), kind.value))
    folder = project / "records" / f"{kind.value}s" / (group or "")
    path = folder / f"{known['id']}.yaml"
    if path.exists() and not force:
        raise RecordError(
            f"{path.relative_to(project)} exists: choose another id, or --force to write over it"
        )
    corpus = load(project)
    _refuse_unknown(corpus, known)
    data = _BUILDERS[kind.value](corpus, known)
    _refuse_invalid(kind.value, data)
    text = format_text(scaffold(kind.value, data), kind.value, path.relative_to(project).as_posix())
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(path, text.encode())
    relative = path.relative_to(project)
    say(f"wrote {relative}")
    complain(
        f"next: fill it in, then `kbtool lint {relative}`; `kbtool why {known['id']}` says what is missing"
    )


def _given(texts: list[str] | tuple[str, ...], kind: str) -> dict[str, str]:
    keys = [question.key for question in QUESTIONS[kind]]
    given = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or key not in keys:
            raise UsageError(f"--set {text!r}: expected KEY=VALUE with a key of {', '.join(keys)}")
        given[key] = value
    return given


def _collect(kind: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return an answer to every question: given, asked for, or the default."""
    answers = dict(given)
    open_questions = [each for each in QUESTIONS[kind] if each.key not in answers]
    interactive = sys.stdin.isatty()
    missing = [each.key for each in open_questions if each.default is None]
    if missing and not interactive:
        raise UsageError(f"missing answers: give {' '.join(f'--set {key}=...' for key in missing)}")
    for question in open_questions:
        asked = typer.prompt(question.ask, default=question.default) if interactive else question.default
        answers[question.key] = str(asked)
    return {key: _with_folder(key, value) for key, value in answers.items()}


def _with_folder(key: str, value: str) -> str:
    """Return a reference in full where the bare id was given: the question says which kind is meant."""
    return f"{key}s/{value}" if key in REFERENCES and value and "/" not in value else value


def _refuse_unknown(corpus: "Corpus", answers: Mapping[str, str]) -> None:
    """Refuse names of records and metrics that do not exist, with the nearest that does."""
    from kbtool.store.suggest import nearest
    from kbtool.vocab import METRICS

    for key in REFERENCES & answers.keys():
        if corpus.get(answers[key]) is None:
            raise UsageError(
                f"there is no valid {key} record `{answers[key]}`"
                + _hint(corpus.nearest(answers[key]), f"; write it first: `kbtool new {key}`")
            )
    metric = answers.get("metric")
    if metric is not None and metric not in METRICS:
        advice = "; the page Metrics lists them all"
        raise UsageError(f"there is no metric `{metric}`" + _hint(nearest(metric, list(METRICS)), advice))


def _hint(near: str | None, otherwise: str) -> str:
    return f"; did you mean `{near}`?" if near else otherwise


def _refuse_invalid(kind: str, data: Mapping[str, Any]) -> None:
    from pydantic import ValidationError

    from kbtool.schema import model_for

    try:
        model_for(kind).model_validate(data)
    except ValidationError as error:
        lines = [
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_url=False)
        ]
        raise UsageError("these answers make no valid record:\n  " + "\n  ".join(lines)) from None


def _head(answers: Mapping[str, str]) -> dict[str, Any]:
    today = datetime.now(UTC).date().isoformat()
    return {
        "schema_version": 1,
        "id": answers["id"],
        "title": answers["title"],
        "status": "draft",
        "updated": today,
    }


def _source_use(corpus: "Corpus", source: str) -> dict[str, Any]:
    """Return the use of a source as primary, with the independence group that its record states."""
    from kbtool.schema import Source

    record = corpus.get(source)
    if not isinstance(record, Source):
        raise UsageError(f"`{source}` is no source record")
    return {"source": source, "role": "primary", "group": record.group}


def _number(text: str) -> Any:
    from kbtool.vocab.numbers import parse_number

    try:
        return parse_number(text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _benchmark(corpus: "Corpus", answers: Mapping[str, str]) -> dict[str, Any]:
    from kbtool.store.scaffold import unanswered_disclosure

    evidence = {"source": answers["source"], "locator": answers["locator"]}
    result = {
        "id": "headline",
        "metric": answers["metric"],
        "value": _number(answers["value"]),
        "as_published": answers["as_published"],
        "at": {"concurrency": _number(answers["concurrency"])} if answers["concurrency"] else {},
        "evidence": [evidence],
    }
    data = _head(answers) | {
        "sources": [_source_use(corpus, answers["source"])],
        "measured": {"by": answers["measured_by"]},
        "reproducible": {},
        "system": {
            "accelerator": answers["accelerator"],
            "accelerator_count": _number(answers["accelerator_count"]),
        },
        "engine": {"engine": answers["engine"]},
        "deployment": {},
        "model": {"model": answers["model"]},
        "serving": {},
        "speculation": {},
        "headline": "headline",
        "results": [result],
    }
    data["omitted_by_source"] = [
        {"field": path, "source": answers["source"]} for path in unanswered_disclosure(data)
    ]
    return data


def _accelerator(_corpus: "Corpus", answers: Mapping[str, str]) -> dict[str, Any]:
    return _head(answers) | {"vendor": answers["vendor"], "form": answers["form"], "memory": {}, "power": {}}


def _interconnect(_corpus: "Corpus", answers: Mapping[str, str]) -> dict[str, Any]:
    return _head(answers) | {"role": answers["role"]}


def _engine(_corpus: "Corpus", answers: Mapping[str, str]) -> dict[str, Any]:
    return _head(answers)


def _model(_corpus: "Corpus", answers: Mapping[str, str]) -> dict[str, Any]:
    return _head(answers) | {"organisation": answers["organisation"], "architecture": answers["architecture"]}


def _source(_corpus: "Corpus", answers: Mapping[str, str]) -> dict[str, Any]:
    head = _head(answers)
    fields = {key: answers[key] for key in ("source_kind", "url", "publisher", "interest")}
    return head | fields | {"accessed": head["updated"], "group": answers["id"]}


def _gotcha(corpus: "Corpus", answers: Mapping[str, str]) -> dict[str, Any]:
    fields = {key: answers[key] for key in ("symptom", "cause", "detect", "avoid", "trap_class")}
    evidence = {"source": answers["source"], "locator": answers["locator"]}
    return (
        _head(answers)
        | fields
        | {"sources": [_source_use(corpus, answers["source"])], "evidence": [evidence]}
    )


_BUILDERS: Final[dict[str, Callable[["Corpus", Mapping[str, str]], dict[str, Any]]]] = {
    "benchmark": _benchmark,
    "accelerator": _accelerator,
    "interconnect": _interconnect,
    "engine": _engine,
    "model": _model,
    "source": _source,
    "gotcha": _gotcha,
}
