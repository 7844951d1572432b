"""How one request is to be answered: from the field `kb_truth` of its body, over the defaults of the server."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final

__all__ = ["Spec", "SpecError", "read_spec"]

_CHOICES: Final[Mapping[str, frozenset[str]]] = {
    "framing": frozenset({"chunked", "close", "length"}),
    "role": frozenset({"first", "early", "none"}),
    "usage": frozenset({"end", "each", "none", "null"}),
    "finish": frozenset({"own", "last", "none"}),
    "abort": frozenset({"close", "reset"}),
    "newline": frozenset({"lf", "crlf"}),
}
MAX_TOKENS: Final = 1_000_000


class SpecError(ValueError):
    """A field that is unknown, or a value that it cannot have."""


@dataclass(frozen=True, slots=True)
class Spec:
    """The script of one answer. Times in ms, counts in tokens."""

    tokens: int = 64
    """Tokens generated; a request's `max_tokens` lowers it."""
    pattern: tuple[int, ...] = (1,)
    """Tokens in the first, second ... chunk, repeated."""
    ttft_ms: float = 200.0
    """From the request's having been parsed to the first token."""
    step_ms: float = 20.0
    """Between two chunks."""
    sync: bool = True
    """All streams send on one clock of `step_ms`, as the steps of an engine do."""
    role: str = "first"
    """Role chunk: `first` with the first token, `early` as soon as the request is there, or `none`."""
    reasoning: int = 0
    """Tokens at the beginning that go to `reasoning_content`."""
    stop_after: int = 0
    """Tokens after which generation stops by itself, whatever was asked; 0: it does not."""
    stall_at: int = 0
    """Chunk before which the stream stalls; 0: none does."""
    stall_ms: float = 0.0
    split: tuple[int, ...] = ()
    """Offsets in bytes at which each token's send is cut in pieces."""
    split_gap_ms: float = 0.0
    """Between the pieces."""
    comment_ms: float = 0.0
    """Between SSE comments before the first token; 0: none are sent."""
    headers_early: bool = False
    """Send the head of the answer as soon as the request is there."""
    framing: str = "chunked"
    """`chunked`; `close`: the body ends with the connection; `length`: `Content-Length`."""
    newline: str = "lf"
    usage: str = "end"
    """`end`: in a chunk of its own; `each`: in every chunk too; `null`: as null; `none`: not at all."""
    cached: int | None = None
    """Cached tokens reported; None: none are."""
    prompt_tokens: int = 100
    finish: str = "own"
    """Finish reason: in a chunk of its `own`, in the `last` one with text, or `none`."""
    done: bool = True
    """Whether `[DONE]` ends the stream."""
    error_after: int = 0
    """Tokens after which an error event ends the stream; 0: none does."""
    abort_after: int = 0
    """Tokens after which the connection is given up; 0: it is not."""
    abort: str = "close"
    status: int = 200
    """Anything else: an error object with this status, at once."""
    text: str = " tok"
    """Text of one token."""

    def to_json(self) -> dict[str, Any]:
        """Return the members that differ from the defaults, as `read_spec` takes them."""
        default = asdict(Spec())
        return {name: value for name, value in asdict(self).items() if value != default[name]}


def read_spec(given: object, default: Spec) -> Spec:
    """Return the spec with the given members in place of the default's.

    Raises:
        SpecError: A member is unknown or has the wrong type or range.
    """
    if given is None:
        return default
    if not isinstance(given, Mapping):
        raise SpecError(f"kb_truth must be an object, found {given!r:.80}")
    known = {field.name: getattr(default, field.name) for field in fields(Spec)}
    unknown = sorted(set(given) - known.keys() - {"id"})
    if unknown:
        raise SpecError(f"kb_truth has no member {unknown[0]!r}; it has {', '.join(known)}")
    changes = {name: _checked(name, value, known[name]) for name, value in given.items() if name in known}
    return replace(default, **changes)


def _checked(name: str, value: Any, default: Any) -> Any:
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            raise SpecError(f"{name} must be one of {', '.join(sorted(_CHOICES[name]))}, found {value!r}")
        return value
    if name in {"pattern", "split"}:
        if not isinstance(value, list | tuple) or not all(_is_count(item) for item in value):
            raise SpecError(f"{name} must be a list of whole numbers, found {value!r}")
        if name == "pattern" and (not value or min(value) < 1):
            raise SpecError("pattern must hold at least one number, and none below 1")
        return tuple(value)
    if isinstance(default, bool):
        fits = isinstance(value, bool)
    elif isinstance(default, float):
        fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e8
    elif isinstance(default, str):
        fits = isinstance(value, str) and bool(value)
    else:
        fits = _is_count(value) or (name == "cached" and value is None)
    if not fits or (name == "tokens" and value < 1) or (name == "step_ms" and value <= 0):
        raise SpecError(f"{name} cannot be {value!r}")
    return value


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS
