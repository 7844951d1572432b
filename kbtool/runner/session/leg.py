"""One leg: servers up under one setting, everything about them written down, its cells measured, servers down."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain, count
from pathlib import Path
from typing import Any, Final, cast

from kbtool.errors import KbtoolError
from kbtool.runner.client import Endpoint, Interrupt, Limits
from kbtool.runner.engines import EngineAdapter, Identity, Observed, Trust, adapter_for, detect
from kbtool.runner.folder import RunFolder
from kbtool.runner.load import Api
from kbtool.runner.plan import Plan
from kbtool.runner.plan.cells import Leg
from kbtool.runner.plan.model import Deadlines
from kbtool.runner.session.environment import (
    answered_settings,
    leg_facts,
    leg_fingerprint,
    settings_of,
)
from kbtool.runner.session.interrupts import StoppedError
from kbtool.runner.session.rounds import RoundRunner, Setting
from kbtool.runner.session.single import Asker
from kbtool.runner.session.watch import Watch
from kbtool.runner.target.commands import SweepCommands, filled
from kbtool.runner.target.leg import LegSettings
from kbtool.runner.target.ready import ready
from kbtool.runner.target.running import Running
from kbtool.runner.target.secrets import Secrets
from kbtool.runner.target.start import start
from kbtool.runner.telemetry import Inventory
from kbtool.schema.base import Scalar
from kbtool.vocab.warnings import WarningCode

__all__ = ["LegError", "LegRefusedError", "LegUp", "Machine", "leg_settings", "leg_up"]

PREFILL_SLOWEST_TOK_S: Final = 20.0
"""A prompt that is read more slowly than this has failed: bounds the wait for the first byte of long prompts."""


class LegError(KbtoolError):
    """A leg cannot be measured: its servers are not what they were, and one run holds one environment."""


class LegRefusedError(LegError):
    """This leg alone cannot be measured: its servers do not report the value that it is about."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What all legs of a run share."""

    plan: Plan
    folder: RunFolder
    run_id: str
    inventory: Inventory
    watch: Watch | None
    calibrated: bool
    interrupt: Callable[[], Interrupt | None]
    tell: Callable[[str], None]
    seen: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Leg name -> fingerprint of its servers, at their first start in this run."""

    def stop_if_asked(self) -> None:
        """Stop where the operator asks for it.

        Raises:
            StoppedError: the operator asked for an end.
        """
        if self.interrupt() is not None:
            raise StoppedError


@dataclass(frozen=True, slots=True)
class LegUp:
    """Servers that are ready to be measured."""

    running: Running
    adapter: EngineAdapter
    model: str
    asker: Asker
    rounds: RoundRunner
    ask: Callable[[Endpoint], Identity]
    environment: str
    context_tok: int | None


def leg_settings(leg: Leg) -> LegSettings:
    """Return what a leg changes over the plan, for whoever starts the servers."""
    sweep = leg.sweep
    if sweep is None:
        return LegSettings()
    value = sweep.values[leg.value_index]
    if value.arguments:
        return LegSettings(extra=tuple(value.arguments))
    text = _text(value.value)
    if sweep.argument is not None:
        # A flag that is switched by its presence: `true` gives it, `false` leaves it out.
        if value.value is False:
            return LegSettings()
        return LegSettings(arguments={sweep.argument: None if value.value is True else text})
    if sweep.environment is not None:
        return LegSettings(environment={sweep.environment: text})
    return LegSettings()


@contextmanager
def leg_up(machine: Machine, leg: Leg, *, number: int, after_restart: bool) -> Iterator[LegUp]:
    """Bring the servers of a leg up, check them, write them down; end what was started when the block is left.

    Raises:
        TargetError: they do not come up.
        LegError: they differ from the same leg's earlier start, or serve more than one model.
        LegRefusedError: they do not report the value that the leg is about.
    """
    plan = machine.plan
    settings = leg_settings(leg)
    # Whoever keeps a server for us works in another folder.
    logs = machine.folder.logs.absolute()
    with SweepCommands(logs, Secrets.from_environment(os.environ)) as commands:
        if leg.sweep is not None and leg.sweep.command:
            value = leg.sweep.values[leg.value_index].value
            commands.apply(
                filled(leg.sweep.command, _known(value)), filled(leg.sweep.command, _known(leg.sweep.base))
            )
        with start(plan, settings, run_id=machine.run_id, log_dir=_log_dir(logs, number)) as running:
            yield _checked(machine, leg, running, number=number, after_restart=after_restart)


def _log_dir(logs: Path, number: int) -> Path:
    """Return a folder for the logs of this start: those of an earlier one say why it ended."""
    stem = logs / f"leg-{number:02d}"
    places = chain((stem,), (stem.with_name(f"{stem.name}-{start}") for start in count(2)))
    return next(place for place in places if not place.exists())


def _checked(machine: Machine, leg: Leg, running: Running, *, number: int, after_restart: bool) -> LegUp:
    plan = machine.plan
    adapter, asker, model = _until_ready(machine, running)
    asked = answered_settings(adapter, running.endpoints)
    observed = settings_of(running, adapter, asked)
    _require_value(leg, observed, machine.inventory)
    _require_equal(leg, asked, [each.name for each in running.endpoints])
    facts = leg_facts(running, adapter, observed)
    fingerprint = leg_fingerprint(facts)
    before = machine.seen.setdefault(leg.name, fingerprint)
    if before != fingerprint:
        raise LegError(
            f"leg {leg.name}: its servers differ from the same leg's earlier start: {_difference(before, fingerprint)}; "
            "one run holds one environment: start a new run"
        )
    name = f"leg-{number:02d}-{leg.name}"
    path = machine.folder.write_environment(name, {**facts, "leg": leg.name, "fingerprint": fingerprint})
    by_field = {each.field: each for each in observed}
    identities = running.identities().values()

    def ask(endpoint: Endpoint) -> Identity:
        return adapter.identity(endpoint)

    rounds = RoundRunner(
        adapter=adapter,
        endpoints=running.endpoints,
        limits=limits_of(plan.deadlines),
        setting=_setting(machine, running, by_field, number=number, after_restart=after_restart),
        watch=machine.watch,
        interrupt=machine.interrupt,
    )
    context = next((each.context_tok for each in identities if each.context_tok), None)
    return LegUp(running, adapter, model, asker, rounds, ask, Path(path).stem, context)


def _until_ready(machine: Machine, running: Running) -> tuple[EngineAdapter, Asker, str]:
    """Wait for a token through the measured path; return how to ask the servers, and the model's name."""
    plan = machine.plan
    api = Api(plan.target.api)
    known = None if plan.target.engine == "auto" else adapter_for(plan.target.engine)
    limits = limits_of(plan.deadlines)
    first = Asker.make(api, (known or adapter_for("openai")).options(), limits, machine.interrupt)
    if plan.target.launch is None:
        # An attached server may be of any kind, and says which model it serves.
        known = known or adapter_for(detect(running.endpoints[0]).kind)
        served = known.identity(running.endpoints[0]).served_models
        if running.model is None and len(served) != 1:
            listed = ", ".join(served[:8]) or "none"
            raise LegError(f"the server lists the models {listed}; expected one: name it in `target.model`")
        running.model = running.model or served[0]
    adapter = known

    def ask(endpoint: Endpoint) -> Identity:
        nonlocal adapter
        adapter = adapter or adapter_for(detect(endpoint).kind)
        return adapter.identity(endpoint)

    def now_s() -> float:
        # A large model takes minutes to load: the clock is what is looked at all along.
        if machine.interrupt() is not None:
            raise StoppedError
        return time.monotonic()

    waited_s = ready(running, plan.deadlines, first.one_token, ask=ask, progress=machine.tell, now_s=now_s)
    machine.tell(f"ready after {waited_s:.1f} s")
    assert adapter is not None
    assert running.model is not None
    return adapter, Asker.make(api, adapter.options(), limits, machine.interrupt), running.model


