"""Raise constraints.txt to the newest versions that pyproject.toml allows.

Run it with the project's Python from anywhere, then `make check`::

    .venv/bin/python scripts/update_constraints.py
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
# The project itself.
NOT_PINNED = {"kbtool"}


def declared_requirements() -> list[str]:
    """Return every requirement of pyproject.toml: the backend's, the core's and each extra's."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        pyproject = tomllib.load(file)
    project = pyproject["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    return [
        *pyproject["build-system"]["requires"],
        *project["dependencies"],
        *(requirement for extra in extras.values() for requirement in extra),
    ]


def newest_versions(requirements: list[str]) -> list[str]:
    """Install the requirements into a fresh virtualenv and return what came, as sorted exact pins."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", "--upgrade", "pip", *requirements], check=True)
        frozen = subprocess.run(
            [*pip, "freeze", "--all"], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
    pins = dict(line.split("==", 1) for line in frozen.splitlines())
    named = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins.items()}
    return [f"{name}=={version}" for name, version in sorted(named.items()) if name not in NOT_PINNED]


def main() -> None:
    """Rewrite constraints.txt, keep its opening comment, and print the pins that changed."""
    before = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    comment = [line for line in before if line.startswith("#")]
    after = [*comment, *newest_versions(declared_requirements())]
    CONSTRAINTS.write_text("\n".join(after) + "\n", encoding="utf-8")
    for line in sorted({*before} ^ {*after}, key=lambda line: line.split("==")[0]):
        print("-" if line in before else "+", line)


if __name__ == "__main__":
    main()
