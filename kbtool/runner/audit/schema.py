"""Whether an answer follows the JSON Schema that it was asked to, for the keywords that our schemas use."""

import json
import re
from typing import Any, Final

__all__ = ["is_json_beginning", "schema_fault"]

_TAIL: Final = 8
"""A value that is cut in its middle, such as `fals`, is found wrong so many characters before the end at most."""
_STRING_IS_OPEN: Final = "Unterminated string"
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_LAST_ESCAPE: Final = re.compile(r"\\u?[0-9a-fA-F]{0,4}$")


def schema_fault(text: str, schema: dict[str, Any]) -> str | None:
    """Return why a whole answer does not follow the schema, or None where it does."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"it is no JSON: {error}"
    return _fault(value, schema, "the answer")


def is_json_beginning(text: str) -> bool:
    """Return whether an answer that was cut for its length is JSON as far as it goes."""
    text = text.strip()
    if not text.startswith("{"):
        return False
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(_LAST_ESCAPE.sub("", text)) - _TAIL
        return at_end or error.msg.startswith(_STRING_IS_OPEN)
    except RecursionError:
        return False
    return True


def _fault(value: Any, schema: dict[str, Any], place: str) -> str | None:
    kind = schema.get("type")
    if kind is not None:
        is_flag = isinstance(value, bool)
        whole = kind == "integer" and isinstance(value, float) and value.is_integer()
        if not (isinstance(value, _TYPES[kind]) or whole) or (is_flag and kind != "boolean"):
            return f"{place} is no {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place} is none of the values allowed"
    if isinstance(value, dict):
        return _object_fault(value, schema, place)
    if isinstance(value, list) and "items" in schema:
        faults = (_fault(each, schema["items"], f"{place}, item {at}") for at, each in enumerate(value))
        return next((fault for fault in faults if fault is not None), None)
    return None


def _object_fault(value: dict[str, Any], schema: dict[str, Any], place: str) -> str | None:
    properties = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        return f"{place} lacks {missing[0]}"
    if schema.get("additionalProperties") is False and not value.keys() <= properties.keys():
        return f"{place} has members that the schema does not allow"
    faults = (
        _fault(value[name], each, f"{place}, {name}") for name, each in properties.items() if name in value
    )
    return next((fault for fault in faults if fault is not None), None)
