"""Structured output: records in plain sentences, and the JSON Schema that the answer has to follow."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kbtool.runner.prompts.draws import Draws
from kbtool.runner.prompts.words import (
    ADJECTIVES,
    CITIES,
    CODE_NOUNS,
    FAMILY_NAMES,
    GIVEN_NAMES,
    NOUNS,
    PLACES,
    PLURALS,
)

__all__ = ["DOMAINS", "Domain", "answer_schema", "domain_of", "records"]

Record = Callable[[Draws], str]


@dataclass(frozen=True, slots=True)
class Domain:
    """A kind of record, and the fields that an answer lists for each."""

    name: str
    subject: str
    """Plural, as the request names them."""
    record: Record
    fields: tuple[tuple[str, str], ...]
    """Name and JSON Schema of each field, the latter as JSON."""


def _person(draws: Draws) -> str:
    return f"{draws.pick(GIVEN_NAMES)} {draws.pick(FAMILY_NAMES)}"


def _date(draws: Draws) -> str:
    return f"20{draws.between(21, 39)}-{draws.between(1, 12):02d}-{draws.between(1, 28):02d}"


def _price(draws: Draws) -> str:
    return f"{draws.between(1, 999)}.{draws.between(0, 99):02d}"


def _order(draws: Draws) -> str:
    return (
        f"Order {draws.between(10_000, 99_999)}: {_person(draws)} bought {draws.between(2, 90)} "
        f"{draws.pick(ADJECTIVES)} {draws.pick(PLURALS)} at {_price(draws)} each, to be sent to {draws.pick(CITIES)} "
        f"by {_date(draws)}; it is {draws.pick(('open', 'packed', 'shipped', 'returned'))}."
    )


def _reading(draws: Draws) -> str:
    return (
        f"Sensor {draws.pick(CODE_NOUNS)}-{draws.between(1, 400)} in the {draws.pick(ADJECTIVES)} {draws.pick(PLACES)} "
        f"of {draws.pick(CITIES)} showed {draws.between(-40, 120)}.{draws.below(10)} degrees on {_date(draws)}, after "
        f"{draws.between(2, 600)} hours; the {draws.pick(NOUNS)} was "
        f"{draws.pick(('normal', 'low', 'high', 'missing'))}."
    )


def _ticket(draws: Draws) -> str:
    return (
        f"Ticket {draws.between(1000, 9999)}, opened by {_person(draws)} on {_date(draws)}: the {draws.pick(ADJECTIVES)} "
        f"{draws.pick(CODE_NOUNS)} of the {draws.pick(NOUNS)} fails after {draws.between(2, 500)} "
        f"{draws.pick(CODE_NOUNS)} events; urgency {draws.pick(('minor', 'major', 'critical', 'none'))}, given to "
        f"{_person(draws)}."
    )


def _loan(draws: Draws) -> str:
    return (
        f'"The {draws.pick(ADJECTIVES)} {draws.pick(NOUNS).title()}", {draws.between(60, 900)} pages, was lent to '
        f"{_person(draws)} of {draws.pick(CITIES)} on {_date(draws)} for {draws.between(7, 90)} days; its cover is "
        f"{draws.pick(('new', 'worn', 'torn', 'lost'))}, the fee {_price(draws)}."
    )


def _enum(*values: str) -> str:
    return json.dumps({"type": "string", "enum": list(values)})


_TEXT: Final = '{"type": "string"}'
_COUNT: Final = '{"type": "integer"}'
_NUMBER: Final = '{"type": "number"}'
_FLAG: Final = '{"type": "boolean"}'

DOMAINS: Final = (
    Domain("orders", "orders", _order, (
        ("order", _COUNT), ("customer", _TEXT), ("pieces", _COUNT), ("unit_price", _NUMBER), ("city", _TEXT),
        ("due", _TEXT), ("state", _enum("open", "packed", "shipped", "returned")), ("late", _FLAG),
    )),
    Domain("readings", "sensor readings", _reading, (
        ("sensor", _TEXT), ("place", _TEXT), ("city", _TEXT), ("degrees", _NUMBER), ("date", _TEXT),
        ("hours", _COUNT), ("level", _enum("normal", "low", "high", "missing")), ("doubtful", _FLAG),
    )),
    Domain("tickets", "tickets", _ticket, (
        ("ticket", _COUNT), ("opened_by", _TEXT), ("opened_on", _TEXT), ("part", _TEXT), ("events", _COUNT),
        ("urgency", _enum("minor", "major", "critical", "none")), ("given_to", _TEXT), ("closed", _FLAG),
    )),
    Domain("loans", "loans of books", _loan, (
        ("title", _TEXT), ("pages", _COUNT), ("reader", _TEXT), ("city", _TEXT), ("lent_on", _TEXT),
        ("days", _COUNT), ("cover", _enum("new", "worn", "torn", "lost")), ("fee", _NUMBER),
    )),
)  # fmt: skip


def domain_of(draws: Draws) -> Domain:
    """Return one of the domains."""
    return draws.pick(DOMAINS)


def answer_schema(domain: Domain, draws: Draws) -> dict[str, Any]:
    """Return a JSON Schema for a list of records with 4 to 6 of the domain's fields.

    Only keywords that strict decoders of all engines take: type, properties, required, items, enum and
    additionalProperties.
    """
    chosen = draws.sample(domain.fields, draws.between(4, 6))
    properties = {name: json.loads(schema) for name, schema in chosen}
    item = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            domain.name: {"type": "array", "items": item},
            "count": {"type": "integer"},
            "remark": {"type": "string"},
        },
        "required": [domain.name, "count", "remark"],
        "additionalProperties": False,
    }


def records(draws: Draws, n_chars: int) -> str:
    """Return at least that many characters of records, one a line, of all domains by turns.

    By turns, so that the number of tokens a character is that of the class and not of the domain asked about; the
    other records are what the reader of the list has to leave out.
    """
    lines: list[str] = []
    have = 0
    while have < n_chars:
        line = DOMAINS[len(lines) % len(DOMAINS)].record(draws)
        lines.append(line)
        have += len(line) + 1
    return "\n".join(lines) + "\n"
