"""One case of the collection: what is tried, and what must come of it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import yaml

__all__ = ["BASE", "CASES", "Case", "all_cases"]

HERE: Final = Path(__file__).resolve().parent
BASE: Final = HERE / "base"
"""Records that every case refers to, and the templates that cases are made of."""
CASES: Final = HERE / "cases"
ACCEPTED: Final = "accepted"


@dataclass(frozen=True)
class Case:
    """A folder under `cases/`; `README.md` explains each field of its `case.yaml`."""

    folder: Path
    attack: str
    outcome: tuple[str, ...]
    expect: str
    at: str | None = None
    says: str | None = None
    policy: str | None = None
    fmt_rewrites: bool = False
    separate_process: bool = False
    arguments: tuple[str, ...] = ()
    materialize: tuple[dict[str, Any], ...] = ()

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read `case.yaml`; an unknown or missing field is an error."""
        data: dict[str, Any] = yaml.safe_load((folder / "case.yaml").read_text(encoding="utf-8"))
        outcome = data["outcome"]
        data["outcome"] = (outcome,) if isinstance(outcome, str) else tuple(outcome)
        for name in ("arguments", "materialize"):
            data[name] = tuple(data.get(name, ()))
        return cls(folder=folder, **data)

    @property
    def name(self) -> str:
        """The folder's name, such as `Y02-quadratic-blow-up`."""
        return self.folder.name

    @property
    def accepted(self) -> bool:
        """Whether the records are good ones."""
        return self.outcome == (ACCEPTED,)

    @property
    def codes(self) -> frozenset[str]:
        """The codes of the errors that must be found, all of them and no others."""
        return frozenset() if self.accepted else frozenset(self.outcome)

    @cached_property
    def before(self) -> Path | None:
        """The tree of the base commit, where the case is about a change."""
        folder = self.folder / "before"
        return folder if folder.is_dir() else None

    @property
    def stored(self) -> tuple[Path, ...]:
        """The record files that lie in the case's folder."""
        return tuple(sorted((self.folder / "records").rglob("*.yaml")))


def all_cases() -> list[Case]:
    """Return every case, by name."""
    return [Case.load(path.parent) for path in sorted(CASES.glob("*/case.yaml"))]
