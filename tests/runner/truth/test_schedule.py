"""From a script to bytes and times."""

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kbtool.runner.truth.schedule import Schedule, first_token_ns, schedule_for
from kbtool.runner.truth.spec import Spec

MS = 1_000_000


def schedule(spec: Spec, *, max_tokens: int = 10**6, chat: bool = True, each: bool = False) -> Schedule:
    """Return the schedule of a request that asks for usage."""
    return schedule_for(spec, model="m", chat=chat, max_tokens=max_tokens, usage_asked=True, each=each)


def body(found: Schedule) -> bytes:
    """Return the body without its framing."""
    raw = b"".join(emission.data for emission in found.emissions)
    head, _, rest = raw.partition(b"\r\n\r\n")
    if b"chunked" not in head:
        return rest
    out = b""
    while True:
        size, _, rest = rest.partition(b"\r\n")
        if not int(size, 16):
            return out
        out, rest = out + rest[: int(size, 16)], rest[int(size, 16) + 2 :]


def events(found: Schedule) -> list[Any]:
    """Return the events, the end mark as a text."""
    blocks = body(found).replace(b"\r\n", b"\n").split(b"\n\n")
    data = [block[6:] for block in blocks if block.startswith(b"data: ")]
    return [one.decode() if one == b"[DONE]" else json.loads(one) for one in data]


def test_tokens_leave_step_by_step() -> None:
    """One send a chunk, a step apart, and the end with the last."""
    found = schedule(Spec(tokens=6, pattern=(1, 3), step_ms=10))
    sends = [(e.offset_ns, e.tok) for e in found.emissions if e.decode]
    assert sends == [(0, 1), (10 * MS, 3), (20 * MS, 1), (30 * MS, 1), (30 * MS, 0)]
    assert found.tok == 6


def test_a_stall_keeps_to_the_clock_of_steps() -> None:
    """It is rounded up to whole steps."""
    found = schedule(Spec(tokens=3, step_ms=10, stall_at=2, stall_ms=25))
    assert [e.offset_ns for e in found.emissions if e.tok] == [0, 40 * MS, 50 * MS]


def test_the_first_token_is_due_at_a_step() -> None:
    """The first one that is late enough; without the common clock exactly then."""
    assert first_token_ns(3 * MS, Spec(ttft_ms=20, step_ms=10)) == 30 * MS
    assert first_token_ns(3 * MS, Spec(ttft_ms=20, step_ms=10, sync=False)) == 23 * MS


def test_generation_stops_at_the_least_of_its_limits() -> None:
    """What the request asked for, what the script has, and where it stops by itself."""
    assert schedule(Spec(tokens=9), max_tokens=4).tok == 4
    assert schedule(Spec(tokens=9), max_tokens=40).tok == 9
    stopped = schedule(Spec(tokens=9, stop_after=5))
    assert stopped.tok == 5
    assert events(stopped)[-3]["choices"][0]["finish_reason"] == "stop"


def test_reasoning_comes_first() -> None:
    """A chunk may hold the end of it and the beginning of the content."""
    found = events(schedule(Spec(tokens=4, pattern=(2,), reasoning=3, text="t")))
    deltas = [one["choices"][0]["delta"] for one in found[1:3]]
    assert deltas == [{"reasoning_content": "tt"}, {"reasoning_content": "t", "content": "t"}]


def test_usage_is_given_as_scripted() -> None:
    """At the end, with every chunk, or not."""
    each = events(schedule(Spec(tokens=2, cached=5), each=True))
    counts = [one["usage"]["completion_tokens"] for one in each if isinstance(one, dict)]
    assert counts == [0, 1, 2, 2, 2]
    assert each[-2]["usage"]["prompt_tokens_details"] == {"cached_tokens": 5}
    assert not any("usage" in one for one in events(schedule(Spec(tokens=2, usage="none"))))


def test_errors_and_aborts_end_it_early() -> None:
    """Only the tokens before them are sent, and no end mark."""
    failed = schedule(Spec(tokens=9, error_after=4))
    assert failed.tok == 4
    assert "error" in events(failed)[-1]
    aborted = schedule(Spec(tokens=9, abort_after=4, abort="reset", framing="close"))
    assert (aborted.tok, aborted.close, aborted.reset) == (4, True, True)
    assert "[DONE]" not in events(aborted)


def test_comments_come_before_the_first_token() -> None:
    """At their interval, behind a head that is sent at once."""
    found = schedule(Spec(tokens=1, ttft_ms=35, comment_ms=10, headers_early=True))
    early = [e for e in found.emissions if not e.decode]
    assert [e.offset_ns for e in early] == [0, 10 * MS, 20 * MS, 30 * MS]
    assert body(found).count(b": still working") == 3


@given(
    n_tok=st.integers(1, 40),
    pattern=st.lists(st.integers(1, 5), min_size=1, max_size=5),
    split=st.lists(st.integers(0, 400), max_size=4),
    framing=st.sampled_from(["chunked", "close", "length"]),
    newline=st.sampled_from(["lf", "crlf"]),
    chat=st.booleans(),
)
def test_every_script_makes_a_readable_answer(
    *, n_tok: int, pattern: list[int], split: list[int], framing: str, newline: str, chat: bool
) -> None:
    """Its tokens add up, its times never go back, and its pieces joined are the same stream."""
    spec = Spec(n_tok, tuple(pattern), split=tuple(split), framing=framing, newline=newline, text="é")
    found = schedule(spec, chat=chat)
    assert sum(e.tok for e in found.emissions) == found.tok == n_tok
    assert all(a.offset_ns <= b.offset_ns for a, b in pairwise(found.emissions))
    read = events(found)
    assert read[-1] == "[DONE]"
    assert read[-2]["usage"]["completion_tokens"] == n_tok
    choices = [one["choices"][0] for one in read if isinstance(one, dict) and one["choices"]]
    text = "".join(c["delta"].get("content", "") if chat else c["text"] for c in choices)
    assert text == "é" * n_tok
    head = b"".join(e.data for e in found.emissions).partition(b"\r\n\r\n")[0]
    if framing == "length":
        assert b"Content-Length: %08d" % len(body(found)) in head
