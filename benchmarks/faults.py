"""Faults to plant in valid records, each with the place, the code and the suggestion that its finding must have.

The expected place is worked out from where the text was changed, never by the code under test; columns count code
points.  Before a fault is planted, the record gets text of other scripts above it and on its line.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from kbtool.findings import Edit
from kbtool.schema import model_for
from kbtool.schema.base import SLUG_PATTERN, StrictModel
from kbtool.store import fields
from kbtool.store.edit import apply
from kbtool.store.positions import Node
from kbtool.store.yamlio import parse_with_positions

__all__ = ["DEAD_REFERENCE", "KINDS", "Planted", "internationalised", "plant"]

OTHER_SCRIPTS: Final = "# Größe, 測定, мощность, e\N{LATIN SMALL LETTER E WITH ACUTE}, \N{ROCKET}"

Location = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Planted:
    """A record with one fault."""

    kind: str
    text: str
    line: int
    column: int
    code: str
    suggestion: str | None
    """None where nothing need be suggested."""


@dataclass(frozen=True, slots=True)
class Spot:
    """One value of a record."""

    location: Location
    node: Node
    value: Any
    annotation: Any
    type: type | None
    """Of a single value."""

    @property
    def key(self) -> str:
        """The key or index of the value."""
        return str(self.location[-1])


class Record:
    """A valid record, taken apart."""

    def __init__(self, text: str, kind: str) -> None:
        self.text = text
        self.model: type[StrictModel] = model_for(kind)
        self.value, self.root = parse_with_positions(text.encode())
        self.spots = tuple(self._spots(self.value, self.root, ()))

    def _spots(self, value: Any, node: Node, location: Location) -> Iterator[Spot]:
        annotation = fields.annotation_at(self.model, location)
        if location and annotation is not None:
            yield Spot(location, node, value, annotation, fields.value_type(self.model, location))
        if isinstance(node.children, dict):
            for key, child in node.children.items():
                yield from self._spots(value[key], child, (*location, key))
        elif isinstance(node.children, list):
            for index, child in enumerate(node.children):
                yield from self._spots(value[index], child, (*location, index))

    def parent(self, spot: Spot) -> Node:
        """Return the node of the mapping or list that holds a value."""
        node = self.root
        for part in spot.location[:-1]:
            child = node.child(part)
            assert child is not None
            node = child
        return node

    def is_flow(self, spot: Spot) -> bool:
        """Return whether the value stands between brackets."""
        return self.text[self.parent(spot).start] in "[{"

    def owner(self, spot: Spot) -> type[StrictModel] | None:
        """Return the model that has the value as a field."""
        return fields.model_at(self.model, spot.location[:-1])

    def is_required(self, spot: Spot) -> bool:
        """Return whether the model of the value cannot do without it."""
        owner = self.owner(spot)
        return owner is not None and owner.model_fields[fields.keys(owner)[spot.key]].is_required()


_record: Final = lru_cache(maxsize=256)(Record)

Change = tuple[Edit, int, str, str | None]
"""Edit, offset of the finding in the text after it, code, suggestion."""
Fault = Callable[[Record, Spot, random.Random], Change | None]


def plant(kind: str, text: str, record_kind: str, chance: random.Random) -> Planted | None:
    """Plant one fault of a kind in a valid record, or return None where the record has no place for it.

    Args:
        kind: One of `KINDS`, or `DEAD_REFERENCE`.
        text: The record.
        record_kind: Its kind.
        chance: Decides where.
    """
    fault = _dead_reference if kind == DEAD_REFERENCE else KINDS[kind]
    record = _record(text, record_kind)
    for spot in chance.sample(record.spots, len(record.spots)):
        change = fault(record, spot, chance)
        if change is not None:
            edit, offset, code, suggestion = change
            faulty = apply(text, [edit])
            line = faulty.count("\n", 0, offset) + 1
            column = offset - faulty.rfind("\n", 0, offset)
            return Planted(kind, faulty, line, column, code, suggestion)
    return None


def internationalised(text: str) -> str:
    """Return a record with other scripts above everything, and the conditions of its results on one line behind them."""
    head, _, rest = text.partition("\n")
    return f"{head}\n{OTHER_SCRIPTS}\n" + re.sub(r"\n    at:\n((?:      .*\n)+)", _one_line, rest)


def _one_line(match: re.Match[str]) -> str:
    entries = [line.strip() for line in match[1].splitlines()]
    return f'\n    at: {{prompt_as_published: "größer, 測定, \N{ROCKET}", {", ".join(entries)}}}\n'


# --- Keys -------------------------------------------------------------------------------------


def _misspelt(word: str, chance: random.Random) -> str:
    """Return `word` with one slip of the keyboard."""
    at = chance.randrange(1, len(word))
    letter = chance.choice("abcdefghijklmnopqrstuvwxyz")
    slips = [word[:at] + word[at + 1 :], word[:at] + letter + word[at:], word[:at] + letter + word[at + 1 :]]
    slips.append(word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :])
    return chance.choice([slip for slip in slips if slip != word] or [word + letter])


def _misspelt_key(*, top: bool, required: bool, flow: bool) -> Fault:
    def fault(record: Record, spot: Spot, chance: random.Random) -> Change | None:
        owner = record.owner(spot)
        is_wanted = (
            owner is not None
            and spot.node.key_line
            and len(spot.key) > 4
            and (len(spot.location) == 1) == top
            and record.is_required(spot) == required
            and record.is_flow(spot) == flow
        )
        if not is_wanted or owner is None:
            return None
        slip = _misspelt(spot.key, chance)
        if slip in fields.keys(owner):
            return None
        start = spot.node.key_start
        return Edit(start, spot.node.key_end, slip), start, "E002", spot.key

    return fault


def _missing_key(*, top: bool, in_item: bool) -> Fault:
    def fault(record: Record, spot: Spot, _chance: random.Random) -> Change | None:
        is_item = len(spot.location) > 1 and isinstance(spot.location[-2], int)
        is_wanted = (
            record.owner(spot) is not None
            and (len(spot.location) == 1) == top
            and is_item == in_item
            and record.is_required(spot)
            and not record.is_flow(spot)
        )
        parent = record.parent(spot)
        assert not is_wanted or isinstance(parent.children, dict)
        siblings = [node for node in parent.children.values() if node is not spot.node] if is_wanted else []  # type: ignore[union-attr]
        if not siblings:
            return None
        next_start = min(
            (node.key_start for node in siblings if node.key_start > spot.node.key_start), default=None
        )
        if next_start is None:
            return None  # the last entry ends where its mapping ends, which is another test's matter
        edit = Edit(spot.node.key_start, next_start, "")
        first = min(node.key_start for node in siblings)
        shift = next_start - spot.node.key_start if first > spot.node.key_start else 0
        return edit, (first - shift if top or is_item else parent.key_start), "E003", None

    return fault


def _misplaced_key(_record: Record, spot: Spot, _chance: random.Random) -> Change | None:
    if spot.location != ("system", "nodes"):
        return None
    start = spot.node.key_start
    return Edit(start, start, "attn_dp: 1\n  "), start, "E002", None


def _attribute_name(record: Record, spot: Spot, _chance: random.Random) -> Change | None:
    if spot.key != "evidence" or spot.location[0] != "results" or record.is_flow(spot):
        return None
    start = spot.node.key_start
    return Edit(start, start, "with_: []\n    "), start, "E002", "with"


def _twice(record: Record, spot: Spot, _chance: random.Random) -> Change | None:
    if record.owner(spot) is None or record.is_flow(spot) or spot.node.children is not None:
        return None
    indent = spot.node.key_column - 1
    end = record.text.find("\n", spot.node.end)
    return Edit(end, end, f"\n{' ' * indent}{spot.key}: again"), end + 1 + indent, "Y107", None


def _tab(record: Record, spot: Spot, _chance: random.Random) -> Change | None:
    start = spot.node.key_start - 1
    if not spot.node.key_line or record.is_flow(spot) or record.text[start - 2 : start + 1] != "   ":
        return None
    return Edit(start, start + 1, "\t"), start, "Y122", None


# --- Values -----------------------------------------------------------------------------------


def _value(
    wanted: Callable[[Spot], bool],
    make: Callable[[Any, random.Random], str],
    code: str,
    suggested: bool | str = False,
) -> Fault:
    """Return a fault that replaces a value on its line by another one."""

    def fault(record: Record, spot: Spot, chance: random.Random) -> Change | None:
        source = record.text[spot.node.start : spot.node.end]
        if not wanted(spot) or "\n" in source or not source:
            return None
        written = make(spot.value, chance)
        edit = Edit(spot.node.start, spot.node.end, written)
        suggestion = str(spot.value) if suggested is True else suggested or None
        return edit, spot.node.start, code, suggestion

    return fault


def _is(expected: type) -> Callable[[Spot], bool]:
    return lambda spot: spot.value is not None and spot.type is expected


def _is_word(spot: Spot) -> bool:
    return isinstance(spot.value, str) and len(spot.value) > 4 and bool(fields.words(spot.annotation))


def _is_word_in_braces(spot: Spot) -> bool:
    return _is_word(spot) and "at" in spot.location


def _is_reference(spot: Spot) -> bool:
    return (
        isinstance(spot.value, str)
        and re.fullmatch(r"(source|engine|model|accelerator)s/[a-z0-9-]+", spot.value) is not None
    )


def _is_key(*names: str) -> Callable[[Spot], bool]:
    return lambda spot: spot.key in names


def _is_amount(spot: Spot) -> bool:
    return _is(Decimal)(spot) and spot.node.plain


def _is_text(spot: Spot) -> bool:
    return _is(str)(spot) and not _is_reference(spot)


def _is_required_text(spot: Spot) -> bool:
    return spot.key in {"title", "locator", "publisher", "metric"}


def _always(text: str) -> Callable[[Any, random.Random], str]:
    return lambda *_: text


DEAD_REFERENCE: Final = "reference to nowhere"
"""Only a run over more than the file can find it."""


def _dead_reference(_record: Record, spot: Spot, chance: random.Random) -> Change | None:
    if not _is_reference(spot) or spot.key not in {"accelerator", "engine", "model"}:
        return None
    folder, _, name = spot.value.partition("/")
    slip = _misspelt(name, chance)
    start = spot.node.start
    is_id = re.fullmatch(SLUG_PATTERN, slip) is not None
    return (Edit(start, spot.node.end, f"{folder}/{slip}"), start, "L001", spot.value) if is_id else None


KINDS: Final[dict[str, Fault]] = {
    "misspelt required key at the top": _misspelt_key(top=True, required=True, flow=False),
    "misspelt optional key at the top": _misspelt_key(top=True, required=False, flow=False),
    "misspelt required key inside": _misspelt_key(top=False, required=True, flow=False),
    "misspelt optional key inside": _misspelt_key(top=False, required=False, flow=False),
    "misspelt key in braces": _misspelt_key(top=False, required=False, flow=True),
    "missing key at the top": _missing_key(top=True, in_item=False),
    "missing key inside": _missing_key(top=False, in_item=False),
    "missing key of a list item": _missing_key(top=False, in_item=True),
    "key of another place": _misplaced_key,
    "attribute's name for a key": _attribute_name,
    "key given twice": _twice,
    "tab before a key": _tab,
    "misspelt word": _value(_is_word, _misspelt, "E005", suggested=True),
    "misspelt word in braces": _value(_is_word_in_braces, _misspelt, "E005", suggested=True),
    "word in capitals": _value(_is_word, lambda value, _: value.upper(), "E005", suggested=True),
    "list for a text": _value(_is_text, _always("[a, b]"), "E004"),
    "mapping for a number": _value(_is(Decimal), _always("{value: 1}"), "E004"),
    "text for a mapping": _value(_is_key("at"), _always("alone"), "E004"),
    "text for a list": _value(_is_key("tags", "cache_proof"), _always("generated"), "E004"),
    "count below one": _value(_is(int), _always("0"), "E006"),
    "fraction for a count": _value(_is(int), _always("1.5"), "E004"),
    "negative amount": _value(_is_key("power_limit_w", "acceptance_length"), _always("-1.5"), "E006"),
    "number with separators": _value(_is(Decimal), _always('"6,853"'), "E007", suggested="6853"),
    "number with unit": _value(_is(Decimal), _always('"~93.9 tok/s"'), "E007", suggested="93.9"),
    "month thirteen": _value(_is(date), _always('"2026-13-01"'), "E008"),
    "no such day": _value(_is(date), _always('"2026-02-30"'), "E008"),
    "date with slashes": _value(_is(date), lambda value, _: value.replace("-", "/"), "E008", suggested=True),
    "reference without folder": _value(
        _is_reference, lambda value, _: value.partition("/")[2], "E011", suggested=True
    ),
    "reference as a path": _value(
        _is_reference, lambda value, _: f"records/{value}.yaml", "E011", suggested=True
    ),
    "reference to a misspelt folder": _value(
        _is_reference, lambda value, _: value.replace("s/", "/", 1), "E011", suggested=True
    ),
    "id in capitals": _value(
        lambda spot: spot.location == ("id",), lambda value, _: value.upper(), "E009", suggested=True
    ),
    "anchor with blanks": _value(
        _is_key("headline"), lambda value, _: value.replace("-", " "), "E010", suggested=True
    ),
    "unquoted number for a text": _value(_is_text, _always("13.50"), "E019", suggested='"13.50"'),
    "quoted count": _value(_is(int), lambda value, _: f'"{value}"', "E004", suggested=True),
    "word for a boolean": _value(_is(bool), _always('"yes"'), "E004", suggested="true"),
    "nothing where a text must be": _value(_is_required_text, _always("null"), "E021"),
    "empty text": _value(_is_text, _always('""'), "E015"),
    "text that is too long": _value(
        _is_required_text, _always("a " * 160 + "text"), "E014"
    ),
    "text of two lines": _value(_is_required_text, _always('"one\\ntwo"'), "E016"),
    "hash that is cut": _value(_is_key("content_sha256"), _always("8f434346648f6b96df89dda901c5176b"), "E012"),
    "address without scheme": _value(_is_key("url"), _always("example.org/report"), "E013"),
    "ambiguous word": _value(_is_text, _always("no"), "Y104"),
    "anchor": _value(_is_text, lambda value, _: f"&here {value}", "Y108"),
}  # fmt: skip
"""Name -> how to plant it."""
