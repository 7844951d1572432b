"""Names and places in a run folder.

::

    RUN/
      plan.yaml            sealed copy of the plan: the run uses this one, whatever becomes of the original
      run.json             what the run is: id, version, command, times as labels
      ledger.jsonl         append-only journal, one entry a line, each with its hash and that of the line before
      ledger.jsonl.torn.N  bytes that a crash left after the last whole line
      environment/*.json   what was found on host, accelerators and servers
      cells/NAME/          cell.json, round-NN.json, round-NN.requests.parquet, round-NN.events.parquet, ...
      aside/NAME.N/        half-written or damaged cells, moved out of the way, never deleted
      logs/*.log           redacted logs; sealed when the run is finished
      derived/             reports and records: made from the rest at any time, not sealed
      manifest.json        path, size and SHA-256 of everything sealed; written last
      .lock .reserve       one writer; room for the last words on a full disk
"""

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from kbtool.runner.folder.fs import TEMPORARY_SUFFIX

__all__ = [
    "ASIDE",
    "CELLS",
    "DERIVED",
    "ENVIRONMENT",
    "LEDGER",
    "LOCK",
    "LOGS",
    "MANIFEST",
    "PLAN",
    "RESERVE",
    "RUN",
    "cell_folder",
    "cell_key",
    "events_name",
    "free_path",
    "is_safe_path",
    "is_sealable",
    "make_run_id",
    "request_id",
    "requests_name",
    "round_name",
    "safe_name",
]

PLAN: Final = "plan.yaml"
RUN: Final = "run.json"
LEDGER: Final = "ledger.jsonl"
MANIFEST: Final = "manifest.json"
LOCK: Final = ".lock"
RESERVE: Final = ".reserve"
ENVIRONMENT: Final = "environment"
CELLS: Final = "cells"
ASIDE: Final = "aside"
LOGS: Final = "logs"
DERIVED: Final = "derived"

_MAX_NAME: Final = 80
_SAFE: Final = re.compile(r"[a-z0-9][a-z0-9._-]*", re.ASCII)
_DEVICE: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.ASCII)
_SEPARATOR: Final = "~"
"""Parts a cell's name from the number of its attempt; `safe_name` makes no name with it."""


def safe_name(text: str) -> str:
    """Return a file name for `text` that works on every system, and differs for every other text.

    A text that is a good name already, such as `c-16.prose`, is its own; from any other one what is
    readable is kept, and a part of its SHA-256 makes the name unique.
    """
    plain = _SAFE.fullmatch(text) is not None and not text.endswith(".") and len(text) <= _MAX_NAME
    if plain and _DEVICE.fullmatch(text) is None:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower(), flags=re.ASCII).strip("-")[: _MAX_NAME - 18].strip("-")
    return f"{slug or 'x'}_{digest}"


def cell_folder(key: str, attempt: int) -> str:
    """Return the path of a cell's folder below the run; later attempts have their number in it."""
    name = safe_name(key)
    return f"{CELLS}/{name}" if attempt == 1 else f"{CELLS}/{name}{_SEPARATOR}{attempt}"


def cell_key(facts: Mapping[str, Any]) -> str:
    """Return a key for a cell from all that makes it what it is: 16 hexadecimal digits.

    Cells with equal facts have equal keys, in whatever order the facts are given.
    """
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def make_run_id(started_wall_s: float, nonce: bytes) -> str:
    """Return an id such as `20291130-014512-9f3a61c2`: UTC date and time, and the first bytes of a nonce."""
    if len(nonce) < 4:
        raise ValueError(f"the nonce has {len(nonce)} bytes: give at least 4 random ones")
    when = datetime.fromtimestamp(started_wall_s, UTC)
    return f"{when:%Y%m%d-%H%M%S}-{nonce[:4].hex()}"


def request_id(cell: str, round_number: int, number: int) -> str:
    """Return the id of a request, unique in the run."""
    return f"{cell}/{round_number}/{number}"


def round_name(number: int) -> str:
    """Return the name of the file with the facts of a round."""
    return f"round-{number:02d}.json"


def requests_name(number: int) -> str:
    """Return the name of the file with the requests of a round."""
    return f"round-{number:02d}.requests.parquet"


def events_name(number: int) -> str:
    """Return the name of the file with the events of a round."""
    return f"round-{number:02d}.events.parquet"


def free_path(root: Path, stem: str, suffix: str = "") -> str:
    """Return `STEM.N` and the suffix, with the lowest N from 1 that is not yet taken below the run."""
    number = 1
    while (root / f"{stem}.{number}{suffix}").exists():
        number += 1
    return f"{stem}.{number}{suffix}"


def is_safe_path(path: str) -> bool:
    """Return whether a path that a ledger or manifest names stays inside the run folder."""
    parts = path.split("/")
    odd = "\\" in path or "\0" in path or not path.isprintable()
    return not odd and len(path) <= 400 and all(part not in {"", ".", ".."} for part in parts)


def is_sealable(path: Path) -> bool:
    """Return whether the manifest covers a path, given relative to the run folder."""
    if path.parts[0] in {MANIFEST, LOCK, RESERVE, DERIVED}:
        return False
    return not path.name.endswith(TEMPORARY_SUFFIX)
