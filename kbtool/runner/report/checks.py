"""What stands behind the numbers: failures, the server's word against ours, instances, and the client itself."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from kbtool.runner.report.model import Column, DataTable, Entry
from kbtool.runner.report.numbers import NONE, counted, cut, percent, shown
from kbtool.runner.results import CellResult, RoundResult, Run
from kbtool.runner.trace import Outcome

__all__ = ["check_tables", "client_error"]

_STATES = {"agrees": 0, "unavailable": 1, "counter_reset": 2, "unaccounted_tokens": 3, "foreign_traffic": 4}
_ENDINGS = {
    "interval_reached": "interval narrow enough",
    "rounds_done": "rounds done",
    "most_rounds": "most rounds allowed",
    "deadline": "deadline of the cell",
}


def check_tables(run: Run, examples: Mapping[tuple[int, Outcome], str] | None = None) -> Iterator[DataTable]:
    """Yield the tables of checks that have rows.

    Args:
        run: The run.
        examples: Number of the cell and class of the failure -> what was found in one such request; None where the raw
            data was not read.
    """
    for table in (_failed_cells(run), _failures(run, examples), _instances(run), _word(run), _client(run)):
        if table.rows:
            yield table


def _failed_cells(run: Run) -> DataTable:
    columns = (Column("Cell", align="left"), Column("Why", align="left"))
    rows = tuple((Entry(cut(name)), Entry(cut(why, 600))) for name, why in run.failed)
    note = "Attempts that came to nothing. Their files are kept in the run folder and are in no number."
    return DataTable("failed-cells", "Cells that failed", columns, rows, note)


def _failures(run: Run, examples: Mapping[tuple[int, Outcome], str] | None) -> DataTable:
    columns = [
        Column("Cell", align="left"),
        Column("Class", align="left"),
        Column("Requests", main=True),
        Column("Of all sent"),
    ]
    if examples is not None:
        columns.append(Column("One of them", align="left"))
    rows = []
    for index, cell in enumerate(run.cells):
        sent = sum(count for _, count in cell.summary.outcomes)
        for outcome, count in cell.summary.outcomes:
            if outcome is not Outcome.OK:
                found = (
                    Entry(cell.name, cell=index),
                    Entry(outcome.value.replace("_", " ")),
                    Entry(f"{count:,}", value=float(count)),
                    Entry(percent(count / sent), f"of {sent:,}", count / sent),
                )
                example = (
                    () if examples is None else (Entry(cut(examples.get((index, outcome), "")) or NONE),)
                )
                rows.append((*found, *example))
    note = "Failed requests are kept, counted by class, and in no statistic."
    return DataTable("failures", "Failed requests", tuple(columns), tuple(rows), note)


def _instances(run: Run) -> DataTable:
    columns = (
        Column("Cell", align="left"),
        Column("Instance", align="left"),
        Column("Requests"),
        Column("Share", main=True),
        Column("Later turns that found their cache"),
    )
    rows = []
    for index, cell in enumerate(run.cells):
        shares = Counter[str]()
        for visit in cell.visits:
            shares.update(dict(visit.note.shares))
        affinities = [
            each.note.affinity_ratio for each in cell.visits if each.note.affinity_ratio is not None
        ]
        least = min(affinities, default=None)
        for name, count in sorted(shares.items()) or ([("all", 0)] if affinities else []):
            share = count / shares.total() if shares.total() else None
            rows.append(
                (
                    Entry(cell.name, cell=index),
                    Entry(cut(name, 60)),
                    Entry(f"{count:,}" if share is not None else NONE, value=float(count)),
                    Entry(percent(share), value=share),
                    Entry(percent(least), "least of all visits" if len(affinities) > 1 else "", least),
                )
            )
    return DataTable("instances", "Instances behind the router", columns, tuple(rows))


def _word(run: Run) -> DataTable:
    columns = (
        Column("Cell", align="left"),
        Column("Server's token counts", align="left"),
        Column("Speculation", align="left"),
        Column("Answers looked at"),
        Column("Broken"),
        Column("Cut short"),
        Column("Greedy repeats equal"),
        Column("Repeated until", align="left"),
    )
    rows = tuple(_word_row(index, cell) for index, cell in enumerate(run.cells))
    note = (
        "Token counts: the rise of the server's own counters over each round against what it told us; the worst round. "
        "Speculation: tokens per verify step, by the server's counters; by position: of all drafts, those whose token "
        "there was accepted. Draft acceptance is of all tokens drafted, so that longer drafts weigh more in it."
    )
    return DataTable("checks", "The server's word, and its answers", columns, rows, note)


def _word_row(index: int, cell: CellResult) -> tuple[Entry, ...]:
    worst = max(
        (each.reconciliation for each in cell.rounds),
        key=lambda each: _STATES.get(each.state, 0),
        default=None,
    )
    gap = "" if worst is None or worst.output_gap_tok is None else f"{worst.output_gap_tok:+,.0f} output tok"
    checked = [each.sanity for each in cell.visits]
    repeatable = min(
        (each.repeatable_ratio for each in checked if each.repeatable_ratio is not None), default=None
    )
    ended = Counter(_ENDINGS.get(each.note.ended_because, each.note.ended_because) for each in cell.visits)
    return (
        Entry(cell.name, cell=index),
        Entry(NONE if worst is None else worst.state.replace("_", " "), gap),
        Entry(*_speculation(cell.rounds)),
        Entry(f"{sum(each.n_checked for each in checked):,}"),
        Entry(f"{sum(len(each.garbage) for each in checked):,}"),
        Entry(f"{sum(len(each.truncated) for each in checked):,}"),
        Entry(percent(repeatable) if repeatable is not None else NONE, value=repeatable),
        Entry(", ".join(sorted(ended))),
    )


def _speculation(rounds: tuple[RoundResult, ...]) -> tuple[str, str]:
    """Return state of speculation, and acceptance by position over the rounds whose counters can be trusted."""
    states = sorted({each.speculation.state for each in rounds})
    known = [
        each.speculation for each in rounds if each.speculation.state == "enabled" and each.speculation.drafts
    ]
    drafts = sum(each.drafts or 0.0 for each in known)
    if not drafts:
        return ", ".join(each.replace("_", " ") for each in states), ""
    length = 1 + sum(each.accepted_tok or 0.0 for each in known) / drafts
    detail = f"{length:.2f} tok/step over {drafts:,.0f} draft{'s' * (drafts != 1)}"
    widths = {len(each.acceptance_ratio_by_position) for each in known}
    if len(widths) == 1 and widths != {0}:
        shares = [
            sum(each.acceptance_ratio_by_position[at] * (each.drafts or 0.0) for each in known) / drafts
            for at in range(min(widths.pop(), 8))
        ]
        detail += "; accepted by position " + ", ".join(f"{each * 100:.0f} %" for each in shares)
    return ", ".join(each.replace("_", " ") for each in states), detail


def _client(run: Run) -> DataTable:
    columns = (
        Column("Cell", align="left"),
        Column("Read lag p99", "ms"),
        Column("Read lag, most", "ms"),
        Column("Sent late p99", "ms"),
        Column("Share of a core"),
        Column("Receive times by", align="left"),
        Column("Connections made again"),
        Column("Known error of this client", align="left"),
    )
    rows = tuple(row for index, cell in enumerate(run.cells) if (row := _client_row(run, index, cell)))
    note = "The worst measured round. Lag: from the kernel's stamp of a segment to our reading it; it is not in the times."
    return DataTable("client", "The client itself", columns, rows, note)


def _client_row(run: Run, index: int, cell: CellResult) -> tuple[Entry, ...]:
    found = [each.note.health for each in cell.rounds if each.note.health is not None]
    if not found:
        return ()
    lag = max(each.loop_lag_p99_ns for each in found) / 1e6
    most = max(each.loop_lag_max_ns for each in found) / 1e6
    late = max(each.send_late_p99_ns for each in found) / 1e6
    share = max(each.cpu_share_ratio for each in found)
    return (
        Entry(cell.name, cell=index),
        Entry(shown(lag), value=lag),
        Entry(shown(most), value=most),
        Entry(shown(late), value=late),
        Entry(percent(share), value=share),
        Entry(" and ".join(sorted({each.clock.value for each in found}))),
        Entry(f"{sum(each.connect_retries for each in found):,}"),
        Entry(client_error(run.environments.get("calibration"), cell.cell.streams)),
    )


def client_error(calibration: Mapping[str, Any] | None, streams: int) -> str:
    """Return the client's error at the calibrated number of streams next above, in words."""
    levels = calibration.get("levels") if calibration else None
    if not isinstance(levels, list) or not levels:
        return "not calibrated on this host"
    known = sorted(
        (each for each in levels if isinstance(each, dict) and _whole(each.get("streams"))), key=_streams
    )
    level = next((each for each in known if each["streams"] >= streams), known[-1] if known else None)
    if level is None:
        return "not calibrated on this host"
    parts = [
        f"{name} {_signed(value)}"
        for name, key in (
            ("TTFT", "ttft_mean_error_ratio"),
            ("ITL", "itl_mean_error_ratio"),
            ("throughput", "throughput_error_ratio"),
        )
        if isinstance(value := level.get(key), int | float)
    ]
    return f"{', '.join(parts)} at {counted(level['streams'], 'stream')}"


def _signed(ratio: float) -> str:
    """Return a signed ratio in per cent; what rounds to nothing has no sign."""
    text = f"{ratio * 100:+.2f} %"
    return text[1:] if text[1:] == "0.00 %" else text


def _streams(level: Mapping[str, Any]) -> int:
    streams: int = level["streams"]
    return streams


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
