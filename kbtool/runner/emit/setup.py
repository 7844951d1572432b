"""The setup of a benchmark record, from what was read on the machine: each field with the place it was read in.

What the running engine answered is preferred to its process, its container and, last, the plan; that order was
kept when the settings were gathered. A value that the record's field cannot hold is kept word for word among the
engine's arguments.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from kbtool.runner.engines.disclosed import arguments_in, is_unknown_build, repeats_prefixes
from kbtool.runner.plan import Plan
from kbtool.runner.results import Run
from kbtool.schema.base import StrictModel
from kbtool.schema.benchmark import (
    Deployment,
    EngineSetup,
    ModelSetup,
    Router,
    Serving,
    Speculation,
    System,
)

__all__ = ["Known", "Setup", "setup_of"]

PLAN_FILE: Final = "plan.yaml"
HOST_FILE: Final = "environment/host.json"
GIB: Final = 2**30
_MODELS: Final[dict[str, type[StrictModel]]] = {
    "system": System,
    "engine": EngineSetup,
    "deployment": Deployment,
    "model": ModelSetup,
    "serving": Serving,
    "speculation": Speculation,
}
_ARGUMENTS: Final = "engine.arguments."
_ENVIRONMENT: Final = "engine.environment."


@dataclass(frozen=True, slots=True)
class Known:
    """One field of the setup."""

    value: Any
    where: str
    """File of the run folder, and the place in it."""


@dataclass(slots=True)
class Setup:
    """Everything known of the setup, by field path."""

    fields: dict[str, Known] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    arguments_where: dict[str, str] = field(default_factory=dict)
    kind: str = "openai"
    """Kind of server."""
    read_from_engine: bool = False
    """Whether a setting was read from the running engine or its process."""
    contained: bool | None = None
    """Whether the servers run in containers; None where no process of theirs was seen."""
    unknown_build: bool = False
    """Whether the servers are of a build that no release names."""

    def put(self, path: str, value: Any, where: str) -> bool:
        """Note a field unless a better place gave it; return whether the record's field can hold the value."""
        if value is None or path in self.fields:
            return True
        group, _, name = path.partition(".")
        model = _MODELS.get(group)
        info = model.model_fields.get(name) if model is not None else None
        if info is None:
            return False
        adapter: TypeAdapter[Any] = TypeAdapter(_annotated(info))
        try:
            held = adapter.validate_python(value, strict=True)
        except ValidationError:
            return False
        self.fields[path] = Known(held, where)
        return True

    def part(self, group: str) -> dict[str, Any]:
        """Return the fields of one group of the record."""
        start = f"{group}."
        return {
            path.removeprefix(start): known.value
            for path, known in self.fields.items()
            if path.startswith(start)
        }


def _annotated(info: Any) -> Any:
    from typing import Annotated

    return Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation


def setup_of(run: Run) -> Setup:
    """Return the setup of a run's base: servers first, then host and cards, then what the plan says."""
    name, leg = _base(run)
    setup = Setup(kind=leg.get("kind", "openai"))
    place = f"environment/{name}.json"
    for each in leg.get("settings", ()):
        _setting(setup, each, place)
    _identity(setup, leg, place)
    _processes(setup, leg, place)
    _deployment(setup, run.plan, leg, place)
    _host(setup, run)
    _subject(setup, run.plan)
    _reuse(setup, run)
    return setup


def _reuse(setup: Setup, run: Run) -> None:
    """Note whether prefixes are reused, where the answers themselves say so."""
    silent = ""
    for cell in run.cells:
        for visit in cell.visits:
            for each in visit.rounds:
                where = f"cells/{visit.key}, round {each.note.number}: cached tokens in usage"
                cached = each.figures.totals.cached_tok
                if (cached or 0) > each.note.context.template_tok * each.figures.n_ok:
                    setup.put("serving.prefix_caching", value=True, where=where)
                    return
                if repeats_prefixes(cell.cell) and cached is not None and each.figures.n_ok:
                    silent = silent or where
    if silent:
        setup.put("serving.prefix_caching", value=False, where=f"{silent}, of prefixes that were sent again")


def _base(run: Run) -> tuple[str, Mapping[str, Any]]:
    """Return the environment of the base leg's first start, or of the first leg where there is no base."""
    legs = [(name, facts) for name, facts in run.environments.items() if "leg" in facts]
    base = [each for each in legs if each[1]["leg"] == "base"]
    return (base or legs)[0] if legs else ("", {})


def _setting(setup: Setup, said: Mapping[str, Any], place: str) -> None:
    path, value = said["field"], said["value"]
    where = f"{place}: {said['where']}"
    setup.read_from_engine |= said["trust"] in {"engine", "process"}
    if path.startswith(_ENVIRONMENT):
        setup.environment[path.removeprefix(_ENVIRONMENT)] = value
        return
    if path.startswith(_ARGUMENTS):
        for name in arguments_in((path,)):
            setup.arguments[name] = value
            setup.arguments_where[name] = where
        return
    if path == "model.checkpoint":
        value = local_name(str(value))
    if not setup.put(path, value, where):
        # The record has no word for it: kept as the engine writes it, under the field's name.
        setup.arguments[path.partition(".")[2]] = said["as_published"]
        setup.arguments_where[path.partition(".")[2]] = where


def local_name(path: str) -> str:
    """Return the last part of a path on somebody's disk; a repository's name stays as it is."""
    return PurePosixPath(path).name if path.startswith(("/", "~", ".")) else path


