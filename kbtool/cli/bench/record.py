"""`kbtool bench record | report | verify`: what came out of a run, and whether it is still what was sealed."""

import json
import re
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from kbtool.cli.bench.newfiles import NewFiles
from kbtool.cli.bench.reading import RunArgument, open_run, read_run, require_run_folder
from kbtool.cli.bench.rows import print_rows
from kbtool.cli.console import complain, find_root, say
from kbtool.cli.options import RootOption
from kbtool.errors import ExitCode, RecordError, UsageError
from kbtool.escape import terminal

if TYPE_CHECKING:
    from kbtool.runner.emit import LinkTarget
    from kbtool.runner.results import Run
    from kbtool.schema import Benchmark, Source
    from kbtool.schema.benchmark import Artifact

__all__ = ["checked_id", "publish", "record", "report", "verify"]

LARGEST_BAG_BYTES: Final = 32 * 1024 * 1024
"""A larger run is kept elsewhere; its manifest says what belongs to it."""
LONGEST_ID: Final = 100


def report(
    folder: RunArgument,
    *,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Where the page goes; RUN/derived/report.html, if not given."),
    ] = None,
) -> None:
    """Print what came out, and write one HTML page with plots and the raw data behind each."""
    from kbtool.runner.report import html_report, rows_of

    run = read_run(folder)
    print_rows(rows_of(run))
    path = html or folder / "derived" / "report.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(html_report(run, open_run(folder)))
    say(f"wrote {path}")


def record(
    folder: RunArgument,
    *,
    name: Annotated[
        str | None, typer.Option("--id", help="Id of the benchmark record; from plan and run, if not given.")
    ] = None,
    keep_raw: Annotated[
        bool,
        typer.Option(
            "--raw/--no-raw", help="Copy the run as one archive to raw/, where it is not too large."
        ),
    ] = True,
    llm_d: Annotated[
        bool, typer.Option("--llm-d", help="Write llm-d Benchmark Reports to RUN/derived/llm-d/ as well.")
    ] = False,
    root: RootOption = None,
) -> None:
    """Write a benchmark and a source record of a complete run; they pass `kbtool lint` as they are."""
    from kbtool.runner.emit import RecordGiven, records_of

    project, run = find_root(root), read_run(folder)
    if not run.finished:
        raise RecordError(
            f"{folder} is not complete: go on with `kbtool bench resume {folder}`, then record it"
        )
    manifest = folder / "manifest.json"
    if not manifest.is_file():
        raise RecordError(
            f"{manifest} is missing, and the run is complete: restore it from a copy; `kbtool bench verify {folder}` "
            "says what else is not as it was sealed"
        )
    source_id = _slug(f"run-{run.run_id}")
    record_id = _slug(f"ev-{run.plan.id}-{run.run_id}") if name is None else checked_id(name)
    targets = _targets(project, run)
    with NewFiles() as new:
        artifacts = _keep(folder, project, source_id, new) if keep_raw else ()
        given = RecordGiven(
            # The day of the run, not of the command: one run gives one record, whenever it is written.
            today=date.fromisoformat(run.facts["started"][:10]),
            record_id=record_id,
            source_id=source_id,
            ledger_sha256=sha256(manifest.read_bytes()).hexdigest(),
            artifacts=artifacts,
            targets=targets,
        )
        made = records_of(run, given)
        benchmark = _with_confidence(made.benchmark, run)
        publish(project, benchmark, made.source, new)
    for each in artifacts:
        say(f"wrote {each.path}")
    for reason in made.not_linked:
        say(terminal(f"not linked: {reason}"))
    if llm_d:
        _write_llm_d(benchmark, folder / "derived" / "llm-d")
    say(
        f"{len(benchmark.results)} results, {len(benchmark.gaps)} gaps; `kbtool why benchmarks/{record_id}` says what would raise it"
    )


def _write_llm_d(benchmark: "Benchmark", place: Path) -> None:
    """Write one llm-d Benchmark Report a load, and say what its schema has no place for."""
    from kbtool.ingest import report_json, write_reports

    place.mkdir(parents=True, exist_ok=True)
    for number, made in enumerate(write_reports(benchmark), 1):
        path = place / f"report-{number:02d}.json"
        path.write_bytes(report_json(made))
        say(f"wrote {path}, {len(made.not_written)} figures not in it")


def publish(project: Path, benchmark: "Benchmark", source: "Source", new: NewFiles) -> None:
    """Write a benchmark and its source into the knowledge base, and lint what was written.

    Args:
        project: The knowledge base.
        benchmark: The record of what was measured.
        source: The record of where it comes from.
        new: What the verb has written so far, open: the records are added to it.

    Raises:
        UsageError: there is another record of that id.
        typer.Exit: lint found an error; it is said, and leaving `new` takes the files away.
    """
    texts = dict(
        (
            _text_of(project, "source", source.id, source),
            _text_of(project, "benchmark", benchmark.id, benchmark),
        )
    )
    for path, text in texts.items():
        _require_free(path, text, project)
    for path, text in texts.items():
        new.write(path, text)
    if _lint(project, list(texts)):
        complain("nothing was written: correct what is said above, then do it again")
        raise typer.Exit(ExitCode.FINDINGS)
    for path in texts:
        say(f"wrote {path.relative_to(project)}")


