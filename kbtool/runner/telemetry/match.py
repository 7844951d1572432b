"""Which accelerator record a card is, by the exact name that its driver gives.

The rule is general: names are compared as sequences of words, after what varies without meaning (vendor, case,
punctuation, "Edition", "Generation") is taken off.  A record's title is its name; the loose names of a record may
be shared by several.  What distinguishes editions is never taken off, and power limits are the witness.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["AcceleratorMatch", "AcceleratorNames", "match_accelerator", "name_words"]

_EMPTY_WORDS: Final = frozenset({"nvidia", "amd", "intel", "edition", "generation", "gpu", "card"})
_SIZE = re.compile(r"(\d+)[\s-]*gi?b\b")
_HARMLESS = re.compile(r"\d+gb|hbm\d\w*|gddr\d\w*|mig|\d+g|\d+c")
"""What a driver may add to a name without making it another product: memory, or the profile of a MIG slice."""
_LIMIT_TOLERANCE_RATIO: Final = 0.01


@dataclass(frozen=True, slots=True)
class AcceleratorNames:
    """What of an accelerator record is needed to recognise a card."""

    id: str
    title: str
    names: tuple[str, ...] = ()
    power_default_w: float | None = None
    power_min_w: float | None = None
    """Lowest limit that the card takes; None where the record gives only an approximate one."""
    power_max_w: float | None = None


@dataclass(frozen=True, slots=True)
class AcceleratorMatch:
    """What a card's name leads to."""

    accelerator: str | None
    """Id of the record; None where there is none, or more than one."""
    by: str | None = None
    """`title`, `name` (a loose name that only this record has), or None."""
    candidates: tuple[str, ...] = ()
    """Records that the name fits, where it fits several."""
    doubts: tuple[str, ...] = ()
    """What speaks against the match, or why there is none."""


def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a product name that carry meaning, lower case."""
    text = _SIZE.sub(r"\1gb", name.lower()).replace("max-q", "maxq").replace("max q", "maxq")
    return tuple(word for word in re.findall(r"[a-z0-9]+", text) if word not in _EMPTY_WORDS)


def match_accelerator(
    name: str,
    accelerators: Sequence[AcceleratorNames],
    *,
    power_default_w: float | None = None,
    power_min_w: float | None = None,
    power_max_w: float | None = None,
) -> AcceleratorMatch:
    """Return the accelerator record of a card.

    The title decides.  A loose name counts only where one record alone has it and the power limits agree, for
    texts use loose names for several editions.  Last, a title to which the driver adds memory size or a MIG
    profile is accepted; an added word of any other kind is another product.

    Args:
        name: The exact name that the driver gives.
        accelerators: The records to choose from.
        power_default_w: The card's default power limit, W; None where unknown.
        power_min_w: The lowest limit that the card takes, W.
        power_max_w: The highest.
    """
    words = name_words(name)
    limits = (power_default_w, power_min_w, power_max_w)
    exact = [entry for entry in accelerators if name_words(entry.title) == words]
    if not exact:
        exact = _with_harmless_words(words, accelerators)
    if len(exact) == 1:
        return AcceleratorMatch(exact[0].id, "title", doubts=_against(exact[0], limits))
    loose = exact or [
        entry for entry in accelerators if words in {name_words(other) for other in entry.names}
    ]
    if not loose:
        return AcceleratorMatch(None, doubts=(f"no accelerator record is named {name!r}",))
    if len(loose) > 1:
        ids = tuple(sorted(entry.id for entry in loose))
        return AcceleratorMatch(None, candidates=ids, doubts=(f"{name!r} names {len(ids)} accelerators",))
    doubts = _against(loose[0], limits)
    if doubts:
        return AcceleratorMatch(None, candidates=(loose[0].id,), doubts=doubts)
    return AcceleratorMatch(loose[0].id, "name")


def _with_harmless_words(
    words: tuple[str, ...], accelerators: Sequence[AcceleratorNames]
) -> list[AcceleratorNames]:
    """Return the records whose title is the whole name but for memory size or MIG profile."""
    kept = tuple(word for word in words if not _HARMLESS.fullmatch(word))
    return [entry for entry in accelerators if kept and name_words(entry.title) == kept]


def _against(
    entry: AcceleratorNames, limits: tuple[float | None, float | None, float | None]
) -> tuple[str, ...]:
    """Return where the card's power limits contradict the record's."""
    stated = (entry.power_default_w, entry.power_min_w, entry.power_max_w)
    doubts = []
    for what, ours, theirs in zip(("default", "lowest", "highest"), limits, stated, strict=True):
        if ours is None or theirs is None or abs(ours - theirs) <= _LIMIT_TOLERANCE_RATIO * theirs:
            continue
        doubts.append(f"the card's {what} power limit is {ours:g} W, that of {entry.id} {theirs:g} W")
    return tuple(doubts)
