"""One cell of a run measured again by another load tool, and both results side by side."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kbtool.errors import UsageError

if TYPE_CHECKING:
    from kbtool.ingest import Compared, Imported
    from kbtool.runner.results import CellResult, Run

__all__ = ["RunPeer", "compare_with"]

RunPeer = Callable[[Sequence[str], Mapping[str, str]], int]
_PUBLISHED = frozenset(
    {"ttft_ms", "tpot_ms", "itl_ms", "icl_ms", "e2el_ms", "output_tok_s", "req_s", "total_tok_s"}
)


def compare_with(
    run: "Run", tool: str, url: str, wanted: str | None, *, scratch: Path, run_peer: RunPeer
) -> "tuple[tuple[Compared, ...], Imported]":
    """Run an installed load tool at the load of one cell, and compare its figures with ours.

    Raises:
        UsageError: there is no such cell, or the tool is not installed.
        IngestError: the tool left no result that can be read.
    """
    from kbtool.ingest import Job, compare, crosscheck, installed
    from kbtool.ingest.compare import Ours
    from kbtool.ingest.peers import peer
    from kbtool.runner.emit.figures import rounded

    cell = _cell(run, wanted)
    one = peer(tool)
    if not installed(one, run=run_peer):
        raise UsageError(f"{tool} is not installed here: install it, or name another load tool")
    load = cell.cell
    job = Job(
        base_url=url.rstrip("/").removesuffix("/v1"),
        model=cell.visits[0].note.model,
        concurrency=load.streams,
        requests=load.requests,
        input_tok=load.input_tok,
        output_tok=load.output_tok,
        folder=scratch,
    )
    imported = crosscheck(one, job, run_peer)
    ours = [
        Ours(
            each.metric,
            each.statistic,
            rounded(each.value),
            None if each.low is None else rounded(each.low),
            None if each.high is None else rounded(each.high),
        )
        for each in cell.summary.measurements
        if each.metric in _PUBLISHED
    ]
    return compare(ours, imported, concurrency=load.streams), imported


def _cell(run: "Run", wanted: str | None) -> "CellResult":
    closed = [each for each in run.cells if each.cell.kind in {"single_stream", "concurrency"}]
    found = next(
        (each for each in run.cells if each.name == wanted), closed[0] if closed and not wanted else None
    )
    if found is None:
        names = ", ".join(each.name for each in closed) or "none"
        raise UsageError(f"there is no cell {wanted!r} to measure again; closed loops are {names}")
    return found
