"""The build: records and hand-written pages in, a folder for any file server out.

Files are written where their bytes change and nowhere else, what vanished is removed, and the manifest comes
last. A file is made only where its key changed: a digest of the record, of what its page shows of other records,
of the shell, and of kbtool itself. A build in which nothing changed reads the records' bytes and parses none.
"""

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kbtool.findings import Finding
from kbtool.site.library import CardCache, Files, Library, RowCache, read_files
from kbtool.site.output import Folder, Target
from kbtool.site.products import key_of, ready
from kbtool.site.shell import Shell, build_shell
from kbtool.site.state import State, state_path
from kbtool.site.static_files import read_citation, static_products

if TYPE_CHECKING:
    from kbtool.site.analysed import Analysed

__all__ = ["BuildReport", "Builder", "Progress", "build", "fingerprint"]

Progress = Callable[[int, int], None]
"""Called with what is done and what there is to do."""

_LIBRARIES: Final = (
    "arro3-core", "arro3-io", "jinja2", "markdown-it-py", "markupsafe", "nh3", "pydantic", "pyyaml",
)  # fmt: skip
_SHELL: Final = ("mkdocs", "mkdocs-material", "pymdown-extensions", "watchfiles")
"""Libraries that make or watch hand-written pages, whose output is hashed instead."""
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
        self._cards: CardCache | None = None
        self._rows: RowCache | None = None
        self._analyses: RowCache | None = None
        self.shell: Shell | None = None
        """The shell of the last build."""

    def build(
        self,
        *,
        progress: Progress | None = None,
        findings: Sequence[Finding] = (),
        pages_ready: Callable[[Sequence[str]], None] | None = None,
    ) -> BuildReport:
        """Bring the folder up to date and say what that took.

        Args:
            progress: Called while records are read and pages made.
            findings: What lint found, to be shown on the pages of the records concerned.
            pages_ready: Called with the paths that changed when all pages are there and search is not yet.
        """
        started = time.perf_counter()
        with State.open(state_path(self._root), tool=fingerprint(), out=self._out) as state:
            work = self._root / "build" / "shell"
            shell = self.shell = build_shell(self._root, work, site_url=self._site_url)
            files, edit_base = read_files(self._root), _edit_base(self._root)
            target = Target(Folder(self._out), state.written())
            inputs = _inputs(files, shell, findings, edit_base, read_citation(self._root))
            broken: tuple[Finding, ...] = ()
            if state.fact("inputs") != inputs or not target.keep_all():
                if self._cards is None:
                    self._cards, self._rows = CardCache(state.cards()), RowCache(state.rows())
                    self._analyses = RowCache(state.rows("record_analysis"))
                library = Library(self._root, files, self._cards, self._rows, self._analyses)
                job = _Job(
                    library, shell, target, _by_path(findings), edit_base, _Steps(progress, len(files.found))
                )
                analysed = job.make_pages()
                if pages_ready is not None:
                    pages_ready(target.written)
                job.make_search(analysed)
                broken = tuple(sorted(library.findings, key=Finding.sort_key))
                self._remember(state, files, library, target)
                # What is broken is said by every build, so that such a state never counts as done.
                state.set_fact("inputs", "" if broken else inputs)
            return BuildReport(
                out=self._out,
                records=int(state.fact("records")),
                pages_written=len(target.written),
                pages_unchanged=len(target.kept.keys() - set(target.written)),
                removed=len(target.removed),
                seconds=time.perf_counter() - started,
                findings=broken,
                changed=(*target.written, *target.removed),
            )

    def _remember(self, state: State, files: Files, library: Library, target: Target) -> None:
        assert self._cards is not None
        assert self._rows is not None
        state.set_cards(self._cards.new, {each.file.relative for each in files.found})
        self._cards.new.clear()
        state.set_rows(self._rows.new, library.cards)
        self._rows.new.clear()
        assert self._analyses is not None
        state.set_rows(self._analyses.new, library.cards, "record_analysis")
        self._analyses.new.clear()
        state.set_written(*target.changes())
        state.set_fact("records", str(len(library.cards)))


