"""From bytes and times to a trace and its verdict."""

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbtool.runner.client import Limits, parse
from kbtool.runner.trace import ChunkKind, Outcome
from tests.runner.client.replies import STREAM_HEAD, in_chunks, recorded, until_close

DONE = b"data: [DONE]\n\n"


def event(**members: Any) -> bytes:
    """Return an event with these members beside the model's name."""
    return b"data: " + json.dumps({"model": "m", **members}).encode() + b"\n\n"


def delta(finish: str | None = None, **members: Any) -> bytes:
    """Return an event of a chat completion."""
    return event(choices=[{"index": 0, "delta": members, "finish_reason": finish}])


def usage(prompt: Any = 10, completion: Any = 2, **members: Any) -> bytes:
    """Return the event with token counts."""
    return event(choices=[], usage={"prompt_tokens": prompt, "completion_tokens": completion, **members})


GOOD = (delta(role="assistant", content=""), delta(content="a"), delta("stop", content="b"), usage(), DONE)


def without(kind: int, instead: Iterable[bytes] = ()) -> list[bytes]:
    """Return the good stream with one event left out, or others in its place."""
    return [*GOOD[:kind], *instead, *GOOD[kind + 1 :]]


def test_a_good_stream_is_a_success_with_all_its_columns() -> None:
    """Kinds, times, characters and counts are those that were sent."""
    trace = in_chunks(*GOOD)
    assert trace.outcome is Outcome.OK
    kinds = [ChunkKind.ROLE, ChunkKind.CONTENT, ChunkKind.CONTENT, ChunkKind.USAGE, ChunkKind.DONE]
    assert list(trace.chunks.kind) == kinds
    assert list(trace.chunks.t_ns) == [1_002_000_000 + n * 1_000_000 for n in range(5)]
    assert list(trace.chunks.n_chars) == [0, 1, 1, 0, 0]
    assert list(trace.chunks.n_bytes) == [len(e) for e in GOOD]
    assert list(trace.chunks.cumulative_tok) == [None, None, None, 2, None]
    assert trace.text == "ab"
    assert trace.finish_reason == "stop"
    assert trace.first_byte_ns == 1_001_000_000
    assert trace.done_ns == 1_006_000_000
    assert trace.usage is not None
    assert (trace.usage.prompt_tok, trace.usage.completion_tok, trace.usage.cached_tok) == (10, 2, None)


