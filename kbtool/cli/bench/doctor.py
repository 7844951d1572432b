"""`kbtool bench doctor`: what is there before anything is measured, and what a record would lack."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kbtool.cli.bench.knowledge import accelerator_names
from kbtool.cli.bench.reading import read_plan, read_url
from kbtool.cli.bench.references import model_names, reference_remarks
from kbtool.cli.console import say, show_table
from kbtool.errors import ExitCode, UsageError
from kbtool.escape import terminal

if TYPE_CHECKING:
    from kbtool.runner.doctor import Diagnosis, Probe, ServerReport
    from kbtool.runner.plan import Plan

__all__ = ["diagnose", "doctor"]


_HOST_AND_PORT: Final = re.compile(r"[A-Za-z0-9.-]+:[0-9]{1,5}")


def doctor(
    target: Annotated[
        str,
        typer.Argument(
            metavar="URL|PLAN", help="Address of a server, such as http://127.0.0.1:8000, or a plan."
        ),
    ],
) -> None:
    """Say what is there before anything is measured: server, cards, host, and what a record would lack.

    Sends a handful of small requests to each server and changes nothing.
    """
    from kbtool.runner.doctor import Access

    plan = None if "://" in target else _planned(target)
    found = diagnose(read_url(target) if plan is None else plan)
    for report in (*found.servers, *((found.router,) if found.router else ())):
        _print_server(report)
    _print_machine(found)
    _print_remarks(found)
    lacking = _print_references(plan, found) if plan is not None else False
    if any(each.access is not Access.UNREACHABLE for each in found.servers):
        _print_fields(found)
    if lacking or not found.usable:
        raise typer.Exit(ExitCode.FINDINGS)


def _planned(path: str) -> "Plan":
    """Return the plan of a file.

    Raises:
        UsageError: there is none; perhaps an address was meant.
    """
    if not Path(path).exists():
        raise UsageError(
            f"{path} does not exist: give a plan file; ready ones are in plans/; or an address such as "
            f"http://{path if _HOST_AND_PORT.fullmatch(path) else '127.0.0.1:8000'}"
        )
    return read_plan(Path(path)).plan


def diagnose(target: "Plan | str") -> "Diagnosis":
    """Examine a plan or an address on this machine."""
    from kbtool.runner.doctor import Surroundings, examine
    from kbtool.runner.telemetry import NvmlBackend, read_host

    return examine(target, Surroundings(NvmlBackend(), read_host(), accelerator_names()))


def _line(label: str, value: object) -> None:
    say(f"  {label + ': ':<30}{terminal(str(value))}")


def _print_server(report: "ServerReport") -> None:
    say(terminal(f"{report.name} at {report.address}: {report.access.value.replace('_', ' ')}"))
    if report.detail:
        _line("said", report.detail)
    if report.kind is not None:
        _line("engine", f"{report.kind} ({'; '.join(report.evidence) or 'as the plan says'})")
    if report.identity is not None:
        who = report.identity
        _line("version", who.version or who.build or who.commit or "not told")
        _line("serves", ", ".join(who.served_models[:8]) or "nothing")
        _line("context", "not told" if who.context_tok is None else f"{who.context_tok:,} tokens")
    for holder in report.holders:
        age = "" if holder.age_s is None else f", up for {holder.age_s / 60:.0f} min"
        _line("process", f"{holder.pid} {holder.program}{age}")
    _line("metrics", f"{report.metrics.shown.value} ({report.metrics.why})")
    for name, probe in _probes(report):
        _line(name, f"{probe.shown.value} ({probe.why})")
    if report.foreign is not None:
        _line("others' traffic", _foreign(report))
    _line("clock", f"{report.clock.value} stamps")
    for each in report.settings:
        _line(each.field, f"{each.as_published}  ({each.where})")


def _probes(report: "ServerReport") -> Iterator[tuple[str, "Probe"]]:
    probes = report.probes
    yield "usage", probes.usage
    yield "usage per chunk", probes.continuous_usage
    yield "cached tokens", probes.cached_tokens
    yield "prefix cache", probes.prefix_cache
    yield "fixed length", probes.fixed_length
    yield "same answer twice", probes.repeatable


def _foreign(report: "ServerReport") -> str:
    foreign = report.foreign
    assert foreign is not None
    said = "seen" if foreign.seen else "none seen"
    return f"{said} in {foreign.watched_s:.1f} s (running {foreign.running}, waiting {foreign.waiting}, tokens {foreign.moved_tok})"


def _print_machine(found: "Diagnosis") -> None:
    host = found.host
    say("host")
    _line(
        "processor",
        f"{host.cpu_model}, {host.sockets} socket(s), {host.cpus} CPUs, {len(host.numa_nodes)} NUMA node(s)",
    )
    _line("system", f"{host.os_name}, Linux {host.kernel}")
    for card in found.inventory.cards:
        say(terminal(f"card {card.index}: {card.name}"))
        _line("record", card.match.accelerator or f"none ({'; '.join(card.match.doubts)})")
        _line(
            "power",
            f"{card.power_enforced_w} W enforced, {card.power_default_w} W default, {card.power_min_w} to {card.power_max_w} W",
        )
        _line(
            "PCIe",
            f"generation {card.pcie_generation} of {card.pcie_generation_max}, x{card.pcie_width} of x{card.pcie_width_max}",
        )
        _line("temperature", f"{card.temperature_c} C")
    for gap in found.inventory.gaps:
        _line(gap.what, gap.reason)


def _print_remarks(found: "Diagnosis") -> None:
    for each in found.remarks:
        place = f"{each.place}: " if each.place else ""
        say(
            terminal(f"{each.severity.value}: {place}{each.found}{f': {each.remedy}' if each.remedy else ''}")
        )


def _print_references(plan: "Plan", found: "Diagnosis") -> bool:
    """Print what the knowledge base says of a plan's subject; return whether a record of it is missing."""
    from kbtool.runner.doctor.subject import model_remarks

    for each in model_remarks(found.servers, plan, model_names(plan)):
        say(terminal(f"{each.severity.value}: {each.place}: {each.found}: {each.remedy}"))
    missing = False
    for remark in reference_remarks(plan):
        missing = missing or remark.severity == "refused"
        severity = "problem" if remark.severity == "refused" else "warning"
        say(terminal(f"{severity}: {remark.place}: {remark.message}"))
    return missing


def _print_fields(found: "Diagnosis") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("field of the record", "", "value, or how to fill it"):
        table.add_column(title, overflow="fold")
    for each in found.fields:
        said = f"{each.value}  ({each.source})" if each.filled else f"{each.reason}: {each.remedy}"
        table.add_row(each.title, "filled" if each.filled else "gap", Text(terminal(said)))
    show_table(table)
    filled = sum(each.filled for each in found.fields)
    say(f"{filled} of {len(found.fields)} fields would be filled; {found.requests} small requests were sent")
