"""What was true: when each request arrived, and when each part of its answer was handed to the kernel."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

__all__ = ["TrueRequest", "read_log", "write_log"]


@dataclass(slots=True)
class TrueRequest:
    """One request as the server saw it; times in ns of the monotonic clock, which all processes share."""

    id: str
    """`kb_truth.id` or the header `X-Request-Id`; else a number."""
    arrived_ns: int | None
    """The kernel's stamp of the last segment of the request; None if there is none."""
    parsed_ns: int
    """When the server had read it."""
    sends_ns: list[int]
    """Just before each send."""
    sends_tok: list[int]
    """Tokens that each send made whole; 0 for comments, roles, ends, and pieces of events."""
    complete: bool = False
    """Everything on the schedule was sent."""
    prompt_tok: int = 0
    usage_sent: bool = True

    @property
    def tok(self) -> int:
        """Return how many tokens were sent."""
        return sum(self.sends_tok)

    @property
    def token_sends(self) -> list[tuple[int, int]]:
        """Return time and number of tokens of each send that had any."""
        return [(t, n) for t, n in zip(self.sends_ns, self.sends_tok, strict=True) if n]


def write_log(requests: list[TrueRequest], *, cpu_s: float, max_late_ns: int) -> bytes:
    """Return the log as JSON.

    Args:
        requests: In the order in which they were parsed.
        cpu_s: CPU time of the server's thread since the log was last emptied.
        max_late_ns: The most that a send was behind its schedule.
    """
    value = {"version": 1, "cpu_s": cpu_s, "max_late_ns": max_late_ns, "requests": requests}
    return orjson.dumps(value)


def read_log(content: bytes) -> tuple[TrueRequest, ...]:
    """Return the requests of a log.

    Raises:
        ValueError: It is none, or of another version.
    """
    value: Any = orjson.loads(content)
    if not isinstance(value, Mapping) or value.get("version") != 1:
        raise ValueError("a log of the truth server must be an object of version 1")
    return tuple(TrueRequest(**request) for request in value["requests"])
