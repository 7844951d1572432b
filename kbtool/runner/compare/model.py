"""What a comparison is: ratios with intervals and claims, and what was not compared and why."""

from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, Literal

from kbtool.runner.compare.words import in_words
from kbtool.vocab.numbers import number_text

__all__ = ["Claimed", "Compared", "Comparison", "Differs", "Refusal", "Strength"]

Claimed = Literal["faster", "slower", "no difference shown"]
"""What may be said of B against A."""
Strength = Literal["paired", "unpaired", "these_starts"]
"""What a ratio rests on, strongest first.

* paired: sessions that alternated, each of B with its neighbour of A: what the machine does meanwhile cancels.
* unpaired: sessions of two stretches of time: a change of the machine in between looks like a difference.
* these_starts: rounds of a single session on a side: it holds for these starts of the servers alone.
"""


@dataclass(frozen=True, slots=True)
class Compared:
    """One metric of one load: B against A."""

    cell: str
    metric: str
    statistic: str
    unit: str
    a: float
    """Geometric mean over what was compared, in the metric's unit."""
    b: float
    ratio: float
    """B / A."""
    low: float | None
    """95 % interval of the ratio; None where there is none."""
    high: float | None
    claim: Claimed
    reason: str
    """Why there is a claim, or none."""
    p_holm: float
    """Corrected for all comparisons that were made together."""
    strength: Strength
    n_a: int
    """Sessions of A, or rounds where the strength is `these_starts`."""
    n_b: int
    setting: str | None = None
    """Swept setting, where B is a value of it and A the base."""
    value: Any = None
    drift_ratio: float | None = None
    """Last base leg / first one: what equal settings differed by."""
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was not compared: it would not be a comparison."""

    cell: str
    condition: str
    a: str
    b: str
    remedy: str
    metric: str | None = None
    """The one metric concerned; None for the whole load."""


@dataclass(frozen=True, slots=True)
class Differs:
    """A setting or fact in which the two sides differ: what a difference may come from."""

    field: str
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, or the legs of one."""

    a: str
    """Run id."""
    b: str
    """Run id; the same where legs of one run are compared."""
    order: str
    """Sessions in the order in which they ran, such as `ABBA`; empty for legs of one run."""
    compared: tuple[Compared, ...]
    refused: tuple[Refusal, ...]
    differs: tuple[Differs, ...]
    noise_ratio: float
    """Largest difference that was taken for noise."""

    @property
    def differences(self) -> tuple[Compared, ...]:
        """What may be claimed."""
        return tuple(each for each in self.compared if each.claim != "no difference shown")

    def data(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        return {"format": 1, **_plain(asdict(self))}

    def lines(self) -> tuple[str, ...]:
        """Return everything in words, for a reader."""
        return in_words(self)


def _plain(value: Any) -> Any:
    """Return lists and mappings with exact decimals as text, which JSON has no number for."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return number_text(value) if isinstance(value, Decimal) else value
