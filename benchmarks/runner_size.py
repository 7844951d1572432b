"""Measure what the extra `runner` adds to an installation, in two fresh virtual environments.

Usage: python -m benchmarks.runner_size
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

__all__ = ["main"]

ROOT: Final = Path(__file__).resolve().parent.parent


def main(arguments: Sequence[str] = ()) -> None:
    """Install the core and the core with the extra, and print the difference by package."""
    del arguments
    with tempfile.TemporaryDirectory(prefix="size-") as scratch:
        core = _installed(Path(scratch) / "core", ".")
        runner = _installed(Path(scratch) / "runner", ".[runner]")
    added = {name: size for name, size in runner.items() if name not in core}
    print("| package | MB |")
    print("|---|---|")
    for name, size in sorted(added.items(), key=lambda each: -each[1]):
        if size > 50_000:
            print(f"| {name} | {size / 1e6:.1f} |")
    print(
        f"\ncore {sum(core.values()) / 1e6:.1f} MB, the extra beyond it {sum(added.values()) / 1e6:.1f} MB (bar 40 MB)"
    )


def _installed(folder: Path, what: str) -> dict[str, int]:
    """Return bytes by top-level name in site-packages, pip left out, compiled modules included."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", "constraints.txt", what],
        cwd=ROOT, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    places = folder.glob("lib/python*/site-packages/*")
    return {
        place.name: _bytes(place)
        for place in places
        if not place.name.startswith(("pip", "setuptools", "__pycache__"))
    }


def _bytes(place: Path) -> int:
    if place.is_file():
        return place.stat().st_size
    return sum(each.stat().st_size for each in place.rglob("*") if each.is_file())


if __name__ == "__main__":
    main(sys.argv[1:])
