"""Whether prompts of a length can be made at all: asked before a run, so that none ends in the middle for it."""

from typing import Final

from kbtool.runner.prompts.conversation import ConversationSpec, first_messages, turn_message
from kbtool.runner.prompts.length import DEFAULT_LENGTHS, LengthModel
from kbtool.runner.prompts.make import PromptClass, PromptSpec, SharedPrefix, make_prompt

__all__ = ["require_conversation", "require_prompt"]

AMPLE_TOK: Final = 4096
"""No fixed text of a prompt needs as much."""
_SALTS: Final = ("least/0", "least/1", "least/2", "least/3")
"""Schemas differ from prompt to prompt: some are longer than others."""


def require_prompt(
    prompt_class: PromptClass,
    input_tok: int,
    *,
    seed: int,
    shared_prefix_tok: int = 0,
    lengths: LengthModel = DEFAULT_LENGTHS,
) -> None:
    """Do nothing where prompts of that length can be made.

    Args:
        prompt_class: Class of the prompts.
        input_tok: Tokens of a prompt.
        seed: Seed of the plan.
        shared_prefix_tok: Leading tokens that all share.
        lengths: Tokens a piece, as the server counts; without it a guess that only finds what is far too short.

    Raises:
        LengthError: They cannot; the message says how long they would have to be.
    """
    if input_tok - shared_prefix_tok >= AMPLE_TOK and not 0 < shared_prefix_tok < AMPLE_TOK:
        return
    ample = max(0, shared_prefix_tok - AMPLE_TOK)
    prefix = SharedPrefix("least", shared_prefix_tok - ample) if shared_prefix_tok else None
    for salt in _SALTS:
        make_prompt(
            PromptSpec(
                prompt_class,
                min(input_tok - ample, 2 * AMPLE_TOK),
                seed,
                salt,
                lengths.tok_per_piece,
                lengths.fixed_tok,
                prefix,
            )
        )


def require_conversation(
    system_tok: int, turn_tok: int, *, seed: int, lengths: LengthModel = DEFAULT_LENGTHS
) -> None:
    """Do nothing where conversations with such a system prompt and such turns can be made.

    Raises:
        LengthError: They cannot; the message says how long they would have to be.
    """
    for salt in _SALTS:
        spec = ConversationSpec(
            seed, salt, "least", min(system_tok, AMPLE_TOK), min(turn_tok, AMPLE_TOK), lengths
        )
        first_messages(spec)
        turn_message(spec, 2, min(turn_tok, AMPLE_TOK))
