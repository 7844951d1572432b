"""Collects what a reader finds in a file, and turns figures into the metric's unit without losing digits."""

import re
from collections.abc import Mapping
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from hashlib import sha256
from typing import Any, Final

from pydantic import ValidationError

from kbtool.ingest.bias import biases_for
from kbtool.ingest.fault import IngestError, shown
from kbtool.ingest.model import Conversion, Fact, Imported, Measurement
from kbtool.ingest.reading import Path, Reading, Reasons, path_text
from kbtool.schema.base import Scalar
from kbtool.schema.benchmark import At
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.numbers import MAX_DECIMALS, MAX_DIGITS
from kbtool.vocab.terms import Statistic

__all__ = ["NO_WORD", "Draft", "few_samples_note", "fit", "plain_digits", "share"]

NO_WORD: Final = "a statistic over requests that the vocabulary has no word for"
_BEYOND: Final = {"p90": 10, "p95": 20, "p99": 100}
"""Percentile -> samples for each one that lies beyond it."""
_ENOUGH_BEYOND: Final = 10
_LONGER: Final = Decimal("1.2")
_SCALE: Final = {("s", "ms"): 3, ("us", "ms"): -3, ("ns", "ms"): -6, ("%", "ratio"): -2}
"""Unit of the file and of the metric -> power of ten between them."""


def fit(value: Decimal) -> Decimal | None:
    """Return the number, rounded to what a record can hold: 15 digits and 9 decimals; None where it is too large."""
    if value and value.adjusted() >= MAX_DIGITS:
        return None
    if not value:
        return Decimal(0)
    decimals = min(MAX_DECIMALS, max(0, MAX_DIGITS - 1 - max(value.adjusted(), 0)))
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and -decimals <= exponent <= 0:
        return value
    if isinstance(exponent, int) and exponent > 0:
        return value.quantize(Decimal(1))
    return value.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_EVEN)


def plain_digits(value: Decimal) -> str:
    """Return the digits of a number of a file, without exponent."""
    return f"{value:f}"


def share(part: Decimal, whole: Decimal) -> Decimal:
    """Return part / whole with six significant digits, as no more were measured."""
    ratio = part / whole
    return Decimal(f"{ratio:.6g}")


def few_samples_note(statistic: str | None, n: int | None) -> tuple[str, ...]:
    """Return a warning where fewer than ten samples lie beyond a percentile."""
    needed = _BEYOND.get(statistic or "", 0) * _ENOUGH_BEYOND
    if n is None or n >= needed:
        return ()
    return (f"only {n} samples: fewer than {_ENOUGH_BEYOND} lie beyond the {statistic}",)


