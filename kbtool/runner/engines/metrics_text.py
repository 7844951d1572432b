"""Prometheus text of an engine: samples by name, added up over engines, models and other labels."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["MAX_BYTES", "Samples", "read_samples"]

MAX_BYTES: Final = 8 * 1024 * 1024
MAX_SAMPLES: Final = 50_000
MAX_POSITIONS: Final = 64
"""No drafter drafts more tokens a step."""


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of one reading that were asked about."""

    values: Mapping[str, tuple[tuple[Mapping[str, str], float], ...]] = field(default_factory=dict)
    """Name -> labels and value of each sample."""

    def total(self, *names: str) -> float | None:
        """Return the sum over all labels under the first of the names that has samples; None where none has."""
        for name in names:
            found = self.values.get(name)
            if found:
                return sum(value for _, value in found)
        return None

    def count(self, *names: str) -> int | None:
        """Return `total` as a whole number."""
        value = self.total(*names)
        return None if value is None else round(value)

    def largest(self, *names: str) -> float | None:
        """Return the largest over all labels under the first of the names that has samples."""
        for name in names:
            found = self.values.get(name)
            if found:
                return max(value for _, value in found)
        return None

    def by_position(self, name: str) -> tuple[int, ...]:
        """Return the sums by the label `position`, from 0 on; empty where there are none or some are missing."""
        sums: dict[int, float] = {}
        for labels, value in self.values.get(name, ()):
            text = labels.get("position", "")
            if text.isascii() and text.isdigit() and len(text) < 4:
                sums[int(text)] = sums.get(int(text), 0.0) + value
        if not sums or sorted(sums) != list(range(len(sums))) or len(sums) > MAX_POSITIONS:
            return ()
        return tuple(round(sums[position]) for position in range(len(sums)))

    def labels(self, name: str) -> Mapping[str, str]:
        """Return the labels of the first sample of a name, as an `_info` metric carries its facts."""
        found = self.values.get(name)
        return found[0][0] if found else {}

    def flat(self) -> dict[str, float]:
        """Return every sample under one text, labels included, sorted."""
        flat: dict[str, float] = {}
        for name, found in self.values.items():
            for labels, value in found:
                inside = ",".join(f'{key}="{labels[key]}"' for key in sorted(labels))
                flat[f"{name}{{{inside}}}" if inside else name] = value
        return dict(sorted(flat.items()))


def read_samples(text: str, wanted: tuple[str, ...]) -> Samples:
    """Read the samples whose names are wanted.

    Args:
        text: An answer of `/metrics`, at most `MAX_BYTES`.
        wanted: Names as the text has them, `_total` included.

    Returns:
        What could be read.  A line that is no sample is passed over, as is a value that is no finite number: a
        foreign exporter in the same text must not hide the engine's own counters.
    """
    from prometheus_client.parser import text_string_to_metric_families

    values: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    left = MAX_SAMPLES
    for line in text[:MAX_BYTES].splitlines():
        # Each line is parsed alone: the parser gives up on a whole text at its first bad line.
        if left <= 0 or not line.startswith(wanted):
            continue
        left -= 1
        try:
            samples = [
                one for family in text_string_to_metric_families(line + "\n") for one in family.samples
            ]
        except (ValueError, KeyError, IndexError):
            continue
        for sample in samples:
            if sample.name in wanted and math.isfinite(sample.value) and abs(sample.value) < 2**63:
                values.setdefault(sample.name, []).append((dict(sample.labels), float(sample.value)))
    return Samples({name: tuple(found) for name, found in values.items()})
