"""Requests to the truth server, driven as a measured round drives them, and read beside its log."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import thread_time
from typing import Any

from kbtool.runner.client import (
    ClientHealth,
    Endpoint,
    Limits,
    Outgoing,
    Recorded,
    Send,
    build_request,
    control,
    exchange,
    parse,
)
from kbtool.runner.trace import RequestTrace
from kbtool.runner.truth import Spec, TrueRequest, TruthServer, read_log

__all__ = ["Script", "Seen", "Streams", "endpoint_of", "play"]

MODEL = "truth"
LOG_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Script:
    """A closed loop: so many streams, each with so many requests one after the other."""

    name: str
    streams: int
    requests: int
    """Of each stream."""
    spec: Spec
    each: bool = True
    """Ask for usage with every chunk."""
    asked_tok: int | None = None
    """None: as many as the spec generates."""
    chat: bool = True


@dataclass(frozen=True, slots=True)
class Seen:
    """One script played: both sides of it."""

    traces: tuple[RequestTrace, ...]
    truth: Mapping[str, TrueRequest]
    health: ClientHealth
    parse_s: float
    """CPU time of parsing."""
    server_late_ns: int


class Streams:
    """A driver: as soon as a request has ended, its stream sends the next."""

    def __init__(self, waiting: Mapping[int, list[Outgoing]]) -> None:
        """Take the requests of each stream by its number, the last one first."""
        self._waiting = waiting

    def begin(self, now_ns: int) -> Iterable[Send]:
        """Send the first request of each stream."""
        return [Send(now_ns, turns.pop()) for turns in self._waiting.values()]

    def ended(self, recorded: Recorded, now_ns: int) -> Iterable[Send]:
        """Send the stream's next."""
        turns = self._waiting[recorded.outgoing.stream]
        return [Send(now_ns, turns.pop())] if turns else []

    def stop(self, now_ns: int) -> bool:  # noqa: ARG002
        """Go on to the last request."""
        return False


def endpoint_of(server: TruthServer) -> Endpoint:
    """Return the endpoint of a running truth server."""
    return Endpoint("truth", server.host, server.port)


def play(script: Script, server: TruthServer, limits: Limits | None = None) -> Seen:
    """Play a script and return what the client saw and what the server did."""
    endpoint = endpoint_of(server)
    control.post_json(endpoint, "/truth/clear", {})
    waiting = {
        stream: [_request(script, endpoint, stream, turn) for turn in range(script.requests, 0, -1)]
        for stream in range(script.streams)
    }
    result = exchange(Streams(waiting), limits=limits or Limits())
    before_s = thread_time()
    traces = tuple(parse(recorded) for recorded in result.recorded)
    parse_s = thread_time() - before_s
    log = control.get(endpoint, "/truth/log", timeout_s=60, max_bytes=LOG_BYTES)
    truth = {request.id: request for request in read_log(log.body)}
    return Seen(traces, truth, result.health, parse_s, int(log.json()["max_late_ns"]))


def _request(script: Script, endpoint: Endpoint, stream: int, turn: int) -> Outgoing:
    name = f"{script.name}/{stream}/{turn}"
    asked = script.asked_tok or script.spec.tokens
    body: dict[str, Any] = {
        "model": MODEL,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": script.each},
        "max_tokens": asked,
        "kb_truth": {"id": name, **script.spec.to_json()},
    }
    text = "Count." * 20
    body |= {"messages": [{"role": "user", "content": text}]} if script.chat else {"prompt": text}
    path = "/v1/chat/completions" if script.chat else "/v1/completions"
    return Outgoing(
        id=name,
        endpoint=endpoint,
        asked_model=MODEL,
        asked_output_tok=asked,
        payload=build_request(endpoint, path, body),
        stream=stream,
        turn=turn,
    )