@dataclass(slots=True)
class _Steps:
    """Counts what is done: each file is read once and made into pages once."""

    progress: Progress | None
    files: int
    done: int = 0

    def step(self) -> None:
        """Say that one more is done."""
        self.done += 1
        if self.progress is not None:
            self.progress(min(self.done, 2 * self.files), 2 * self.files)


@dataclass(frozen=True, slots=True)
class _Job:
    """One build in which something changed."""

    library: Library
    shell: Shell
    target: Target
    findings: Mapping[str, tuple[Finding, ...]]
    edit_base: str
    steps: _Steps

    def make_pages(self) -> "Analysed":
        """Make the pages of records and those over all of them; return what the analysis says, for what comes after."""
        # Rules are a heavy import, and a build with nothing to do needs none of them.
        from kbtool.site.overview_pages import OverviewPages
        from kbtool.site.record_pages import RecordPages
        from kbtool.site.record_rows import RecordRows

        library = self.library
        library.read(self.steps.step)
        pages, rows = RecordPages(library, self.shell, self.edit_base, self.findings), RecordRows(library)
        pages.analysed.make()
        for ref in library.cards:
            for product in pages.products(ref):
                self.target.bring(product)
            # Here, because the record is at hand where its page was made.
            rows.ensure(ref)
            library.forget(ref)
            self.steps.step()
        for product in OverviewPages(library, self.shell).products():
            self.target.bring(product)
        for product in static_products(library, self.shell):
            self.target.bring(product)
        return pages.analysed

    def make_search(self, analysed: "Analysed") -> None:
        """Make the analysis, the explorer, the data files and the search index, remove what vanished, and write the manifest."""
        from kbtool.lint.pages import rule_pages
        from kbtool.site.analysis_pages import COSTS, AnalysisPages
        from kbtool.site.data.products import bring_data
        from kbtool.site.explore import ExplorePages
        from kbtool.site.search_docs import search_files
        from kbtool.site.table import ResultTable

        # All are of all records: a reader of one page waits for none of them.
        analysis = AnalysisPages(self.library, self.shell, analysed)
        for product in analysis.products():
            self.target.bring(product)
        if not self.target.keep_folder(COSTS, analysis.cost_key):
            for product in analysis.cost_products():
                self.target.bring(product)
        results = ResultTable(self.library)
        for product in ExplorePages(results, self.shell).products():
            self.target.bring(product)
        bring_data(results, self.shell, self.target)
        rows = (self.library.row_digest(ref) for ref in self.library.cards)
        # A card does not say everything that a record's prose and figures say.
        words = (self.library.words[ref] for ref in self.library.cards)
        made = self.target.kept
        key = key_of(
            rows, words, _hashes(self.shell), sorted(path for path in made if path.endswith(".html"))
        )
        if not self.target.keep_folder("search/", key):
            for path, data in search_files(self.library, self.shell.files, rule_pages(), made).items():
                self.target.bring(ready(path, data, key))
        self.target.finish()


def _inputs(files: Files, shell: Shell, findings: Sequence[Finding], edit_base: str, citation: bytes) -> str:
    """Return a digest of everything that a build reads, kbtool itself aside."""
    return key_of(
        (f"{each.file.relative} {each.digest}" for each in files.found),
        map(repr, files.findings),
        map(repr, findings),
        shell.fingerprint,
        _hashes(shell),
        edit_base,
        hashlib.sha256(citation).hexdigest(),
    )


def _hashes(shell: Shell) -> Iterator[str]:
    return (f"{path} {hashlib.sha256(data).hexdigest()}" for path, data in shell.files.items())


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


def require_libraries() -> None:
    """Do nothing where everything is installed that the site needs.

    Raises:
        ModuleNotFoundError: A library is missing; the error has its name.
    """
    for name in (*_LIBRARIES, *_SHELL):
        version(name)


@cache
def fingerprint() -> str:
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