def verify(folder: RunArgument) -> None:
    """Check that every sealed byte of a run is what it was, and that its figures can be computed anew."""
    from kbtool.runner.folder import verify as check

    require_run_folder(folder)
    found = check(folder)
    for each in found:
        complain(str(each))
    if found:
        raise typer.Exit(ExitCode.FINDINGS)
    from kbtool.runner.results import load_run

    run = load_run(open_run(folder))
    say(f"{folder}: every sealed file is what it was; {len(run.cells)} cells, figures computed anew")
    if not run.finished:
        say(f"the run is not complete: go on with `kbtool bench resume {folder}`")


def _with_confidence(benchmark: "Benchmark", run: "Run") -> "Benchmark":
    """Add what the published rubric says of the record."""
    from kbtool.analysis.confidence import assess
    from kbtool.schema.common import Confidence

    found = assess(benchmark, run.plan.subject.interest)
    said = Confidence(score=found.score, label=found.label, reasons=found.codes)
    return benchmark.model_copy(update={"confidence": said})


def _targets(project: Path, run: "Run") -> "dict[str, LinkTarget]":
    """Return the results that the run measures again."""
    if not run.plan.replicates:
        return {}
    from kbtool.runner.emit import LinkTarget
    from kbtool.runner.reproduce import same_statistics, target_value
    from kbtool.schema import Benchmark
    from kbtool.store import load

    corpus = load(project)
    found = {}
    for aim in run.plan.replicates:
        ref, _, result_id = aim.target.partition("#")
        target = corpus.get(ref)
        if not isinstance(target, Benchmark):
            raise RecordError(
                f"the plan replicates {aim.target}, which is no benchmark of this knowledge base: correct the plan"
            )
        wanted = result_id or target.headline
        result = next((each for each in target.results if each.id == wanted), None)
        if result is not None:
            same = same_statistics(result.metric, result.statistic)
            found[aim.target] = LinkTarget(target_value(result), same)
    return found


def _keep(folder: Path, project: Path, source_id: str, new: NewFiles) -> "tuple[Artifact, ...]":
    """Copy the run as one archive beside the records, and its manifest in any case."""
    from kbtool.runner.folder import pack
    from kbtool.schema.benchmark import Artifact

    place = project / "raw" / source_id
    manifest = place / "manifest.json"
    new.write(manifest, (folder / "manifest.json").read_bytes())
    unpacked = sum(each["size_bytes"] for each in json.loads(manifest.read_bytes())["files"])
    kept = [
        Artifact(
            path=manifest.relative_to(project).as_posix(),
            sha256=sha256(manifest.read_bytes()).hexdigest(),
            size_bytes=manifest.stat().st_size,
            holds="Path, size and SHA-256 of every file of the run.",
        )
    ]
    if unpacked > LARGEST_BAG_BYTES:
        complain(
            f"the run has {unpacked:,} bytes: only its manifest is kept in raw/; keep {folder} where readers find it"
        )
        return tuple(kept)
    bag, fresh = new.at(place / "run.tar"), place / "run.tar.new"
    fresh.unlink(missing_ok=True)
    seal = pack(folder, fresh)
    fresh.replace(bag)
    kept.append(
        Artifact(
            path=bag.relative_to(project).as_posix(),
            sha256=seal.sha256,
            size_bytes=seal.size_bytes,
            unpacked_bytes=unpacked,
            holds="The run folder: plan, journal, environment, raw times of every chunk, telemetry.",
        )
    )
    return tuple(kept)


def _text_of(project: Path, kind: str, record_id: str, made: Any) -> tuple[Path, bytes]:
    """Return where a record goes, and what stands there then."""
    from kbtool.store.dump import record_text

    path = project / "records" / f"{kind}s" / f"{record_id}.yaml"
    return path, record_text(made, kind, path.relative_to(project).as_posix()).encode()


def _require_free(path: Path, text: bytes, project: Path) -> None:
    """Do nothing where a record may be written: nothing is there, or the same.

    Raises:
        UsageError: another record would be lost, or what somebody wrote into it.
    """
    if path.exists() and path.read_bytes() != text:
        raise UsageError(
            f"{path.relative_to(project)} is there already, and holds something else: remove it, or give another --id"
        )


def _lint(project: Path, paths: list[Path]) -> bool:
    """Lint what was written; return whether anything is wrong with it."""
    from kbtool.lint import run as lint

    found = [each for each in lint(project, paths=paths).findings if each.severity != "info"]
    for each in found:
        complain(f"{each.path}:{each.line}: {each.severity} {each.code} {each.name}: {each.message}")
    return any(each.severity == "error" for each in found)


def _slug(text: str) -> str:
    from kbtool.runner.emit.figures import slug

    found = slug(text)
    if len(found) > LONGEST_ID:
        raise UsageError(f"{found} is too long for an id: give one with --id")
    return found


def checked_id(text: str) -> str:
    """Return the id of a record as it was given.

    Raises:
        UsageError: it cannot be one.
    """
    from kbtool.schema.base import SLUG_PATTERN

    if len(text) > LONGEST_ID or not re.match(SLUG_PATTERN, text):
        raise UsageError(
            f"--id {text[:LONGEST_ID]!r} cannot be an id; expected lower-case words of a-z and 0-9, joined by single "
            f"hyphens, at most {LONGEST_ID} characters, such as ev-vllm-users: correct it"
        )
    return text
