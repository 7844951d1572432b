"""A reproduction as what a plan file holds: plain data in the order of the file, and comments for its reader."""

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from kbtool.runner.reproduce.arguments import text_of
from kbtool.runner.reproduce.model import Reproduction
from kbtool.schema.base import StrictModel

__all__ = ["PlanPart", "PlanText", "plan_yaml_lines"]

WIDTH: Final = 110
SHOWN: Final = 60
"""Settings and results that a comment names; the rest is counted."""

_FIRST: Final = frozenset({"plan_version", "id", "kind", "name"})
"""Keys that say what the rest of a mapping is about."""

Plain = None | bool | int | str | Decimal | list["Plain"] | dict[str, "Plain"]


@dataclass(frozen=True, slots=True)
class PlanPart:
    """One key of the plan file, with the comment lines above it, without their `#`."""

    key: str
    value: Plain
    comments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanText:
    """A plan file: comment lines of its head, then its parts in order."""

    head: tuple[str, ...]
    parts: tuple[PlanPart, ...]

    @property
    def data(self) -> dict[str, Plain]:
        """The whole plan as plain data."""
        return {each.key: each.value for each in self.parts}


def plan_yaml_lines(found: Reproduction) -> PlanText:
    """Return what the plan file of a reproduction holds; whoever writes files turns it into YAML."""
    comments = {
        "subject": tuple(_subject(found)),
        "target": tuple(_target(found)),
        "workloads": tuple(_workloads(found)),
        "sweeps": tuple(_sweeps(found)),
        "replicates": tuple(_replicates(found)),
    }
    data = _mapping(found.plan)
    parts = tuple(PlanPart(key, value, _wrapped(comments.get(key, ()))) for key, value in data.items())
    return PlanText(_wrapped(_head(found)), parts)


def _head(found: Reproduction) -> Iterator[str]:
    yield f"Measures {len(found.covered)} result(s) of {found.record} again."
    if found.open_points:
        yield "What the record leaves open, and what was chosen (correct what you know better):"
        for point in found.open_points:
            yield f"- {point}"
    if found.refused:
        yield "What no part of this plan measures, and why:"
        for name, reason in found.refused[:SHOWN]:
            yield f"- {name}: {reason}"
    if found.not_asked:
        yield f"Measured under other conditions, each for a plan of its own: {_some(found.not_asked)}"


def _subject(found: Reproduction) -> Iterator[str]:
    yield "Say nothing here that was not checked: the new record repeats it."
    if found.accelerator:
        yield (
            "Where no driver tells the accelerator, give the one of this machine as `accelerator`; the record has "
            f"{found.accelerator}."
        )


def _target(found: Reproduction) -> Iterator[str]:
    if found.required:
        who = (
            "the server must already have" if found.plan.target.launch is None else "no argument is known for"
        )
        yield f"Settings of the record that {who}; see that they are in force:"
        for each in found.required[:SHOWN]:
            yield f"- {each.field}: {text_of(each.value)}"
        if len(found.required) > SHOWN:
            yield f"- and {len(found.required) - SHOWN} more: see the record"
    if found.plan.target.launch is not None:
        yield "Image, arguments and variables come from the record: read them before you run this."
    if found.plan.target.allow_hosts:
        yield "Another machine: leave it listed only if it is yours to load."


def _workloads(found: Reproduction) -> Iterator[str]:
    yield "One workload for each load, so that each result is held against one figure:"
    for name, words in (found.loads or {}).items():
        results = [each.result for each in found.covered if each.workload == name]
        yield f"- {name}: {words}: {_some(results)}"


def _sweeps(found: Reproduction) -> Iterator[str]:
    for each in found.plan.sweeps:
        results = [one.result for one in found.covered if one.sweep == each.id]
        yield f"- {each.id}: {_some(results)}; in the new record, and not linked: links hold for the plan's own settings"


def _replicates(found: Reproduction) -> Iterator[str]:
    if found.plan.replicates:
        yield "The new record is linked to these, with the ratio, and its interval where the figure has one."


def _some(names: list[str] | tuple[str, ...]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _wrapped(lines: Iterator[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Return comment lines within the width, without characters that a comment cannot hold."""
    found: list[str] = []
    for line in lines:
        clean = "".join(char if char.isprintable() else " " for char in line)
        indent = "  " if clean.startswith("- ") else ""
        found += textwrap.wrap(
            clean, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    return tuple(found)


def _mapping(model: StrictModel) -> dict[str, Plain]:
    """Return what was said of a model, in the order of the file; what holds its default by silence is left out."""
    return {
        type(model).model_fields[name].alias or name: _plain(getattr(model, name))
        for name in sorted(model.file_order(), key=lambda each: each not in _FIRST)
        if name in model.model_fields_set and getattr(model, name) not in (None, (), {})
    }


def _plain(value: object) -> Plain:
    if isinstance(value, StrictModel):
        return _mapping(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, bool | int | str | Decimal):
        return value
    raise TypeError(
        f"a plan holds {type(value).__name__}; expected text, numbers, yes or no, lists and mappings"
    )
