"""Figures that disagree: one load on one kind of system, and values more than 5 % apart.

Two results are in conflict where `likeness` finds that they may be of one load on one kind of system, `compare` lets them stand
side by side, and their ratio is more than 5 % from one. What differs between the two, and what one of them or neither of them
states, is listed: it may explain the difference, and nothing here says which of the two is right.

A record often has several figures that another one's may be of: it sweeps a length that the other leaves out. Where any of these
agrees, or the other's figure lies between them, the two records do not disagree; else the nearest of them is the one that counts.

Mentions of one measurement count once. Equal figures of one independence group are one finding with several mentions, and two
findings of one group are no disagreement between witnesses, unless a link says `contradicts`. Records that a link says to be of
one run, or to replace one another, are not in conflict.

A corrected value that comes back is a fault and no disagreement: where a record's `changes` say that a figure went from one
value to another, no other record may state the old one of the same load. (Of the record itself the rule P020 says so.)
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Any, Final, Literal, NamedTuple, Self

from kbtool.analysis.compare import Comparison, Difference, held_against
from kbtool.analysis.likeness import Load, load_of, may_be_one
from kbtool.analysis.sides import Side, SideFacts
from kbtool.schema import Benchmark
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.terms import WITHDRAWN

__all__ = ["APART", "Conflict", "Finding", "Stated", "by_record", "conflicts", "stated_by"]

APART: Final = Decimal("0.05")
"""What two runs of one setup usually differ by at most."""
Link = Literal["contradicts", "corrects", "replicates", ""]
_SAME: Final = frozenset({"same_run_as", "supersedes", "withdraws", "superseded_by"})
_WHO: Final = "Measured by"
_TELLING: Final = (
    "Power limit, W", "Engine version", "Weights", "KV cache", "Speculation", "Input tokens", "Output tokens", "Prompts",
)  # fmt: skip
"""Settings that move a speed, so that silence on them leaves a difference open."""
_TOLD: Final[tuple[Link, ...]] = ("contradicts", "corrects", "replicates")


class Stated(NamedTuple):
    """One speed as one record states it, with all that is asked of it here; plain data but for the two inner tuples."""

    side: SideFacts
    load: Load
    published: str
    """The figure as its source prints it."""
    group: str
    """Independence group of the source that it is from."""
    links: tuple[tuple[str, str], ...]
    """Relation and target (record, or result with its anchor) of the record's links."""
    corrected: tuple[str, ...]
    """Values that the record's changes say this figure no longer has."""

    def plain(self) -> list[Any]:
        """Return it as JSON data."""
        return [self.side.plain(), list(self.load), self.published, self.group, self.links, self.corrected]

    @classmethod
    def of_plain(cls, plain: Sequence[Any]) -> Self:
        """Return what `plain()` was made of; a side may be unpacked already."""
        side, load, published, group, links, corrected = plain
        return cls(
            side if isinstance(side, SideFacts) else SideFacts.of_plain(side),
            Load(*load),
            published,
            group,
            tuple([(relation, target) for relation, target in links]),
            tuple(corrected),
        )


class Finding(NamedTuple):
    """One measurement, stated once or several times."""

    mentions: tuple[Stated, ...]
    """By reference; all have one value and one group."""

    @property
    def first(self) -> Stated:
        """The mention that stands for it."""
        return self.mentions[0]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two findings that disagree; the larger figure first."""

    one: Finding
    other: Finding
    comparison: Comparison
    """With the ratio, what differs and what is not stated."""
    link: Link
    """What a link says of the two; empty where nobody has linked them."""
    came_back: bool
    """Whether one of them is a value that the other's record corrected."""

    @property
    def explained_by(self) -> tuple[Difference, ...]:
        """What both state and differs; whoever measured is no explanation."""
        return tuple(
            [each for each in self.comparison.differences if each.one and each.other and each.what != _WHO]
        )

    @property
    def told_by_one(self) -> tuple[str, ...]:
        """What one of the two states and the other leaves out."""
        return tuple([each.what for each in self.comparison.differences if not (each.one and each.other)])

    @property
    def told_by_neither(self) -> tuple[str, ...]:
        """What moves a speed and neither of the two states."""
        sides = (self.one.first.side, self.other.first.side)
        reads = METRICS[sides[0].metric].tokens == "input"
        asked = [what for what in _TELLING if not (reads and what == "Output tokens")]
        return tuple([what for what in asked if not any(side.settings.get(what) for side in sides)])

    @property
    def difference(self) -> Decimal:
        """How much larger the first is, as a share of the second."""
        assert self.comparison.ratio is not None
        return self.comparison.ratio - 1


def stated_by(ref: str, record: Benchmark, status: str, group: str) -> Iterator[Stated]:
    """Yield the speeds of a record that may be held against others.

    Args:
        ref: Its reference.
        record: The record.
        status: Its derived status.
        group: Independence group of its primary source; empty where there is none.
    """
    links: tuple[tuple[str, str], ...] = tuple([(each.relation, each.target) for each in record.links])
    if record.superseded_by:
        links += (("superseded_by", record.superseded_by),)
    groups = {each.source: each.group for each in record.sources}
    for result in record.results:
        load = load_of(record, result)
        if load is None:
            continue
        source = result.evidence[0].source
        yield Stated(
            Side(ref, record, result, status).facts,
            load,
            result.as_published,
            groups.get(source, group) or source,
            links,
            tuple(_corrected(record, result.id)),
        )


