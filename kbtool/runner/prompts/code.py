"""Source code: functions with varied names, bodies and comments, in Python or in C, by a grammar.

No two functions are copies of each other.  The text is well formed where it is not cut, and computes nothing in
particular.
"""

from typing import Final

from kbtool.runner.prompts.draws import Draws
from kbtool.runner.prompts.words import ADJECTIVES, CODE_NOUNS, CODE_VERBS, PLURALS

__all__ = ["c_function", "file_path", "function_name", "python_function", "sources"]

_SHORT_FILE_CHARS: Final = 300
_TYPES_PYTHON: Final = (
    "int",
    "float",
    "str",
    "bytes",
    "list[int]",
    "dict[str, int]",
    "tuple[int, ...]",
    "bool",
)
_TYPES_C: Final = ("int", "size_t", "uint32_t", "int64_t", "double", "const char *", "uint8_t *")
_COMPARE: Final = ("<", ">", "<=", ">=", "==", "!=")
_ARITHMETIC: Final = ("+", "-", "*", "//", "%")
_ARITHMETIC_C: Final = ("+", "-", "*", "/", "%", "&", "|", "^")
_PY_CALLS: Final = ("len", "sum", "max", "min", "sorted", "list", "set", "tuple")


def _name(draws: Draws) -> str:
    return (
        f"{draws.pick(CODE_NOUNS)}_{draws.pick(CODE_NOUNS)}"
        if draws.below(3) == 0
        else draws.pick(CODE_NOUNS)
    )


def function_name(draws: Draws) -> str:
    """Return a name such as `merge_ledger` or `probe_idle_channel`."""
    middle = f"_{draws.pick(ADJECTIVES)}" if draws.below(4) == 0 else ""
    return f"{draws.pick(CODE_VERBS)}{middle}_{_name(draws)}"


def file_path(draws: Draws) -> str:
    """Return the path of a source file that does not exist anywhere."""
    return _path(draws, draws.pick(("py", "py", "c", "h")))


def _path(draws: Draws, ending: str) -> str:
    return f"{draws.pick(CODE_NOUNS)}/{draws.pick(CODE_NOUNS)}/{function_name(draws)}.{ending}"


def _names(draws: Draws, n: int) -> list[str]:
    """Return n different names: a parameter twice would not compile."""
    found: list[str] = []
    while len(found) < n:
        name = _name(draws)
        if name not in found:
            found.append(name)
    return found


def _remark(draws: Draws) -> str:
    """Return a short comment."""
    return draws.pick(
        (
            f"the {draws.pick(CODE_NOUNS)} may be {draws.pick(ADJECTIVES)} here",
            f"{draws.pick(CODE_VERBS)} before the {draws.pick(CODE_NOUNS)} is {draws.pick(ADJECTIVES)}",
            f"no {draws.pick(PLURALS)} beyond {draws.between(2, 4096)}",
            f"see {function_name(draws)}",
        )
    )


def _value(draws: Draws, scope: list[str]) -> str:
    """Return an expression over the names in scope."""
    kind = draws.below(6)
    if kind <= 1:
        return draws.pick(scope)
    if kind == 2:
        return str(draws.between(0, 9999))
    if kind == 3:
        return f"{draws.pick(scope)} {draws.pick(_ARITHMETIC)} {draws.between(1, 512)}"
    if kind == 4:
        return f"{draws.pick(_PY_CALLS)}({draws.pick(scope)})"
    return f"{function_name(draws)}({draws.pick(scope)}, {draws.pick(scope)})"


def _python_simple(draws: Draws, scope: list[str], pad: str) -> list[str]:
    """Return a statement that holds no other."""
    kind = draws.below(7)
    if kind <= 2:
        name = _name(draws)
        line = f"{pad}{name} = {_value(draws, scope)}"
        scope.append(name)
    elif kind == 3:
        line = f"{pad}{draws.pick(scope)} += {_value(draws, scope)}"
    elif kind == 4:
        line = f"{pad}{draws.pick(scope)}.{draws.pick(CODE_VERBS)}({_value(draws, scope)})"
    elif kind == 5:
        line = f'{pad}log.debug("{draws.pick(CODE_NOUNS)} {draws.pick(ADJECTIVES)}: %s", {draws.pick(scope)})'
    else:
        line = f"{pad}# {_remark(draws)}"
        return [line, *_python_simple(draws, scope, pad)]
    return [line]


