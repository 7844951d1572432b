"""Other settings of results as sweeps: which one argument, variable or command brings them about."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kbtool.runner.engines import Trust
from kbtool.runner.engines.rules import observe_environment
from kbtool.runner.plan.model import Sweep, SweepValue
from kbtool.runner.plan.target import EngineKind
from kbtool.runner.reproduce.arguments import arguments_for, text_of
from kbtool.runner.reproduce.target import environment_of
from kbtool.schema.base import Scalar

__all__ = ["Change", "change_of", "sweep_id", "sweep_of"]

_FOLLOWS: Final = frozenset(
    {"speculation.verify_rows", "serving.allreduce_backend", "serving.moe_backend", "system.peer_to_peer"}
)
"""Fields that say in a record's words what another setting brings about."""
_POWER: Final = "system.power_limit_w"


@dataclass(frozen=True, slots=True)
class Change:
    """The one setting by which a result differs from the plan's own."""

    field: str
    value: Scalar
    along: tuple[tuple[str, Scalar], ...]
    """Settings that have to change with it."""


def change_of(
    changed: Mapping[str, Scalar], base: Mapping[str, Scalar], engine: EngineKind, *, launched: bool
) -> Change | str:
    """Return the setting that a sweep can change, or why none can."""
    names = ", ".join(f"{path} {text_of(value)}" for path, value in changed.items())
    own_plan = "make a plan of its own by asking for it first or alone"
    effective = {path: value for path, value in changed.items() if path not in _FOLLOWS} or dict(changed)
    if not launched and set(effective) != {_POWER}:
        return f"it needs other settings, {names}, and the plan does not start the server: start it so, and {own_plan}"
    main = _main(effective)
    if main is None:
        return f"it changes several settings, {names}, and a sweep changes one: {own_plan}"
    if base.get(main) is None or effective[main] is None:
        return f"it changes {main}, and the record does not say what it was otherwise: {own_plan}"
    reason = _cannot(main, effective, base, engine)
    if reason:
        return f"it changes {main} to {text_of(effective[main])}, and {reason}: {own_plan}"
    along = tuple((path, value) for path, value in effective.items() if path != main)
    return Change(main, effective[main], along)


def _main(effective: Mapping[str, Scalar]) -> str | None:
    """Return the setting that the others follow; captured graphs are sized after drafts and running requests."""
    if len(effective) == 1:
        return next(iter(effective))
    leading = [path for path in effective if path != "serving.cuda_graph_max_batch"]
    follows = leading and leading[0] in {"speculation.draft_tok", "serving.max_running_requests"}
    return leading[0] if len(leading) == 1 and follows else None


def _cannot(
    main: str, effective: Mapping[str, Scalar], base: Mapping[str, Scalar], engine: EngineKind
) -> str:
    if main == _POWER:
        return ""
    if main.startswith("engine.environment."):
        name = main.removeprefix("engine.environment.")
        if name not in environment_of({main: effective[main]}):
            return "that variable cannot stand in a plan"
        if not observe_environment({name: "1"}, trust=Trust.PROCESS, where="the process"):
            return "nothing shows afterwards that the variable was in force"
        return ""
    for settings in ({**base, **effective}, dict(base)):
        for path in effective:
            if not arguments_for(engine, path, settings):
                return f"no argument is known that brings {path} {text_of(settings.get(path))} about"
    return ""


def sweep_of(
    name: str,
    changes: Sequence[Change],
    base: Mapping[str, Scalar],
    engine: EngineKind,
    workloads: Sequence[str],
) -> Sweep:
    """Return the sweep over the values of one setting, the base first."""
    field = changes[0].field
    values = dict.fromkeys([base[field], *(each.value for each in changes)])
    used = tuple(dict.fromkeys(workloads))
    if field == _POWER:
        command = ("nvidia-smi", "--power-limit={value}")
        return Sweep(
            id=name, setting=field, values=_plain(values), base=base[field], command=command, workloads=used
        )
    if field.startswith("engine.environment."):
        return Sweep(
            id=name, setting=field, values=_plain(values), base=base[field],
            environment=field.removeprefix("engine.environment."), workloads=used,
        )  # fmt: skip
    along = {each.value: dict(each.along) for each in changes}
    made = {
        value: _arguments(field, value, {**base, **along.get(value, {})}, along, engine) for value in values
    }
    simple = {words[0] for words in made.values() if len(words) == 2}
    as_given = len(simple) == 1 and all(words[1:] == (text_of(value),) for value, words in made.items())
    listed = tuple(SweepValue(value=value, arguments=words) for value, words in made.items())
    return Sweep(
        id=name,
        setting=field,
        values=_plain(values) if as_given else listed,
        base=base[field],
        argument=simple.pop() if as_given else None,
        workloads=used,
    )


def _arguments(
    field: str,
    value: Scalar,
    settings: Mapping[str, Scalar],
    along: Mapping[Scalar, Mapping[str, Scalar]],
    engine: EngineKind,
) -> tuple[str, ...]:
    """Return the arguments of one value; what changes along with any value is given with each."""
    whole = {**settings, field: value}
    paths = dict.fromkeys([field, *(path for each in along.values() for path in each)])
    return tuple(word for path in paths for word in arguments_for(engine, path, whole) or ())


def _plain(values: Mapping[Scalar, None]) -> tuple[SweepValue, ...]:
    return tuple(SweepValue(value=value) for value in values)


def sweep_id(field: str, taken: set[str]) -> str:
    """Return a name for the sweep of a setting."""
    stem = re.sub(r"[^a-z0-9]+", "-", field.rpartition(".")[2].lower()).strip("-")
    stem = stem if stem[:1].isalpha() else f"s-{stem}"
    names = (stem, *(f"{stem}-{number}" for number in range(2, 100)))
    return next(each for each in names if each not in taken)
