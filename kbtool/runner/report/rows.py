"""A run as plain data for a terminal, and for the tables of the page."""

from collections.abc import Iterator, Mapping

from kbtool.runner.report.checks import check_tables
from kbtool.runner.report.choose import common_warnings
from kbtool.runner.report.compare import comparison_tables
from kbtool.runner.report.model import Met, RunRows
from kbtool.runner.report.numbers import counted, cut
from kbtool.runner.report.results import result_tables
from kbtool.runner.report.surroundings import facts_of
from kbtool.runner.results import Run
from kbtool.runner.trace import Outcome
from kbtool.vocab.warnings import WARNINGS

__all__ = ["rows_of"]

MAX_REMARKS = 60


def rows_of(run: Run, examples: Mapping[tuple[int, Outcome], str] | None = None) -> RunRows:
    """Return everything that a table can say of a run.

    A warning that every cell carries stands once, in `warnings`, and not in each row.

    Args:
        run: The run.
        examples: Number of the cell and class of the failure -> what was found in one such request.
    """
    common = common_warnings(run)
    return RunRows(
        title=run.plan.title,
        run_id=run.run_id,
        verdict=_verdict(run),
        complete=run.finished,
        facts=tuple(facts_of(run)),
        results=tuple(result_tables(run, common)),
        comparisons=tuple(comparison_tables(run)),
        checks=tuple(check_tables(run, examples)),
        warnings=tuple(_met(run)),
        remarks=tuple(_remarks(run)),
    )


def _verdict(run: Run) -> str:
    rounds = sum(len(cell.rounds) for cell in run.cells)
    sent = sum(count for cell in run.cells for _, count in cell.summary.outcomes)
    ok = sum(dict(cell.summary.outcomes).get(Outcome.OK, 0) for cell in run.cells)
    measured = f"{counted(len(run.cells), 'cell')}, {counted(rounds, 'round')}, {ok:,} of {counted(sent, 'request')} ok"
    failed = f", {counted(len(run.failed), 'attempt')} failed" if run.failed else ""
    return f"{measured}{failed}.{'' if run.finished else ' The run is not complete: this is what was sealed so far.'}"


def _met(run: Run) -> Iterator[Met]:
    common = common_warnings(run)
    for code, text in WARNINGS.items():
        cells = tuple(
            cell.name
            for cell in run.cells
            if code in cell.summary.warnings
            or any(code in each.warnings for each in cell.summary.measurements)
        )
        if cells:
            yield Met(code, text.means, text.remedy, cells, everywhere=code in common)


def _remarks(run: Run) -> Iterator[str]:
    """Yield what was written down during the run: of the ledger, of rounds, of telemetry; each text once."""
    said: dict[str, None] = {}
    for code, detail in run.remarks:
        said[f"{code.replace('_', ' ')}: {detail}"] = None
    for cell in run.cells:
        for each in cell.rounds:
            for text in (*each.note.remarks, *(each.note.energy.remarks if each.note.energy else ())):
                said[f"{cell.name}, round {each.note.number}: {text}"] = None
    texts = list(said)
    yield from (cut(text, 300) for text in texts[:MAX_REMARKS])
    if len(texts) > MAX_REMARKS:
        yield f"{len(texts) - MAX_REMARKS} more are in the ledger and in the notes of the rounds"