@pytest.mark.parametrize("framing", [in_chunks, until_close])
@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        (GOOD, Outcome.OK),
        (without(4), Outcome.NO_END_MARK),
        (without(3), Outcome.NO_USAGE),
        (without(2, [delta(content="b")]), Outcome.NO_FINISH_REASON),
        (without(2, [delta("abort", content="b")]), Outcome.ERROR_EVENT),
        ([GOOD[0], delta("stop"), usage(), DONE], Outcome.EMPTY),
        ([DONE], Outcome.EMPTY),
        (without(1, [event(error={"message": "out of memory"})]), Outcome.ERROR_EVENT),
        (without(1, [b'event: error\ndata: {"detail": "no"}\n\n']), Outcome.ERROR_EVENT),
        (without(1, [b'data: {"object": "error", "message": "no"}\n\n']), Outcome.ERROR_EVENT),
        (without(1, [event(error={"message": "exceeds the context length"})]), Outcome.OVER_CONTEXT),
        (without(1, [b"data: {oops\n\n"]), Outcome.BAD_JSON),
        (without(1, [b"data: [1, 2]\n\n"]), Outcome.BAD_JSON),
        (without(1, [b'data: {"a": NaN}\n\n']), Outcome.BAD_JSON),
        (without(1, [b'data: {"a": "\xff"}\n\n']), Outcome.BAD_UTF8),
        (without(1, [b"data: " + b"[" * 5000 + b"\n\n"]), Outcome.BAD_JSON),
        (
            without(1, [event(choices=[{"delta": {"content": "a"}}]).replace(b'"m"', b'"other"')]),
            Outcome.WRONG_MODEL,
        ),
        ([e.replace(b'"model": "m"', b'"x": 1') for e in GOOD], Outcome.WRONG_MODEL),
        (without(3, [usage(completion=0)]), Outcome.BAD_USAGE),
        (without(3, [usage(completion=-2)]), Outcome.BAD_USAGE),
        (without(3, [usage(completion=2.5)]), Outcome.BAD_USAGE),
        (without(3, [usage(completion=True)]), Outcome.BAD_USAGE),
        (without(3, [usage(completion="2")]), Outcome.BAD_USAGE),
        (without(3, [usage(completion=2**70)]), Outcome.BAD_USAGE),
        (without(3, [usage(completion=65)]), Outcome.BAD_USAGE),
        (without(3, [usage(prompt=0)]), Outcome.BAD_USAGE),
        (without(3, [usage(total_tokens=13)]), Outcome.BAD_USAGE),
        (without(3, [event(choices=[], usage=7)]), Outcome.BAD_USAGE),
        (without(3, [usage(prompt_tokens_details={"cached_tokens": 11})]), Outcome.BAD_USAGE),
        (without(3, [usage(completion_tokens_details={"reasoning_tokens": 3})]), Outcome.BAD_USAGE),
        (without(1, [delta(content="a")] * 9), Outcome.BAD_USAGE),
        (without(1, [delta(content="a" * 9999)]), Outcome.BAD_USAGE),
    ],
)
def test_every_flaw_of_a_stream_has_its_verdict(framing: Any, events: list[bytes], outcome: Outcome) -> None:
    """Whatever is missing or wrong in the stream is named, in both framings."""
    assert framing(*events).outcome is outcome


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (b"401 Unauthorized", b"{}", Outcome.UNAUTHORIZED),
        (b"403 Forbidden", b"{}", Outcome.UNAUTHORIZED),
        (b"307 Temporary Redirect\r\nLocation: http://elsewhere/", b"", Outcome.REDIRECTED),
        (b"429 Too Many", b"slow down", Outcome.REFUSED),
        (b"503 Loading", b"loading model", Outcome.REFUSED),
        (b"400 Bad", b"maximum context length is 4096", Outcome.OVER_CONTEXT),
        (b"400 Bad", b'{"error":{"type":"exceed_context_size_error"}}', Outcome.OVER_CONTEXT),
        (b"400 Bad", b"no such parameter", Outcome.HTTP_ERROR),
        (b"500", b"", Outcome.HTTP_ERROR),
        (b"206 Partial", b"", Outcome.HTTP_ERROR),
    ],
)
def test_every_status_has_its_verdict(status: bytes, body: bytes, outcome: Outcome) -> None:
    """What is not 200 is judged by its status, and by its text where that says that the prompt does not fit."""
    raw = b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)
    trace = parse(recorded(raw))
    assert trace.outcome is outcome
    assert len(trace.chunks) == 0


@pytest.mark.parametrize("failure", [Outcome.SEND_FAILED, Outcome.RESET])
def test_a_refusal_is_heard_although_the_connection_broke(failure: Outcome) -> None:
    """A server that refuses a prompt while it is being sent closes the connection: the status says more."""
    raw = b"HTTP/1.1 429 Too Many\r\nContent-Length: 0\r\n\r\n"
    assert parse(recorded(raw, failure=failure)).outcome is Outcome.REFUSED


@pytest.mark.parametrize(
    "failure",
    [Outcome.STALLED, Outcome.TOTAL_TIMEOUT, Outcome.CANCELLED, Outcome.RESET, Outcome.BODY_TOO_LONG],
)
def test_what_broke_a_stream_off_is_its_verdict_and_its_part_is_kept(failure: Outcome) -> None:
    """The events that came are in the trace, and there is no last byte."""
    for framed in (in_chunks(*GOOD[:2], end=b"", failure=failure), until_close(*GOOD[:2], failure=failure)):
        assert framed.outcome is failure
        assert framed.text == "a"
        assert framed.done_ns is None


def test_a_reset_behind_the_end_takes_nothing_away() -> None:
    """The framing had said that the body was whole; without framing nobody knows."""
    assert in_chunks(*GOOD, failure=Outcome.RESET).outcome is Outcome.OK
    assert until_close(*GOOD, failure=Outcome.RESET).outcome is Outcome.RESET


