"""What dishonest servers do, each in several ways: one function a way, listed by the audit that has to find it."""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from kbtool.runner.audit import Audit
from tests.fakes.generation import Generation
from tests.runner.audit.servers import (
    OTHER_WORDS,
    Audited,
    Call,
    Cheat,
    fingerprinted,
    lengthened,
    scheduled,
    words_of,
    written,
)

__all__ = ["CHEATS"]

SALAD: Final = ("qxzv", "jkwp", "vvrq", "zzxk", "wqpj", "kxjq", "pzwv", "rrxz", "bqzk", "xvpw")


def _cached(factor: float) -> Cheat:
    """Answer a known request from a cache, in a share of the time."""

    def cheat(engine: Audited, call: Call, answer: Generation) -> Generation:
        del engine
        if not call.before:
            return answer
        return scheduled(answer, [at_ms * factor for at_ms in answer.script.schedule_ms])

    return cheat


def _hidden_prefix(engine: Audited, call: Call, answer: Generation) -> Generation:
    """Begin a known answer sooner, by more than its reported cached tokens explain."""
    del engine
    first_ms, *later_ms = answer.script.schedule_ms
    late_ms = 12.0 if not call.before else 0.0
    return scheduled(answer, [first_ms + late_ms, *(each + late_ms for each in later_ms)])


def _cut(when: str, finish_reason: str) -> Cheat:
    """End after half of the tokens."""

    def cheat(engine: Audited, call: Call, answer: Generation) -> Generation:
        del engine
        applies = {
            "always": call.fixed,
            "busy": call.measured,
            "busy_free": not call.fixed and call.measured,
        }
        if not applies[when]:
            return answer
        return lengthened(answer, answer.text[: max(1, len(answer.text) // 2)], finish_reason)

    return cheat


def _inflated(engine: Audited, call: Call, answer: Generation) -> Generation:
    """Say of every second token that there was one, and send no text for it."""
    del engine, call
    return replace(answer, text=tuple(text if at % 2 else "" for at, text in enumerate(answer.text)))


def _other_text(engine: Audited, call: Call, answer: Generation) -> Generation:
    """Let another model answer under load, under the same name."""
    del engine
    return written(answer, call, words_of(call), "small") if call.measured else answer


def _other_fingerprint(engine: Audited, call: Call, answer: Generation) -> Generation:
    """Let another build answer under load."""
    del engine
    return fingerprinted(answer, "other") if call.measured else answer


def _other_name(engine: Audited, call: Call, answer: Generation) -> Generation:
    """Let another model answer under load, under its own name."""
    del engine
    return replace(answer, model="small") if call.measured else answer


def _restarted(engine: Audited, call: Call, answer: Generation) -> Generation:
    """Be another process from the thirteenth request on."""
    if call.number == 12:
        engine.state.started_s += 1000
    return answer


def _counters_fell(engine: Audited, call: Call, answer: Generation) -> Generation:
    """Begin to count anew."""
    if call.number == 12:
        engine.state.counts.clear()
    return answer


def _says(*words: str) -> Cheat:
    """Answer with a few words, over and over."""

    def cheat(engine: Audited, call: Call, answer: Generation) -> Generation:
        del engine, call
        return replace(answer, text=tuple(words[at % len(words)] for at in range(len(answer.text))))

    return cheat


def _canned(engine: Audited, call: Call, answer: Generation) -> Generation:
    """Answer everything alike."""
    del engine
    draws = random.Random(1)
    return replace(answer, text=tuple(f" {draws.choice(words_of(call)[-12:])}" for _ in answer.text))


def _echo(engine: Audited, call: Call, answer: Generation) -> Generation:
    """Give the prompt back."""
    del engine
    words = call.text.split()[20:]
    return replace(answer, text=tuple(f" {word}" for word in words[: len(answer.text)]))


def _salad(engine: Audited, call: Call, answer: Generation) -> Generation:
    """Answer with words from nowhere."""
    del engine
    return written(answer, call, SALAD)


def _no_json(engine: Audited, call: Call, answer: Generation) -> Generation:
    """Take a schema and pay no heed to it."""
    del engine
    asked = {key: value for key, value in call.body.items() if key != "response_format"}
    return written(answer, replace(call, body=asked), OTHER_WORDS) if asked != call.body else answer


def _broken_json(engine: Audited, call: Call, answer: Generation) -> Generation:
    """Lose the end of a structure, and say that it was whole."""
    del engine
    return lengthened(answer, answer.text[:-1]) if "response_format" in call.body else answer


CHEATS: Final[Mapping[Audit, tuple[Cheat, ...]]] = {
    Audit.REPEATED: (_cached(0.0), _cached(0.5), _cached(0.65), _hidden_prefix),
    Audit.LENGTH: (
        _cut("always", "stop"),
        _cut("always", "length"),
        _cut("busy", "stop"),
        _cut("busy_free", "stop"),
        _inflated,
    ),
    Audit.IDENTITY: (_other_text, _other_fingerprint, _other_name, _restarted, _counters_fell),
    Audit.SENSE: (
        _says("\ufffd"),
        _says("a"),
        _says(" the", " of"),
        _canned,
        _echo,
        _salad,
        _no_json,
        _broken_json,
    ),
}
