"""One request at a time."""

import pytest

from kbtool.errors import UsageError
from kbtool.runner.client import Endpoint, Send
from kbtool.runner.load import (
    Content,
    FixedLength,
    PrefillSpec,
    SingleStreamSpec,
    prefill,
    single_stream,
)
from kbtool.runner.trace import Outcome
from tests.runner.load.script import MS, play, prompt_of, recorded, work


def test_a_single_stream_never_has_two_in_flight() -> None:
    """Each request follows the end of the one before, after the pause."""
    played = play(single_stream(work(), SingleStreamSpec(4, gap_s=0.005)))
    assert played.most_in_flight == 1
    assert played.at_ms == [0, 15, 30, 45]
    assert played.ids == [f"cell/1/{n}" for n in range(4)]


def test_a_single_stream_knows_what_prompts_should_have() -> None:
    """Expected prompt tokens are there for every id."""
    driver = single_stream(work(), SingleStreamSpec(3))
    assert [driver.expected_tok[f"cell/1/{n}"] for n in range(3)] == pytest.approx([120] * 3, abs=4)


def test_prefill_repeats_each_prompt_where_the_cache_is() -> None:
    """A cold prompt is followed by itself, as a later turn, on the same endpoint; lengths grow."""
    content = Content(("synthetic",), FixedLength(1), FixedLength(2))
    endpoints = (Endpoint("a", "127.0.0.1", 1), Endpoint("b", "127.0.0.1", 2))
    spec = PrefillSpec((100, 300), prompts=2, warm_repeats=2)
    sent = [outgoing for _, outgoing in play(prefill(work(content=content, endpoints=endpoints), spec)).sent]
    assert [o.turn for o in sent] == [1, 2, 3] * 4
    for at in range(0, 12, 3):
        assert prompt_of(sent[at]) == prompt_of(sent[at + 1]) == prompt_of(sent[at + 2])
        assert len({o.prompt_salt for o in sent[at : at + 3]}) == 1
        assert len({o.endpoint.name for o in sent[at : at + 3]}) == 1
    cold = sent[::3]
    assert len({prompt_of(o)[:20] for o in cold}) == 4
    assert len(prompt_of(cold[2])) > 2 * len(prompt_of(cold[1]))
    assert len({o.id for o in sent}) == 12


def test_a_warm_cell_repeats_the_prompts_of_its_cold_one() -> None:
    """Two cells of equal seed and salt send the same prompts, the warm one as turn 2."""
    content = Content(("synthetic",), FixedLength(1), FixedLength(2))
    cold, warm = (
        [o for _, o in play(prefill(work(content=content, cell=caches), PrefillSpec((200,), 3, caches))).sent]
        for caches in ("cold", "warm")
    )
    assert [prompt_of(o) for o in cold] == [prompt_of(o) for o in warm]
    assert {o.turn for o in cold} == {1}
    assert {o.turn for o in warm} == {2}
    assert warm[0].id == "warm/1/0"


def test_prefill_without_lengths_is_refused() -> None:
    """Nothing to send is a slip."""
    with pytest.raises(UsageError, match="1 or more"):
        prefill(work(), PrefillSpec((), 1))


def test_failures_slow_down_and_then_end_the_round() -> None:
    """A server that refuses at once is asked ever more slowly, and no more after eight failures."""
    driver = single_stream(work(), SingleStreamSpec(50))
    played = play(driver, lambda *_: 0, lambda *_: Outcome.CONNECT_FAILED)
    assert played.at_ms == [0, 100, 300, 700, 1500, 3100, 6300, 11_300]
    assert driver.stop(0)


def test_one_success_forgives_failures() -> None:
    """Failures in a row count, not failures."""
    driver = single_stream(work(), SingleStreamSpec(30))
    played = play(driver, fails=lambda n, _: Outcome.RESET if n % 3 else None)
    assert len(played.sent) == 30


def test_nothing_follows_what_the_operator_ended() -> None:
    """A cancelled request has no successor."""
    driver = single_stream(work(), SingleStreamSpec(3))
    first: Send
    (first,) = driver.begin(0)
    assert not driver.ended(recorded(first.outgoing, sent_ns=0, ended_ns=MS, failure=Outcome.CANCELLED), MS)
