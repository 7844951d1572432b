"""The build: records and hand-written pages in, a folder for any file server out.

Files are written where their bytes change and nowhere else, what vanished is removed, and the manifest comes
last. A file is made only where its key changed: a digest of the record, of what its page shows of other records,
of the shell, and of kbtool itself. A build in which nothing changed reads the records' bytes and parses none.
"""

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

from kbtool.findings import Finding
from kbtool.site.library import Files, Library, read_files
from kbtool.site.output import Folder, Target
from kbtool.site.products import Product, key_of
from kbtool.site.shell import Shell, build_shell
from kbtool.site.state import State, state_path
from kbtool.site.static_files import static_products

__all__ = ["BuildReport", "Builder", "Progress", "build"]

Progress = Callable[[int, int], None]
"""Called with what is done and what there is to do."""

_LIBRARIES: Final = ("jinja2", "markdown-it-py", "markupsafe", "nh3", "pydantic", "pyyaml")
_REPOSITORY: Final = re.compile(r"^repo_url:[ ]*[\"']?(https://[^\s\"']+?)/?[\"']?[ ]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did."""

    out: Path
    records: int
    pages_written: int
    """Files whose bytes changed, or that were not there."""
    pages_unchanged: int
    removed: int
    seconds: float
    findings: tuple[Finding, ...]
    """What kept files from being records; the page of each says so."""
    changed: tuple[str, ...]
    """Paths of the files that were written or removed."""

    def summary(self) -> str:
        """Return one line for a person."""
        broken = f"; {len(self.findings)} findings keep files from being records" if self.findings else ""
        return (
            f"{self.records:,} records, {self.pages_written:,} files written, {self.pages_unchanged:,} unchanged,"
            f" {self.removed:,} removed, {self.seconds:.1f} s{broken}"
        )


def build(
    root: Path,
    out: Path,
    *,
    progress: Progress | None = None,
    site_url: str | None = None,
    findings: Sequence[Finding] = (),
) -> BuildReport:
    """Build the whole site.

    Args:
        root: Project root, with `records/`, `site/` and `mkdocs.yml`.
        out: Folder that the site is written to; everything else in it is removed.
        progress: Called while records are read and pages made.
        site_url: Address that the site is published under, for canonical links and the sitemap.
        findings: What lint found, to be shown on the pages of the records concerned.

    Raises:
        KbtoolError: The hand-written pages cannot be built.
        UsageError: There is no folder `records`, or another build is running.
    """
    return Builder(root, out, site_url=site_url).build(progress=progress, findings=findings)


class Builder:
    """Builds one site, again and again where it is served."""

    def __init__(self, root: Path, out: Path, *, site_url: str | None = None) -> None:
        self._root = root.resolve()
        self._out = out.resolve()
        self._site_url = site_url

    def build(self, *, progress: Progress | None = None, findings: Sequence[Finding] = ()) -> BuildReport:
        """Bring the folder up to date and say what that took."""
        started = time.perf_counter()
        with State.open(state_path(self._root), tool=_tool(), out=self._out) as state:
            files = read_files(self._root)
            shell = build_shell(self._root, self._root / "build" / "shell", site_url=self._site_url)
            target = Target(Folder(self._out), state.written())
            inputs = _inputs(files, shell, findings)
            if state.fact("inputs") == inputs and target.keep_all():
                broken: tuple[Finding, ...] = ()
            else:
                job = _Job(files, shell, state, target, findings, _edit_base(self._root))
                broken = job.run(self._root, progress)
                # What is broken is said by every build, so that such a state never counts as done.
                state.set_fact("inputs", "" if broken else inputs)
            records = int(state.fact("records"))
        return BuildReport(
            out=self._out,
            records=records,
            pages_written=len(target.written),
            pages_unchanged=len(target.kept) - len(target.written),
            removed=len(target.removed),
            seconds=time.perf_counter() - started,
            findings=broken,
            changed=(*target.written, *target.removed),
        )


@dataclass(frozen=True, slots=True)
class _Job:
    """One build in which something changed."""

    files: Files
    shell: Shell
    state: State
    target: Target
    findings: Sequence[Finding]
    edit_base: str

    def run(self, root: Path, progress: Progress | None) -> tuple[Finding, ...]:
        """Make what changed, and return why files hold no record."""
        library = Library(root, self.files, self.state.cards())
        total = len(self.files.found)
        library.read(lambda done: progress(done, 2 * total) if progress else None)
        self.state.set_cards(library.new_cards, {each.file.relative for each in self.files.found})
        self.state.set_fact("records", str(len(library.cards)))
        self._records(library, lambda done: progress(total + done, 2 * total) if progress else None)
        self._the_rest(library)
        self.target.finish()
        self.state.set_written(*self.target.changes())
        if progress:
            progress(2 * total, 2 * total)
        return tuple(sorted(library.findings, key=Finding.sort_key))

    def _records(self, library: Library, progress: Callable[[int], None]) -> None:
        from kbtool.site.record_pages import RecordPages

        pages = RecordPages(library, self.shell, self.edit_base, _by_path(self.findings))
        for done, ref in enumerate(library.cards):
            progress(done)
            for product in pages.products(ref):
                self.target.bring(product)
            library.forget(ref)

    def _the_rest(self, library: Library) -> None:
        # Rules are a heavy import, and a build with nothing to do needs none of them.
        from kbtool.lint.rules import RULES
        from kbtool.site.overview_pages import OverviewPages
        from kbtool.site.search_docs import search_files

        for product in OverviewPages(library, self.shell).products():
            self.target.bring(product)
        for product in static_products(library, self.shell):
            self.target.bring(product)
        key = key_of(
            (library.row_digest(ref) for ref in library.cards),
            (f"{path} {hashlib.sha256(data).hexdigest()}" for path, data in self.shell.files.items()),
        )
        if not self.target.keep_folder("search/", key):
            for path, data in search_files(library, self.shell.files, RULES).items():
                self.target.bring(Product(path, key, lambda data=data: data))


def _inputs(files: Files, shell: Shell, findings: Sequence[Finding]) -> str:
    """Return a digest of everything that a build reads, kbtool itself aside."""
    return key_of(
        (f"{each.file.relative} {each.digest}" for each in files.found),
        map(repr, files.findings),
        map(repr, findings),
        shell.fingerprint,
        (f"{path} {hashlib.sha256(data).hexdigest()}" for path, data in shell.files.items()),
    )


def _by_path(findings: Sequence[Finding]) -> dict[str, tuple[Finding, ...]]:
    found: dict[str, list[Finding]] = {}
    for each in sorted(findings, key=Finding.sort_key):
        found.setdefault(each.path, []).append(each)
    return {path: tuple(each) for path, each in found.items()}


def _edit_base(root: Path) -> str:
    """Return the address that edits a file of the repository that mkdocs.yml names with `repo_url`, or nothing."""
    settings = root / "mkdocs.yml"
    found = _REPOSITORY.search(settings.read_text("utf-8")) if settings.is_file() else None
    return f"{found[1]}/edit/main/" if found else ""


@cache
def _tool() -> str:
    """Return a fingerprint of all that makes pages: kbtool's own sources and the libraries that it renders with."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for name in _LIBRARIES:
        digest.update(f"{name} {version(name)}\n".encode())
    for file in sorted(package.rglob("*")):
        if file.suffix in {".py", ".j2"}:
            data = file.read_bytes()
            digest.update(f"{file.relative_to(package).as_posix()} {len(data)}\n".encode() + data)
    return digest.hexdigest()
