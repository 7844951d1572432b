"""Argument lists of engines, taken apart: which settings a process was started with.

Engines differ in spelling and agree in shape: `--name value`, `--name=value`, `--name` alone, `--no-name`,
several values after one name, and a model without a name.  Nothing is executed or expanded.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import orjson

__all__ = ["engine_arguments", "given", "is_foreign"]

MAX_ARGUMENTS: Final = 2000
MAX_WORDS_BEFORE: Final = 40
"""An engine's program stands among the first words, behind a few wrappers at most."""
_INTERPRETER: Final = re.compile(r"python[0-9.]*|pypy[0-9.]*")
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ash"})
_FLAG: Final = re.compile(r"--?[A-Za-z][A-Za-z0-9_.\-]*")
_JOINED: Final = re.compile(r"(--?[A-Za-z][A-Za-z0-9_.\-]*)=(.*)", re.DOTALL)


def engine_arguments(arguments: Sequence[str], programs: AbstractSet[str]) -> tuple[str, ...]:
    """Return what follows the engine's program: without shell, interpreter, `numactl` and the like before it.

    Args:
        arguments: Of a process, or of a container, whose image has the program and where they begin with an option.
        programs: Names of the engine's programs and Python modules, such as `vllm` and `sglang.launch_server`.
    """
    words = _unwrapped(arguments)
    for at, word in enumerate(words[:MAX_WORDS_BEFORE]):
        if word.rsplit("/", 1)[-1] in programs:
            return words[at + 1 :]
    if words and _INTERPRETER.fullmatch(words[0].rsplit("/", 1)[-1]):
        script = next((at for at, word in enumerate(words) if at and not word.startswith("-")), 0)
        return words[script + 1 :]
    return words


def is_foreign(arguments: Sequence[str], programs: AbstractSet[str]) -> bool:
    """Return whether another program than the engine's was started by an interpreter: its first word is no model."""
    words = _unwrapped(arguments)
    named = any(word.rsplit("/", 1)[-1] in programs for word in words[:MAX_WORDS_BEFORE])
    return bool(words) and not named and _INTERPRETER.fullmatch(words[0].rsplit("/", 1)[-1]) is not None


def _unwrapped(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments inside `sh -c "..."`, where they are so wrapped; else as they are.

    Of a script the last line that is not empty counts; what a shell would put in place of variables is left as
    it is written.
    """
    kept = tuple(arguments[:MAX_ARGUMENTS])
    if len(kept) >= 3 and kept[0].rsplit("/", 1)[-1] in _SHELLS and re.fullmatch(r"-[a-z]*c", kept[1]):
        lines = [line for line in kept[2].replace("\\\n", " ").splitlines() if line.strip()]
        try:
            return tuple(shlex.split(lines[-1], comments=True)) if lines else ()
        except ValueError:
            return ()
    return kept


def given(
    arguments: Sequence[str],
    *,
    aliases: Mapping[str, str],
    flags: AbstractSet[str] = frozenset(),
    positional: str = "",
) -> Iterator[tuple[str, object]]:
    """Yield names and values of an argument list, in order.

    Args:
        arguments: Arguments after the program.
        aliases: Other spellings of a name, dashes as underscores: `{"tp": "tp_size"}`.
        flags: Names that take no value, so that a word after them stands for itself.
        positional: Name for the first word that stands for itself; none where empty.

    Yields:
        Names with underscores, without leading dashes.  A flag alone is True, `--no-name` is False; several values
        are one text with spaces; a JSON table is given as its parts, `name.part`.
    """
    at = 0
    while at < len(arguments):
        word = arguments[at]
        at += 1
        joined = _JOINED.fullmatch(word)
        if joined is None and not _FLAG.fullmatch(word):
            if positional:
                yield positional, word
                positional = ""
            continue
        name = _name(joined.group(1) if joined else word, aliases)
        values = [joined.group(2)] if joined else []
        if not joined and name not in flags:
            while at < len(arguments) and not _is_flag(arguments[at]):
                values.append(arguments[at])
                at += 1
        yield from _said(name, values, aliases)


def _is_flag(word: str) -> bool:
    return bool(_FLAG.fullmatch(word) or _JOINED.fullmatch(word))


def _name(word: str, aliases: Mapping[str, str]) -> str:
    name = word.lstrip("-").replace("-", "_")
    return aliases.get(name, name)


def _said(name: str, values: list[str], aliases: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    if not values:
        if name.startswith("no_") and name not in aliases.values():
            yield _name(name.removeprefix("no_"), aliases), False
        else:
            yield name, True
        return
    text = " ".join(values)
    if text.startswith("{"):
        try:
            table = orjson.loads(text)
        except orjson.JSONDecodeError:
            table = None
        if isinstance(table, dict):
            for part, value in table.items():
                yield f"{name}.{part}", value
            return
    yield name, text