def test_a_body_that_ends_before_its_framing_is_truncated() -> None:
    """All events came, and the end of the chunks did not."""
    assert in_chunks(*GOOD, end=b"").outcome is Outcome.TRUNCATED
    raw = STREAM_HEAD + b"Content-Length: 9999\r\n\r\n" + b"".join(GOOD)
    assert parse(recorded(raw)).outcome is Outcome.TRUNCATED


def test_half_an_event_at_the_end_of_an_unframed_body_is_no_json_fault() -> None:
    """The server died in the middle of an event: what is missing is the end."""
    assert until_close(*GOOD[:2], b'data: {"mod').outcome is Outcome.NO_FINISH_REASON


def test_an_end_mark_without_a_blank_line_counts() -> None:
    """Some servers close right behind it."""
    assert until_close(*GOOD[:4], b"data: [DONE]").outcome is Outcome.OK


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 9,
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * 70000,
        STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n",
        STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n",
        STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n",
        STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nno trailer at all\r\n\r\n",
    ],
)
def test_what_is_no_http_is_bad_framing(raw: bytes) -> None:
    """Nothing that other readers might take otherwise is taken as an answer."""
    assert parse(recorded(raw)).outcome is Outcome.BAD_FRAMING


def test_bytes_behind_the_end_are_bad_framing() -> None:
    """A second answer behind the first was not asked for."""
    assert in_chunks(*GOOD, end=b"0\r\n\r\nHTTP/1.1 200 OK\r\n").outcome is Outcome.BAD_FRAMING


def test_an_interim_answer_is_passed_over() -> None:
    """`100 Continue` comes before the answer."""
    assert until_close(*GOOD, head=b"HTTP/1.1 100 Continue\r\n\r\n" + STREAM_HEAD).outcome is Outcome.OK


@pytest.mark.parametrize(
    "header", [b"Content-Type: application/json", b"Content-Type: text/html; charset=utf-8"]
)
def test_another_media_type_is_no_stream(header: bytes) -> None:
    """A whole answer in one piece has no times of tokens."""
    assert until_close(*GOOD, head=b"HTTP/1.1 200 OK\r\n" + header + b"\r\n").outcome is Outcome.NOT_A_STREAM


def test_a_compressed_body_is_no_stream() -> None:
    """It was asked for as it is."""
    assert (
        until_close(*GOOD, head=STREAM_HEAD + b"Content-Encoding: gzip\r\n").outcome is Outcome.NOT_A_STREAM
    )


def test_a_line_that_is_too_long_is_named_and_what_came_before_is_kept() -> None:
    """Also where it never ends."""
    limits = Limits(line_bytes=1000)
    for end in (b"\n\n", b""):
        trace = until_close(*GOOD[:2], b"data: " + b"x" * 2000 + end, limits=limits)
        assert trace.outcome is Outcome.LINE_TOO_LONG
        assert trace.text == "a"


def test_lines_may_end_with_cr_and_lf() -> None:
    """And blanks behind `data:` may be missing, and other fields there."""
    events = [e.replace(b"\n", b"\r\n").replace(b"data: ", b"id: 7\r\nretry: 1\r\ndata:") for e in GOOD]
    assert in_chunks(*events).text == "ab"
    assert in_chunks(*events).outcome is Outcome.OK


def test_comments_are_kept_apart() -> None:
    """They are neither tokens nor faults, and a block that holds data too is an event."""
    trace = in_chunks(b": ping\n\n", *GOOD[:3], b": ping\n" + GOOD[3], DONE)
    assert trace.outcome is Outcome.OK
    assert trace.chunks.kind[0] is ChunkKind.COMMENT
    assert trace.chunks.kind.count(ChunkKind.COMMENT) == 1


def test_several_events_in_one_read_share_its_time() -> None:
    """They are one step."""
    trace = parse(recorded(STREAM_HEAD + b"\r\n", b"".join(GOOD)))
    assert set(trace.chunks.t_ns) == {1_002_000_000}


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_generated_text_of_its_own(field: str) -> None:
    """Under both names that engines use."""
    trace = in_chunks(GOOD[0], delta(**{field: "hm"}), *GOOD[2:])
    assert trace.outcome is Outcome.OK
    assert trace.chunks.kind[1] is ChunkKind.REASONING
    assert (trace.reasoning_text, trace.text) == ("hm", "b")


