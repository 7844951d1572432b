"""Prompts of a class and a length from a seed: chat messages, or one text for the completions API.

A prompt is its salt, then text of the class cut to length, then what is asked.  Prompts with one prefix salt begin
with the same text, prompts with different salts share nothing from the first word on.
"""

import json
from dataclasses import dataclass
from typing import Any, Final, Literal

from kbtool.runner.prompts.agent import assistant_turn, system_text, task_text, tool_results
from kbtool.runner.prompts.code import sources
from kbtool.runner.prompts.draws import Draws
from kbtool.runner.prompts.length import DEFAULT_LENGTHS, LengthError, LengthModel
from kbtool.runner.prompts.pieces import count_pieces, fit_pieces
from kbtool.runner.prompts.prose import prose
from kbtool.runner.prompts.salt import salt_text
from kbtool.runner.prompts.structured import answer_schema, domain_of, records
from kbtool.runner.prompts.synthetic import synthetic

__all__ = [
    "PROMPT_CLASSES",
    "TEXT_VERSION",
    "Message",
    "Prompt",
    "PromptClass",
    "PromptSpec",
    "SharedPrefix",
    "make_prompt",
]

TEXT_VERSION: Final = 1
"""Raised with every change of words or grammar: equal seeds give equal prompts within one version alone."""

PromptClass = Literal["prose", "code", "structured", "agent", "synthetic"]
PROMPT_CLASSES: Final[tuple[PromptClass, ...]] = ("prose", "code", "structured", "agent", "synthetic")
Role = Literal["system", "user", "assistant"]

_AFTER_PROSE: Final = "\n\nContinue this report in the same voice, as plain prose without lists or headings."
_AFTER_CODE: Final = (
    "\n```\n\nContinue the last file with further functions in its style. Answer with code alone."
)
_AFTER_RECORDS: Final = "\n\nAnswer with one JSON object that lists "
_AFTER_SYNTHETIC: Final = "\n\nContinue the text above."
_CHARS_PER_PIECE: Final[dict[PromptClass, float]] = {
    "prose": 4.7, "code": 3.4, "structured": 3.0, "agent": 3.6, "synthetic": 5.9,
}  # fmt: skip
"""About what the texts have: a guess that saves work, and changes no text."""
_SYSTEM_SHARE: Final = 0.4
"""Share of an agent's prompt that the system message takes, with its tools and house rules."""
_TASK_SHARE: Final = 0.1
_TURN_PIECES: Final = 1500
_SHORTEST_TURN: Final = 60


