"""Requests: every asked field is in the body, and nothing else."""

from dataclasses import replace

import pytest

from kbtool.errors import UsageError
from kbtool.runner.client import Endpoint
from kbtool.runner.load import (
    Affinity,
    Api,
    Content,
    EndpointChoice,
    FixedLength,
    LognormalLength,
    RequestMaker,
    RequestOptions,
    UniformLength,
    Who,
)
from kbtool.runner.load.build import resalted
from kbtool.runner.load.lengths import Length, draw_length, longest
from kbtool.runner.prompts import Draws, salt_text
from tests.runner.load.script import body_of, prompt_of, work

TWO = (Endpoint("a", "127.0.0.1", 1), Endpoint("b", "127.0.0.1", 2, headers=(("Authorization", "Bearer k"),)))


def test_a_chat_request_asks_for_what_the_spec_says() -> None:
    """Model, lengths, stream and sampling stand in the body; options that are off are left out."""
    built = RequestMaker(work()).request(0, Who(0))
    body = body_of(built.outgoing)
    messages = body.pop("messages")
    assert [m["role"] for m in messages] == ["user"]
    assert body == {
        "model": "m",
        "max_tokens": 16,
        "stream": True,
        "temperature": 0.0,
        "stream_options": {"include_usage": True},
    }
    assert built.outgoing.payload.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
    assert built.outgoing.id == "cell/1/0"
    assert (built.outgoing.asked_output_tok, built.outgoing.output_tok_fixed) == (16, False)
    assert (built.outgoing.prompt_class, built.outgoing.prompt_salt) == ("prose", "run/1/0")


