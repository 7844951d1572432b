"""`kbtool bench calibrate | import | crosscheck | compare | reproduce`: the instrument itself, and figures of others."""

import json
import os
import subprocess
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from kbtool.cli.bench.knowledge import calibration_path
from kbtool.cli.bench.reading import RunArgument, read_plan, read_run
from kbtool.cli.bench.record import publish
from kbtool.cli.console import complain, console, find_root, say
from kbtool.cli.options import RootOption, day
from kbtool.errors import ExitCode, RecordError, UsageError
from kbtool.escape import terminal

if TYPE_CHECKING:
    from kbtool.ingest import Imported
    from kbtool.runner.calibrate import Calibration

__all__ = ["calibrate", "compare", "crosscheck", "import_file", "reproduce"]

LARGEST_FILE_BYTES: Final = 256 * 1024 * 1024


def calibrate(
    *,
    streams: Annotated[
        str, typer.Option("--streams", help="Numbers of streams at once, joined by commas.")
    ] = "1,16,64,256,1024",
    check: Annotated[bool, typer.Option("--check/--no-check", help="Try the hostile streams too.")] = True,
    realtime: Annotated[
        bool, typer.Option("--realtime", help="Run before all ordinary processes; needs the right to.")
    ] = False,
) -> None:
    """Measure the client itself, against a server whose true send times are known.

    The error is kept for this host, and written into every record that is measured on it.
    """
    from kbtool.runner.calibrate import calibrate as measure
    from kbtool.runner.calibrate import write_calibration

    try:
        levels = tuple(int(each) for each in streams.split(","))
    except ValueError:
        raise UsageError(
            f"--streams {streams!r} holds no numbers joined by commas, such as 1,16,64"
        ) from None
    found = measure(levels, checks=check, realtime=realtime, on_step=_complain_one)
    _print_calibration(found)
    path = calibration_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_calibration(found, path)
    say(f"kept in {path}")
    if not found.passed:
        raise typer.Exit(ExitCode.FINDINGS)


def _complain_one(text: str) -> None:
    complain(text)


def _print_calibration(found: "Calibration") -> None:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in (
        "streams",
        "chunks",
        "TTFT error",
        "per token",
        "gap p99 error",
        "load",
        "us/event",
        "lag p99",
        "wrong tokens",
    ):
        table.add_column(title, justify="right")
    for each in found.levels:
        table.add_row(
            str(each.streams),
            "-".join(map(str, each.pattern)),
            f"{each.ttft_mean_error_ratio:+.2%}",
            f"{each.itl_mean_error_ratio:+.3%}",
            f"{each.gap_p99_error_ms:+.3f} ms",
            f"{each.load_ratio:.3f}",
            f"{each.cpu_us_per_event:.1f}",
            f"{each.loop_lag_p99_ms:.2f} ms",
            str(each.token_errors),
        )
    console().print(table)
    for check in found.checks:
        say(
            terminal(
                f"{'ok  ' if check.passed else 'FAIL'} {check.name}: expected {check.expected}, found {check.found}"
            )
        )


def import_file(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Result files of other tools.")],
    *,
    tool: Annotated[
        str | None, typer.Option("--tool", help="Which tool wrote them; found out, if not given.")
    ] = None,
    accelerator: Annotated[str | None, typer.Option("--accelerator", help="Accelerator record.")] = None,
    engine: Annotated[str | None, typer.Option("--engine", help="Engine record.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Model record.")] = None,
    publisher: Annotated[str | None, typer.Option("--publisher", help="Who published the file.")] = None,
    url: Annotated[str | None, typer.Option("--url", help="Where it is published.")] = None,
    name: Annotated[str | None, typer.Option("--id", help="Id of the benchmark record.")] = None,
    accessed: Annotated[
        str | None, typer.Option("--accessed", help="Day on which it was read; today, if not given.")
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option("--at", help="A condition that the file does not say, such as concurrency=16."),
    ] = None,
    root: RootOption = None,
) -> None:
    """Read other tools' result files: say what they hold, and write drafts where the records they need are named."""
    from kbtool.ingest import Given, read, to_records

    for path in files:
        data = _read_file(path)
        found = read(tool, data, path.name)
        _print_imported(found, path)
        named = {"accelerator": accelerator, "engine": engine, "model": model, "publisher": publisher}
        missing = [key for key, value in named.items() if value is None]
        if missing:
            say(f"to write drafts, give {', '.join(f'--{key}' for key in missing)}")
            continue
        project = find_root(root)
        stem = name or _stem(path, data)
        kept = _keep_original(project, f"source-{stem}", path, data)
        given = Given(
            benchmark_id=f"ev-{stem}",
            source_id=f"file-{stem}",
            accelerator=str(accelerator),
            engine=str(engine),
            model=str(model),
            publisher=str(publisher),
            accessed=day(accessed, "--accessed") or datetime.now(UTC).date(),
            url=url,
            raw_path=kept,
            conditions=_conditions(at or []),
        )
        benchmark, source = to_records(found, given)
        publish(project, benchmark, source)


def _read_file(path: Path) -> bytes:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist: give a result file") from None
    if size > LARGEST_FILE_BYTES:
        raise UsageError(
            f"{path} has {size:,} bytes; expected at most {LARGEST_FILE_BYTES:,}: leave its details out"
        )
    return path.read_bytes()


