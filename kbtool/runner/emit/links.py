"""What a run replicates: links to the results that it measured again, and why a link that was planned is not made."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from kbtool.runner.emit.figures import result_of, rounded, slug
from kbtool.runner.plan import Replicates
from kbtool.runner.results import CellResult, Run
from kbtool.schema.benchmark import Result
from kbtool.schema.common import Link
from kbtool.vocab.terms import Statistic
from kbtool.vocab.warnings import WarningCode

__all__ = ["LinkTarget", "Linked", "links_of"]

_MOST_NOTE: Final = 600
_SAID_ABOVE: Final = "What else is open is said beside the first link."
_UNFIT: Final = (WarningCode.GARBAGE_OUTPUT, WarningCode.CLIENT_BOUND)
"""Warnings that a figure of the system cannot carry: it is one of broken answers, or of the client."""


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """A result of another record, as far as a link compares with it."""

    value: Decimal | None
    """None where there is none to compare with."""
    statistics: tuple[Statistic, ...]
    """Statistics of ours that are the same as its own, the best first."""


@dataclass(frozen=True, slots=True)
class Linked:
    """What came of the targets of a plan."""

    links: tuple[Link, ...]
    more: tuple[Result, ...]
    """Results that are published for a link alone: of the statistic that the target has."""
    remarks: tuple[str, ...]
    """Why each other target is not linked."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is published of the run without links."""

    results: Sequence[Result]
    source: str


def links_of(run: Run, targets: Mapping[str, LinkTarget], results: Sequence[Result], source: str) -> Linked:
    """Return a link for each result that the run measured again, with the ratio, and its interval where there is one.

    Args:
        run: The run.
        targets: What the plan replicates, by reference.
        results: What is published of the run.
        source: Reference of the record's source.
    """
    links: list[Link] = []
    more: list[Result] = []
    remarks: list[str] = []
    said: set[str] = set()
    for aim in run.plan.replicates:
        target = targets.get(aim.target)
        found = _measured_again(run, aim, target, _Known(results, source))
        if isinstance(found, str):
            remarks.append(f"{aim.target}: {found}")
            continue
        assert target is not None
        assert target.value is not None
        if found not in (*results, *more):
            more.append(found)
        links.append(_link(aim, found, target.value, said))
        said.update(aim.open_points)
    return Linked(tuple(links), tuple(more), tuple(remarks))


def _measured_again(run: Run, aim: Replicates, target: LinkTarget | None, known: _Known) -> Result | str:
    """Return the result that measures a target again, or why there is none."""
    if target is None or not target.value:
        return "it has no value that a ratio could be of"
    if not target.statistics:
        return "its statistic is none that a run gives, and a ratio of two statistics says nothing"
    cells = [
        each
        for each in run.cells
        if each.cell.workload == aim.workload and each.setting is None and each.cell.straight_to is None
    ]
    if len(cells) != 1:
        return f"{len(cells) or 'no'} cells of the workload {aim.workload} have figures; expected one"
    ours = next(_of_cell(cells[0], aim, target, run, known), None)
    if ours is None:
        words = " or ".join(target.statistics)
        return f"the run gives no {words} of {aim.metric} in {cells[0].name}: plan more requests, or see its failures"
    unfit = [each.value for each in _UNFIT if each.value in ours.warnings]
    if unfit:
        return f"{ours.id} carries {', '.join(unfit)}, and is no figure of the system: measure again"
    return ours


def _of_cell(
    cell: CellResult, aim: Replicates, target: LinkTarget, run: Run, known: _Known
) -> Iterator[Result]:
    """Yield results of a cell with a statistic of the target, the published ones first."""
    start = slug(f"{cell.name}-{aim.metric}")
    for statistic in target.statistics:
        for each in known.results:
            own = each.id in {start, f"{start}-{statistic}"}
            if own and each.statistic == statistic and each.value is not None:
                yield each
        made = result_of(cell, aim.metric, statistic, run.plan, known.source)
        if made is not None:
            yield made


def _link(aim: Replicates, ours: Result, theirs: Decimal, said: set[str]) -> Link:
    assert ours.value is not None
    own = [each for each in aim.open_points if each not in said]
    note = "; ".join(own)
    if len(own) < len(aim.open_points):
        note = f"{note}. {_SAID_ABOVE}" if note else _SAID_ABOVE
    return Link(
        relation="replicates",
        target=aim.target,
        result=ours.id,
        ratio=rounded(float(ours.value / theirs)),
        ratio_low=None if ours.low is None else rounded(float(ours.low / theirs)),
        ratio_high=None if ours.high is None else rounded(float(ours.high / theirs)),
        note=note[:_MOST_NOTE] or None,
    )
