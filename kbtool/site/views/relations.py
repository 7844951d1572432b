"""Relations between records, stated here or elsewhere, gathered by what they lead to."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from kbtool.schema import Record
from kbtool.schema.common import Link as RecordLink
from kbtool.site.places import UP, result_place
from kbtool.site.views.base import Context, Link
from kbtool.site.views.text import one_line

__all__ = ["Pair", "RelationView", "relations_of"]

_STATED_HERE: Final = {
    "supersedes": "Supersedes",
    "corrects": "Corrects",
    "withdraws": "Withdraws",
    "contradicts": "Contradicts",
    "replicates": "Replicates",
    "same_run_as": "Reports the same run as",
    "same_system_as": "Was measured on the same system as",
}
_STATED_THERE: Final = {
    "supersedes": "Is superseded by",
    "corrects": "Is corrected by",
    "withdraws": "Is withdrawn by",
    "contradicts": "Is contradicted by",
    "replicates": "Is replicated by",
    "same_run_as": "Reports the same run as",
    "same_system_as": "Was measured on the same system as",
    "superseded_by": "Supersedes",
    "resolved_by": "Settles what is open in",
    "effect": "Was changed by the trap",
    "cross_post_of": "Is cross-posted as",
    "quotes": "Is quoted by",
    "summarises": "Is summarised by",
    "updates": "Is updated by",
    "builds_on": "Is built on by",
}


class Pair(NamedTuple):
    """What exactly is related: a result of this record, a result of the other, and a remark."""

    own: str
    """Empty where the other result has the same name."""
    other: Link | None
    note: str


class RelationView(NamedTuple):
    """One relation to one record."""

    relation: str
    link: Link
    pairs: tuple[Pair, ...]


def relations_of(record: Record, context: Context) -> tuple[RelationView, ...]:
    """Return the relations, each record once under each relation."""
    gathered: dict[tuple[str, str], list[Pair]] = {}
    for relation, target, own, note in (*_stated_here(record), *_stated_there(context)):
        ref, _, result = target.partition("#")
        pair = Pair("" if own == result else own, _result_link(context, ref, result), note)
        pairs = gathered.setdefault((relation, ref), [])
        if pair not in pairs and (own or result or note):
            pairs.append(pair)
    return tuple(
        [
            RelationView(relation, context.link(ref), tuple(pairs))
            for (relation, ref), pairs in gathered.items()
        ]
    )


def _stated_here(record: Record) -> Iterator[tuple[str, str, str, str]]:
    for link in record.links:
        ratio = _ratio(link) if link.ratio is not None else ""
        yield (
            _STATED_HERE[link.relation],
            link.target,
            link.result or "",
            "; ".join(filter(None, (ratio, link.note))),
        )


def _stated_there(context: Context) -> Iterator[tuple[str, str, str, str]]:
    """Yield what other records say; that they use this one is listed apart, by kind."""
    for card, mention in context.incoming:
        relation = _STATED_THERE.get(mention.relation)
        if relation is not None:
            own = mention.target.partition("#")[2]
            there = f"{card.ref}#{mention.anchor}" if mention.anchor in card.results else card.ref
            yield relation, there, own, one_line(mention.note, 300)


def _result_link(context: Context, ref: str, result: str) -> Link | None:
    if not result:
        return None
    card = context.card if ref == context.card.ref else context.find(ref)
    if card is None or result not in card.results:
        return Link(result)
    return Link(result, UP + result_place(ref, card.results, result))


def _ratio(link: RecordLink) -> str:
    if link.ratio_low is None or link.ratio_high is None:
        return f"ratio {link.ratio:f}"
    return f"ratio {link.ratio:f}, 95 % interval {link.ratio_low:f} to {link.ratio_high:f}"
