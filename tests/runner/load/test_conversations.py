"""Conversations: each turn begins with everything before it, the engine's own answers included."""

import itertools

import pytest

from kbtool.errors import UsageError
from kbtool.runner.client import Endpoint, Recorded
from kbtool.runner.load import (
    Api,
    Conversations,
    ConversationsSpec,
    EndpointChoice,
    FixedLength,
    UniformLength,
)
from kbtool.runner.prompts import salt_text
from kbtool.runner.trace import Outcome, RequestTrace
from tests.runner.load.script import answered, body_of, play, work

SPEC = ConversationsSpec(agents=2, turns=3, system_tok=600, turn_tok=FixedLength(80))


def said_id(got: Recorded) -> RequestTrace:
    """Answer with the request's own id, so that it is seen where it comes back."""
    return answered(got, f'answer to {got.outgoing.id} "quoted" \u00e9\n')


def test_a_turn_holds_everything_before_it_and_the_answer() -> None:
    """Messages of a turn are those of the last one, its answer, and a new one."""
    played = play(Conversations(work(), SPEC, read=said_id))
    turns = [o for _, o in played.sent if o.stream == 0]
    assert [o.turn for o in turns] == [1, 2, 3]
    bodies = [body_of(o)["messages"] for o in turns]
    for before, outgoing, after in zip(bodies, turns, bodies[1:], strict=False):
        assert after[: len(before)] == before
        added = after[len(before) :]
        assert [m["role"] for m in added] == ["assistant", "user"]
        assert added[0]["content"] == f'answer to {outgoing.id} "quoted" \u00e9\n'
    assert [m["role"] for m in bodies[0]] == ["system", "user"]


def test_bytes_of_a_turn_begin_with_those_of_the_last() -> None:
    """What a prefix cache sees first is the same to the byte."""
    played = play(Conversations(work(), SPEC, read=said_id))
    first, second, _ = (o.payload.partition(b'"messages":')[2] for _, o in played.sent if o.stream == 1)
    assert second.startswith(first.rstrip(b"]}"))


def test_agents_share_the_system_prompt_if_asked_to() -> None:
    """One system prompt for all, or one each; tasks always differ."""
    for shared in (True, False):
        spec = ConversationsSpec(2, 1, 600, FixedLength(80), shared_system=shared)
        sent = [o for _, o in play(Conversations(work(), spec, read=answered)).sent]
        systems, tasks = zip(*([m["content"] for m in body_of(o)["messages"]] for o in sent), strict=True)
        assert (systems[0] == systems[1]) is shared
        assert (sent[0].prompt_salt == sent[1].prompt_salt) is shared
        assert tasks[0][:20] != tasks[1][:20]


def test_completions_get_the_conversation_as_one_text() -> None:
    """The text grows by answer and next turn, and begins with the salt."""
    played = play(Conversations(work(api=Api.COMPLETIONS), SPEC, read=said_id))
    texts = [body_of(o)["prompt"] for _, o in played.sent if o.stream == 0]
    assert texts[0].startswith(salt_text("run/1/shared"))
    assert all(text.endswith("\n\nAssistant:") for text in texts)
    assert texts[1].startswith(texts[0])
    assert texts[1][len(texts[0]) :].startswith(' answer to cell/1/0 "quoted" \u00e9\n\n\nUser: ')


def test_a_session_stays_with_its_endpoint() -> None:
    """Sticky conversations go to one endpoint each."""
    endpoints = (Endpoint("a", "127.0.0.1", 1), Endpoint("b", "127.0.0.1", 2))
    driver = Conversations(work(endpoints=endpoints, choice=EndpointChoice.STICKY), SPEC, read=answered)
    found = {(o.stream, o.endpoint.name) for _, o in play(driver).sent}
    assert found == {(0, "a"), (1, "b")}


def test_agents_think_between_turns() -> None:
    """A fixed pause is exact; a random one has about its mean, and is the same for a seed."""
    fixed = ConversationsSpec(1, 3, 600, FixedLength(80), think_s=0.5, think_fixed=True)
    assert play(Conversations(work(), fixed, read=answered)).at_ms == [0, 510, 1020]
    drawn = ConversationsSpec(1, 200, 600, FixedLength(40), think_s=0.5)
    one, same = (play(Conversations(work(), drawn, read=answered)).at_ms for _ in range(2))
    assert one == same
    assert (one[-1] - 199 * 10) / 199 == pytest.approx(500, rel=0.2)


def test_an_agent_goes_on_with_its_next_conversation() -> None:
    """Conversations of one agent follow each other without a pause, each from turn 1."""
    spec = ConversationsSpec(2, 2, 600, FixedLength(80), each=2, think_s=0.1, think_fixed=True)
    played = play(Conversations(work(), spec, read=answered))
    assert [o.turn for _, o in played.sent if o.stream == 1] == [1, 2, 1, 2]
    assert played.at_ms == [0, 0, 110, 110, 120, 120, 230, 230]
    assert played.ids == [f"cell/1/{n}" for n in range(8)]


def test_a_failed_turn_ends_its_conversation_alone() -> None:
    """What an agent never got cannot be put back: it starts the next conversation, the other agent goes on."""
    spec = ConversationsSpec(2, 3, 600, FixedLength(80), each=2)
    driver = Conversations(work(), spec, read=answered)
    played = play(driver, fails=lambda n, _: Outcome.RESET if n == 2 else None)
    assert driver.n_abandoned == 1
    assert [o.turn for _, o in played.sent if o.stream == 0] == [1, 2, 1, 2, 3]
    assert [o.turn for _, o in played.sent if o.stream == 1] == [1, 2, 3, 1, 2, 3]


def test_an_endless_answer_is_cut_before_it_is_put_back() -> None:
    """A server that ignores the length cannot make the next prompt megabytes."""
    driver = Conversations(work(), SPEC, read=lambda got: answered(got, "x" * 1_000_000))
    sizes = [len(o.payload) for _, o in play(driver).sent]
    assert max(sizes) < 20_000


def test_lengths_of_turns_may_vary() -> None:
    """Turns are drawn from their distribution, the same for a seed."""
    spec = ConversationsSpec(1, 6, 600, UniformLength(50, 500))
    one, same = (
        [len(o.payload) for _, o in play(Conversations(work(), spec, read=answered)).sent] for _ in range(2)
    )
    assert one == same
    assert len({b - a for a, b in itertools.pairwise(one)}) > 1


def test_expected_tokens_grow_with_the_conversation() -> None:
    """Every turn is expected to be longer by its message and the answer."""
    driver = Conversations(work(), SPEC, read=lambda got: answered(got, "word " * 50))
    ids = [o.id for _, o in play(driver).sent if o.stream == 0]
    tokens = [driver.expected_tok[each] for each in ids]
    assert tokens[0] == pytest.approx(680, abs=5)
    assert [b - a for a, b in itertools.pairwise(tokens)] == pytest.approx([130, 130], abs=5)


def test_agents_begin_over_the_ramp() -> None:
    """Two agents over 40 ms begin 20 ms apart."""
    spec = ConversationsSpec(2, 1, 600, FixedLength(80), ramp_s=0.04)
    assert play(Conversations(work(), spec, read=answered)).at_ms == [0, 20]


def test_no_agents_are_refused() -> None:
    """Nobody to talk is a slip."""
    with pytest.raises(UsageError, match="1 or more of each"):
        Conversations(work(), ConversationsSpec(0, 1, 600, FixedLength(80)))