def test_a_tool_call_is_generated_text() -> None:
    """Its name and arguments are tokens, and an answer of a tool call alone is not empty."""
    call = delta(tool_calls=[{"index": 0, "function": {"name": "ls", "arguments": '{"a":1}'}}])
    trace = in_chunks(GOOD[0], call, delta("tool_calls"), usage(), DONE)
    assert trace.outcome is Outcome.OK
    assert trace.chunks.kind[1] is ChunkKind.TOOL
    assert trace.chunks.n_chars[1] == 9
    assert trace.chunks.kind[2] is ChunkKind.FINISH


def test_text_completions_are_read_too() -> None:
    """Their text is in the choice itself."""
    first = event(choices=[{"text": "a", "finish_reason": None}])
    last = event(choices=[{"text": "b", "finish_reason": "length"}])
    assert in_chunks(first, last, usage(), DONE).text == "ab"


def test_running_counts_are_kept_for_each_event() -> None:
    """`continuous_usage_stats`: several tokens in a chunk are seen exactly."""
    counts = [{"prompt_tokens": 10, "completion_tokens": n} for n in (0, 3, 5)]
    events = [
        event(choices=[{"delta": {"role": "assistant", "content": ""}}], usage=counts[0]),
        event(choices=[{"delta": {"content": "abc"}}], usage=counts[1]),
        event(choices=[{"delta": {"content": "de"}, "finish_reason": "stop"}], usage=counts[2]),
    ]
    trace = in_chunks(*events, DONE)
    assert trace.outcome is Outcome.OK
    assert list(trace.chunks.cumulative_tok) == [0, 3, 5, None]


def test_a_running_count_above_the_final_one_is_bad_usage() -> None:
    """The server contradicts itself."""
    first = event(choices=[{"delta": {"content": "a"}}], usage={"prompt_tokens": 1, "completion_tokens": 9})
    assert in_chunks(first, *GOOD[2:]).outcome is Outcome.BAD_USAGE


def test_counts_beside_the_usual_ones_are_kept() -> None:
    """Cached, cache-written and reasoning tokens, where the server names them."""
    last = usage(
        total_tokens=12,
        prompt_tokens_details={"cached_tokens": 4, "cache_write_tokens": 6},
        completion_tokens_details={"reasoning_tokens": 1},
    )
    found = in_chunks(*without(3, [last])).usage
    assert found is not None
    assert (found.cached_tok, found.cache_write_tok, found.reasoning_tok) == (4, 6, 1)


def test_timings_of_llama_cpp_are_kept_under_its_own_names() -> None:
    """And its draft counts become ours."""
    timings = {
        "cache_n": 1,
        "predicted_ms": 12.5,
        "draft_n": 8,
        "draft_n_accepted": 5,
        "odd": "x",
        "inf": True,
    }
    last = event(choices=[], usage={"prompt_tokens": 10, "completion_tokens": 2}, timings=timings)
    trace = in_chunks(*without(3, [last]))
    assert dict(trace.server_timings) == {
        "cache_n": 1,
        "predicted_ms": 12.5,
        "draft_n": 8,
        "draft_n_accepted": 5,
    }
    assert trace.usage is not None
    assert (trace.usage.draft_tok, trace.usage.accepted_draft_tok) == (8, 5)


def test_speculation_of_sglang_is_kept() -> None:
    """Its `meta_info` may stand at the top or in the choice."""
    meta = {
        "spec_verify_ct": 3,
        "spec_accept_length": 2.5,
        "spec_draft_token_num": 9,
        "spec_accept_token_num": 4,
    }
    choice = {"delta": {"content": "b"}, "finish_reason": "stop", "meta_info": meta}
    trace = in_chunks(*without(2, [event(choices=[choice])]))
    assert trace.usage is not None
    assert (trace.usage.verify_steps, trace.usage.draft_tok, trace.usage.accepted_draft_tok) == (3, 9, 4)
    assert dict(trace.server_timings)["spec_accept_length"] == 2.5


