"""A comparison in words, from the same object as its data."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kbtool.runner.compare.model import Compared, Comparison, Refusal

__all__ = ["in_words", "sentence"]

SHOWN: Final = 40
"""Settings that are named; the data has all."""
_STRENGTHS: Final = {
    "paired": "paired by session",
    "unpaired": "sessions did not alternate, so that a change of the machine would look the same",
    "these_starts": "one start of the servers on a side: another start may differ",
}


def in_words(found: "Comparison") -> tuple[str, ...]:
    """Return a comparison as lines for a reader."""
    return tuple(_lines(found))


def sentence(each: "Compared") -> str:
    """Return one comparison in words."""
    of = "" if each.setting is None else f" ({each.setting} {each.value} against the base)"
    interval = "no interval" if each.low is None else f"95 % interval {each.low:.3f} to {each.high:.3f}"
    kind = "rounds" if each.strength == "these_starts" else "sessions"
    subject = "B" if each.setting is None else "the value"
    claim = each.claim if each.claim == "no difference shown" else f"{subject} is {each.claim}"
    reason = f", {each.reason}" if each.claim == "no difference shown" else ""
    return (
        f"{each.cell}, {each.metric} {each.statistic}{of}: {claim}{reason}: {each.a:.5g} and {each.b:.5g} {each.unit}, "
        f"ratio {each.ratio:.3f}, {interval}, {each.n_a} and {each.n_b} {kind}, {_STRENGTHS[each.strength]}"
    )


def _lines(found: "Comparison") -> Iterator[str]:
    yield from _heading(found)
    for each in found.compared:
        yield sentence(each)
        if each.drift_ratio is not None:
            yield f"  the base itself went to {each.drift_ratio:.3f} of what it was first"
        for caveat in each.caveats:
            yield f"  {caveat}"
    for refusal in found.refused:
        yield _refused(refusal)
    yield from _differences(found)


def _heading(found: "Comparison") -> Iterator[str]:
    if found.a != found.b:
        yield f"A is {found.a}, B is {found.b}; ratios are B / A"
    else:
        yield f"legs of {found.a}; ratios are value / base"
    if not found.compared:
        yield "nothing could be compared"
    elif found.a != found.b:
        yield f"order of the sessions: {found.order or 'they overlapped'}"


def _differences(found: "Comparison") -> Iterator[str]:
    if found.differs:
        yield "the runs differ in:"
        for differs in found.differs[:SHOWN]:
            yield f"  {differs.field}: {differs.a} and {differs.b}"
        if len(found.differs) > SHOWN:
            yield f"  and {len(found.differs) - SHOWN} more"
    elif found.a != found.b:
        yield "nothing differs that was read of servers and machine"


def _refused(each: "Refusal") -> str:
    what = each.cell if each.metric is None else f"{each.cell}, {each.metric}"
    sides = f"{each.a} in both" if each.a == each.b else f"{each.a} and {each.b}"
    return f"{what}: not compared: {each.condition} is {sides}; {each.remedy}"
