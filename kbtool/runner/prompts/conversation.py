"""Texts of a conversation that grows: system prompt and task at first, then results of tools, turn by turn.

What the assistant said in between is not made here: it is the engine's own answers, put back in by the driver.
"""

from dataclasses import dataclass
from typing import Final

from kbtool.runner.prompts.agent import system_text, task_text, tool_results
from kbtool.runner.prompts.draws import Draws
from kbtool.runner.prompts.length import LengthError, LengthModel
from kbtool.runner.prompts.make import Message
from kbtool.runner.prompts.pieces import count_pieces, fit_pieces
from kbtool.runner.prompts.salt import salt_text

__all__ = ["ConversationSpec", "first_messages", "turn_message"]

_CHARS_PER_PIECE: Final = 3.6
_CLOSING: Final = "\n\nGo on."


@dataclass(frozen=True, slots=True)
class ConversationSpec:
    """One conversation. Its texts follow from seed and salts."""

    seed: int
    salt: str
    """Of this conversation: no other one has its task and results."""
    system_salt: str
    """Of the system prompt: conversations with one share it."""
    system_tok: int
    """Tokens of the system prompt, the chat template's own included."""
    task_tok: int
    """Tokens of the user's first message."""
    lengths: LengthModel


def first_messages(spec: ConversationSpec) -> tuple[Message, Message]:
    """Return the system prompt and the user's task.

    Raises:
        LengthError: The system prompt or the task has no room for what it has to hold.
    """
    opening = salt_text(spec.system_salt) + "\n\n"
    room = spec.lengths.pieces_for(spec.system_tok) - count_pieces(opening)
    least = count_pieces(system_text(Draws(spec.seed, "least"), 0))
    if room < least:
        short = spec.system_tok + int((least - room) * spec.lengths.tok_per_piece) + 1
        raise LengthError(
            f"conversation {spec.salt!r}: a system prompt of {spec.system_tok} tokens was asked for; expected at least "
            f"about {short}, for its rules and tools: ask for a longer one"
        )
    system = fit_pieces(
        lambda n_chars: system_text(Draws(spec.seed, "system", spec.system_salt), n_chars),
        room,
        _CHARS_PER_PIECE,
    )
    return Message("system", opening + system), turn_message(spec, 1, spec.task_tok)


def turn_message(spec: ConversationSpec, turn: int, turn_tok: int) -> Message:
    """Return the user's message of a turn, from 1: the task first, results of tools in later ones.

    Raises:
        LengthError: So few tokens hold no message.
    """
    text = task_text if turn == 1 else tool_results
    opening = salt_text(spec.salt) + "\n\n" if turn == 1 else ""
    room = round(turn_tok / spec.lengths.tok_per_piece) - count_pieces(opening) - count_pieces(_CLOSING)
    if room < 1:
        raise LengthError(
            f"conversation {spec.salt!r}: {turn_tok} tokens a turn were asked for, which is less than its salt "
            "takes: ask for 40 or more"
        )
    body = fit_pieces(
        lambda n_chars: text(Draws(spec.seed, "turn", spec.salt, turn), n_chars), room, _CHARS_PER_PIECE
    )
    return Message("user", opening + body + _CLOSING)
