"""What one leg of a sweep changes: arguments, environment, and commands that bring a setting about."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kbtool.errors import UsageError

__all__ = ["LegSettings", "with_arguments"]


@dataclass(frozen=True, slots=True)
class LegSettings:
    """The changes of one leg over the plan; without any, the plan as it stands."""

    arguments: Mapping[str, str | None] = field(default_factory=dict)
    """Engine argument to its value; None for a flag without one. Replaces `--x v` and `--x=v`, or is appended."""
    extra: tuple[str, ...] = ()
    """Arguments appended as they are, such as those of a sweep's value that needs several."""
    environment: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[tuple[str, ...], ...] = ()
    """Programs to run before the engine starts, `{value}` already replaced."""


def with_arguments(arguments: tuple[str, ...], leg: LegSettings) -> tuple[str, ...]:
    """Return an argument list with the changes of a leg.

    Raises:
        UsageError: An argument stands there twice, so that it cannot be told which is in force.
    """
    changed = list(arguments)
    for name, value in leg.arguments.items():
        changed = _replaced(changed, name, value)
    return (*changed, *leg.extra)


def _replaced(arguments: list[str], name: str, value: str | None) -> list[str]:
    places = [at for at, each in enumerate(arguments) if each == name or each.startswith(f"{name}=")]
    if len(places) > 1:
        raise UsageError(
            f"the argument {name} stands {len(places)} times in the plan; expected it once, as a sweep changes it: "
            "leave one"
        )
    new = [name] if value is None else [name, value]
    if not places:
        return [*arguments, *new]
    at = places[0]
    if arguments[at] != name:
        return [*arguments[:at], *([name] if value is None else [f"{name}={value}"]), *arguments[at + 1 :]]
    after = at + 1
    # What follows is its value, unless it is the next argument; a negative number is a value.
    if after < len(arguments) and (not arguments[after].startswith("-") or _is_number(arguments[after])):
        after += 1
    return [*arguments[:at], *new, *arguments[after:]]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
