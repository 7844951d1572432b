"""Texts of a coding agent's session: tools, a task, and results of tools that fill up the context.

Tools and their results stand in the text of system and user messages.  Not every chat template knows tools, and an
engine may hold back or rewrite native tool calls; as text they are served alike everywhere.
"""

import json
from collections.abc import Callable
from typing import Final

from kbtool.runner.prompts.code import file_path, function_name, sources
from kbtool.runner.prompts.draws import Draws
from kbtool.runner.prompts.prose import paragraph
from kbtool.runner.prompts.structured import records
from kbtool.runner.prompts.words import ADJECTIVES, CODE_NOUNS, CODE_VERBS, PLURALS

__all__ = ["RULES", "TOOLS", "assistant_turn", "system_text", "task_text", "tool_results"]

_RESULT_CHARS: Final = 400

TOOLS: Final = (
    ("read_file", "path: string, first_line?: integer, last_line?: integer", "Returns the lines of a file."),
    ("write_file", "path: string, content: string", "Replaces a file and returns its size."),
    ("edit_file", "path: string, old: string, new: string", "Replaces a text that occurs exactly once."),
    ("list_files", "folder: string, pattern?: string", "Lists paths below a folder with their sizes."),
    ("search_text", "pattern: string, folder?: string", "Returns matching lines with path and line number."),
    ("run_tests", "filter?: string, verbose?: boolean", "Runs tests and returns what failed and why."),
    ("run_command", "argv: array of string, timeout_s?: integer", "Runs a program in the sandbox."),
    ("show_history", "path?: string, n?: integer", "Shows the latest commits."),
    ("query_table", "table: string, where?: string", "Returns rows of the tracking table."),
    ("read_notes", "topic: string", "Returns the team's notes on a topic."),
)
RULES: Final = (
    "You are a careful engineer who works in a repository by calling tools. Call one tool a turn, as a line "
    '`CALL {"tool": ..., "arguments": {...}}`, after one or two sentences that say why. The result comes with the next '
    "message. When the task is done, say so and list what you changed."
)


def system_text(draws: Draws, n_chars: int) -> str:
    """Return a system prompt with all tools and house rules of at least that many characters."""
    lines = [RULES, "", "Tools:"]
    lines += [f"- {name}({arguments}): {what}" for name, arguments, what in TOOLS]
    lines += ["", "House rules:"]
    have = sum(len(line) + 1 for line in lines)
    at = 0
    while have < n_chars:
        at += 1
        line = _rule(draws, at)
        lines.append(line)
        have += len(line) + 1
    return "\n".join(lines) + "\n"


def _rule(draws: Draws, at: int) -> str:
    a, b, c = draws.sample(CODE_NOUNS, 3)
    return draws.pick(
        (
            f"{at}. Never {draws.pick(CODE_VERBS)} a {a} before its {b} is {draws.pick(ADJECTIVES)}.",
            f"{at}. `{function_name(draws)}` owns the {a}; ask it, and do not {draws.pick(CODE_VERBS)} the {b} by hand.",
            f"{at}. A {draws.pick(ADJECTIVES)} {a} has at most {draws.between(2, 4096)} {draws.pick(PLURALS)} for each {b}.",
            f"{at}. Files below {a}/{b} are generated: change {c}/{function_name(draws)}.py and run the tests.",
            f"{at}. Tests of the {a} take {draws.between(2, 90)} s; filter by {b} or {c} while you work.",
        )
    )


def task_text(draws: Draws, n_chars: int) -> str:
    """Return the user's first message of at least that many characters."""
    opening = (
        f"`{function_name(draws)}` in {file_path(draws)} gives a {draws.pick(ADJECTIVES)} {draws.pick(CODE_NOUNS)} once "
        f"there are more than {draws.between(3, 9000)} {draws.pick(CODE_NOUNS)} entries. Find out why, mend it, and add "
        f"a test. Background:\n"
    )
    parts = [opening]
    have = len(opening)
    while have < n_chars:
        part = paragraph(draws) + "\n"
        parts.append(part)
        have += len(part)
    return "".join(parts)


def _listing(draws: Draws, n_chars: int) -> str:
    return _lines(n_chars, lambda: f"{draws.between(20, 99_999):>6} {file_path(draws)}")


def _matches(draws: Draws, n_chars: int) -> str:
    def line() -> str:
        return (
            f"{file_path(draws)}:{draws.between(1, 2400)}: {draws.pick(CODE_NOUNS)} = "
            f"{function_name(draws)}({draws.pick(CODE_NOUNS)}, {draws.between(0, 4096)})"
        )

    return _lines(n_chars, line)


def _test_output(draws: Draws, n_chars: int) -> str:
    def line() -> str:
        name = f"test_{function_name(draws)}"
        if draws.below(4):
            return f"PASSED {file_path(draws)}::{name} {draws.between(1, 900)} ms"
        return (
            f"FAILED {file_path(draws)}::{name}: expected {draws.between(0, 9999)}, found {draws.between(0, 9999)} "
            f"in {draws.pick(CODE_NOUNS)}"
        )

    return _lines(n_chars, line)


def _history(draws: Draws, n_chars: int) -> str:
    def line() -> str:
        commit = f"{draws.below(16**8):08x}"
        return (
            f"{commit} {draws.pick(CODE_VERBS).capitalize()} the {draws.pick(ADJECTIVES)} {draws.pick(CODE_NOUNS)} "
            f"of {function_name(draws)}"
        )

    return _lines(n_chars, line)


def _lines(n_chars: int, line: Callable[[], str]) -> str:
    lines: list[str] = []
    have = 0
    while have < n_chars:
        text = line()
        lines.append(text)
        have += len(text) + 1
    return "\n".join(lines) + "\n"


_RESULTS: Final = (
    ("read_file", sources),
    ("search_text", _matches),
    ("run_tests", _test_output),
    ("read_file", sources),
    ("show_history", _history),
    ("list_files", _listing),
    ("query_table", records),
)


def tool_results(draws: Draws, n_chars: int) -> str:
    """Return the results of several calls, of at least that many characters.

    Many short ones, all tools by turns: the number of tokens a character is then about the same in every turn.
    """
    parts: list[str] = []
    have = 0
    at = draws.below(len(_RESULTS))
    while have < n_chars:
        tool, content = _RESULTS[at % len(_RESULTS)]
        part = f"RESULT {tool}\n{content(draws, _RESULT_CHARS)[:_RESULT_CHARS]}\n"
        parts.append(part)
        have += len(part)
        at += 1
    return "".join(parts)


def assistant_turn(draws: Draws) -> str:
    """Return what an assistant might have said before the results: for sessions that begin under way."""
    reason = f"The {draws.pick(CODE_NOUNS)} of `{function_name(draws)}` comes first."
    calls = [
        "CALL " + json.dumps({"tool": draws.pick(TOOLS)[0], "arguments": {"path": file_path(draws)}})
        for _ in range(3)
    ]
    return "\n".join([reason, *calls])
