"""The results of a run, one table a workload: the number that stands for each cell, and what stands beside it."""

from collections.abc import Iterator, Sequence

from kbtool.runner.metrics import Measurement
from kbtool.runner.report.choose import Group, head_metric, head_of, statistics_for, wanted
from kbtool.runner.report.model import Column, DataTable, Entry
from kbtool.runner.report.numbers import (
    NONE,
    counted,
    cut,
    details,
    interval_of,
    short_title,
    shown,
    statistic_words,
    unit_of,
)
from kbtool.runner.results import CellResult, Run
from kbtool.vocab.terms import Statistic
from kbtool.vocab.warnings import WarningCode

__all__ = ["KINDS", "entry_of", "load_words", "result_tables", "setting_words"]

KINDS = {
    "single_stream": "single stream",
    "concurrency": "closed loop",
    "rate": "open loop",
    "prefill": "prefill",
    "conversation": "conversations",
    "long_decode": "long decode",
    "replay": "replay",
}
"""Kinds of workload in words."""

Chosen = tuple[str, Group]


def result_tables(run: Run, common: frozenset[WarningCode]) -> Iterator[DataTable]:
    """Yield one table a workload, in the order of the plan.

    Args:
        run: The run.
        common: Warnings of every cell, which are not repeated in each row.
    """
    for number, workload in enumerate(run.plan.workloads):
        cells = [(index, cell) for index, cell in enumerate(run.cells) if cell.cell.workload == workload.id]
        if cells:
            key = f"results-{number}"
            yield _table(
                key,
                f"{workload.id}, {KINDS.get(workload.kind, workload.kind)}",
                sorted(cells, key=_place),
                common,
            )


def _place(numbered: tuple[int, CellResult]) -> tuple[object, ...]:
    """Return where a cell stands in its table: by what varies in it, the base before other settings."""
    index, cell = numbered
    load = cell.cell
    return (
        load.input_tok,
        load.rate_req_s or 0.0,
        load.streams,
        load.straight_to or "",
        load.cache,
        load.name,
        cell.setting or "",
        index,
    )


def _table(
    key: str, title: str, cells: Sequence[tuple[int, CellResult]], common: frozenset[WarningCode]
) -> DataTable:
    alone = [cell for _, cell in cells]
    kind = alone[0].cell.kind
    metric = head_metric(kind)
    head = next((each for each in map(head_of, alone) if each and each.metric == metric), None)
    swept = any(cell.setting is not None for cell in alone)
    chosen = [
        (name, found) for name, groups in wanted(kind) if (found := statistics_for(alone, name, groups))
    ]
    columns = [
        Column("Cell", align="left"),
        *([Column("Setting", align="left")] if swept else []),
        Column("Load", align="left"),
        Column(_head(metric, head.statistic) if head else short_title(metric), unit_of(metric), main=True),
        Column("95 % interval", unit_of(metric)),
        Column("SD of rounds", unit_of(metric)),
        Column("Warnings", align="left"),
        *(Column(_head(name, found[0]), unit_of(name)) for name, found in chosen),
        Column("Requests ok"),
        Column("Cache", align="left"),
    ]
    rows = tuple(_row(index, cell, chosen, common, swept=swept) for index, cell in cells)
    return DataTable(key, title, tuple(columns), rows)


def _head(metric: str, statistic: Statistic) -> str:
    return f"{short_title(metric)}, {statistic_words(statistic)}"


def _row(
    index: int, cell: CellResult, chosen: Sequence[Chosen], common: frozenset[WarningCode], *, swept: bool
) -> tuple[Entry, ...]:
    head = head_of(cell)
    stands = head is not None and head.metric == head_metric(cell.cell.kind)
    own = tuple(each for each in cell.summary.warnings if each not in common)
    ok = sum(each.figures.n_ok for each in cell.rounds)
    sent = sum(each.figures.n_requests for each in cell.rounds)
    repeats = f"{counted(cell.summary.n_rounds, 'round')}, {counted(cell.summary.n_sessions, 'session')}"
    return (
        Entry(cell.name, cell=index),
        *([Entry(setting_words(cell))] if swept else []),
        Entry(load_words(cell)),
        *(
            _head_entries(head, cell)
            if stands
            else (Entry(NONE, "not defined here"), Entry(NONE), Entry(NONE))
        ),
        Entry(", ".join(each.value.replace("_", " ") for each in own), warnings=own),
        *(_chosen(cell, name, group) for name, group in chosen),
        Entry(f"{ok:,} of {sent:,}", repeats, float(ok)),
        Entry(
            cell.summary.cache.state.replace("_", " "),
            ", ".join(each.replace("_", " ") for each in cell.summary.cache.proofs),
        ),
    )


def _head_entries(head: Measurement | None, cell: CellResult) -> tuple[Entry, Entry, Entry]:
    if head is None:
        return Entry(NONE), Entry(NONE), Entry(NONE)
    how = {"t_sessions": "over sessions", "t_rounds": "over rounds", None: ""}[head.method]
    spread = head.spread_stdev
    share = "" if spread is None or not head.value else f"{spread / head.value * 100:.1f} %"
    return (
        Entry(shown(head.value), f"n {head.n_samples:,}", head.value, _beyond(head, cell)),
        Entry(interval_of(head), how),
        Entry(shown(spread), share, spread),
    )


def _chosen(cell: CellResult, metric: str, group: Group) -> Entry:
    for statistic in group:
        found = cell.summary.measurement(metric, statistic)
        if found is not None:
            return entry_of(found, cell)
    return Entry(NONE)


def entry_of(found: Measurement, cell: CellResult) -> Entry:
    """Return a number with its interval, its n, and the warnings that concern it and not its cell."""
    return Entry(shown(found.value), details(found), found.value, _beyond(found, cell))


def _beyond(found: Measurement, cell: CellResult) -> tuple[WarningCode, ...]:
    return tuple(each for each in found.warnings if each not in cell.summary.warnings)


def setting_words(cell: CellResult) -> str:
    """Return what a cell's leg changes."""
    return "base" if cell.setting is None else cut(f"{cell.setting.rpartition('.')[2]} = {cell.value}", 60)


def load_words(cell: CellResult) -> str:
    """Return the load of a cell in a few words."""
    load = cell.cell
    lengths = f"{load.input_tok:,} \N{RIGHTWARDS ARROW} {load.output_tok:,} tok"
    match load.kind:
        case "concurrency":
            said = f"{load.streams:,} user{'s' * (load.streams != 1)}, {lengths}"
        case "rate":
            said = f"{load.rate_req_s:g} req/s for {load.duration_s:g} s, {lengths}"
        case "prefill":
            said = f"{load.input_tok:,} tok, {load.cache}"
        case "conversation":
            said = f"{load.streams:,} agent{'s' * (load.streams != 1)}, {load.turns} turns, {load.input_tok:,} tok before them"
        case "replay":
            said = f"{load.requests:,} requests at {load.trace_speed:g} x the recorded pace"
        case _:
            said = f"{load.prompt_class}, {lengths}"
    return f"{said}, straight to {load.straight_to}" if load.straight_to else said