def limits_of(deadlines: Deadlines) -> Limits:
    """Return the limits of the client for the deadlines of a plan."""
    return Limits(
        connect_s=float(deadlines.connect_s),
        first_byte_s=float(deadlines.first_token_s),
        progress_s=float(deadlines.progress_s),
        total_s=float(deadlines.request_s),
    )


def _setting(
    machine: Machine, running: Running, settings: Mapping[str, Observed], *, number: int, after_restart: bool
) -> Setting:
    plan = machine.plan
    launch = plan.target.launch
    limit = settings.get("serving.max_running_requests")
    caching = settings.get("serving.prefix_caching")
    method = settings.get("speculation.method")
    instances = len(running.endpoints)
    return Setting(
        session=_session_name(number, launched=launch is not None, after_restart=after_restart),
        running_limit=limit.value * instances if limit is not None and isinstance(limit.value, int) else None,
        accelerators=accelerators_of(plan, machine.inventory),
        prefix_caching=caching.value if caching is not None and isinstance(caching.value, bool) else None,
        speculates=None if method is None else method.value != "none",
        calibrated=machine.calibrated,
        owned_pids=tuple(each.process.pid for each in running.processes()),
        observed=(WarningCode.AFTER_RESTART,) if after_restart else (),
    )


def _session_name(number: int, *, launched: bool, after_restart: bool) -> str:
    """Return the name of a start of the servers: rounds of one start are alike in what rounds of two are not."""
    if not launched:
        return "attached"
    return f"start-{number}-again" if after_restart else f"start-{number}"