def _python_block(draws: Draws, scope: list[str], depth: int) -> list[str]:
    """Return 2 to 4 statements, some with a block of their own.

    Two levels at most: deep indentation is many characters and few tokens, and would make lengths uneven.
    """
    pad = "    " * depth
    lines: list[str] = []
    for _ in range(draws.between(2, 4)):
        kind = draws.below(9) if depth < 2 else 8
        inner = list(scope)
        if kind == 0:
            item = _name(draws)
            lines.append(f"{pad}for {item} in {_value(draws, scope)}:")
            inner.append(item)
        elif kind == 1:
            lines.append(f"{pad}if {draws.pick(scope)} {draws.pick(_COMPARE)} {_value(draws, scope)}:")
        elif kind == 2:
            lines.append(f"{pad}while {draws.pick(scope)} {draws.pick(_COMPARE)} {draws.between(1, 999)}:")
        elif kind == 3:
            lines.append(f"{pad}with {function_name(draws)}({draws.pick(scope)}) as {_name(draws)}:")
        else:
            lines += _python_simple(draws, scope, pad)
            continue
        lines += _python_block(draws, inner, depth + 1)
    return lines


def python_function(draws: Draws) -> str:
    """Return one Python function."""
    params = _names(draws, draws.between(1, 4))
    typed = ", ".join(f"{name}: {draws.pick(_TYPES_PYTHON)}" for name in params)
    lines = [f"def {function_name(draws)}({typed}) -> {draws.pick(_TYPES_PYTHON)}:"]
    if draws.below(3):
        lines.append(
            f'    """Return the {draws.pick(ADJECTIVES)} {draws.pick(CODE_NOUNS)}: {_remark(draws)}."""'
        )
    lines += _python_block(draws, params, 1)
    lines.append(f"    return {_value(draws, params)}")
    return "\n".join(lines) + "\n\n\n"


def _c_value(draws: Draws, scope: list[str]) -> str:
    kind = draws.below(5)
    if kind <= 1:
        return draws.pick(scope)
    if kind == 2:
        return f"{draws.pick(scope)} {draws.pick(_ARITHMETIC_C)} {draws.between(1, 255)}"
    if kind == 3:
        return f"{draws.pick(scope)}->{draws.pick(CODE_NOUNS)}"
    return f"{function_name(draws)}({draws.pick(scope)}, {draws.between(0, 64)})"


def _c_block(draws: Draws, scope: list[str], depth: int) -> list[str]:
    pad = "\t" * depth
    lines: list[str] = []
    for _ in range(draws.between(2, 4)):
        kind = draws.below(8) if depth < 2 else draws.between(3, 7)
        if kind == 0:
            at = draws.pick("ijkmn")
            lines.append(f"{pad}for (int {at} = 0; {at} < {draws.pick(scope)}; {at}++) {{")
        elif kind == 1:
            lines.append(f"{pad}if ({draws.pick(scope)} {draws.pick(_COMPARE)} {_c_value(draws, scope)}) {{")
        elif kind == 2:
            lines.append(
                f"{pad}while ({draws.pick(scope)} {draws.pick(_COMPARE)} {draws.between(1, 999)}) {{"
            )
        elif kind == 3:
            lines.append(f"{pad}/* {_remark(draws)} */")
            continue
        elif kind == 4:
            name = _name(draws)
            lines.append(f"{pad}{draws.pick(_TYPES_C[:5])} {name} = {_c_value(draws, scope)};")
            scope.append(name)
            continue
        else:
            lines.append(
                f"{pad}{draws.pick(scope)} {draws.pick(('=', '+=', '-=', '|='))} {_c_value(draws, scope)};"
            )
            continue
        lines += [*_c_block(draws, list(scope), depth + 1), f"{pad}}}"]
    return lines


def c_function(draws: Draws) -> str:
    """Return one C function."""
    params = _names(draws, draws.between(1, 4))
    typed = ", ".join(f"{draws.pick(_TYPES_C)} {name}" for name in params)
    head = f"static {draws.pick(_TYPES_C[:5])} {function_name(draws)}({typed})\n{{"
    body = _c_block(draws, params, 1)
    return "\n".join([head, *body, f"\treturn {_c_value(draws, params)};", "}"]) + "\n\n"


def sources(draws: Draws, n_chars: int) -> str:
    """Return at least that many characters of short source files, Python and C by turns, the last one left open.

    By turns, because the two have different numbers of tokens a character: a prompt in one of them alone would
    miss its length by a tenth.
    """
    parts: list[str] = []
    have = 0
    while have < n_chars:
        python = len(parts) % 2 == 0
        ending = "py" if python else "c"
        make = python_function if python else c_function
        functions = make(draws).rstrip()
        if len(functions) < _SHORT_FILE_CHARS:
            functions += "\n\n\n" + make(draws).rstrip()
        part = f"{_path(draws, ending)}\n```{'python' if python else 'c'}\n{functions}\n```\n\n"
        parts.append(part)
        have += len(part)
    return "".join(parts)
