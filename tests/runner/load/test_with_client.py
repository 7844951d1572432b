"""Each driver with the real client against a real server on loopback."""

from collections.abc import Sequence

import pytest

from kbtool.runner.client import Driver, Endpoint, Exchange, Limits, exchange
from kbtool.runner.client.parse import parse
from kbtool.runner.load import (
    Affinity,
    Api,
    ClosedLoop,
    ClosedLoopSpec,
    Content,
    Conversations,
    ConversationsSpec,
    EndpointChoice,
    FixedLength,
    OpenLoop,
    OpenLoopSpec,
    PrefillSpec,
    Replay,
    ReplaySpec,
    SingleStreamSpec,
    length_probes,
    prefill,
    single_stream,
)
from kbtool.runner.prompts import calibrate_ratio, length_check, read_trace
from kbtool.runner.trace import Outcome, RequestTrace
from tests.runner.load.script import work
from tests.runner.load.tiny_server import tiny_server

LIMITS = Limits(connect_s=5, first_byte_s=10, progress_s=10, total_s=20)


def run(driver: Driver) -> tuple[Exchange, list[RequestTrace]]:
    """Return what came of a driver, all of it good."""
    done = exchange(driver, limits=LIMITS)
    traces = [parse(each) for each in done.recorded]
    assert {(t.outcome, t.detail) for t in traces} == {(Outcome.OK, "")}
    return done, traces


def in_order(traces: Sequence[RequestTrace]) -> list[str]:
    """Return the ids in the order of sending."""
    return [t.id for t in sorted(traces, key=lambda t: t.sent_ns or 0)]


@pytest.mark.parametrize("api", list(Api))
def test_single_stream_over_the_wire(api: Api) -> None:
    """Requests follow each other, and each has the tokens asked for."""
    with tiny_server() as (endpoint, seen):
        _, traces = run(single_stream(work(endpoints=(endpoint,), api=api), SingleStreamSpec(5)))
    assert in_order(traces) == [f"cell/1/{n}" for n in range(5)]
    assert {t.usage.completion_tok for t in traces if t.usage} == {16}
    assert seen.most_at_once == 1


def test_probes_calibrate_lengths_over_the_wire() -> None:
    """Probe answers give a length model, with which the next prompts hold what was asked for."""
    asked = Content(("prose",), FixedLength(1500), FixedLength(1))
    with tiny_server() as (endpoint, _):
        probes = length_probes(work(endpoints=(endpoint,)), "prose", (400, 2500))
        _, traces = run(probes)
        pairs = [(probes.n_pieces[t.id], t.usage.prompt_tok) for t in traces if t.usage is not None]
        model = calibrate_ratio(pairs)
        _, traces = run(
            single_stream(
                work(endpoints=(endpoint,), content=asked, lengths=(("prose", model),)), SingleStreamSpec(5)
            )
        )
    checks = [length_check(1500, t.usage) for t in traces if t.usage is not None]
    assert sum(check.held for check in checks) >= 4


def test_closed_loop_over_the_wire() -> None:
    """Eight users send 40 requests, and the steady part has a beginning and an end."""
    with tiny_server() as (endpoint, _):
        driver = ClosedLoop(work(endpoints=(endpoint,)), ClosedLoopSpec(users=8, requests=40))
        done, traces = run(driver)
    assert len(traces) == 40
    assert {t.stream for t in traces} == set(range(8))
    marks = driver.marks
    assert marks.full_ns is not None
    assert marks.draining_ns is not None
    assert done.start_ns <= marks.full_ns <= marks.draining_ns <= done.end_ns


def test_open_loop_over_the_wire() -> None:
    """Every request is sent, none before it is due."""
    with tiny_server() as (endpoint, _):
        driver = OpenLoop(work(endpoints=(endpoint,)), OpenLoopSpec(200.0, 0.2))
        _, traces = run(driver)
    assert len(traces) == len(driver.expected_tok) > 20
    assert all(t.sent_ns is not None and t.due_ns is not None and t.sent_ns >= t.due_ns for t in traces)


def test_prefill_over_the_wire() -> None:
    """The server gets each long prompt twice in a row."""
    with tiny_server() as (endpoint, seen):
        content = Content(("synthetic",), FixedLength(1), FixedLength(2))
        _, traces = run(prefill(work(endpoints=(endpoint,), content=content), PrefillSpec((2000, 20_000), 1)))
    prompts = [body["messages"][0]["content"] for body in seen.bodies]
    assert prompts[0] == prompts[1] != prompts[2] == prompts[3]
    assert sorted(t.turn for t in traces) == [1, 1, 2, 2]


def test_conversations_over_the_wire() -> None:
    """The server finds its own answers in the next turn, and one key for each session."""
    with tiny_server("a") as (one, seen_one), tiny_server("b") as (two, seen_two):
        endpoints: tuple[Endpoint, ...] = (one, two)
        driver = Conversations(
            work(endpoints=endpoints, choice=EndpointChoice.STICKY, affinity=Affinity(header="X-Session")),
            ConversationsSpec(agents=2, turns=4, system_tok=600, turn_tok=FixedLength(60), think_s=0.001),
        )
        _, traces = run(driver)
    assert sorted(t.turn for t in traces) == [1, 1, 2, 2, 3, 3, 4, 4]
    for seen in (seen_one, seen_two):
        assert [len(body["messages"]) for body in seen.bodies] == [2, 4, 6, 8]
        answers = [m["content"] for m in seen.bodies[-1]["messages"] if m["role"] == "assistant"]
        assert answers == ["".join(f"w{at} " for at in range(16))] * 3
        assert len({headers["X-Session"] for headers in seen.headers}) == 1


def test_replay_over_the_wire() -> None:
    """A trace is played with its lengths."""
    rows = [b'{"timestamp": %d, "input_length": %d, "output_length": 3}' % (n * 5, 50 + n) for n in range(20)]
    with tiny_server() as (endpoint, seen):
        _, traces = run(Replay(work(endpoints=(endpoint,)), ReplaySpec(read_trace(rows, "t"), speed=2)))
    assert in_order(traces) == [f"cell/1/{n}" for n in range(20)]
    assert {body["max_tokens"] for body in seen.bodies} == {3}


def test_a_server_that_is_gone_ends_a_closed_loop() -> None:
    """Nothing listens: the loop gives up after a few failures and every request is accounted for."""
    with tiny_server() as (endpoint, _):
        gone = endpoint
    driver = ClosedLoop(work(endpoints=(gone,)), ClosedLoopSpec(users=6, requests=1000, prebuilt=6))
    done = exchange(driver, limits=LIMITS)
    outcomes = {parse(each).outcome for each in done.recorded}
    assert outcomes <= {Outcome.CONNECT_FAILED, Outcome.NOT_SENT}
    assert len(done.recorded) == len(driver.expected_tok) < 60