class Draft:
    """What a reader has found so far."""

    def __init__(self, reading: Reading, tool: str, title: str) -> None:
        self.reading = reading
        self.tool = tool
        self.title = title
        self.tool_version: str | None = None
        self.day: date | None = None
        self.model: str | None = None
        self.measurements: list[Measurement] = []
        self.facts: list[Fact] = []
        self.conversions: list[Conversion] = []

    def conditions(self, fields: Mapping[str, Any]) -> At:
        """Return the conditions of figures.

        Raises:
            IngestError: The file gives one that cannot be, such as a concurrency of 0.
        """
        try:
            return At(**fields)
        except ValidationError as error:
            first = error.errors()[0]
            place = "/".join(map(str, first["loc"]))
            found = shown(fields.get(str(first["loc"][0])))
            raise IngestError(
                self.reading.name, f"condition {place}", found, first["msg"], "look whether the run succeeded"
            ) from None

    def figure(
        self,
        metric: str,
        statistic: Statistic | None,
        path: Path,
        *,
        unit: str,
        at: At,
        n: int | None = None,
        notes: tuple[str, ...] = (),
    ) -> Decimal | None:
        """Take the number at a path, if there is one, and return its value in the metric's unit."""
        number = self.reading.number(*path)
        if number is None:
            return None
        if number < 0 or (number == 0 and not METRICS[metric].zero_is_valid):
            self.refused(path_text(path), f"{plain_digits(number)}: nothing was measured", metric)
            return None
        scaled = number.scaleb(_SCALE.get((unit, METRICS[metric].unit), 0))
        value = fit(scaled)
        if value is None or (not value and scaled):
            self.refused(path_text(path), f"{number:.6g}: more than a record can hold, or less", metric)
            return None
        mark = "%" if unit == "%" else f" {unit}"
        rounded = value != scaled
        self.measurements.append(
            Measurement(
                metric,
                statistic,
                value,
                f"{plain_digits(number)}{mark}",
                at,
                path_text(path),
                n,
                basis="derived" if rounded else "stated",
                formula="the figure of the file, rounded to the digits that a record holds"
                if rounded
                else "",
                inputs=(path_text(path),) if rounded else (),
                notes=(*notes, *few_samples_note(statistic, n)),
            )
        )
        return value

    def distribution(
        self,
        metric: str,
        base: Path,
        keys: Mapping[str, Statistic],
        *,
        unit: str,
        at: At,
        n: int | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Take each statistic that stands under `base`."""
        for key, statistic in keys.items():
            self.figure(metric, statistic, (*base, key), unit=unit, at=at, n=n, notes=notes)

    def derived(
        self,
        metric: str,
        statistic: Statistic | None,
        value: Decimal,
        *,
        formula: str,
        inputs: tuple[str, ...],
        at: At,
        n: int | None = None,
        repeats: int | None = 1,
        stdev: Decimal | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Add a figure that is computed from others of the file."""
        if value <= 0 and not METRICS[metric].zero_is_valid:
            self.refused(formula, f"{value}: nothing was measured", metric)
            return
        fitted = fit(value)
        if fitted is None or (not fitted and value):
            self.refused(formula, f"{value:.6g}: more than a record can hold, or less", metric)
            return
        value = fitted
        unit = METRICS[metric].unit
        self.measurements.append(
            Measurement(
                metric,
                statistic,
                value,
                plain_digits(value) if unit == "ratio" else f"{plain_digits(value)} {unit}",
                at,
                inputs[0],
                n,
                repeats,
                None if stdev is None else fit(stdev),
                "derived",
                formula,
                inputs,
                (*notes, *few_samples_note(statistic, n)),
            )
        )

    def taken(
        self,
        metric: str,
        statistic: Statistic | None,
        value: Decimal,
        as_published: str,
        path: Path,
        *,
        at: At,
        repeats: int | None = None,
        stdev: Decimal | None = None,
    ) -> None:
        """Add a figure that a table prints in words of its own, such as `1234.56 ± 7.89`."""
        if value <= 0:
            self.refused(path_text(path), f"{value}: nothing was measured", metric)
            return
        self.measurements.append(
            Measurement(
                metric, statistic, value, as_published, at, path_text(path), repeats=repeats, stdev=stdev
            )
        )

    def fact(self, field: str, value: Scalar, *path: str | int) -> None:
        """Add a value for a field of the record; nothing where the file has none."""
        if value is not None and value != "":
            self.facts.append(Fact(field, value, path_text(path)))

    def converted(self, word: str, metric: str, reason: str) -> None:
        """Say that a word of the tool means one of our metrics with another name."""
        self._conclude(Conversion(word, "converted", metric, reason))

    def refused(self, word: str, reason: str, metric: str = "") -> None:
        """Say that a figure was not taken."""
        self._conclude(Conversion(word, "refused", metric, reason))

    def refuse(self, *path: str | int, reason: str, metric: str = "") -> None:
        """Refuse what stands at a path, if anything does."""
        if self.reading.value(*path) is not None:
            self.refused(path_text(path), reason, metric)

    def flagged(self, word: str, metric: str, reason: str) -> None:
        """Say that a figure was taken with a doubt."""
        self._conclude(Conversion(word, "flagged", metric, reason))

    def _conclude(self, conversion: Conversion) -> None:
        if conversion not in self.conversions:
            self.conversions.append(conversion)

    def chunks_hold_several(self) -> bool:
        """Return whether gaps between chunks are longer than the time per token, so that chunks hold several."""
        means = {each.metric: each.value for each in self.measurements if each.statistic == "mean"}
        return "icl_ms" in means and "tpot_ms" in means and means["icl_ms"] > means["tpot_ms"] * _LONGER

    def finish(
        self, data: bytes, reasons: Reasons, *, several_tokens: bool | None = None, client: str | None = None
    ) -> Imported:
        """Return all that was found.

        Args:
            data: The file.
            reasons: Why what is left belongs to nobody.
            several_tokens: Whether chunks held several tokens; None to tell from the figures.
            client: Id of the tool that measured, where that is another.

        Raises:
            IngestError: There is no measurement in the file.
        """
        several = self.chunks_hold_several() if several_tokens is None else several_tokens
        if not self.measurements:
            raise IngestError(
                self.reading.name, "", f"no figure of {self.title} that can be taken", "at least one",
                "look whether the run succeeded",
            )  # fmt: skip
        return Imported(
            self.tool,
            self.title,
            self.tool_version,
            self.reading.name,
            sha256(data).hexdigest(),
            len(data),
            self.day,
            self.model,
            tuple(self.measurements),
            tuple(self.facts),
            tuple(self.conversions),
            self.reading.left_out(reasons),
            biases_for(client or self.tool, self.measurements, several_tokens=several),
            client or self.tool,
            several,
        )

    def iso_day(self, text: str | None) -> date | None:
        """Return the day at the start of a date and time, `2026-11-29T...` or `20261129-...`; None for anything else."""
        match = re.match(r"(\d{4})-?(\d{2})-?(\d{2})(?!\d)", text or "")
        try:
            return date(int(match[1]), int(match[2]), int(match[3])) if match else None
        except ValueError:
            return None