def _identity(setup: Setup, leg: Mapping[str, Any], place: str) -> None:
    identities = leg.get("identities", {})
    if not identities:
        return
    name, first = next(iter(sorted(identities.items())))
    where = f"{place}: identities.{name}"
    setup.unknown_build = any(
        is_unknown_build(each.get("version"), each.get("build"), each.get("commit"))
        for each in identities.values()
    )
    setup.put("engine.version", first.get("version"), where)
    setup.put("engine.commit", first.get("commit"), where)
    setup.put("engine.build", first.get("build"), where)
    setup.put("serving.context_tok", first.get("context_tok"), where)


def _processes(setup: Setup, leg: Mapping[str, Any], place: str) -> None:
    for each in leg.get("processes", ()):
        container = each.get("container")
        setup.contained = bool(container) or bool(setup.contained)
        if container:
            where = f"{place}: container of {each['instance']}"
            digests = container.get("image_digests") or [container.get("image_id")]
            setup.put("engine.image", container.get("image"), where)
            setup.put("engine.image_digest", digests[0], where)


def _deployment(setup: Setup, plan: Plan, leg: Mapping[str, Any], place: str) -> None:
    setup.put("deployment.instances", len(leg.get("endpoints", ())) or None, f"{place}: endpoints")
    router = leg.get("router")
    if router:
        known = Router(name=router["name"], policy=router.get("policy"), affinity=router.get("affinity"))
        setup.fields["deployment.router"] = Known(known, f"{place}: router")
    if plan.target.launch is not None:
        used = [
            ",".join(map(str, each.accelerators))
            for each in plan.target.launch.instances
            if each.accelerators
        ]
        if used:
            setup.put("deployment.device_order", "; ".join(used), PLAN_FILE)


def _host(setup: Setup, run: Run) -> None:
    facts = run.environments.get("host", {})
    if run.plan.target.endpoints and not all(each.is_loopback for each in run.plan.target.endpoints):
        return  # the servers run elsewhere: this host is the client's
    host, cards = facts.get("host", {}), facts.get("accelerators", {})
    for path, value in _host_values(host):
        setup.put(path, value, f"{HOST_FILE}: host")
    setup.put("system.driver", cards.get("driver_version"), f"{HOST_FILE}: accelerators")
    setup.put("system.cuda", cards.get("cuda_driver_version"), f"{HOST_FILE}: accelerators")
    _cards(setup, run, cards.get("cards", ()))
    if cards.get("paths"):
        states = {path[key] for path in cards["paths"] for key in ("p2p_read", "p2p_write")}
        if None not in states:
            setup.put("system.peer_to_peer", states == {"OK"}, f"{HOST_FILE}: accelerators.paths")


def _host_values(host: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "system.host_cpu", host.get("cpu_model")
    yield "system.host_sockets", host.get("sockets")
    memory = host.get("memory_bytes")
    yield "system.host_memory_gib", None if memory is None else f"{memory / GIB:.1f}"
    yield "system.numa_nodes", len(host.get("numa_nodes", ())) or None
    named = [
        each
        for each in (host.get("os_name"), f"Linux {host['kernel']}" if host.get("kernel") else None)
        if each
    ]
    yield "system.os", ", ".join(named) or None


def _cards(setup: Setup, run: Run, cards: Iterable[Mapping[str, Any]]) -> None:
    """Note the accelerators that take part; a limit or a name that differs between them is no one value."""
    launch = run.plan.target.launch
    used = (
        {index for each in launch.instances for index in each.accelerators} if launch is not None else set()
    )
    ours = [card for card in cards if not used or card["index"] in used]
    if not ours:
        return
    where = f"{HOST_FILE}: accelerators.cards"
    setup.put("system.accelerator_count", len(ours), where)
    matched = {card["match"]["accelerator"] for card in ours}
    if len(matched) == 1 and None not in matched:
        setup.put("system.accelerator", matched.pop(), where)
    names = {card["name"] for card in ours}
    if len(names) == 1:
        setup.put("system.accelerator_as_published", names.pop(), where)
    limits = {card["power_enforced_w"] for card in ours}
    if len(limits) == 1 and None not in limits:
        setup.put("system.power_limit_w", f"{limits.pop():g}", where)


def _subject(setup: Setup, plan: Plan) -> None:
    """Fill what nothing on the machine says from the plan: the operator's word."""
    subject = plan.subject
    said = {
        "system.accelerator": subject.accelerator,
        "system.accelerator_count": subject.accelerator_count,
        "system.power_limit_w": subject.power_limit_w,
        "system.host_cpu": subject.host_cpu,
        "engine.engine": subject.engine,
        "engine.version": subject.engine_version,
        "engine.commit": subject.engine_commit,
        "engine.build": subject.engine_build,
        "engine.image_digest": subject.image_digest,
        "model.model": subject.model,
        "model.checkpoint": subject.checkpoint,
        "model.revision": subject.revision,
        "model.weight_dtype": subject.weight_dtype,
        "model.expert_dtype": subject.expert_dtype,
        "model.quantization_as_published": subject.quantization_as_published,
        "deployment.instances": subject.instances,
        "deployment.tp": subject.tp,
        "deployment.pp": subject.pp,
        "deployment.dp": subject.dp,
        "deployment.ep": subject.ep,
        "speculation.method": subject.speculation,
    }
    for path, value in said.items():
        setup.put(path, value, f"{PLAN_FILE}: subject")
    if subject.engine_patches:
        setup.fields["engine.patches"] = Known(tuple(subject.engine_patches), f"{PLAN_FILE}: subject")
    if subject.interconnects:
        setup.fields["system.interconnects"] = Known(tuple(subject.interconnects), f"{PLAN_FILE}: subject")
