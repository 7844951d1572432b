"""How fast the site is made: pages a CPU second, cost a page as the corpus grows, whole, empty and small builds.

Bars: 800 record pages a CPU second (view, template, shell, file); a page costs the same at 10,000 records as at
1,000; a whole build of 10,000 records takes under 60 s and 1 GB; a build with nothing to do under 3 s; one changed
record is there to be seen within 2 s; a record page has at most 40 kB.

CPU time is of the process alone, so that it means something on a machine that others use too; run it on a quiet one
for the wall times. The output goes to memory (`/dev/shm`) where there is some.

Usage: python -m benchmarks.site_bench [RECORDS]...
"""

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.generate import write_project
from kbtool.site import Builder, BuildReport
from kbtool.site.library import CardCache, Library, read_files
from kbtool.site.output import Folder
from kbtool.site.places import record_page
from kbtool.site.record_pages import RecordPages
from kbtool.site.shell import build_shell

__all__ = ["PageCost", "generated", "page_cost"]

ROOT: Final = Path(__file__).resolve().parents[1]
_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class PageCost:
    """What the pages of benchmark records cost."""

    pages: int
    cpu_s_per_page: float
    largest_bytes: int

    @property
    def pages_per_cpu_s(self) -> float:
        """Pages that one CPU second makes."""
        return 1 / self.cpu_s_per_page


@dataclass(frozen=True, slots=True)
class Timed:
    """One build."""

    what: str
    report: BuildReport
    wall_s: float
    cpu_s: float
    visible_s: float
    """Until every page was there; search and manifest come later."""


def page_cost(root: Path, out: Path, most: int = 1_000) -> PageCost:
    """Return what pages cost: key, view, template, shell and file; the best of some rounds over the same pages."""
    library = Library(root, read_files(root), CardCache({}))
    library.read(lambda: None)
    pages = RecordPages(library, build_shell(root, root / "build" / "shell"))
    refs = [ref for ref in library.cards if ref.startswith("benchmarks/")]
    refs = refs[:: max(1, len(refs) // most)][:most]
    folder = Folder(out)
    best, largest = float("inf"), 0
    for _ in range(_ROUNDS):
        started = time.process_time()
        for ref in refs:
            page = next(iter(pages.products(ref)))
            data = page.make()
            folder.write(record_page(ref), data)
            largest = max(largest, len(data))
        best = min(best, (time.process_time() - started) / len(refs))
    return PageCost(len(refs), best, largest)


def timed(what: str, builder: Builder) -> Timed:
    """Build and measure."""
    started, cpu_started = time.perf_counter(), time.process_time()
    visible = 0.0

    def pages_ready(_: object) -> None:
        nonlocal visible
        visible = time.perf_counter() - started

    report = builder.build(pages_ready=pages_ready)
    wall = time.perf_counter() - started
    return Timed(what, report, wall, time.process_time() - cpu_started, visible or wall)


def builds(root: Path, out: Path) -> Iterator[Timed]:
    """Build everything, then nothing, then one changed record: as a new process and as one that serves."""
    yield timed("whole build", Builder(root, out))
    yield timed("nothing changed", Builder(root, out))
    record = next((root / "records" / "benchmarks").rglob("*.yaml"))
    text = record.read_text(encoding="utf-8")
    serving = Builder(root, out)
    for number, builder in enumerate((Builder(root, out), serving, serving), start=1):
        record.write_text(text.replace("title: ", f"title: Change {number} of ", 1), encoding="utf-8")
        yield timed("one record changed", builder)


@contextmanager
def generated(records: int) -> Iterator[tuple[Path, Path]]:
    """Give a project of generated records with our hand-written pages, and a folder to build into."""
    with TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        root = Path(folder) / "project"
        write_project(root, records)
        shutil.copytree(ROOT / "site", root / "site")
        shutil.copy(ROOT / "mkdocs.yml", root)
        yield root, Path(folder) / "out"


def measure(records: int) -> None:
    """Print what one corpus costs."""
    with generated(records) as (root, out):
        for each in builds(root, out):
            print(
                f"{each.report.records:>7,} records  {each.what:<20} {each.wall_s:6.2f} s wall,"
                f" {each.cpu_s:6.2f} s CPU, pages there after {each.visible_s:5.2f} s,"
                f" {each.report.pages_written:,} files written"
            )
        cost = page_cost(root, out)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{records:>7,} benchmarks  {cost.pages_per_cpu_s:,.0f} record pages a CPU second"
            f" ({cost.cpu_s_per_page * 1e3:.2f} ms each), largest {cost.largest_bytes:,} bytes,"
            f" peak {peak_mb:,.0f} MB"
        )


def main() -> None:
    """Measure each corpus in a process of its own, so that its peak is its own."""
    if len(sys.argv) == 2:
        os.environ.pop("KBTOOL_CACHE", None)
        measure(int(sys.argv[1]))
        return
    for records in sys.argv[1:] or ("1000", "10000"):
        subprocess.run([sys.executable, "-m", "benchmarks.site_bench", records], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
