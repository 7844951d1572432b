"""Field paths of a benchmark record, such as `serving.context_tok` or `results.at.input_tok`.

Omissions, gaps, changed settings and changes name fields by such paths. A path that begins with `results.`
stands for that field of every result.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final, get_args

from kbtool.schema import Benchmark, Record
from kbtool.schema.base import StrictModel
from kbtool.schema.benchmark import Result

__all__ = ["RESULTS", "benchmark_paths", "is_given", "is_known", "is_open", "pointer_of", "value_at"]

RESULTS: Final = "results."
"""First part of a path into each result."""
_OPEN: Final = ("engine.arguments.", "engine.environment.")
"""Mappings whose keys the engine defines."""


@cache
def benchmark_paths() -> frozenset[str]:
    """Return every path that names a field of a benchmark record's own part, sections included."""
    own = Benchmark.model_fields.keys() - Record.model_fields.keys()
    return frozenset(_walk(Benchmark, own, ""))


def is_open(path: str) -> bool:
    """Return whether the path names an argument or a variable, whose name only the engine knows."""
    return path.startswith(_OPEN)


def is_known(path: str) -> bool:
    """Return whether a benchmark record can hold something at this path."""
    return path in benchmark_paths() or is_open(path)


def value_at(holder: Benchmark | Result, path: str) -> Any:
    """Return what a record's setup, or one result, holds at a path; None where nothing.

    Args:
        holder: A record for a path of the setup; a result for a path that begins with `results.`.
        path: One for which `is_known` holds.

    Raises:
        AttributeError: No field has this path.
    """
    for prefix in _OPEN:
        if path.startswith(prefix):
            return value_at(holder, prefix.removesuffix(".")).get(path.removeprefix(prefix))
    value: Any = holder
    for part in path.removeprefix(RESULTS).split("."):
        if value is None:
            return None
        # `with` is a word of Python, so that its attribute has another name.
        value = getattr(value, "with_" if part == "with" else part)
    return value


def is_given(value: object) -> bool:
    """Return whether a field says something: false is an answer, an empty list or mapping is not."""
    return value is not None and value not in ((), {})


def pointer_of(path: str) -> str:
    """Return the JSON pointer of a path of the setup: `/serving/context_tok`."""
    return "/" + path.replace(".", "/")


def _walk(model: type[StrictModel], names: Iterable[str], prefix: str) -> Iterator[str]:
    for name in names:
        field = model.model_fields[name]
        path = prefix + (field.alias or name)
        yield path
        for inner in _models_in(field.annotation):
            yield from _walk(inner, inner.model_fields.keys(), path + ".")


def _models_in(annotation: Any) -> Iterator[type[StrictModel]]:
    if isinstance(annotation, type) and issubclass(annotation, StrictModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