@dataclass(frozen=True, slots=True)
class SharedPrefix:
    """The beginning that several prompts have in common."""

    salt: str
    target_tok: int


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """What prompt is wanted."""

    prompt_class: PromptClass
    target_tok: int
    """Tokens of the whole prompt as the server should count them, chat template and shared prefix included."""
    seed: int
    salt: str
    """Makes the prompt unique. The text follows from seed, class and salt."""
    tok_per_piece: float | None = None
    """From `calibrate_ratio`; None for a default that serves for first probes alone."""
    fixed_tok: float = 0.0
    """From `calibrate_ratio`; without a calibrated ratio it is not looked at."""
    prefix: SharedPrefix | None = None

    @property
    def lengths(self) -> LengthModel:
        """Return the calibrated line, or the default."""
        if self.tok_per_piece is None:
            return DEFAULT_LENGTHS
        return LengthModel(self.tok_per_piece, self.fixed_tok)


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as it is sent."""

    prompt_class: PromptClass
    salt: str
    """The salt of the shared prefix where there is one: equal salts mean a shared beginning."""
    messages: tuple[Message, ...]
    expected_tok: int
    n_pieces: int
    """Pieces of all messages together: what `calibrate_ratio` is given."""
    schema_json: str | None = None
    """JSON Schema of the answer, for class `structured`."""

    @property
    def text(self) -> str:
        """Return the prompt for the completions API; a lone message stands as it is."""
        first, *rest = self.messages
        if not rest:
            return first.content
        later = "".join(f"\n\n{message.role.capitalize()}: {message.content}" for message in rest)
        return f"{first.content}{later}\n\nAssistant:"

    def response_format(self) -> dict[str, Any] | None:
        """Return what asks an engine to keep to the schema, or None."""
        if self.schema_json is None:
            return None
        return {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": json.loads(self.schema_json)},
        }


def make_prompt(spec: PromptSpec) -> Prompt:
    """Return the prompt that a spec asks for: the same one for equal specs, on any machine.

    Raises:
        LengthError: The length is below what salt, shared prefix and closing request need.
    """
    n_pieces = spec.lengths.pieces_for(spec.target_tok)
    opening = _prefix_text(spec) + salt_text(spec.salt) + "\n\n"
    schema_json: str | None = None
    if spec.prompt_class == "agent":
        messages = _agent_messages(spec, opening, n_pieces)
        have = sum(count_pieces(message.content) for message in messages)
    else:
        before, after, schema_json = _frame(spec)
        room = n_pieces - count_pieces(opening) - count_pieces(before) - count_pieces(after)
        _check_room(spec, room)
        have = n_pieces
        body = _body(spec, ("body", spec.salt), room)
        messages = (Message("user", f"{opening}{before}{body}{after}"),)
    salt = spec.salt if spec.prefix is None else spec.prefix.salt
    return Prompt(spec.prompt_class, salt, messages, spec.lengths.expected_tok(have), have, schema_json)


def _check_room(spec: PromptSpec, room: int) -> None:
    if room >= 0:
        return
    least = spec.target_tok + int(-room * spec.lengths.tok_per_piece) + 1
    raise LengthError(
        f"prompt of class {spec.prompt_class}: {spec.target_tok} tokens asked for; expected at least about {least}, "
        "for the salt, the shared prefix and the closing request: ask for a longer prompt or a shorter prefix"
    )


def _prefix_text(spec: PromptSpec) -> str:
    """Return the shared beginning: text of the class, or nothing."""
    prefix = spec.prefix
    if prefix is None:
        return ""
    opening = salt_text(prefix.salt) + "\n\n"
    # What the chat template puts before it is counted as part of the shared prefix: so it is cached.
    room = spec.lengths.pieces_for(prefix.target_tok) - count_pieces(opening)
    if room < 0:
        raise LengthError(
            f"shared prefix {prefix.salt!r}: {prefix.target_tok} tokens asked for, which is less than its salt takes: "
            "ask for a longer one, or for none"
        )
    return opening + _body(spec, ("prefix", prefix.salt), room) + "\n\n"


def _frame(spec: PromptSpec) -> tuple[str, str, str | None]:
    """Return what stands before the body, what stands behind it, and a schema for the answer."""
    match spec.prompt_class:
        case "prose":
            return "", _AFTER_PROSE, None
        case "code":
            return "", _AFTER_CODE, None
        case "structured":
            draws = Draws(spec.seed, "schema", spec.salt)
            domain = domain_of(draws)
            schema_json = json.dumps(answer_schema(domain, draws), separators=(",", ":"))
            after = f"{_AFTER_RECORDS}all {domain.subject} above and follows this JSON Schema:\n{schema_json}"
            return "Records of one week:\n", after, schema_json
        case _:
            return "", _AFTER_SYNTHETIC, None


def _body(spec: PromptSpec, key: tuple[str, str], n_pieces: int) -> str:
    """Return that many pieces of text of the class; the same text for equal seeds and keys."""
    prompt_class = spec.prompt_class
    chars_per_piece = _CHARS_PER_PIECE[prompt_class]

    def make(n_chars: int) -> str:
        if prompt_class in {"agent", "synthetic"}:
            return synthetic(spec.seed, *key, n_chars=n_chars)
        draws = Draws(spec.seed, prompt_class, *key)
        if prompt_class == "prose":
            return prose(draws, n_chars)
        if prompt_class == "code":
            return sources(draws, n_chars)
        return records(draws, n_chars)

    return fit_pieces(make, n_pieces, chars_per_piece)


def _agent_messages(spec: PromptSpec, opening: str, n_pieces: int) -> tuple[Message, ...]:
    """Return a session that is under way: system, task, then calls and results until the length is reached."""
    least = count_pieces(opening) + count_pieces(system_text(Draws(spec.seed, "system"), 0))
    _check_room(spec, n_pieces - least - _SHORTEST_TURN)
    system = opening + _agent_part(spec, 0, max(least, int(n_pieces * _SYSTEM_SHARE)) - count_pieces(opening))
    left = n_pieces - count_pieces(system)
    task = _agent_part(spec, 1, min(left, max(_SHORTEST_TURN, int(n_pieces * _TASK_SHARE))))
    messages = [Message("system", system), Message("user", task)]
    left -= count_pieces(task)
    while left > 2 * _SHORTEST_TURN:
        call = assistant_turn(Draws(spec.seed, "call", spec.salt, len(messages)))
        room = left - count_pieces(call)
        if room > _TURN_PIECES + 2 * _SHORTEST_TURN:
            room = _TURN_PIECES
        results = _agent_part(spec, len(messages), room)
        messages += [Message("assistant", call), Message("user", results)]
        left -= count_pieces(call) + count_pieces(results)
    return tuple(messages)


def _agent_part(spec: PromptSpec, at: int, n_pieces: int) -> str:
    """Return one message of a session: the system prompt, the task, or results of tools."""
    text = (system_text, task_text)[at] if at < 2 else tool_results

    def make(n_chars: int) -> str:
        return text(Draws(spec.seed, "agent", spec.salt, at), n_chars)

    return fit_pieces(make, n_pieces, _CHARS_PER_PIECE["agent"])
