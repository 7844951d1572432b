"""Prompts: text by class from a seed, of a length that the server's own count confirms, and traces to replay."""

from kbtool.runner.prompts.conversation import ConversationSpec, first_messages, turn_message
from kbtool.runner.prompts.draws import Draws
from kbtool.runner.prompts.least import require_conversation, require_prompt
from kbtool.runner.prompts.length import (
    DEFAULT_LENGTHS,
    LENGTH_TOLERANCE_RATIO,
    LengthCheck,
    LengthError,
    LengthModel,
    calibrate_ratio,
    length_check,
)
from kbtool.runner.prompts.make import (
    PROMPT_CLASSES,
    TEXT_VERSION,
    Message,
    Prompt,
    PromptClass,
    PromptSpec,
    SharedPrefix,
    make_prompt,
)
from kbtool.runner.prompts.pieces import count_pieces
from kbtool.runner.prompts.replay import (
    Bounds,
    RecordedRequest,
    RecordedTrace,
    TraceFileError,
    read_trace,
    trace_lines,
)
from kbtool.runner.prompts.replay_text import ReplayText, replay_prompt
from kbtool.runner.prompts.salt import SALT_CHARS, salt_text

__all__ = [
    "DEFAULT_LENGTHS",
    "LENGTH_TOLERANCE_RATIO",
    "PROMPT_CLASSES",
    "SALT_CHARS",
    "TEXT_VERSION",
    "Bounds",
    "ConversationSpec",
    "Draws",
    "LengthCheck",
    "LengthError",
    "LengthModel",
    "Message",
    "Prompt",
    "PromptClass",
    "PromptSpec",
    "RecordedRequest",
    "RecordedTrace",
    "ReplayText",
    "SharedPrefix",
    "TraceFileError",
    "calibrate_ratio",
    "count_pieces",
    "first_messages",
    "length_check",
    "make_prompt",
    "read_trace",
    "replay_prompt",
    "require_conversation",
    "require_prompt",
    "salt_text",
    "trace_lines",
    "turn_message",
]
