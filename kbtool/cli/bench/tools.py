"""`kbtool bench calibrate | import | crosscheck | compare | reproduce`: the instrument itself, and figures of others."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from kbtool.cli.bench.knowledge import calibration_path
from kbtool.cli.bench.newfiles import NewFiles
from kbtool.cli.bench.reading import RunArgument, read_bounded, read_plan, read_run, read_url
from kbtool.cli.bench.record import checked_id, publish
from kbtool.cli.console import complain, console, find_root, say
from kbtool.cli.options import RootOption, day
from kbtool.errors import ExitCode, RecordError, UsageError
from kbtool.escape import terminal

if TYPE_CHECKING:
    from kbtool.ingest import Imported
    from kbtool.runner.calibrate import Calibration

__all__ = ["calibrate", "compare", "crosscheck", "import_file", "reproduce"]

LARGEST_FILE_BYTES: Final = 256 * 1024 * 1024
MOST_STREAMS: Final = 4096
"""As many as a plan may ask for."""


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
    from kbtool.runner.calibrate import verdict, write_calibration

    levels, path = _levels(streams), calibration_path()
    _require_place(path)
    found = measure(levels, checks=check, realtime=realtime, on_step=_complain_one)
    _print_calibration(found)
    write_calibration(found, path)
    say(f"kept in {path}")
    say(verdict(found))
    if not found.passed:
        raise typer.Exit(ExitCode.FINDINGS)


def _require_place(path: Path) -> None:
    """Do nothing where a file can be written; better said before the measuring than after it.

    Raises:
        UsageError: it cannot.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise UsageError(
            f"{path.parent}: {error.strerror}; expected a folder to keep the result in: correct its permissions, or "
            "name another one in XDG_STATE_HOME"
        ) from None


def _levels(text: str) -> tuple[int, ...]:
    """Return the numbers of streams that are asked for.

    Raises:
        UsageError: they are none, or none that can be measured: without a stream there is no error to find.
    """
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() and len(word) <= len(str(MOST_STREAMS)) for word in words):
        raise UsageError(f"--streams {text!r} holds no numbers joined by commas, such as 1,16,64")
    levels = tuple(map(int, words))
    if not all(1 <= level <= MOST_STREAMS for level in levels) or len(set(levels)) < len(levels):
        raise UsageError(
            f"--streams {text!r}; expected numbers from 1 to {MOST_STREAMS:,}, each once: correct it"
        )
    return levels


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

    conditions, read_on = _conditions(at or []), _day_read(accessed)
    if name is not None:
        checked_id(f"source-{name}")
        if len(files) > 1:
            raise UsageError(
                f"--id {name!r} is given for {len(files)} files; expected one: import one at a time"
            )
    for path in files:
        data = read_bounded(path, LARGEST_FILE_BYTES, "a result file of a load tool")
        found = read(tool, data, path.name)
        _print_imported(found, path)
        named = {"accelerator": accelerator, "engine": engine, "model": model, "publisher": publisher}
        missing = [key for key, value in named.items() if value is None]
        if missing:
            say(f"to write drafts, give {', '.join(f'--{key}' for key in missing)}")
            continue
        project = find_root(root)
        stem = name or _stem(path, data)
        original = _place_of_original(project, f"source-{stem}", path)
        given = Given(
            benchmark_id=f"ev-{stem}",
            source_id=f"file-{stem}",
            accelerator=str(accelerator),
            engine=str(engine),
            model=str(model),
            publisher=str(publisher),
            accessed=read_on,
            url=url,
            raw_path=original.relative_to(project).as_posix(),
            conditions=conditions,
        )
        benchmark, source = to_records(found, given)
        with NewFiles() as new:
            new.write(original, data)
            publish(project, benchmark, source, new)


def _stem(path: Path, data: bytes) -> str:
    from kbtool.runner.emit.figures import slug

    return f"{slug(path.stem)[:60].strip('-')}-{sha256(data).hexdigest()[:8]}"


def _day_read(text: str | None) -> date:
    """Return the day on which the files were read.

    Raises:
        UsageError: it is no day, or has not come yet.
    """
    today = datetime.now(UTC).date()
    found = day(text, "--accessed") or today
    if found > today + timedelta(days=1):  # somewhere it is tomorrow already
        raise UsageError(f"--accessed {found} has not come yet; expected the day on which the file was read")
    return found


def _place_of_original(project: Path, folder: str, path: Path) -> Path:
    return project / "raw" / folder / f"{path.stem.replace('.', '-')}{path.suffix}"


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
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "--tokenizer",
            help="Folder or name of the tokenizer that the tool makes its prompts with; that of the server's model "
            "folder, if not given.",
        ),
    ] = None,
) -> None:
    """Run another load tool once at the load of one cell, keep its result beside the run, and compare."""
    from kbtool.cli.bench.crosscheck import compare_with

    run = read_run(folder)
    place = folder / "derived" / f"crosscheck-{peer.value}"
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        compared, imported = compare_with(
            run, peer.value, url, cell, scratch=Path(scratch), run_peer=_run_peer, tokenizer=tokenizer
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
    # Its tables go where our own remarks go: standard output is for the comparison alone.
    done = subprocess.run(
        list(argv), env={**os.environ, **dict(environment)}, check=False, stdout=sys.stderr.fileno()
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
    else:
        for line in found.lines():
            say(terminal(line))
    if not found.compared:
        raise typer.Exit(ExitCode.FINDINGS)


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
        near = corpus.nearest(name) if record is None else None
        raise RecordError(
            f"{ref!r} is no benchmark record{f': did you mean {near}?' if near else ': see `kbtool find`'}"
        )
    made = plan_from(
        record, results=tuple(result) if result else None, url=None if url is None else read_url(url)
    )
    path = out or project / "plans" / f"reproduce-{record.id}.yaml"
    _write_plan(path, plan_text(made, path, project))
    read_plan(path)
    say(f"wrote {path}")
    for point in made.open_points:
        say(terminal(f"open: {point}"))
    for result_id, reason in made.refused:
        say(terminal(f"not measured: {result_id}: {reason}"))


def _write_plan(path: Path, text: str) -> None:
    """Write a plan, never over another one: somebody may have filled in what was left open.

    Raises:
        UsageError: the place is taken.
    """
    if path.exists() and (not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != text):
        raise UsageError(
            f"{path} is there already, and holds something else: remove it, or give another --out"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
