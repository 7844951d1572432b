"""How much of what a reader needs the results carry: shares over all results, by publisher or any other grouping.

A share is a count of results over the results that are asked: a condition that means nothing for a metric is not
asked of it. Retracted and superseded records do not count. What a record says is tallied once (`tally`), so that
whoever keeps the tallies need not read the record again; whether a source was opened is the source's own matter and is
asked when tallies are added up (`qualities`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kbtool.schema import Benchmark, Source
from kbtool.schema.benchmark import Result
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS, DisclosureField

__all__ = [
    "ALL",
    "CURATED",
    "MEASURES",
    "Group",
    "Measure",
    "Quality",
    "Share",
    "Tally",
    "is_opened",
    "percent",
    "qualities",
    "tally",
]


ALL: Final = "all"
"""The group of all records."""
CURATED: Final = "curated"
"""The collection of the records that stand in no folder of their own; an importer's have one."""


class Measure(NamedTuple):
    """One figure about the quality of the data."""

    code: str
    title: str
    short: str
    """Head of a narrow column."""
    meaning: str
    """What counts, in a sentence."""
    wanted: bool = True
    """Whether more of it is better."""


MEASURES: Final = (
    Measure(
        "engine_version", "Engine version", "version",
        "The engine's version, commit or image digest is given: for the record, or as a changed setting.",
    ),
    Measure(
        "load", "Load", "load", "The result says at which concurrency or request rate it was measured.",
    ),
    Measure(
        "quote", "Quoted", "quote", "A passage of the source stands beside the figure, letter by letter.",
    ),
    Measure(
        "repeats", "Repeats stated", "repeats", "The result says how often it was measured, be it once.",
    ),
    Measure(
        "repeated", "Measured twice or more", "repeated", "The result says that it was measured at least twice.",
    ),
    Measure(
        "opened", "Source opened", "opened",
        "Every source of the figure was reached at its address or read in a stored copy when it was last looked at.",
    ),
    Measure(
        "second_hand", "Second hand", "2nd hand",
        "Every source of the figure repeats what somebody else measured.", wanted=False,
    ),
)  # fmt: skip

_FIELDS: Final = {field.path: field for field in DISCLOSURE_FIELDS}
_CONCURRENCY: Final = _FIELDS["results.at.concurrency"]
_REPEATS: Final = _FIELDS["results.repeats"]
_IDENTITIES: Final = ("engine.version", "engine.commit", "engine.image_digest")
_OPENED: Final = frozenset({"reachable", "moved", "stored_copy_read"})


class Share(NamedTuple):
    """How many of the results that are asked have something."""

    have: int
    of: int

    def __add__(self, other: object) -> "Share":
        """Return the share of both sets of results together."""
        if not isinstance(other, Share):
            return NotImplemented
        return Share(self.have + other.have, self.of + other.of)


class Tally(NamedTuple):
    """What one record adds to the figures."""

    results: int
    shares: tuple[Share, ...]
    """One for each of `MEASURES`; that of `opened` is empty here."""
    rests_on: tuple[tuple[tuple[str, ...], int], ...]
    """Sources, and how many results rest on just these."""


@dataclass(frozen=True, slots=True)
class Quality:
    """The figures of one group of records."""

    group: str
    records: int
    results: int
    shares: tuple[Share, ...]
    """One for each of `MEASURES`."""


class Group(NamedTuple):
    """One record's tally, and the group that it belongs to."""

    name: str
    tally: Tally


def tally(record: Benchmark) -> Tally:
    """Return what a record adds to the figures."""
    results = record.results
    identified = any((record.engine.version, record.engine.commit, record.engine.image_digest))
    counts = {
        "engine_version": _all(results, lambda each: identified or _sets_engine(each)),
        "load": _asked(results, _CONCURRENCY, _has_load),
        "quote": _all(results, lambda each: any(place.quote for place in each.evidence)),
        "repeats": _asked(results, _REPEATS, lambda each: each.repeats is not None),
        "repeated": _asked(results, _REPEATS, lambda each: (each.repeats or 0) > 1),
        "opened": Share(0, 0),
        "second_hand": _all(results, lambda each: all(place.second_hand for place in each.evidence)),
    }
    rests_on = Counter(tuple(sorted({place.source for place in each.evidence})) for each in results)
    return Tally(len(results), tuple(counts[each.code] for each in MEASURES), tuple(sorted(rests_on.items())))


def is_opened(source: Source) -> bool:
    """Return whether the last look at a source found it, at its address or in a stored copy."""
    return source.last_checked is not None and source.last_checked.outcome in _OPENED


def qualities(groups: Iterable[Group], opened: Callable[[str], bool]) -> list[Quality]:
    """Add tallies up by group, the group with most results first.

    Args:
        groups: One entry a record.
        opened: Whether the source of a reference (`sources/x`) was opened; asked once a source and record.
    """
    found: dict[str, Quality] = {}
    nothing = tuple(Share(0, 0) for _ in MEASURES)
    for name, each in groups:
        before = found.get(name) or Quality(name, 0, 0, nothing)
        read = Share(sum(count for refs, count in each.rests_on if all(map(opened, refs))), each.results)
        shares = tuple(
            old + (read if measure.code == "opened" else new)
            for measure, old, new in zip(MEASURES, before.shares, each.shares, strict=True)
        )
        found[name] = Quality(name, before.records + 1, before.results + each.results, shares)
    return sorted(found.values(), key=lambda quality: (-quality.results, quality.group))


def percent(share: Share) -> str:
    """Return a share as whole percents; 0 and 100 are said only where they hold exactly, nothing where nobody is asked."""
    if not share.of:
        return ""
    if share.have in (0, share.of):
        return "100 %" if share.have else "0 %"
    return f"{min(99, max(1, round(100 * share.have / share.of)))} %"


def _all(results: Sequence[Result], holds: Callable[[Result], bool]) -> Share:
    return Share(sum(map(holds, results)), len(results))


def _asked(results: Sequence[Result], field: DisclosureField, holds: Callable[[Result], bool]) -> Share:
    return _all([each for each in results if not field.metrics or each.metric in field.metrics], holds)


def _has_load(result: Result) -> bool:
    return result.at.concurrency is not None or result.at.request_rate_req_s is not None


def _sets_engine(result: Result) -> bool:
    return any(each.field in _IDENTITIES for each in result.with_)
