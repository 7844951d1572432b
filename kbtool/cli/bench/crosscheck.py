"""One cell of a run measured again by another load tool, and both results side by side."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kbtool.cli.bench.reading import read_url
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
    run: "Run",
    tool: str,
    url: str,
    wanted: str | None,
    *,
    scratch: Path,
    run_peer: RunPeer,
    tokenizer: str | None = None,
) -> "tuple[tuple[Compared, ...], Imported]":
    """Run an installed load tool at the load of one cell, and compare its figures with ours.

    Args:
        run: The run.
        tool: Id of the load tool.
        url: Address of the server, with `/v1` or without.
        wanted: Name of the cell; None for the first closed loop.
        scratch: Empty folder for what the tool writes.
        run_peer: Starts the tool.
        tokenizer: Folder or name of the tokenizer that the tool makes its prompts with; None for the folder that the
            server loads its model from, where that is on this machine.

    Raises:
        UsageError: there is no such cell, the server does not answer, or the tool is not installed.
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
    model, root = _served(url)
    job = Job(
        base_url=url.rstrip("/").removesuffix("/v1"),
        model=model,
        concurrency=load.streams,
        requests=load.requests,
        input_tok=load.input_tok,
        output_tok=load.output_tok,
        folder=scratch,
        tokenizer=tokenizer or _local_tokenizer(root),
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


def _served(url: str) -> tuple[str, str | None]:
    """Return the name that the server gives its model now, and the folder that it loaded it from.

    The name in the run is another one where the runner had launched the server and made up a word.
    """
    from kbtool.runner.client.control import ControlError
    from kbtool.runner.engines import adapter_for
    from kbtool.runner.plan.target import EndpointPlan
    from kbtool.runner.target.attach import endpoint_of

    endpoint = endpoint_of(EndpointPlan(url=read_url(url)))
    try:
        identity = adapter_for("openai").identity(endpoint)
    except ControlError as error:
        raise UsageError(f"{url} does not list its models: {error}: start the server again") from None
    if not identity.served_models:
        raise UsageError(f"{url} lists no model; expected the one that was measured: give its address")
    return identity.served_models[0], identity.model_root


def _local_tokenizer(root: str | None) -> str | None:
    """Return the folder of a model if it holds a tokenizer that other tools can load."""
    if root is None or not (Path(root) / "tokenizer.json").is_file():
        return None
    return root


def _cell(run: "Run", wanted: str | None) -> "CellResult":
    closed = [each for each in run.cells if each.cell.kind in {"single_stream", "concurrency"}]
    found = next(
        (each for each in run.cells if each.name == wanted), closed[0] if closed and not wanted else None
    )
    if found is None:
        names = ", ".join(each.name for each in closed) or "none"
        raise UsageError(f"there is no cell {wanted!r} to measure again; closed loops are {names}")
    return found
