"""Rows of facts: a label, a value with its unit, where it stands, and what speaks against it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kbtool.schema.common import Derivation, Fact, Figure, OtherFact, OtherFigure
from kbtool.schema.things import Feature
from kbtool.site.views.base import Citations, Link
from kbtool.site.views.text import figure_quantity, quantity_text, words

__all__ = ["Group", "Item", "fact_item", "features", "figure_item", "plain_item", "present", "same_text"]


_Stated = Fact | Figure | OtherFact | OtherFigure


class Item(NamedTuple):
    """One row. The template takes it apart by position: keep the two in step."""

    label: str
    text: str = ""
    unit: str = ""
    raw: str = ""
    """The exact number, where the text is another one."""
    link: Link | None = None
    """Shown after the text."""
    basis: str = ""
    """`inferred` or `derived`; nothing for what a source states."""
    notes: tuple[str, ...] = ()
    """Smaller lines: as published, by what convention, how derived, with what caveat."""
    evidence: tuple[Link, ...] = ()
    gap: str = ""
    """For a gap: `omitted`, `gap` or `missing`."""
    source: Link | None = None
    """The source that was searched in vain."""
    code: bool = False
    """Whether the text is a machine's word."""
    others: tuple["Item", ...] = ()
    """What other sources say of the same."""


class Group(NamedTuple):
    """Rows under one heading."""

    title: str
    items: tuple[Item, ...]
    note: str = ""


def present(items: Iterable[Item | None]) -> tuple[Item, ...]:
    """Return the rows that there are."""
    return tuple([each for each in items if each is not None])


def plain_item(label: str, value: str | None, *, code: bool = False) -> Item | None:
    """Return a row for a text, or None where the source does not say."""
    return Item(label, value, code=code) if value else None


def figure_item(label: str, figure: Figure | None, unit: str, citations: Citations) -> Item | None:
    """Return a row for a figure with all that stands beside it."""
    if figure is None:
        return None
    quantity = figure_quantity(figure, unit)
    shown = quantity_text(quantity)
    others = tuple([
        Item(
            other.why_not,
            (theirs := figure_quantity(other, unit)).text,
            theirs.unit,
            theirs.raw if theirs.raw != theirs.text else "",
            basis=_shown_basis(other.basis),
            notes=_notes(other, quantity_text(theirs)),
            evidence=citations.cite(other.evidence),
        )
        for other in figure.others
    ])  # fmt: skip
    return Item(
        label,
        f"{quantity.sign} {quantity.text}" if quantity.sign else quantity.text,
        quantity.unit,
        quantity.raw if quantity.raw != quantity.text else "",
        basis=_shown_basis(figure.basis),
        notes=_notes(figure, shown),
        evidence=citations.cite(figure.evidence),
        others=others,
    )


def fact_item(label: str, fact: Fact | None, citations: Citations) -> Item | None:
    """Return a row for a fact in words."""
    if fact is None:
        return None
    others = tuple([
        Item(
            other.why_not,
            other.value,
            basis=_shown_basis(other.basis),
            notes=_notes(other, other.value),
            evidence=citations.cite(other.evidence),
        )
        for other in fact.others
    ])  # fmt: skip
    return Item(
        label,
        fact.value,
        basis=_shown_basis(fact.basis),
        notes=_notes(fact, fact.value),
        evidence=citations.cite(fact.evidence),
        others=others,
    )


def features(found: Sequence[Feature], citations: Citations) -> Iterator[Item | None]:
    """Yield a row for each named property."""
    for feature in found:
        yield fact_item(words(feature.name), feature.fact, citations)


def derivation_text(derivation: Derivation) -> str:
    """Return a formula with its inputs."""
    inputs = f" (from {', '.join(derivation.inputs)})" if derivation.inputs else ""
    return f"{derivation.formula}{inputs}"


def same_text(published: str, shown: str) -> bool:
    """Return whether a figure as published says no more than the figure as shown."""
    theirs, ours = _bare(published), _bare(shown)
    return theirs == ours or theirs == ours.rstrip("abcdefghijklmnopqrstuvwxyz/")


def _bare(text: str) -> str:
    """Return text without blanks and case, with one sign for about and one for a range."""
    return "".join(text.split()).casefold().replace("~", "\N{ALMOST EQUAL TO}").replace("-", "\N{EN DASH}")


def _shown_basis(basis: str) -> str:
    return "" if basis == "stated" else basis


def _notes(stated: _Stated, shown: str) -> tuple[str, ...]:
    """Return the smaller lines under a value."""
    published = stated.as_published
    lines = (
        f"as published: {published}" if published and not same_text(published, shown) else None,
        stated.convention,
        derivation_text(stated.derivation) if stated.derivation else None,
        stated.caveat,
    )
    return tuple([line for line in lines if line])