def conflicts(stated: Iterable[Stated]) -> tuple[Conflict, ...]:
    """Return the conflicts: values that came back, then those that nothing explains, then by how far they are apart."""
    by_system: dict[str, list[Stated]] = {}
    for each in stated:
        if each.side.status not in WITHDRAWN:
            by_system.setdefault(each.load.system, []).append(each)
    found: list[Conflict] = []
    for together in by_system.values():
        found += _open(_between(_findings(together)))
    return tuple(sorted(_once(found), key=_order))


def _corrected(record: Benchmark, result: str) -> Iterator[str]:
    names = {result, f"results.{result}", f"results.{result}.value"}
    for change in record.changes:
        if len(change.fields) == 1 and change.fields[0] in names and change.old is not None:
            yield str(change.old)


def _findings(stated: Sequence[Stated]) -> list[Finding]:
    """Return what was measured: equal figures of one group under loads that may be one are mentions of one finding."""
    found: list[list[Stated]] = []
    for each in sorted(stated, key=lambda one: one.side.name):
        for mentions in found:
            first = mentions[0]
            same = (first.side.ref != each.side.ref) and _of_one_source(first, each)
            if same and first.side.value == each.side.value and may_be_one(first.load, each.load):
                mentions.append(each)
                break
        else:
            found.append([each])
    return [Finding(tuple(mentions)) for mentions in found]


def _open(pairs: Iterable[Conflict]) -> Iterator[Conflict]:
    """Yield the pairs that disagree, whatever else the two records say of the same load.

    Args:
        pairs: All findings of one kind of system that stand side by side, those that agree included.
    """
    pairs = tuple(pairs)
    partners: dict[tuple[str, str], list[Conflict]] = {}
    for each in pairs:
        for side, other in ((each.one, each.other), (each.other, each.one)):
            partners.setdefault((side.first.side.name, other.first.side.ref), []).append(each)
    for each in pairs:
        about = [
            (side, partners[side.first.side.name, other.first.side.ref])
            for side, other in ((each.one, each.other), (each.other, each.one))
        ]
        if each.came_back or not any(_is_met(side, held) for side, held in about):
            nearest = all(each.difference == min(one.difference for one in held) for _, held in about)
            if each.difference > APART and (nearest or each.came_back):
                yield each


def _is_met(finding: Finding, held: Sequence[Conflict]) -> bool:
    """Return whether one of another record's figures agrees with a finding, or the finding lies between two of them."""
    above = any(each.other is finding for each in held)
    below = any(each.one is finding for each in held)
    return any(each.difference <= APART for each in held) or (above and below)


def _between(findings: Sequence[Finding]) -> Iterator[Conflict]:
    """Yield each two findings of different witnesses that stand side by side, the larger first."""
    for one, other in combinations(findings, 2):
        a, b = one.first, other.first
        if a.side.ref == b.side.ref or not may_be_one(a.load, b.load):
            continue
        link = _link(a, b)
        if (_of_one_source(a, b) and link != "contradicts") or _is_settled(a, b):
            continue
        high, low = (one, other) if Decimal(a.side.value) >= Decimal(b.side.value) else (other, one)
        comparison = held_against(high.first.side, low.first.side)
        if comparison.ratio is None:
            continue
        if any(each.what == "Concurrency" for each in comparison.differences):
            continue  # a throughput may choose its load, and another load is no contradiction
        yield Conflict(high, low, comparison, link, _came_back(a, b))


def _of_one_source(one: Stated, other: Stated) -> bool:
    return one.group == other.group or _says(one, other, frozenset({"same_run_as"}))


def _is_settled(one: Stated, other: Stated) -> bool:
    return _says(one, other, _SAME)


def _says(one: Stated, other: Stated, relations: frozenset[str]) -> bool:
    return any(
        relation in relations and target.partition("#")[0] == to.side.ref
        for holder, to in ((one, other), (other, one))
        for relation, target in holder.links
    )


def _link(one: Stated, other: Stated) -> Link:
    return next((each for each in _TOLD if _says(one, other, frozenset({each}))), "")


def _came_back(one: Stated, other: Stated) -> bool:
    return any(
        _number(old) == Decimal(to.side.value)
        for holder, to in ((one, other), (other, one))
        for old in holder.corrected
    )


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text.replace(",", ""))
    except ArithmeticError:
        return None


def _once(found: Iterable[Conflict]) -> Iterable[Conflict]:
    """Return of the conflicts between two records in one metric the one that is furthest apart."""
    kept: dict[tuple[str, ...], Conflict] = {}
    for each in found:
        key = (*sorted((each.one.first.side.ref, each.other.first.side.ref)), each.one.first.side.metric)
        before = kept.get(key)
        if before is None or (each.came_back, each.difference) > (before.came_back, before.difference):
            kept[key] = each
    return kept.values()


def _order(conflict: Conflict) -> tuple[Any, ...]:
    names = (conflict.one.first.side.name, conflict.other.first.side.name)
    return (not conflict.came_back, bool(conflict.explained_by), -conflict.difference, *names)


def by_record(found: Iterable[Conflict]) -> Mapping[str, tuple[Conflict, ...]]:
    """Return the conflicts by the reference of each record that states one of the figures."""
    sorted_out: dict[str, list[Conflict]] = {}
    for each in found:
        for ref in dict.fromkeys(one.side.ref for one in (*each.one.mentions, *each.other.mentions)):
            sorted_out.setdefault(ref, []).append(each)
    return {ref: tuple(each) for ref, each in sorted_out.items()}