def _stem(path: Path, data: bytes) -> str:
    from kbtool.runner.emit.figures import slug

    return f"{slug(path.stem)[:60].strip('-')}-{sha256(data).hexdigest()[:8]}"


def _keep_original(project: Path, folder: str, path: Path, data: bytes) -> str:
    from kbtool.store.atomic import write_atomic

    place = project / "raw" / folder / f"{path.stem.replace('.', '-')}{path.suffix}"
    place.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(place, data)
    return place.relative_to(project).as_posix()


def _conditions(pairs: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in pairs:
        key, separator, value = each.partition("=")
        if not separator:
            raise UsageError(f"--at {each!r} is not such as concurrency=16")
        found[key] = int(value) if value.isdecimal() else value
    return found


def _print_imported(found: "Imported", path: Path) -> None:
    say(
        terminal(
            f"{path}: {found.tool} {found.tool_version or 'of an unknown version'}, {len(found.measurements)} figures"
        )
    )
    for each in found.conversions:
        say(terminal(f"  {each.outcome}: {each.word}: {each.reason}"))
    for left in found.left_out:
        say(terminal(f"  left out, {left.kind}: {left.place}: {left.reason}"))
    for bias in found.biases:
        say(terminal(f"  known: {bias.text}"))


class PeerName(StrEnum):
    """A load tool that can be run beside ours."""

    VLLM = "vllm-bench"
    SGLANG = "sglang-bench"
    GUIDELLM = "guidellm"
    AIPERF = "aiperf"
    INFERENCE_PERF = "inference-perf"


def crosscheck(
    folder: RunArgument,
    peer: Annotated[PeerName, typer.Argument(metavar="PEER", help="An installed load tool.")],
    *,
    url: Annotated[str, typer.Option("--url", help="Address of the same server.")],
    cell: Annotated[
        str | None, typer.Option("--cell", help="Cell to measure again; the first closed loop, if not given.")
    ] = None,
) -> None:
    """Run another load tool once at the load of one cell, keep its result beside the run, and compare."""
    from kbtool.cli.bench.crosscheck import compare_with

    run = read_run(folder)
    place = folder / "derived" / f"crosscheck-{peer.value}"
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        compared, imported = compare_with(
            run, peer.value, url, cell, scratch=Path(scratch), run_peer=_run_peer
        )
    (place / "result.json").write_text(
        json.dumps([asdict(each) for each in compared], default=str, indent=2) + "\n"
    )
    for bias in imported.biases:
        say(terminal(f"known of {peer.value}: {bias.text}"))
    for each in compared:
        ratio = "" if each.ratio is None else f", {each.ratio:.3f} of ours"
        notes = "".join(f"; {note}" for note in each.notes)
        say(terminal(f"{each.metric} {each.statistic}: ours {each.ours}, theirs {each.theirs}{ratio}{notes}"))
    say(f"kept in {place}")


def _run_peer(argv: Any, environment: Any) -> int:
    done = subprocess.run(
        list(argv), env={**os.environ, **dict(environment)}, check=False, stdout=subprocess.DEVNULL
    )
    return done.returncode


def compare(
    first: RunArgument,
    second: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="Another run; the legs of the first, if not given.")
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print data.")] = False,
) -> None:
    """Compare two runs cell by cell, or the legs of one run with its base; refuse what is not comparable."""
    from kbtool.runner.compare import compare_legs, compare_runs

    run = read_run(first)
    found = compare_legs(run) if second is None else compare_runs(run, read_run(second))
    if as_json:
        say(json.dumps(found.data(), indent=2))
        return
    for line in found.lines():
        say(terminal(line))


def reproduce(
    ref: Annotated[str, typer.Argument(metavar="ID", help="A benchmark record, such as benchmarks/ev-x.")],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where the plan goes; plans/reproduce-ID.yaml, if not given.")
    ] = None,
    url: Annotated[
        str | None, typer.Option("--url", help="Server to attach to; a launch is sketched, if not given.")
    ] = None,
    result: Annotated[
        list[str] | None,
        typer.Option("--result", help="Result to measure again; the headline, if not given."),
    ] = None,
    root: RootOption = None,
) -> None:
    """Make a plan from a benchmark record, and list what the record leaves open."""
    from kbtool.cli.bench.planfile import plan_text
    from kbtool.cli.options import normal_ref
    from kbtool.runner.reproduce import plan_from
    from kbtool.schema import Benchmark
    from kbtool.store import load

    project = find_root(root)
    corpus = load(project)
    name = normal_ref(ref)
    record = corpus.get(name if "/" in name else f"benchmarks/{name}")
    if not isinstance(record, Benchmark):
        near = corpus.nearest(name)
        raise RecordError(
            f"{ref} is no benchmark record{f': did you mean {near}?' if near else ': see `kbtool find`'}"
        )
    made = plan_from(record, results=tuple(result) if result else None, url=url)
    path = out or project / "plans" / f"reproduce-{record.id}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(plan_text(made, path, project), encoding="utf-8")
    read_plan(path)
    say(f"wrote {path}")
    for point in made.open_points:
        say(terminal(f"open: {point}"))
    for result_id, reason in made.refused:
        say(terminal(f"not measured: {result_id}: {reason}"))
