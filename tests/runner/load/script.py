"""A scripted exchange on a fake clock: sends what a driver gives, and ends each request when a script says."""

import heapq
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import orjson

from kbtool.runner.client import Driver, Endpoint, Limits, Outgoing, Recorded, Send
from kbtool.runner.load import Content, FixedLength, WorkSpec
from kbtool.runner.trace import Outcome, RequestTrace

MS = 1_000_000
ENDPOINT = Endpoint("e", "127.0.0.1", 9)


def work(**changes: Any) -> WorkSpec:
    """Return one round of small prompts, of which each test changes what matters to it."""
    content = Content(("prose",), FixedLength(120), FixedLength(16))
    return replace(WorkSpec("cell", 1, 7, "run/1", "m", (ENDPOINT,), content=content), **changes)


def body_of(outgoing: Outgoing) -> dict[str, Any]:
    """Return the JSON body of a request, whose length the head has to give."""
    head, _, content = outgoing.payload.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(content)}".encode() in head
    body = orjson.loads(content)
    assert isinstance(body, dict)
    return body


def prompt_of(outgoing: Outgoing) -> str:
    """Return the text of the first message."""
    text = body_of(outgoing)["messages"][0]["content"]
    assert isinstance(text, str)
    return text


def recorded(outgoing: Outgoing, *, sent_ns: int, ended_ns: int, failure: Outcome | None = None) -> Recorded:
    """Return what the client would have recorded."""
    raw = b"" if failure else b"HTTP/1.1 200 OK\r\n\r\n"
    return Recorded(
        outgoing, Limits(), sent_ns, sent_ns, sent_ns, sent_ns, ended_ns, raw, array("q"), array("q"), failure
    )


def answered(got: Recorded, text: str = "An answer.") -> RequestTrace:
    """Return the trace of a good answer, or of what failed."""
    outgoing = got.outgoing
    return RequestTrace(
        outgoing.id, outgoing.endpoint.name, outgoing.stream, outgoing.turn, outgoing.asked_model,
        outgoing.asked_output_tok, outgoing.output_tok_fixed, outgoing.prompt_class, outgoing.prompt_salt,
        outgoing.due_ns, None, None, got.sent_ns, None, None, got.ended_ns, got.failure or Outcome.OK, text=text,
    )  # fmt: skip


@dataclass(slots=True)
class Played:
    """What came of a script."""

    sent: list[tuple[int, Outgoing]] = field(default_factory=list)
    """Time in ns and request, in the order of sending."""
    most_in_flight: int = 0
    end_ns: int = 0

    @property
    def ids(self) -> list[str]:
        """Return the ids in the order of sending."""
        return [outgoing.id for _, outgoing in self.sent]

    @property
    def at_ms(self) -> list[float]:
        """Return the times of sending in ms."""
        return [at_ns / MS for at_ns, _ in self.sent]


def play(
    driver: Driver,
    takes_ns: Callable[[int, Outgoing], int] = lambda _, __: 10 * MS,
    fails: Callable[[int, Outgoing], Outcome | None] = lambda _, __: None,
) -> Played:
    """Run a driver to its end.

    Args:
        driver: What is tested; starts at time 0.
        takes_ns: How long the n-th request sent takes.
        fails: How the n-th request sent fails, if it does.
    """
    played = Played()
    order = count()
    due: list[tuple[int, int, Outgoing]] = []
    running: list[tuple[int, int, int, int, Outgoing]] = []

    def accept(sends: Iterable[Send], now_ns: int) -> None:
        for send in sends:
            heapq.heappush(due, (max(send.at_ns, now_ns), next(order), send.outgoing))

    accept(driver.begin(0), 0)
    while due or running:
        if running and (not due or running[0][0] <= due[0][0]):
            now_ns, _, sent_ns, n, outgoing = heapq.heappop(running)
            got = recorded(outgoing, sent_ns=sent_ns, ended_ns=now_ns, failure=fails(n, outgoing))
            accept(driver.ended(got, now_ns), now_ns)
        else:
            now_ns, _, outgoing = heapq.heappop(due)
            if driver.stop(now_ns):
                due.clear()
                continue
            n = len(played.sent)
            played.sent.append((now_ns, outgoing))
            heapq.heappush(running, (now_ns + takes_ns(n, outgoing), next(order), now_ns, n, outgoing))
            played.most_in_flight = max(played.most_in_flight, len(running))
        played.end_ns = now_ns
    return played
