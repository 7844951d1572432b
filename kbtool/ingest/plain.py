"""Plain data as a record: validated, and with the paths of all that its source leaves out."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from kbtool.analysis.completeness import LESS_EXACT, missing
from kbtool.ingest.fault import IngestError
from kbtool.schema import Benchmark
from kbtool.schema.base import StrictModel
from kbtool.vocab.metrics import METRICS

__all__ = ["left_out", "validated"]

Model = TypeVar("Model", bound=StrictModel)


def validated(model: type[Model], data: Mapping[str, Any], name: str, *, answered: bool = False) -> Model:
    """Return a record of plain data.

    Args:
        model: What it becomes.
        data: The plain data.
        name: What messages call the file.
        answered: Whether answers of a person are among the data, so that an answer may be what is wrong.

    Raises:
        IngestError: A value is one that no record holds.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = "/".join(map(str, first["loc"]))
        where = f"field {place}" if answered else f"{data.get('id')}, {place}"
        remedy = (
            "correct the answer, or the file if it is wrong there"
            if answered
            else "correct the file if it is wrong there"
        )
        raise IngestError(
            name, f"{model.__name__.lower()} {where}", first["msg"], "a value that the record model takes", remedy
        ) from None  # fmt: skip


def left_out(record: Benchmark) -> list[str]:
    """Return the paths of what a source was searched for in vain: disclosure fields, and conditions of its metrics."""
    paths = [each.path for each in missing(record)]
    for result in record.results:
        for name in METRICS[result.metric].conditions:
            path = f"results.at.{name}"
            other = LESS_EXACT.get(path, path).rpartition(".")[2]
            given = getattr(result.at, name) not in (None, ()) or getattr(result.at, other) is not None
            if not given and path not in paths:
                paths.append(path)
    return paths
