"""What loading and linting cost: CPU seconds and memory of whole programs, and one ratio within a process.

CPU time is what the bars are set in, since wall time on a shared machine says little; still, a busy neighbour takes
caches away, so that the best of several runs is shown.

Usage: python -m benchmarks.lint_bench [RECORDS]
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import yaml

from benchmarks.generate import project, write_project
from kbtool.store.validate import validate
from kbtool.store.yamlio import parse

__all__ = ["Figure", "lint_figures", "loading_ratio"]

_SAMPLE: Final = 300
_BLOCKS: Final = 9
_RUNS: Final = 3
_MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure with its bar."""

    name: str
    value: float
    bar: float
    unit: str

    @property
    def holds(self) -> bool:
        """Whether the figure is within its bar."""
        return self.value <= self.bar


@dataclass(frozen=True, slots=True)
class Cost:
    """What a program took."""

    cpu_s: float
    memory_mib: float


def loading_ratio() -> tuple[Figure, float, float]:
    """Return the cost of loading and validating, as a share of `CSafeLoader` alone, and both in us a record."""
    texts = [text.encode() for path, text in project(_SAMPLE) if "/benchmarks/" in path]

    def ours() -> None:
        for text in texts:
            validate("benchmark", parse(text))

    def theirs() -> None:
        for text in texts:
            yaml.load(text, yaml.CSafeLoader)

    best = {ours: float("inf"), theirs: float("inf")}
    for _ in range(_BLOCKS):
        for work in (ours, theirs):
            best[work] = min(best[work], _cpu_s(work))
    ours_us, theirs_us = (best[work] / len(texts) * 1e6 for work in (ours, theirs))
    return Figure("load and validate / CSafeLoader", ours_us / theirs_us, 0.75, ""), ours_us, theirs_us


def lint_figures(number: int) -> list[Figure]:
    """Return what `kbtool lint` takes over a project of so many records."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        write_project(root, number)
        some = sorted((root / "records" / "benchmarks").rglob("*.yaml"))
        cold = _lint(root)
        warm = _best([_lint(root) for _ in range(_RUNS)])
        changed = _best([_lint_after_change(root, random.Random(run).choice(some)) for run in range(_RUNS)])
        one = _best([_lint(root, str(some[0].relative_to(root))) for _ in range(_RUNS)])
        start = _best([_cost([sys.executable, "-c", "import kbtool"], root) for _ in range(_RUNS)])
    return [
        Figure(f"lint {number:,} records, cold", cold.cpu_s, 8.0, "s CPU"),
        Figure(f"lint {number:,} records, cold", cold.memory_mib, 150, "MiB"),
        Figure("nothing changed", warm.cpu_s, 0.8, "s CPU"),
        Figure("nothing changed", warm.memory_mib, 150, "MiB"),
        Figure("one record changed", changed.cpu_s, 1.0, "s CPU"),
        Figure("one record changed", changed.memory_mib, 150, "MiB"),
        Figure("lint ONE_FILE, start included", one.cpu_s, 0.5, "s CPU"),
        Figure("import kbtool, start included", start.cpu_s, 0.15, "s CPU"),
    ]


def _lint_after_change(root: Path, file: Path) -> Cost:
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("repeats: 3", "repeats: 4", 1), encoding="utf-8")
    cost = _lint(root)
    file.write_text(text, encoding="utf-8")
    _lint(root)
    return cost


def _lint(root: Path, *arguments: str) -> Cost:
    """Run the program in a project with a cache of its own."""
    return _cost([str(Path(sys.executable).with_name("kbtool")), "lint", *arguments], root)


def _cost(command: Sequence[str], root: Path) -> Cost:
    environment = {**os.environ, "KBTOOL_CACHE": str(root / "cache")}
    process = subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / _MIB)


def _best(costs: Sequence[Cost]) -> Cost:
    return Cost(min(each.cpu_s for each in costs), min(each.memory_mib for each in costs))


def _cpu_s(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Print the table."""
    ratio, ours_us, theirs_us = loading_ratio()
    print(f"load and validate {ours_us:.0f} us a record, CSafeLoader {theirs_us:.0f} us\n")
    print(f"{'figure':32} {'measured':>9} {'bar':>6}")
    for figure in [ratio, *lint_figures(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)]:
        holds = "" if figure.holds else "   missed"
        print(f"{figure.name:32} {figure.value:9.2f} {figure.bar:6.2f} {figure.unit}{holds}")


if __name__ == "__main__":
    main()
