"""What the analysis says of each benchmark, kept from build to build: sides of comparisons, bounds, loads.

As for the rows (`kbtool.site.record_rows`), what was worked out of a record is worked out again only where something behind it
changed (`kbtool.site.memo`). Pages over all records, and the lists of
comparable records on each page, are made from this and parse no record.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache, cached_property, lru_cache
from typing import Any, Final

from kbtool.analysis.checks import Check, checks_of
from kbtool.analysis.conflicts import Conflict, Stated, by_record, conflicts, stated_by
from kbtool.analysis.limits import Find
from kbtool.analysis.peers import Standing, family_of, standing_of
from kbtool.analysis.sides import Side, SideFacts
from kbtool.schema import Accelerator, Benchmark, Record
from kbtool.schema.things import Price
from kbtool.site.cards import Card
from kbtool.site.library import Library
from kbtool.site.memo import Memo
from kbtool.site.products import key_of

__all__ = ["Analysed"]

_KEPT: Final = 4096
"""Records whose sides are kept unpacked."""
_NO_PEER: Final = frozenset({"same_run_as", "supersedes", "corrects", "withdraws", "superseded_by"})
"""A record that is of one run with another, or takes its place, is no second witness."""


class Analysed:
    """What the analysis says of the benchmarks of one library."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._ensure = Memo(library, library.cached_analyses, self._made).ensure
        self.sides = lru_cache(maxsize=_KEPT)(self._sides)

    def make(self) -> None:
        """Work out what is not known yet, while the records that were just read are still at hand."""
        for ref in (*self.accelerators, *self.refs):
            self._ensure(ref)

    @cached_property
    def refs(self) -> tuple[str, ...]:
        """The benchmarks, by reference."""
        return tuple([ref for ref, card in self._library.cards.items() if card.kind == "benchmark"])

    @cached_property
    def digest(self) -> str:
        """A hash of everything that is known here."""
        return key_of(self._ensure(ref).key for ref in self.refs)

    def digest_of(self, ref: str) -> str:
        """Return a hash of everything that the page of a record shows of comparisons, bounds and conflicts."""
        return key_of(
            self._ensure(ref).key, self._family_digest(self._heads.get(ref, "")), repr(self.conflicts_of(ref))
        )

    @cache  # noqa: B019 - it lives as long as one build
    def prices(self, ref: str) -> tuple[Price, ...]:
        """Return the prices seen of an accelerator; nothing where it has no record."""
        if self._library.cards.get(ref) is None:
            return ()
        return tuple([Price.model_validate(each) for each in json.loads(self._ensure(ref).cells)])

    @cached_property
    def prices_digest(self) -> str:
        """A hash of all prices seen of accelerators that a benchmark names."""
        return key_of(self._ensure(ref).key for ref in self.accelerators)

    @cached_property
    def accelerators(self) -> tuple[str, ...]:
        """The accelerators, by reference."""
        return tuple([ref for ref, card in self._library.cards.items() if card.kind == "accelerator"])

    def checks(self, ref: str) -> tuple[Check, ...]:
        """Return the results of a record that a bound applies to."""
        return tuple([Check.of_plain(each) for each in json.loads(self._ensure(ref).cells.split("\n")[2])])

    @cached_property
    def conflicts(self) -> tuple[Conflict, ...]:
        """All pairs of figures that disagree."""
        return conflicts(self._stated())

    def conflicts_of(self, ref: str) -> tuple[Conflict, ...]:
        """Return the conflicts that a record is part of."""
        return self._conflicts_by_ref.get(ref, ())

    def standing_of(self, card: Card) -> Standing | None:
        """Return what the headline of a record may stand beside; None where it stands beside nothing."""
        head = self._head(card.ref)
        if head is None or not card.stands:
            return None
        near = self._related(card)
        others = (
            self.sides(ref)
            for ref in self._families.get(family_of(head), ())
            if ref != card.ref and ref not in near
        )
        return standing_of(head, others)

    def _head(self, ref: str) -> SideFacts | None:
        if not self._heads.get(ref):
            return None
        # Results stand in the order of the record's file, and the first line says which is the headline.
        return next(
            (each for each in self.sides(ref) if each.result == self._overviews[ref]["headline"]), None
        )

    def _related(self, card: Card) -> frozenset[str]:
        own = {each.target.partition("#")[0] for each in card.mentions if each.relation in _NO_PEER}
        others = {
            each.card.ref for each in self._library.incoming(card.ref) if each.mention.relation in _NO_PEER
        }
        return frozenset(own | others)

    def _sides(self, ref: str) -> tuple[SideFacts, ...]:
        return tuple(
            [SideFacts.of_plain(each) for each in json.loads(self._ensure(ref).cells.split("\n")[1])]
        )

    @cached_property
    def _overviews(self) -> dict[str, Any]:
        return {ref: json.loads(self._ensure(ref).cells.partition("\n")[0]) for ref in self.refs}

    @cached_property
    def _heads(self) -> dict[str, str]:
        """Reference -> family of the headline."""
        return {ref: each["family"] for ref, each in self._overviews.items()}

    @cached_property
    def _families(self) -> dict[str, tuple[str, ...]]:
        """Family -> the records with a result of it that stand."""
        found: dict[str, list[str]] = {}
        for ref, each in self._overviews.items():
            if self._library.cards[ref].stands:
                for family in each["families"]:
                    found.setdefault(family, []).append(ref)
        return {family: tuple(refs) for family, refs in found.items()}

    @cache  # noqa: B019 - it lives as long as one build
    def _family_digest(self, family: str) -> str:
        """Return a hash of all that a page shows of the records of a family."""
        cards = self._library.cards
        return key_of(
            f"{self._ensure(ref).key}\x1f{cards[ref].title}\x1f{cards[ref].status}"
            for ref in self._families.get(family, ())
        )

    @cached_property
    def _conflicts_by_ref(self) -> Mapping[str, tuple[Conflict, ...]]:
        return by_record(self.conflicts)

    def _stated(self) -> Iterator[Stated]:
        """Yield the speeds of all systems that more than one record is about; only their sides are unpacked."""
        systems: dict[str, set[str]] = {}
        for ref, each in self._overviews.items():
            for _, load, *_ in each["stated"]:
                systems.setdefault(load[0], set()).add(ref)
        for ref, each in self._overviews.items():
            for index, load, *rest in each["stated"]:
                if len(systems[load[0]]) > 1:
                    yield Stated.of_plain([self.sides(ref)[index], load, *rest])

    def _made(self, ref: str, record: Record, find: Find) -> str:
        if isinstance(record, Accelerator):
            return json.dumps([each.model_dump(mode="json") for each in record.prices])
        assert isinstance(record, Benchmark)
        return _encoded(ref, record, self._library.cards[ref].status, find)


def _encoded(ref: str, record: Benchmark, status: str, find: Find) -> str:
    """Return three lines of JSON: an overview that every build reads, the sides, the checks."""
    sides = [Side(ref, record, result, status).facts for result in record.results]
    by_id = {each.result: index for index, each in enumerate(sides)}
    group = next((each.group for each in record.sources if each.source == record.primary_source), "")
    head = sides[by_id[record.headline]] if record.headline in by_id else None
    overview = {
        "headline": record.headline,
        "family": family_of(head) if head else "",
        "families": sorted({family_of(each) for each in sides} - {""}),
        "stated": [
            [by_id[each.side.result], *each.plain()[1:]] for each in stated_by(ref, record, status, group)
        ],
    }
    lines = (overview, [each.plain() for each in sides], list(checks_of(record, find)))
    return "\n".join(json.dumps(each, separators=(",", ":")) for each in lines)