def test_options_are_fields_of_the_body() -> None:
    """Each option is sent under the name that engines know, and an extra field replaces ours."""
    options = RequestOptions(
        temperature=0.7,
        seed=3,
        ignore_eos=True,
        min_tokens=True,
        continuous_usage=True,
        max_tokens_field="max_completion_tokens",
        extra=(("top_k", 1), ("temperature", 0.5)),
    )
    outgoing = RequestMaker(work(options=options)).request(0, Who(0)).outgoing
    body = body_of(outgoing)
    assert outgoing.output_tok_fixed
    assert body["max_completion_tokens"] == body["min_tokens"] == 16
    assert "max_tokens" not in body
    assert body["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
    assert (body["seed"], body["ignore_eos"], body["top_k"], body["temperature"]) == (3, True, 1, 0.5)


def test_usage_may_be_left_unasked() -> None:
    """A server that refuses `stream_options` gets none."""
    body = body_of(
        RequestMaker(work(options=RequestOptions(include_usage=False))).request(0, Who(0)).outgoing
    )
    assert "stream_options" not in body


def test_structured_prompts_ask_for_their_schema() -> None:
    """`response_format` goes with structured prompts alone, and only if it is asked for."""
    content = Content(("structured", "prose"), FixedLength(400), FixedLength(16))
    maker = RequestMaker(work(content=content))
    assert body_of(maker.request(0, Who(0)).outgoing)["response_format"]["type"] == "json_schema"
    assert "response_format" not in body_of(maker.request(1, Who(1)).outgoing)
    without = RequestMaker(work(content=content, options=RequestOptions(ask_schema=False)))
    assert "response_format" not in body_of(without.request(0, Who(0)).outgoing)


def test_the_completions_api_gets_one_text() -> None:
    """The same prompt as text, on the other path."""
    outgoing = RequestMaker(work(api=Api.COMPLETIONS)).request(0, Who(0)).outgoing
    assert body_of(outgoing)["prompt"] == prompt_of(RequestMaker(work()).request(0, Who(0)).outgoing)
    assert outgoing.payload.startswith(b"POST /v1/completions HTTP/1.1\r\n")


def test_requests_go_round_all_endpoints() -> None:
    """Round robin goes by number, sticky by session."""
    maker = RequestMaker(work(endpoints=TWO))
    assert [maker.request(0, Who(n, session=5)).outgoing.endpoint.name for n in range(4)] == [
        "a",
        "b",
        "a",
        "b",
    ]
    sticky = RequestMaker(work(endpoints=TWO, choice=EndpointChoice.STICKY))
    assert [sticky.request(0, Who(n, session=5)).outgoing.endpoint.name for n in range(4)] == ["b"] * 4


def test_affinity_is_one_key_a_session() -> None:
    """Header and field carry a key that is the same within a session and differs between sessions.

    The endpoint of the request stays the plan's own: connections are kept by endpoint.
    """
    maker = RequestMaker(work(endpoints=TWO, affinity=Affinity("X-Session", "session_id")))
    keys = []
    for number, session in enumerate((0, 0, 1)):
        outgoing = maker.request(0, Who(number, session=session)).outgoing
        key = body_of(outgoing)["session_id"]
        assert f"\r\nX-Session: {key}\r\n".encode() in outgoing.payload
        assert outgoing.endpoint in TWO
        keys.append(key)
    assert keys[0] == keys[1] != keys[2]


def test_classes_come_by_turns() -> None:
    """Classes are interleaved, so that a drift of the machine falls on all alike."""
    content = Content(("prose", "code", "structured"), FixedLength(500), FixedLength(4))
    maker = RequestMaker(work(content=content))
    assert [maker.request(at, Who(at)).outgoing.prompt_class for at in range(5)] == [
        "prose", "code", "structured", "prose", "code",
    ]  # fmt: skip


def test_a_shared_prefix_is_shared_by_the_round() -> None:
    """Prompts begin alike and say so by their salt; another round begins otherwise."""
    content = Content(("prose",), FixedLength(400), FixedLength(4), shared_prefix_tok=200)
    maker = RequestMaker(work(content=content))
    a, b = (maker.request(at, Who(at)).outgoing for at in (0, 1))
    assert prompt_of(a)[:400] == prompt_of(b)[:400]
    assert a.prompt_salt == b.prompt_salt == "run/1/shared"
    other = RequestMaker(work(content=content, salt="run/2")).request(0, Who(0)).outgoing
    assert prompt_of(other)[:20] != prompt_of(a)[:20]


@pytest.mark.parametrize("shared_tok", [0, 100])
def test_another_salt_makes_a_request_unique_again(shared_tok: int) -> None:
    """Only the salt changes; the head's length stays right, and a shared prefix stays shared."""
    content = Content(("code",), FixedLength(400), FixedLength(4), shared_prefix_tok=shared_tok)
    built = RequestMaker(work(content=content)).request(0, Who(0))
    again = resalted(built, "new", "cell/1/9")
    old_text, new_text = prompt_of(built.outgoing), prompt_of(again.outgoing)
    assert new_text == old_text.replace(salt_text("run/1/0"), salt_text("new"))
    assert new_text != old_text
    assert again.outgoing.id == "cell/1/9"
    assert again.outgoing.prompt_salt == ("run/1/shared" if shared_tok else "new")


def test_no_endpoint_is_refused() -> None:
    """A round needs somewhere to send to."""
    with pytest.raises(UsageError, match="no endpoint"):
        work(endpoints=())


@pytest.mark.parametrize(
    ("length", "low", "high", "median"),
    [
        (FixedLength(50), 50, 50, 50),
        (UniformLength(10, 90), 10, 90, 50),
        (LognormalLength(50, 1.0, 5, 900), 5, 900, 50),
    ],
)
def test_lengths_follow_their_distribution(length: Length, low: int, high: int, median: int) -> None:
    """Lengths lie between the limits, around the median, and are the same for a seed."""
    draws = Draws("lengths")
    found = sorted(draw_length(length, draws) for _ in range(4000))
    assert low <= found[0]
    assert found[-1] <= high == longest(length)
    assert found[2000] == pytest.approx(median, rel=0.08)
    again = Draws("lengths")
    assert sorted(draw_length(length, again) for _ in range(4000)) == found


def test_limits_that_hold_nothing_are_refused() -> None:
    """A distribution whose limits leave nothing is a slip, not an endless loop."""
    with pytest.raises(UsageError, match="widen the limits"):
        draw_length(LognormalLength(10, 0.1, 5000, 6000), Draws("none"))


def test_requests_follow_from_the_spec() -> None:
    """Equal specs make equal bytes; another seed makes other lengths and texts."""
    content = Content(("prose",), UniformLength(100, 400), UniformLength(5, 50))
    one, same, other = (
        [
            RequestMaker(replace(work(content=content), seed=seed)).request(at, Who(at)).outgoing
            for at in range(5)
        ]
        for seed in (1, 1, 2)
    )
    assert one == same
    assert [o.asked_output_tok for o in one] != [o.asked_output_tok for o in other]
