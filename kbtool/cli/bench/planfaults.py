"""What is wrong with a plan file: each fault with its place, what was found, what is expected and what to do."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kbtool.store.fields import described
from kbtool.store.places import key_place, place
from kbtool.store.suggest import nearest
from kbtool.store.yamlio import parse_with_positions

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from kbtool.store.positions import Node

__all__ = ["plan_faults"]

MOST_FAULTS: Final = 20
"""More are not read: correcting the first ones mostly mends the rest."""
_KINDS: Final = frozenset(
    {"single_stream", "concurrency", "rate", "prefill", "conversation", "long_decode", "replay"}
)
_LIMITS: Final = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "of at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "of at most"),
}
_TYPES: Final = {
    "string_type": "text: put it into quotes",
    "tuple_type": "a list: write it as `[a, b]`, or one `- ` line an entry",
    "dict_type": "a mapping: write it as `{key: value}`",
    "model_type": "a mapping: write it as `key: value` lines",
    "model_attributes_type": "a mapping: write it as `key: value` lines",
    "bool_type": "`true` or `false`: write one of them",
    "int_type": "a whole number: write it without quotes and point",
}
_FORMS: Final = (
    (re.compile(r"\^\[a-z\]\[a-z0-9\]\*\("), "lower-case words of a-z and 0-9, joined by single hyphens"),
    (re.compile(r"\^\(?\??:?\(?[a-z|]+\)?/"), "a reference such as `engines/vllm`"),
    (re.compile(r"\^\[A-Z_\]"), "the name of a variable, in capitals, such as `VLLM_API_KEY`"),
    (
        re.compile(r"sha256"),
        "an image such as `vllm/vllm-openai:v0.11.0` or `name@sha256:...`, and nothing else",
    ),
    (re.compile(r"\^/"), "a path from the root, without line ends, `:` and `,`"),
    (re.compile(r"^\^\[\^\\n\]\*\$$"), "one line: join its parts"),
)
"""Pattern of a field -> what it takes."""


def plan_faults(path: Path, data: bytes, value: object, error: "ValidationError") -> Iterator[str]:
    """Yield a message for each fault, in the order in which they were found, the first `MOST_FAULTS` of them."""
    if not isinstance(value, Mapping):
        yield (
            f"{path}:1:1: {described(value)}; expected `key: value` lines, as a plan has: see the ready ones in plans/"
        )
        return
    root = parse_with_positions(data)[1]
    found = [each for each in error.errors(include_url=False) if not _follows_from_another(each)]
    for each in found[:MOST_FAULTS]:
        location = [part for part in each["loc"] if part not in _KINDS and part != "[key]"]
        node = _node(root, location)
        where = key_place(node) if each["type"] == "extra_forbidden" else place(root, location)
        field = ".".join(str(part) for part in location) or "the plan"
        yield f"{path}:{where.line}:{where.column}: {field}: {_said(each)}"
    if len(found) > MOST_FAULTS:
        yield f"{path}: {len(found) - MOST_FAULTS:,} more faults: correct these first"


def _follows_from_another(fault: "ErrorDetails") -> bool:
    """Return whether a list is only too short because its entries have faults of their own."""
    return (
        fault["type"] == "too_short"
        and isinstance(fault["input"], list)
        and len(fault["input"]) >= fault.get("ctx", {}).get("min_length", 0)
    )


def _node(root: "Node", location: list[Any]) -> "Node":
    node = root
    for part in location:
        node = node.child(part) or node
    return node


def _said(fault: "ErrorDetails") -> str:
    kind = fault["type"]
    if kind in _LIMITS:
        return _out_of_range(fault)
    if kind in _TYPES:
        return f"{described(fault['input'])}; expected {_TYPES[kind]}"
    explain = _EXPLAIN.get(kind)
    return explain(fault) if explain else str(fault["msg"]).removeprefix("Value error, ")


def _out_of_range(fault: "ErrorDetails") -> str:
    key, words = _LIMITS[fault["type"]]
    limit = fault.get("ctx", {}).get(key)
    return f"{described(fault['input'])}; expected a number {words} {limit}: correct it"


def _unknown_key(fault: "ErrorDetails") -> str:
    near = _nearest_key(str(fault["loc"][-1]))
    meant = (
        f"did you mean `{near}`?" if near else "`schema/plan.schema.json` has them all: correct or remove it"
    )
    return f"there is no such key here; {meant}"


def _word(fault: "ErrorDetails") -> str:
    ctx = fault.get("ctx", {})
    expected = str(ctx.get("expected", ctx.get("expected_tags", "")))
    found = ctx["tag"] if "tag" in ctx else fault["input"]
    names = re.findall(r"'([^']+)'", expected)
    near = nearest(found, names) if isinstance(found, str) else None
    hint = f"did you mean `{near}`?" if near else "write one of them"
    return f"{described(found)}; expected {expected}: {hint}"


def _pattern(fault: "ErrorDetails") -> str:
    pattern = str(fault.get("ctx", {}).get("pattern", ""))
    form = next((words for look, words in _FORMS if look.search(pattern)), f"what matches {pattern}")
    return f"{described(fault['input'])}; expected {form}: correct it"


def _length(fault: "ErrorDetails") -> str:
    ctx, found = fault.get("ctx", {}), fault["input"]
    what = "characters" if isinstance(found, str) else "entries"
    if fault["type"].endswith("too_short"):
        return f"{len(found):,} {what}; expected at least {ctx['min_length']:,}: add what belongs here"
    return f"{len(found):,} {what}; expected at most {ctx['max_length']:,}: shorten it"


_EXPLAIN: Final[Mapping[str, Callable[["ErrorDetails"], str]]] = {
    "extra_forbidden": _unknown_key,
    "missing": lambda _: "is missing: add it",
    "literal_error": _word,
    "union_tag_invalid": _word,
    "union_tag_not_found": lambda _: f"has no `kind`; expected one of {', '.join(sorted(_KINDS))}: add it",
    "string_pattern_mismatch": _pattern,
    "string_too_long": _length,
    "string_too_short": _length,
    "too_short": _length,
    "too_long": _length,
}
"""pydantic's error type -> what to say."""


@cache
def _keys() -> tuple[str, ...]:
    from kbtool.runner.plan import Plan

    schema = Plan.model_json_schema()
    parts = (schema, *schema["$defs"].values())
    return tuple(sorted({key for part in parts for key in part.get("properties", {})}))


def _nearest_key(name: str) -> str | None:
    """Return the key of a plan, at whatever place, that was meant."""
    return nearest(name, _keys())
