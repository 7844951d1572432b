"""Small projects made of the base records, for tests of the lint engine."""

from pathlib import Path
from typing import Final

from kbtool.lint.examples import project_files, read_base

__all__ = ["BASE", "BENCHMARK", "edit", "write"]

BASE: Final = read_base(Path(__file__).parent / "base")
BENCHMARK: Final = "records/benchmarks/base-benchmark.yaml"


def write(root: Path, fragment: str = "{}\n") -> Path:
    """Write the base records with a fragment laid over them, as in the page of a rule, and return the root."""
    for path, data in project_files(BASE, frozenset(), fragment).items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return root


def edit(root: Path, old: str, new: str, path: str = BENCHMARK) -> None:
    """Replace the first `old` in a file of the project."""
    file = root / path
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
