"""What a result file says in our words: measurements, facts about the setup, and all that is neither."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

from kbtool.schema.base import Scalar
from kbtool.schema.benchmark import At
from kbtool.vocab.terms import Basis, Statistic

__all__ = ["Bias", "Conversion", "Fact", "Imported", "LeftOut", "Measurement"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """One figure of the file under a metric of the vocabulary."""

    metric: str
    statistic: Statistic | None
    value: Decimal
    """In the metric's unit, with the digits of the file as far as a record holds them."""
    as_published: str
    """The digits and the unit of the file."""
    at: At
    place: str
    """Path of the figure in the file."""
    n: int | None = None
    """Requests, or gaps, that the statistic is over; None where the file does not say."""
    repeats: int | None = 1
    stdev: Decimal | None = None
    """Over repeated runs, in the metric's unit; never over the requests of one run."""
    basis: Basis = "stated"
    formula: str = ""
    inputs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """One value that the file gives for a field of the record."""

    field: str
    """Path of the field, such as `deployment.tp`."""
    value: Scalar
    place: str


@dataclass(frozen=True, slots=True)
class Conversion:
    """One word of the tool that means something else than ours, and what became of it."""

    word: str
    """The tool's word, or the path of the key."""
    outcome: Literal["converted", "refused", "flagged"]
    """Taken under another metric; not taken; taken, with a doubt that travels with the figure."""
    metric: str
    """Our metric; empty where it is refused or about more than one."""
    reason: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One part of the file that became neither a measurement nor a fact nor a conversion."""

    place: str
    kind: Literal["irrelevant", "unmapped", "unknown"]
    """Says nothing about the system; says something that no field holds; not known to the reader."""
    reason: str


@dataclass(frozen=True, slots=True)
class Bias:
    """How far the tool's figure was from the truth under a load like this one, as this project measured it."""

    metric: str
    error_ratio: Decimal
    """(reported - true) / true."""
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Imported:
    """All that one result file says, with nothing dropped."""

    tool: str
    """Id of the tool, see `kbtool.ingest.tools`."""
    title: str
    """The tool as readers know it."""
    tool_version: str | None
    """None where the file does not say."""
    name: str
    sha256: str
    size_bytes: int
    day: date | None
    """Day of the run, where the file says."""
    model: str | None
    """The model as the file names it."""
    measurements: tuple[Measurement, ...]
    facts: tuple[Fact, ...]
    conversions: tuple[Conversion, ...]
    left_out: tuple[LeftOut, ...]
    biases: tuple[Bias, ...]
    client: str
    """Id of the tool that measured: another than `tool` where the file is a report about its results."""
    several_tokens: bool
    """Whether chunks held several tokens, where the client's known errors differ."""

    @property
    def tool_line(self) -> str:
        """Name and version of the tool in one line."""
        return f"{self.title} {self.tool_version}" if self.tool_version else self.title

    def refused(self) -> tuple[Conversion, ...]:
        """Return what was not taken because it would say something false."""
        return tuple(each for each in self.conversions if each.outcome == "refused")
