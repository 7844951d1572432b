"""Rules about raw files: they are there where they are promised, and safe to fetch and to unpack."""

from collections.abc import Iterator
from typing import Final

from kbtool.lint.rule import Problem, rule
from kbtool.schema import Benchmark
from kbtool.schema.benchmark import Artifact

_PACKED: Final = (".gz", ".tar", ".xz", ".zst")
_COMPRESSED: Final = (".gz", ".xz", ".zst")
_DATA: Final = (
    ".csv",
    ".json",
    ".jsonl",
    ".log",
    ".md",
    ".parquet",
    ".prom",
    ".tar",
    ".tsv",
    ".txt",
    ".yaml",
    ".yml",
)
_LARGEST_BYTES: Final = 64 * 1024**2
_LARGEST_UNPACKED_BYTES: Final = 1024**3
_LARGEST_RATIO: Final = 200
"""Logs of a run compress 5 to 30 times; a bomb compresses 1,000 times and more."""


@rule("P201", "own-run-without-raw-data")
def own_run_without_raw_data(record: Benchmark) -> Iterator[Problem]:
    """Flag a run of this knowledge base's own that keeps no raw data.

    "Measured by ourselves" is the highest start of the confidence rubric. Anybody can write it; the raw
    file, by its hash, is what others can recompute the figures from.

    Bad:
        measured: {by: self}

    Good:
        measured: {by: self}
        artifacts:
          - path: raw/base-benchmark/requests.jsonl
            sha256: 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9
            size_bytes: 120000
            holds: One line a request, with the time of every chunk.
    """
    if record.measured.by == "self" and not record.artifacts:
        yield Problem(
            "/measured/by", "measured by ourselves, but no raw file is kept: add `artifacts`, or say who did"
        )


@rule("P202", "artifact-outside-raw")
def artifact_outside_raw(record: Benchmark) -> Iterator[Problem]:
    """Flag a raw file whose path leads out of `raw/`.

    The path is opened and copied to the site: `raw/../../etc/passwd` would publish what it points at.

    Bad:
        artifacts:
          - path: raw/../../etc/requests.json
            sha256: 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9
            size_bytes: 120000
            holds: Requests.

    Good:
        artifacts:
          - path: raw/base-benchmark/requests.json
            sha256: 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9
            size_bytes: 120000
            holds: Requests.
    """
    for index, artifact in enumerate(record.artifacts):
        folder, *rest = artifact.path.split("/")
        plain = all(part and not part.startswith((".", "-")) for part in rest)
        if folder != "raw" or not rest or not plain or not _is_plain_ascii(artifact.path):
            message = f"path is {artifact.path!r}; expected raw/FOLDER/FILE in plain letters, digits, `.`, `_` and `-`"
            yield Problem(f"/artifacts/{index}/path", message)


@rule("P203", "artifact-not-data")
def artifact_not_data(record: Benchmark) -> Iterator[Problem]:
    """Flag a raw file that is not data by its name.

    Readers fetch these files: a page or a program among them would run under our name.

    Bad:
        artifacts:
          - path: raw/base-benchmark/report.html
            sha256: 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9
            size_bytes: 120000
            holds: A report.

    Good:
        artifacts:
          - path: raw/base-benchmark/report.md
            sha256: 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9
            size_bytes: 120000
            holds: A report.
    """
    for index, artifact in enumerate(record.artifacts):
        name = artifact.path
        for suffix in _COMPRESSED:
            name = name.removesuffix(suffix)
        if not name.endswith(_DATA):
            message = f"{artifact.path!r} is no data file; expected one of {' '.join(_DATA)}, packed or not: export it so"
            yield Problem(f"/artifacts/{index}/path", message)


@rule("P204", "artifact-too-large")
def artifact_too_large(record: Benchmark) -> Iterator[Problem]:
    """Flag a raw file that is too large, or packed without a bound on what comes out.

    A packed file of 1 kB can unpack to terabytes. The size when unpacked is stated, so that a reader can
    stop there.

    Bad:
        artifacts:
          - path: raw/base-benchmark/requests.jsonl.zst
            sha256: 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9
            size_bytes: 1000
            holds: Requests.

    Good:
        artifacts:
          - path: raw/base-benchmark/requests.jsonl.zst
            sha256: 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9
            size_bytes: 120000
            unpacked_bytes: 1800000
            holds: Requests.
    """
    for index, artifact in enumerate(record.artifacts):
        reason = _too_large(artifact)
        if reason:
            yield Problem(f"/artifacts/{index}/size_bytes", reason)


@rule("P205", "artifact-listed-twice")
def artifact_listed_twice(record: Benchmark) -> Iterator[Problem]:
    """Flag a raw file that is listed twice.

    One path has one hash; of two nobody knows which file was meant.

    Bad:
        artifacts:
          - path: raw/base-benchmark/requests.json
            sha256: 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9
            size_bytes: 120000
            holds: Requests.
          - path: raw/base-benchmark/requests.json
            sha256: 6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b
            size_bytes: 120000
            holds: Requests.

    Good:
        artifacts:
          - path: raw/base-benchmark/requests.json
            sha256: 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9
            size_bytes: 120000
            holds: Requests.
    """
    seen: set[str] = set()
    for index, artifact in enumerate(record.artifacts):
        path = artifact.path.casefold()
        if path in seen:
            yield Problem(
                f"/artifacts/{index}/path", f"{artifact.path!r} is listed above: keep the one that is there"
            )
        seen.add(path)


def _too_large(artifact: Artifact) -> str:
    """Return why a raw file is too large, or nothing."""
    if artifact.size_bytes > _LARGEST_BYTES:
        return f"{artifact.size_bytes} bytes; expected at most {_LARGEST_BYTES}: keep a part, or deposit it elsewhere"
    if not artifact.path.endswith(_PACKED):
        return ""
    unpacked = artifact.unpacked_bytes
    if unpacked is None:
        return "a packed file without its size when unpacked: add `unpacked_bytes`"
    if unpacked > min(_LARGEST_UNPACKED_BYTES, _LARGEST_RATIO * artifact.size_bytes):
        return f"it unpacks from {artifact.size_bytes} to {unpacked} bytes, which is more than any log: keep it plain"
    return ""


def _is_plain_ascii(path: str) -> bool:
    return (
        path.isascii() and path.replace("/", "").replace(".", "").replace("_", "").replace("-", "").isalnum()
    )
