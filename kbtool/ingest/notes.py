"""What travels with an imported figure: doubts, changed meanings, and the client's known error at its load.

What holds for all figures of a metric is said at the first of them; the others name that one.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from kbtool.ingest.bias import known_bias
from kbtool.ingest.model import Imported, Measurement

__all__ = ["client_note", "result_notes"]

_LONGEST: Final = 600
_CENTRAL: Final = frozenset({"mean", "p50", "single", "median"})


def result_notes(imported: Imported, chosen: Sequence[Measurement], ids: Sequence[str]) -> list[str | None]:
    """Return one note a figure; None where there is nothing to say."""
    leads: dict[str, str] = {}
    said: set[str] = set()
    notes = []
    for one, result_id in zip(chosen, ids, strict=True):
        parts = list(_own(one))
        if one.metric in leads:
            parts += [f"see {leads[one.metric]}"] if _of_metric(imported, one) else []
        else:
            leads[one.metric] = result_id
            parts += _of_metric(imported, one)
        parts += [each for each in _error(imported, one) if each not in said]
        said.update(_error(imported, one))
        notes.append(_joined(parts))
    return notes


def client_note(imported: Imported) -> str | None:
    """Return what is to be said of the whole run; None where there is nothing."""
    return _joined(
        [each.reason for each in imported.conversions if each.outcome == "flagged" and not each.metric]
    )


def _own(one: Measurement) -> Iterator[str]:
    yield from one.notes
    if one.n is not None and one.n > 1 and not any(f"{one.n} samples" in each for each in one.notes):
        yield f"over {one.n} samples"


def _of_metric(imported: Imported, one: Measurement) -> list[str]:
    """Return what was converted into the metric, and doubts about it."""
    about = [each for each in imported.conversions if each.metric == one.metric]
    parts = [f"`{each.word}`: {each.reason}" for each in about if each.outcome == "converted"]
    return parts + [f"doubt: {each.reason}" for each in about if each.outcome == "flagged"]


def _error(imported: Imported, one: Measurement) -> tuple[str, ...]:
    if one.statistic not in _CENTRAL:
        return ()
    bias = known_bias(imported.client, one.metric, one.at.concurrency, several_tokens=imported.several_tokens)
    return () if bias is None else (f"known error of this client: {bias.text}",)


def _joined(parts: Sequence[str]) -> str | None:
    """Return the parts as one text that a record holds, whole parts only."""
    text = ""
    for part in dict.fromkeys(parts):
        longer = f"{text}; {part}" if text else part
        if len(longer) > _LONGEST:
            break
        text = longer
    return text or None
