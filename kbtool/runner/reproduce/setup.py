"""The settings of a record, by path, and how those of one result differ from those of another."""

from collections.abc import Iterator, Mapping
from typing import Final

from kbtool.schema.base import Scalar, StrictModel
from kbtool.schema.benchmark import Benchmark, Result
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS

__all__ = ["differing", "missing_fields", "settings_of", "topology_of"]

_OUTCOMES: Final = frozenset({"speculation.acceptance_length", "speculation.acceptance_qualifier"})
"""Found by measuring: no settings."""
_OF_SYSTEM: Final = ("power_limit_w", "clocks", "driver", "cuda", "peer_to_peer")
_OF_ENGINE: Final = ("version", "commit", "image", "image_digest", "build")
_OF_MODEL: Final = ("checkpoint", "revision", "weight_dtype", "expert_dtype")


def settings_of(record: Benchmark, result: Result) -> dict[str, Scalar]:
    """Return the settings that a result was measured under: those of the record, changed as the result says."""
    found = dict(_stated(record))
    for each in result.with_:
        found[each.field] = each.value
    return found


def _stated(record: Benchmark) -> Iterator[tuple[str, Scalar]]:
    yield from _of("serving", record.serving, tuple(type(record.serving).model_fields))
    yield from _of("speculation", record.speculation, tuple(type(record.speculation).model_fields))
    layout = tuple(name for name in type(record.deployment).model_fields if name != "router")
    yield from _of("deployment", record.deployment, layout)
    yield from _of("system", record.system, _OF_SYSTEM)
    yield from _of("engine", record.engine, _OF_ENGINE)
    yield from _of("model", record.model, _OF_MODEL)
    for name, value in record.engine.arguments.items():
        yield f"engine.arguments.{name}", value
    for name, value in record.engine.environment.items():
        yield f"engine.environment.{name}", value


def _of(part: str, model: StrictModel, names: tuple[str, ...]) -> Iterator[tuple[str, Scalar]]:
    for name in names:
        path, value = f"{part}.{name}", getattr(model, name)
        if value is not None and not name.endswith("as_published") and path not in _OUTCOMES:
            yield path, value


def differing(base: Mapping[str, Scalar], other: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return what is otherwise than in the base, with the other's values."""
    paths = dict.fromkeys([*base, *other])
    return {path: other.get(path) for path in paths if base.get(path) != other.get(path)}


def topology_of(record: Benchmark, result: Result) -> tuple[int, int | None]:
    """Return the instances in use and the accelerators of all of them, where known."""
    instances = result.at.instances or record.deployment.instances or 1
    ranks = record.deployment.accelerators()
    if ranks is not None:
        each = ranks // (record.deployment.instances or 1)
        return instances, each * instances
    return instances, result.at.accelerators or record.system.accelerator_count


def missing_fields(record: Benchmark, settings: Mapping[str, Scalar]) -> Iterator[tuple[str, str, str]]:
    """Yield path, title and weight of what a comparison needs and the record does not state about its setup."""
    inapplicable = {each.field for each in record.gaps if each.reason == "not_applicable"}
    for each in DISCLOSURE_FIELDS:
        part, _, name = each.path.partition(".")
        if part in {"results", "measured"} or each.path in _OUTCOMES or each.path in inapplicable:
            continue
        value = settings.get(each.path, getattr(getattr(record, part), name, None))
        off = each.path.startswith("speculation.draft") and settings.get("speculation.method") == "none"
        if value in (None, (), {}) and not off:
            yield each.path, each.title, each.why
