"""Which of the fields that a reader needs a record measured now would have, from where, and how to fill the others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kbtool.runner.doctor.diagnosis import Access, FieldPlan, ServerReport, Shown
from kbtool.runner.engines import Trust
from kbtool.runner.engines.disclosed import arguments_in, gap_reason, is_unknown_build, repeats_prefixes
from kbtool.runner.engines.records import PROGRAM_OF
from kbtool.runner.engines.remedies import SUBJECT_FIELDS, remedy_for
from kbtool.runner.plan import Plan
from kbtool.runner.plan.cells import cells_of
from kbtool.runner.telemetry import CardFacts, HostFacts, Inventory
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS, DisclosureField
from kbtool.vocab.terms import GapReason

__all__ = ["Facts", "field_plans"]

GIB: Final = 2**30
_WHEN_MEASURED: Final[Mapping[str, str]] = {
    "measured.day": "the day of the run",
    "results.at.concurrency": "the load of each cell",
    "results.at.prompt_class": "the plan's prompts",
    "results.at.measuring_path": "the addresses, or `target.measuring_path`",
    "results.repeats": "the rounds",
}
"""What the run itself gives in any case."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the table is made from."""

    servers: tuple[ServerReport, ...]
    host: HostFacts
    inventory: Inventory
    cards: tuple[int, ...]
    """Cards that take part; empty where it is not known which."""
    plan: Plan | None
    proxy: bool = False

    @property
    def local(self) -> bool:
        """Whether all servers are on this machine, so that its facts are theirs."""
        return bool(self.servers) and all(each.is_local for each in self.servers)

    @property
    def used(self) -> tuple[CardFacts, ...]:
        """The cards that take part: those that are known to, else all of the host."""
        if not self.local:
            return ()
        return tuple(card for card in self.inventory.cards if not self.cards or card.index in self.cards)

    def setting(self, path: str) -> tuple[object, str]:
        """Return the value that all servers agree on, and where it was read; None where they do not."""
        found = [each for server in self.servers for each in server.settings if each.field == path]
        if not found or len(found) < len(self.servers) or len({str(each.value) for each in found}) > 1:
            return None, ""
        return found[0].value, found[0].where

    @property
    def drafts(self) -> bool | None:
        """Whether drafts are made; None where it is not known."""
        method, _ = self.setting("speculation.method")
        if method is None and self.plan is not None:
            method = self.plan.subject.speculation
        return None if method is None else method != "none"


Found = tuple[object, str]
"""A value and where it comes from; None and nothing where there is none."""
_NONE: Final[Found] = (None, "")


def field_plans(facts: Facts) -> tuple[FieldPlan, ...]:
    """Return the table, in the order of the record page."""
    return tuple(_plan_for(field, facts) for field in DISCLOSURE_FIELDS)


def _plan_for(field: DisclosureField, facts: Facts) -> FieldPlan:
    path = field.path
    for look in (_when_measured, _machine, _served, _subject):
        value, source = look(path, facts)
        if value is not None:
            return FieldPlan(path, field.title, filled=True, value=_text(value), source=source)
    reason = _reason(path, facts)
    remedy = "" if reason == "not_applicable" else _remedy(path, facts)
    return FieldPlan(path, field.title, filled=False, reason=reason, remedy=remedy)


def _remedy(path: str, facts: Facts) -> str:
    if path == "serving.kv_cache_dtype":
        names = ("kv_cache_dtype", "cache_config.cache_dtype")
        if any(each.value(f"engine.arguments.{name}") == "auto" for each in facts.servers for name in names):
            return "start the server with --kv-cache-dtype and a data type: it says `auto`"
    if path == "serving.prefix_caching" and _repeats(facts) is False:
        return "add a load that sends prompts again, such as a prefill with `warm`, to the plan"
    return remedy_for(path, _kind(facts), wrapper=_wrapper(facts))


def _wrapper(facts: Facts) -> str:
    """Return the process that serves here and is not the program of its kind; empty where there is none."""
    for report in facts.servers:
        programs = PROGRAM_OF.get(report.kind, ()) if report.kind else ()
        for holder in report.holders:
            if programs and holder.program not in programs:
                return f"pid {holder.pid} ({holder.program})"
    return ""


def _kind(facts: Facts) -> str:
    return next((each.kind for each in facts.servers if each.kind), "openai")


def _when_measured(path: str, facts: Facts) -> Found:
    if path in _WHEN_MEASURED:
        return "by the run", _WHEN_MEASURED[path]
    if path in {"results.at.input_tok", "results.at.output_tok"}:
        counted = bool(facts.servers) and all(_counts_tokens(each) for each in facts.servers)
        return ("by the run", "usage of each answer") if counted else _NONE
    if path == "results.at.prefix_cache":
        return _cache_state(facts)
    if path == "speculation.acceptance_length" and facts.drafts is not False:
        counted = any(_counts_drafts(each) for each in facts.servers)
        where = "differences of the server's counters" + ("" if facts.drafts else ", if drafts are made")
        return ("by the run", where) if counted else _NONE
    return _NONE


def _counts_tokens(report: ServerReport) -> bool:
    """Return whether usage was seen; of a server that is not started, whether its kind gives it."""
    if report.access is Access.NOT_STARTED:
        return report.kind not in {None, "openai"}
    return report.probes.usage.shown is Shown.ON


