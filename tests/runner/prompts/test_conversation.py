"""Texts of conversations: what agents share, and what is their own."""

import pytest

from kbtool.runner.prompts import (
    ConversationSpec,
    LengthError,
    LengthModel,
    count_pieces,
    first_messages,
    turn_message,
)


def spec(*, salt: str = "a", system_salt: str = "all", system_tok: int = 1500) -> ConversationSpec:
    """Return a conversation of which each test changes what matters to it."""
    return ConversationSpec(1, salt, system_salt, system_tok, 300, LengthModel(1.0, 10.0))


def test_conversations_share_a_system_prompt_and_nothing_else() -> None:
    """Two agents with one system salt have one system prompt, and tasks that differ from the first word on."""
    (system_a, task_a), (system_b, task_b) = first_messages(spec()), first_messages(spec(salt="b"))
    assert system_a == system_b
    assert task_a.content[:12] != task_b.content[:12]


def test_another_system_salt_is_another_system_prompt() -> None:
    """Without a shared salt nothing is shared from the first word on."""
    one, other = first_messages(spec())[0], first_messages(spec(system_salt="own"))[0]
    assert one.content[:12] != other.content[:12]


def test_messages_have_the_length_asked_for() -> None:
    """System prompt and turns have their pieces."""
    system, task = first_messages(spec())
    assert count_pieces(system.content) == pytest.approx(1490, abs=4)
    assert count_pieces(task.content) == pytest.approx(300, abs=4)
    assert count_pieces(turn_message(spec(), 5, 900).content) == pytest.approx(900, abs=4)


def test_turns_follow_from_the_spec() -> None:
    """A turn is the same each time, and turns differ."""
    assert turn_message(spec(), 2, 300) == turn_message(spec(), 2, 300)
    assert turn_message(spec(), 2, 300) != turn_message(spec(), 3, 300)
    assert "RESULT " in turn_message(spec(), 2, 300).content


def test_too_little_room_is_refused() -> None:
    """A system prompt without room for its tools, or a task without room for its salt, is no conversation."""
    with pytest.raises(LengthError, match="expected at least about"):
        first_messages(spec(system_tok=100))
    with pytest.raises(LengthError, match="ask for 40 or more"):
        turn_message(spec(), 1, 5)
