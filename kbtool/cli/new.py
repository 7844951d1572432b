"""`kbtool new`: a record file with every required field, written from answers or options."""

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from kbtool.cli.console import complain, find_root, say
from kbtool.cli.find import KindName
from kbtool.cli.options import RootOption
from kbtool.cli.questions import QUESTIONS, Question, fault, prompt, with_folder
from kbtool.errors import RecordError, UsageError

if TYPE_CHECKING:
    from kbtool.store import Corpus

__all__ = ["new"]


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
    folder = _folder(project, kind.value, group)
    corpus = load(project)
    refuse_taken = partial(_refuse_taken, project, folder, force=force)
    known = _collect(kind.value, _given(answers or (), kind.value), corpus, refuse_taken)
    path = folder / f"{known['id']}.yaml"
    data = _BUILDERS[kind.value](corpus, known)
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


def _folder(project: Path, kind: str, group: str | None) -> Path:
    """Return the folder of the record.

    Raises:
        UsageError: the group cannot be a folder there.
    """
    from kbtool.store.files import is_group

    if group is not None and not is_group(group):
        raise UsageError(
            f"--group {group!r} cannot be a folder; expected a-z, 0-9 and `-`, such as `vendor-runs`"
        )
    return project / "records" / f"{kind}s" / (group or "")


def _refuse_taken(project: Path, folder: Path, record_id: str, *, force: bool) -> None:
    """Refuse an id that another record of the kind has, in whatever folder.

    Raises:
        RecordError: it exists already, and may not be written over.
    """
    from kbtool.store.names import record_names

    path = (folder / f"{record_id}.yaml").relative_to(project)
    ref = f"{path.parts[1]}/{record_id}"
    for known, name in record_names(project):
        if known == ref and name != path.as_posix():
            raise RecordError(f"{name} has this id already: choose another id")
        if known == ref and not force:
            raise RecordError(f"{name} exists: choose another id, or --force to write over it")


def _collect(
    kind: str, given: Mapping[str, str], corpus: "Corpus", refuse_taken: Callable[[str], None]
) -> dict[str, str]:
    """Return a sound answer to every question: given, asked for, or the default.

    Raises:
        UsageError: answers are missing or wrong, and nobody can be asked.
        RecordError: the id is taken.
    """
    interactive = sys.stdin.isatty()
    missing = [each.key for each in QUESTIONS[kind] if each.key not in given and each.default is None]
    if missing and not interactive:
        raise UsageError(f"missing answers: give {' '.join(f'--set {key}=...' for key in missing)}")
    answers, faults = {}, []
    for question in QUESTIONS[kind]:
        answer = with_folder(question.key, given.get(question.key, question.default or ""))
        wrong = fault(kind, question, answer, corpus) if question.key in given else None
        if interactive and (wrong or question.key not in given):
            answer, wrong = _ask(kind, question, corpus, wrong), None
        if wrong:
            faults.append(f"{question.key}: {wrong}")
        elif question.key == "id":
            refuse_taken(answer)  # before any other question
        answers[question.key] = answer
    if faults:
        error = UsageError("these answers make no valid record:")
        for each in faults:
            error.add_note(each)
        raise error
    return answers


def _ask(kind: str, question: Question, corpus: "Corpus", wrong: str | None) -> str:
    """Return a sound answer from the terminal; a wrong one is explained and asked for again."""
    while True:
        if wrong:
            complain(wrong)
        asked = typer.prompt(
            prompt(kind, question, corpus), default=question.default, show_default=bool(question.default)
        )
        answer = with_folder(question.key, str(asked).strip())
        wrong = fault(kind, question, answer, corpus)
        if wrong is None:
            return answer


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


def _benchmark(corpus: "Corpus", answers: Mapping[str, str]) -> dict[str, Any]:
    from kbtool.store.scaffold import unanswered_disclosure
    from kbtool.vocab.numbers import parse_number

    evidence = {"source": answers["source"], "locator": answers["locator"]}
    result = {
        "id": "headline",
        "metric": answers["metric"],
        "value": parse_number(answers["value"]),
        "as_published": answers["as_published"],
        "at": {"concurrency": parse_number(answers["concurrency"])} if answers["concurrency"] else {},
        "evidence": [evidence],
    }
    data = _head(answers) | {
        "sources": [_source_use(corpus, answers["source"])],
        "measured": {"by": answers["measured_by"]},
        "reproducible": {},
        "system": {
            "accelerator": answers["accelerator"],
            "accelerator_count": parse_number(answers["accelerator_count"]),
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