def _counts_cached(report: ServerReport) -> bool:
    if report.access is not Access.NOT_STARTED:
        return report.probes.cached_tokens.shown is Shown.ON
    flags = ("engine.arguments.enable_prompt_tokens_details", "engine.arguments.enable_cache_report")
    return report.kind in {"llama_cpp", "ds4"} or any(report.value(flag) is True for flag in flags)


def _counts_drafts(report: ServerReport) -> bool:
    if report.access is not Access.NOT_STARTED:
        return report.drafts_counted
    silent = report.value("engine.arguments.disable_log_stats") is True
    return (report.kind == "vllm" and not silent) or report.value("engine.arguments.metrics") is True


def _cache_state(facts: Facts) -> Found:
    probes = [each.probes for each in facts.servers]
    if probes and all(_counts_cached(each) for each in facts.servers):
        return "by the run", "cached tokens in usage, and a prompt that is new each time"
    if probes and all(each.prefix_cache.shown is Shown.OFF for each in probes):
        return "off", "a repeated prompt hit nothing"
    return _NONE


def _machine(path: str, facts: Facts) -> Found:
    look = _MACHINE.get(path)
    return _NONE if look is None or not facts.local else look(facts)


def _one(values: Sequence[object]) -> object:
    """Return the value that all have; None where they differ or one has none."""
    return values[0] if values and None not in values and len(set(values)) == 1 else None


def _card_values(of: Callable[[CardFacts], object], where: str) -> Callable[[Facts], Found]:
    return lambda facts: (_one([of(card) for card in facts.used]), where)


def _count(facts: Facts) -> Found:
    if facts.cards:
        return len(facts.cards), "processes of the server on the cards"
    tp, where = facts.setting("deployment.tp")
    if isinstance(tp, int) and facts.used:
        pp, dp = facts.setting("deployment.pp")[0], facts.setting("deployment.dp")[0]
        each = tp * (pp if isinstance(pp, int) else 1) * (dp if isinstance(dp, int) else 1)
        return each * len(facts.servers), f"instances x tp x pp x dp: {where}"
    return _NONE


def _host_memory(facts: Facts) -> Found:
    size = facts.host.memory_bytes
    return _NONE if size is None else (f"{size / GIB:.1f} GiB", "/proc/meminfo")


_MACHINE: Final[Mapping[str, Callable[[Facts], Found]]] = {
    "system.accelerator": _card_values(
        lambda card: card.match.accelerator, "the driver's name for the cards"
    ),
    "system.accelerator_count": _count,
    "system.power_limit_w": _card_values(lambda card: card.power_enforced_w, "NVML, limit in force"),
    "system.host_cpu": lambda facts: (facts.host.cpu_model, "/proc/cpuinfo"),
    "system.host_memory_gib": _host_memory,
    "system.numa_nodes": lambda facts: (len(facts.host.numa_nodes) or None, "/sys/devices/system/node"),
    "system.driver": lambda facts: (facts.inventory.driver_version, "NVML"),
}


def _served(path: str, facts: Facts) -> Found:
    """Look into what the servers say of themselves."""
    if path == "engine.arguments":
        names = set(arguments_in(each.field for server in facts.servers for each in server.settings))
        return (
            (f"{len(names)} argument{'s' * (len(names) != 1)}", "the servers and their processes")
            if names
            else _NONE
        )
    if path == "deployment.instances":
        several = len(facts.servers) > 1 or (bool(facts.servers) and not facts.proxy)
        return (len(facts.servers), "the endpoints") if several else _NONE
    if path == "engine.version":
        value, source = facts.setting(path)
        versions = {each.identity.version for each in facts.servers if each.identity}
        if value is None and len(versions) == 1:
            return versions.pop(), "the server"
        return value, source
    if path == "serving.prefix_caching" and facts.setting(path)[0] is None:
        shown = {each.probes.prefix_cache.shown for each in facts.servers}
        if len(shown) == 1 and Shown.UNKNOWN not in shown and _repeats(facts) is not False:
            sure = "" if facts.plan else ", if a load repeats its prompts"
            return shown == {Shown.ON}, f"a repeated prompt{sure}"
    return facts.setting(path)


def _repeats(facts: Facts) -> bool | None:
    """Return whether the plan has a load that sends prefixes again: only then the record can say what became of them."""
    return None if facts.plan is None else any(repeats_prefixes(each) for each in cells_of(facts.plan))


def _subject(path: str, facts: Facts) -> Found:
    name = SUBJECT_FIELDS.get(path)
    if name is None or facts.plan is None:
        return _NONE
    value = getattr(facts.plan.subject, name)
    if not value and not isinstance(value, bool):
        return _NONE
    return (f"{len(value)} links" if isinstance(value, tuple) else value), f"subject.{name}"


def _reason(path: str, facts: Facts) -> GapReason:
    return gap_reason(
        path, drafts=facts.drafts, contained=_contained(facts), unknown_build=_unknown_build(facts)
    )


def _contained(facts: Facts) -> bool | None:
    """Return whether the servers run in containers; None where none of their processes was seen."""
    places = {each.trust for server in facts.servers for each in server.settings}
    if Trust.CONTAINER in places:
        return True
    return False if Trust.PROCESS in places else None


def _unknown_build(facts: Facts) -> bool:
    """Return whether the servers name a build, and none that leads to a source."""
    identities = [each.identity for each in facts.servers if each.identity]
    return any(is_unknown_build(each.version, each.build, each.commit) for each in identities)


def _text(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)[:300]