def test_nothing_of_ours_that_is_secret_stays_in_a_trace() -> None:
    """A server that sends the key back, in whatever part of its answer, finds it nowhere in the trace."""
    headers = (("Authorization", "Bearer sk-verysecret"),)
    said = b"the key sk-verysecret is wrong; Bearer sk-verysecret"
    raw = b"HTTP/1.1 401 No\r\nServer: sk-verysecret\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said)
    text = "sk-verysecret"
    events = [
        event(
            choices=[{"delta": {"content": text, "reasoning": text}, "finish_reason": text}],
            system_fingerprint=text,
        )
    ]
    for trace in (parse(recorded(raw, headers=headers)), in_chunks(*events, headers=headers)):
        assert "verysecret" not in repr(trace)
        assert "[secret]" in repr(trace)


def test_hostile_text_in_a_detail_is_one_short_harmless_line() -> None:
    """No escape sequence and no line end gets to a terminal or a log."""
    body = b"\x1b[31m\r\n::error::\x07" + b"x" * 5000
    trace = parse(recorded(b"HTTP/1.1 500 No\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)))
    assert len(trace.detail) <= 300
    assert trace.detail.isprintable()


def test_a_request_that_was_never_sent_says_why() -> None:
    """There is no time of sending, and no answer is looked for."""
    trace = parse(recorded(sent=False, failure=Outcome.CONNECT_FAILED, detail="Connection refused"))
    assert trace.outcome is Outcome.CONNECT_FAILED
    assert trace.sent_ns is None


@given(st.lists(st.integers(1, 4000), max_size=40), st.booleans(), st.booleans())
def test_where_segments_end_changes_times_alone(cuts: list[int], crlf: bool, framed: bool) -> None:
    """Cut at any byte, the same answer gives the same trace but for its times, and these never go back."""
    text = "né😀 und so weiter"
    events = [
        delta(role="assistant", content=""),
        delta(content=text),
        delta("stop", content=text),
        usage(),
        DONE,
    ]
    if crlf:
        events = [e.replace(b"\n", b"\r\n") for e in events]
    if framed:
        body = b"".join(b"%x\r\n%s\r\n" % (len(e), e) for e in events) + b"0\r\n\r\n"
        raw = STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body
    else:
        raw = STREAM_HEAD + b"\r\n" + b"".join(events)
    places = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})
    segments = [raw[a:b] for a, b in pairwise(places)]
    trace = parse(recorded(*segments))
    assert trace.outcome is Outcome.OK
    assert trace.text == text * 2
    assert list(trace.chunks.t_ns) == sorted(trace.chunks.t_ns)
    # An event has come with the read that holds its last byte.
    whole = b"".join(events)
    for index, found_ns in enumerate(trace.chunks.t_ns):
        end = raw.index(events[index]) + len(events[index])
        segment = next(n for n, place in enumerate(places[1:]) if place >= end)
        assert found_ns == 1_001_000_000 + segment * 1_000_000
    assert trace.n_body_bytes == len(whole)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "content",
                    "text",
                    "reasoning",
                    "usage",
                    "prompt_tokens",
                    "completion_tokens",
                    "finish_reason",
                    "model",
                    "error",
                    "role",
                    "tool_calls",
                    "function",
                    "arguments",
                    "timings",
                    "meta_info",
                    "total_tokens",
                    "prompt_tokens_details",
                    "object",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=6), st.booleans())
def test_no_json_that_a_server_sends_makes_it_raise(values: list[Any], with_end: bool) -> None:
    """Whatever stands where, there is a verdict, and it is hardly ever a success."""
    events = [b"data: " + json.dumps(value).encode() + b"\n\n" for value in values]
    trace = in_chunks(*events, *([DONE] if with_end or not events else []))
    assert trace.outcome is not None
    assert len(trace.chunks.t_ns) == len(trace.chunks.kind) == len(trace.chunks.cumulative_tok)


@given(
    st.lists(
        st.binary(max_size=200) | st.sampled_from([*GOOD, STREAM_HEAD, b"\r\n", b"\n\n", b"0\r\n\r\n"]),
        max_size=12,
    )
)
def test_no_bytes_that_a_server_sends_make_it_raise(parts: list[bytes]) -> None:
    """Random bytes, alone and mixed with pieces of good answers."""
    segments = [part for part in parts if part]
    for failure in (None, Outcome.RESET, Outcome.CANCELLED):
        trace = parse(recorded(*segments, failure=failure))
        assert trace.outcome is not Outcome.OK or failure is None
