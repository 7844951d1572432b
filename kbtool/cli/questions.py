"""What `kbtool new` has to know, and whether an answer can stand where it will stand in the record."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kbtool.store import Corpus

__all__ = ["QUESTIONS", "REFERENCES", "Question", "fault", "prompt", "with_folder"]

Location = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that has to be known before a record can be written."""

    key: str
    ask: str
    default: str | None = None
    at: Location = ()
    """Where the answer will stand in the record; under its key if empty."""

    @property
    def location(self) -> Location:
        """Where the answer will stand in the record."""
        return self.at or (self.key,)


_HEAD: Final = (
    Question("id", "Id: lower-case words joined by hyphens; it never changes"),
    Question("title", "Title"),
)
_EVIDENCE: Final = Question(
    "locator", "Where in the source: section, table and row, line", at=("evidence", 0, "locator")
)
_SOURCE: Final = Question("source", "Source record", at=("sources", 0, "source"))
REFERENCES: Final = frozenset({"source", "accelerator", "engine", "model"})
"""Questions whose answer is a record of the kind that the question is called by."""
QUESTIONS: Final[dict[str, tuple[Question, ...]]] = {
    "benchmark": (
        *_HEAD,
        _SOURCE,
        Question("measured_by", "Who measured", "unknown", at=("measured", "by")),
        Question("accelerator", "Accelerator record", at=("system", "accelerator")),
        Question("accelerator_count", "How many take part", at=("system", "accelerator_count")),
        Question("engine", "Engine record", at=("engine", "engine")),
        Question("model", "Model record", at=("model", "model")),
        Question("metric", "Metric of the headline figure, explained by `kbtool explain METRIC`", at=("results", 0, "metric")),
        Question("value", "Its value in the metric's unit", at=("results", 0, "value")),
        Question("as_published", "The figure exactly as the source prints it", at=("results", 0, "as_published")),
        Question(_EVIDENCE.key, _EVIDENCE.ask, at=("results", 0, *_EVIDENCE.at)),
        Question("concurrency", "Requests in flight; empty where the source does not say", "", at=("results", 0, "at", "concurrency")),
    ),
    "accelerator": (*_HEAD, Question("vendor", "Maker"), Question("form", "Form")),
    "interconnect": (*_HEAD, Question("role", "Role")),
    "engine": _HEAD,
    "model": (*_HEAD, Question("organisation", "Who published it"), Question("architecture", "Architecture")),
    "source": (
        *_HEAD,
        Question("source_kind", "Kind of source"),
        Question("publisher", "Who publishes it"),
        Question("url", "Address"),
        Question("interest", "Interest of whoever publishes it"),
    ),
    "gotcha": (
        *_HEAD,
        _SOURCE,
        _EVIDENCE,
        Question("symptom", "What one sees"),
        Question("cause", "Why"),
        Question("detect", "How to find out whether one has it"),
        Question("avoid", "What prevents it"),
        Question("trap_class", "Class of trap", "other"),
    ),
}  # fmt: skip


def prompt(kind: str, question: Question, corpus: "Corpus") -> str:
    """Return a question with the words or a reference that may answer it."""
    from kbtool.schema import model_for
    from kbtool.store import fields

    words = fields.words(fields.annotation_at(model_for(kind), question.location))
    if words:
        return f"{question.ask} ({', '.join(map(str, words))})"
    known = corpus.by_kind(question.key) if question.key in REFERENCES else ()
    return f"{question.ask} (such as {corpus.ref_of(known[0])})" if known else question.ask


def with_folder(key: str, answer: str) -> str:
    """Return a reference in full where the bare id was given: the question says which kind is meant."""
    return f"{key}s/{answer}" if key in REFERENCES and answer and "/" not in answer else answer


def fault(kind: str, question: Question, answer: str, corpus: "Corpus") -> str | None:
    """Return why an answer cannot stand in a record: what is wrong and what to do; None where it can."""
    if answer == question.default == "":
        return None
    return next(_faults(kind, question, answer, corpus), None)


def _faults(kind: str, question: Question, answer: str, corpus: "Corpus") -> Iterator[str]:
    from kbtool.store.suggest import nearest
    from kbtool.vocab import METRICS

    yield from _shape_faults(kind, question.location, answer)
    if question.key in REFERENCES and corpus.get(answer) is None:
        advice = f"; write it first: `kbtool new {question.key}`"
        yield f"there is no valid {question.key} record `{answer}`" + _hint(corpus.nearest(answer), advice)
    if question.key == "metric" and answer not in METRICS:
        advice = "; the page Metrics lists them all"
        yield f"there is no metric `{answer}`" + _hint(nearest(answer, list(METRICS)), advice)


def _shape_faults(kind: str, location: Location, answer: str) -> Iterator[str]:
    """Yield what the model has against an answer, in the words in which lint would say it."""
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    from kbtool.schema import model_for
    from kbtool.store import fields
    from kbtool.store.teach import teach

    model = model_for(kind)
    value = _read(fields.value_type(model, location), answer)
    adapter = TypeAdapter(fields.annotation_at(model, location), config=ConfigDict(strict=True))
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        yield teach(model, location, value, error.errors(include_url=False), answer).message


def _read(expected: type | None, answer: str) -> Any:
    """Return an answer as a whole number where one is expected and it is one."""
    return int(answer) if expected is int and answer.isascii() and answer.isdigit() else answer


def _hint(near: str | None, otherwise: str) -> str:
    return f"; did you mean `{near}`?" if near else otherwise
