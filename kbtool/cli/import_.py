"""`kbtool import`: a published set of results to drafts, in folders of their own."""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kbtool.cli.console import complain, find_root, say
from kbtool.cli.options import RootOption, day
from kbtool.errors import ExitCode, UsageError
from kbtool.escape import terminal

if TYPE_CHECKING:
    from kbtool.ingest import Catalogue, Drafts, File, PublishedSet
    from kbtool.schema import Benchmark, Source
    from kbtool.store import Corpus

__all__ = ["import_set"]

_LARGEST_FILE_BYTES: Final = 64 * 1024 * 1024
_MOST_FILES: Final = 20_000
_MOST_LISTED: Final = 20


_Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE", help="Which set: mlperf, tensorrt-llm or inferencex.", show_default=False
    ),
]
_Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="Its published files, or folders of them as in its repository.",
        show_default=False,
    ),
]
_Commit = Annotated[
    str | None, typer.Option("--commit", help="Commit of the repository that the files were read from.")
]
_Path = Annotated[
    str | None,
    typer.Option("--path", help="Path of the file in the repository, where its name does not say it."),
]
_Url = Annotated[
    str | None,
    typer.Option("--url", help="Where the files are published, where repository and commit do not tell."),
]
_Accessed = Annotated[
    str | None,
    typer.Option(
        "--accessed",
        help="Day on which they were read; that of an earlier import, or today, if not given.",
    ),
]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Write nothing; say what would be written.")]
_EveryRow = Annotated[bool, typer.Option("--all", help="List every refused row, not the reasons alone.")]


def import_set(
    source: _Source,
    files: _Files,
    *,
    commit: _Commit = None,
    path: _Path = None,
    url: _Url = None,
    accessed: _Accessed = None,
    dry_run: _DryRun = False,
    every_row: _EveryRow = False,
    root: RootOption = None,
) -> None:
    """Write drafts of a published set of results, and list what became none.

    They go to records/benchmarks/SOURCE/ and records/sources/SOURCE/. The same files give the same bytes. A row that
    needs a record which does not exist is refused with the name of that record. Result files of one run of a tool are
    for `kbtool bench import`.
    """
    from kbtool.ingest import Origin
    from kbtool.store import load

    chosen = _set(source)
    project = find_root(root)
    read = list(_read(files, chosen))
    corpus = load(project)
    read_on = day(accessed, "--accessed") or _read_before(corpus, chosen, read, commit) or _today()
    made = chosen.drafts(read, _catalogue(corpus), Origin(read_on, commit, path, url))
    _refuse_taken(corpus, chosen, made)
    written = _write(project, chosen, made, dry_run=dry_run)
    _report(made, written, dry_run=dry_run, every_row=every_row)
    if not made.benchmarks:
        raise typer.Exit(ExitCode.FINDINGS)


def _set(source: str) -> "PublishedSet":
    from kbtool.ingest import SETS, set_ids, tool_ids

    found = next((each for each in SETS if each.id == source), None)
    if found is None:
        hint = ": files of that tool are for `kbtool bench import`" if source in tool_ids() else ""
        raise UsageError(f"no published set {source!r}; expected one of {', '.join(set_ids())}{hint}")
    return found


def _read(paths: Iterable[Path], chosen: "PublishedSet") -> "Iterator[File]":
    from kbtool.ingest import File

    for count, path in enumerate(_expanded(paths, chosen)):
        if count == _MOST_FILES:
            raise UsageError(f"more than {_MOST_FILES:,} files: import a part of them")
        try:
            size = path.stat().st_size
            if size > _LARGEST_FILE_BYTES:
                raise UsageError(f"{path} has {size:,} bytes; at most {_LARGEST_FILE_BYTES:,} are read")
            yield File(path.as_posix(), path.read_bytes())
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _expanded(paths: Iterable[Path], chosen: "PublishedSet") -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = sorted(each for each in path.rglob("*") if each.is_file() and chosen.wanted(each.as_posix()))
        if not found:
            raise UsageError(f"{path} holds no file of {chosen.title}: give the folder that does")
        yield from found


def _today() -> date:
    return datetime.now(UTC).date()


def _read_before(
    corpus: "Corpus", chosen: "PublishedSet", files: "list[File]", commit: str | None
) -> date | None:
    """Return the day on which an earlier import read the same files, so that the bytes stay the same."""
    from kbtool.schema import Source

    digests = {sha256(each.data).hexdigest() for each in files}
    days = [
        each.accessed
        for each in corpus.by_kind("source")
        if isinstance(each, Source)
        and corpus.loaded(corpus.ref_of(each)).file.relative == _relative(chosen, each)
        and (each.content_sha256 in digests or (commit is not None and each.commit == commit))
    ]
    return max(days, default=None)


def _catalogue(corpus: "Corpus") -> "Catalogue":
    from kbtool.ingest import Catalogue
    from kbtool.schema import Accelerator

    accelerators = {each.id: each for each in corpus.by_kind("accelerator") if isinstance(each, Accelerator)}
    engines, models = (frozenset(each.id for each in corpus.by_kind(kind)) for kind in ("engine", "model"))
    return Catalogue(accelerators, engines, models)


def _records(made: "Drafts") -> "Iterator[Benchmark | Source]":
    yield from made.sources
    yield from made.benchmarks


def _refuse_taken(corpus: "Corpus", chosen: "PublishedSet", made: "Drafts") -> None:
    """Refuse to make an id that a record outside the set's folders has.

    Raises:
        UsageError: there is one.
    """
    for each in _records(made):
        ref = f"{type(each).__name__.lower()}s/{each.id}"
        if corpus.get(ref) is None:
            continue
        relative = corpus.loaded(ref).file.relative
        if relative != _relative(chosen, each):
            raise UsageError(
                f"{relative} has the id {each.id} already: rename nothing, and say which of the two is right"
            )


def _relative(chosen: "PublishedSet", record: "Benchmark | Source") -> str:
    return f"records/{type(record).__name__.lower()}s/{chosen.id}/{record.id}.yaml"


def _write(project: Path, chosen: "PublishedSet", made: "Drafts", *, dry_run: bool) -> dict[str, int]:
    """Write what changed, and return how many files are new, changed, the same, and not of this import."""
    from kbtool.ingest import record_text
    from kbtool.store.atomic import write_atomic

    counts = {"new": 0, "changed": 0, "unchanged": 0}
    for each in _records(made):
        relative = _relative(chosen, each)
        target = project / relative
        data = record_text(each, relative).encode()
        old = target.read_bytes() if target.is_file() else None
        counts["unchanged" if old == data else "new" if old is None else "changed"] += 1
        if old != data and not dry_run:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(target, data)
    return counts


def _report(made: "Drafts", counts: dict[str, int], *, dry_run: bool, every_row: bool) -> None:
    written = ", ".join(f"{number} {word}" for word, number in counts.items() if number) or "none"
    say(
        f"{made.rows} rows read, {made.taken} of them in {len(made.benchmarks)} benchmarks with {made.results} results"
    )
    say(f"{'would write' if dry_run else 'files'}: {written}")
    if made.refused:
        say(f"{len(made.refused)} rows refused:")
    for reason, number in made.reasons().items():
        say(f"  {number:5d}  {terminal(reason)}")
    if every_row:
        for each in made.refused:
            say(f"  {terminal(each.row)}: {terminal(each.reason)}")
    listed = [each for each in made.left_out if every_row or each.kind != "irrelevant"]
    for left in listed[: None if every_row else _MOST_LISTED]:
        complain(f"not mapped: {left.place}: {left.reason} ({left.kind})")
