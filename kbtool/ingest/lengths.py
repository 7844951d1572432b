"""How long prompts and answers were: exact where every request shows the same, a mean in words otherwise."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from kbtool.ingest.draft import plain_digits

__all__ = ["Length", "length_conditions", "of_range", "of_total"]


@dataclass(frozen=True, slots=True)
class Length:
    """A number of tokens a request."""

    exact: int | None
    mean: Decimal | None

    @property
    def shown(self) -> str:
        """The mean in a few digits."""
        return "" if self.mean is None else plain_digits(Decimal(f"{self.mean:.6g}"))


def of_range(low: Decimal | None, mean: Decimal | None, high: Decimal | None) -> Length:
    """Return a length of which the file gives minimum, mean and maximum."""
    same = low is not None and low == high and low == low.to_integral_value() and low > 0
    return Length(int(low) if same and low is not None else None, mean)


def of_total(total: int | None, requests: int | None, each: Sequence[Decimal] = ()) -> Length:
    """Return a length of which the file gives the sum, and at times the value of each request."""
    if each and requests is not None and len(each) == requests:
        return of_range(min(each), sum(each, Decimal(0)) / len(each), max(each))
    if not total or not requests:
        return Length(None, None)
    return Length(None, Decimal(total) / requests)


def length_conditions(prompt: Length, answer: Length) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the fields of `At` for both lengths, and notes that say where one is a mean."""
    fields: dict[str, Any] = {}
    notes: list[str] = []
    if prompt.exact is not None:
        fields["input_tok"] = prompt.exact
    elif prompt.mean:
        fields["input_nominal"] = f"{prompt.shown} on average"
    if answer.exact is not None:
        fields["output_tok"] = answer.exact
    elif answer.mean and round(answer.mean) >= 1:
        fields["output_tok"] = round(answer.mean)
        notes.append(f"output_tok is the mean of all requests, {answer.shown}")
    return fields, tuple(notes)
