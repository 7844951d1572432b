"""What comes out of turning a record into a plan: the plan, what the record leaves open, and what is refused."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kbtool.runner.plan import Plan
from kbtool.schema.base import Scalar

__all__ = ["Covered", "OpenPoint", "Reproduction", "Required"]

MAX_TEXT: Final = 600
"""Longest text of an open point in a plan."""


@dataclass(frozen=True, slots=True)
class OpenPoint:
    """Something that the record does not settle, and what the plan does about it."""

    field: str
    """Path in the record, such as `results.at.input_tok`."""
    left_open: str
    """What the record says or does not say."""
    chosen: str
    """What was chosen, and why."""

    def __str__(self) -> str:
        """Return the point in one line, as plans and links hold it."""
        return f"{self.field}: {self.left_open}; chosen: {self.chosen}"[:MAX_TEXT]


@dataclass(frozen=True, slots=True)
class Required:
    """A setting of the record that nothing in the plan brings about: whoever runs the plan has to."""

    field: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class Covered:
    """A result of the record that the plan measures again."""

    result: str
    """Id of the result."""
    workload: str
    sweep: str | None = None
    """Sweep that brings its settings about; None where the plan's own settings are its settings."""
    value: Scalar = None
    """Value of that sweep."""

    @property
    def linked(self) -> bool:
        """Whether the new record will be linked to it: links are made for the plan's own settings alone."""
        return self.sweep is None


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A plan that measures results of a record again."""

    record: str
    """Reference of the record, such as `benchmarks/x`."""
    plan: Plan
    open_points: tuple[OpenPoint, ...]
    """In order of weight: of the results first, then of the setup."""
    refused: tuple[tuple[str, str], ...]
    """Result id and reason."""
    covered: tuple[Covered, ...]
    required: tuple[Required, ...]
    """Settings that must be in force without the plan's doing."""
    not_asked: tuple[str, ...] = ()
    """Results under other conditions, which were not asked for: give their ids to have a plan for them."""
    accelerator: str = ""
    """Accelerator of the record, which need not be that of the machine that measures again."""
    loads: Mapping[str, str] | None = None
    """Workload -> its load in words."""
