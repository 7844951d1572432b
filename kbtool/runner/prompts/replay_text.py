"""The prompt of a recorded request: blocks by their ids, so that equal beginnings are equal texts."""

from dataclasses import dataclass
from typing import Final

from kbtool.runner.prompts.length import LengthModel
from kbtool.runner.prompts.make import Message, Prompt
from kbtool.runner.prompts.pieces import count_pieces, fit_pieces
from kbtool.runner.prompts.replay import RecordedRequest
from kbtool.runner.prompts.salt import salt_text
from kbtool.runner.prompts.synthetic import synthetic

__all__ = ["ReplayText", "replay_prompt"]

_CHARS_PER_PIECE: Final = 5.9
_STEP_CHARS: Final = 4096


@dataclass(frozen=True, slots=True)
class ReplayText:
    """What turns ids and lengths into text."""

    seed: int
    salt: str
    """One for a whole replay: a second replay shares nothing with the first."""
    lengths: LengthModel
    block_tok: int


def replay_prompt(request: RecordedRequest, how: ReplayText) -> Prompt:
    """Return the prompt of a recorded request.

    Blocks have their length in tokens on average, not exactly: what two requests share is right within a few
    tokens a block.  A request without ids and session opens with a salt of its own.
    """
    alone = not request.block_ids and request.session is None
    salt = f"{how.salt}/{request.line}" if alone else how.salt
    opening = salt_text(salt) + "\n\n"
    room = max(1, how.lengths.pieces_for(request.input_tok) - count_pieces(opening))
    body = _blocks(request, how, room) if request.block_ids else _stream(request, how, room)
    n_pieces = count_pieces(opening) + count_pieces(body)
    message = Message("user", opening + body)
    return Prompt("synthetic", salt, (message,), how.lengths.expected_tok(n_pieces), n_pieces)


def _blocks(request: RecordedRequest, how: ReplayText, room: int) -> str:
    """Return the text of the blocks, cut to the prompt's length or filled up to it with text of its own."""
    pieces_a_block = max(1, round(how.block_tok / how.lengths.tok_per_piece))
    parts: list[str] = []
    left = room
    for at, block in enumerate(request.block_ids):
        # The first block holds the salt, so that the block limits stay where they were recorded.
        wanted = min(left, pieces_a_block - (_room_of_salt(how) if at == 0 else 0))
        parts.append(_text(how, ("block", block), wanted))
        left -= wanted
        if left <= 0:
            break
    if left > 0:
        parts.append(_text(how, ("rest", request.line), left))
    return "".join(parts)


def _room_of_salt(how: ReplayText) -> int:
    """Return the pieces that chat template and salt take of the first block."""
    return count_pieces(salt_text(how.salt)) + round(how.lengths.fixed_tok / how.lengths.tok_per_piece)


def _stream(request: RecordedRequest, how: ReplayText, room: int) -> str:
    """Return text of the session from its start: a later, longer turn begins with an earlier one's."""
    key = ("line", request.line) if request.session is None else ("session", request.session)
    return _text(how, key, room)


def _text(how: ReplayText, key: tuple[str, str | int], n_pieces: int) -> str:
    if n_pieces <= 0:
        return ""
    text = fit_pieces(lambda n_chars: _growing(how, key, n_chars), n_pieces, _CHARS_PER_PIECE)
    return text.rstrip() + " "


def _growing(how: ReplayText, key: tuple[str, str | int], n_chars: int) -> str:
    """Return text in steps of one size, so that a longer text begins with a shorter one."""
    parts: list[str] = []
    have = 0
    while have < n_chars:
        part = synthetic(how.seed, how.salt, *key, len(parts), n_chars=_STEP_CHARS)
        parts.append(part)
        have += len(part)
    return "".join(parts)