def accelerators_of(plan: Plan, inventory: Inventory) -> int | None:
    """Return how many accelerators take part: as the plan says, as it launches, or all that there are."""
    if plan.subject.accelerator_count is not None:
        return plan.subject.accelerator_count
    if plan.target.launch is not None:
        used = {index for each in plan.target.launch.instances for index in each.accelerators}
        if used:
            return len(used)
    return len(inventory.cards) or None


def _require_value(leg: Leg, observed: Sequence[Observed], inventory: Inventory) -> None:
    """Refuse a leg whose servers do not report the value that it is about.

    Raises:
        LegRefusedError: they report another one, or nobody but the plan says it.
    """
    sweep = leg.sweep
    if sweep is None:
        return
    wanted = sweep.values[leg.value_index].value
    if sweep.setting == "system.power_limit_w":
        found = {card.power_enforced_w for card in inventory_now(inventory)}
        if {None if each is None else float(each) for each in found} != {float(cast("int", wanted))}:
            raise LegRefusedError(
                f"leg {leg.name}: the cards enforce {sorted(map(str, found))} W; expected {wanted} W"
            )
        return
    said = next((each for each in observed if each.field == sweep.setting), None)
    if said is None or said.trust >= Trust.PLAN:
        raise LegRefusedError(
            f"leg {leg.name}: no server, process or container shows {sweep.setting}; expected {wanted!r}: the leg cannot "
            "be told from the base, and is not measured"
        )
    if said.value != wanted and said.as_published != _text(wanted):
        raise LegRefusedError(
            f"leg {leg.name}: {said.where} gives {sweep.setting} {said.as_published!r}; expected {wanted!r}: the engine "
            "ignores the argument, or rounds it"
        )


def _require_equal(leg: Leg, asked: Sequence[Sequence[Observed]], names: Sequence[str]) -> None:
    """Refuse a leg of which one instance has the value and another has not.

    Raises:
        LegRefusedError: they differ in the setting that the leg is about.
    """
    if leg.sweep is None:
        return
    setting = leg.sweep.setting
    said = [next((each.as_published for each in one if each.field == setting), None) for one in asked]
    if len(set(said)) > 1:
        listed = ", ".join(f"{name} {value!r}" for name, value in zip(names, said, strict=True))
        raise LegRefusedError(
            f"leg {leg.name}: the instances differ in {setting}: {listed}; expected one value: give each the argument"
        )


def inventory_now(inventory: Inventory) -> Sequence[Any]:
    """Return the cards as they are now; the inventory of the start where they cannot be asked again."""
    from kbtool.runner.telemetry import NvmlBackend, read_inventory

    again = read_inventory(NvmlBackend())
    return again.cards or inventory.cards


def _known(value: Scalar) -> str | int | bool | Decimal:
    assert value is not None, "a value that a command brings about is given"
    return value


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return the fields that differ, with both values."""
    found = []
    for key in sorted({*before, *after}):
        one, other = before.get(key), after.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            found += [
                f"{name}: {one.get(name)!r}, now {other.get(name)!r}"
                for name in sorted({*one, *other})
                if one.get(name) != other.get(name)
            ]
        elif one != other:
            found.append(f"{key}: {one!r}, now {other!r}")
    return "; ".join(found)[:1000]
