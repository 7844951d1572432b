"""What a calibration found: the error of the client on one host, as a file that records can quote."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

import orjson

from kbtool.errors import RecordError

__all__ = [
    "FORMAT_VERSION",
    "Calibration",
    "Check",
    "Host",
    "LevelError",
    "read_calibration",
    "write_calibration",
]

FORMAT_VERSION: Final = 1
MAX_FILE_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Host:
    """Where it was measured: an error holds for this host alone."""

    cpu: str
    cores: int
    """Cores that the process may run on."""
    kernel: str
    python: str


@dataclass(frozen=True, slots=True)
class LevelError:
    """The error at one number of streams. Ratios are (reported - true) / true; above 0 means reported too long."""

    streams: int
    pattern: tuple[int, ...]
    """Tokens in the chunks."""
    step_ms: float
    requests: int
    events: int
    ttft_true_ms: float
    """Mean, from the kernel's having the request to the first token's being handed over."""
    ttft_mean_error_ratio: float
    ttft_from_parsed_error_ratio: float
    """The same against the time at which the server had read the request, which leaves out its intake queue."""
    itl_true_ms: float
    """Mean per token."""
    itl_mean_error_ratio: float
    gap_p99_true_ms: float
    gap_p99_error_ms: float
    """p99 of the gaps between steps: reported minus true."""
    gap_error_p99_ms: float
    """p99 of the errors of single gaps, each against its own truth."""
    throughput_error_ratio: float
    """Of output tokens a second over the whole level."""
    load_ratio: float
    """Output the server delivered to this client, over what its schedule gives a client without any delay."""
    token_errors: int
    """Requests whose token counts, whole or by chunk, are not the server's."""
    failures: int
    """Requests that were judged as failed: the server answered all of them well."""
    cpu_us_per_event: float
    """In the loop, while requests are in flight."""
    parse_us_per_event: float
    """Afterwards."""
    cpu_share_ratio: float
    loop_lag_p50_ms: float
    loop_lag_p99_ms: float
    send_late_p99_ms: float
    server_late_max_ms: float
    """The most that the server was behind its own schedule: above a step, the host was too busy for this level."""
    clock: str


@dataclass(frozen=True, slots=True)
class Check:
    """One hostile or unusual stream, and whether the client read it as it was."""

    name: str
    passed: bool
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """The client's error on one host."""

    host: Host
    client_version: str
    date: str
    """UTC, `YYYY-MM-DDTHH:MM:SSZ`; a label only."""
    realtime: bool
    """Whether client and server ran before all ordinary processes, as they do not when an engine is measured."""
    load_average: float
    """Of the host over the minute before: with much else running, errors are larger."""
    levels: tuple[LevelError, ...]
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Return whether every check passed and no token was miscounted."""
        return all(check.passed for check in self.checks) and not any(
            level.token_errors or level.failures for level in self.levels
        )

    def nearest(self, streams: int) -> LevelError | None:
        """Return the smallest level with at least so many streams, else the largest: the error to quote."""
        ordered = sorted(self.levels, key=lambda level: level.streams)
        return next(
            (level for level in ordered if level.streams >= streams), ordered[-1] if ordered else None
        )


def write_calibration(calibration: Calibration, path: Path) -> None:
    """Write it as JSON, whole or not at all.

    Raises:
        OSError: The place cannot be written to.
    """
    content = orjson.dumps({"version": FORMAT_VERSION, **asdict(calibration)}, option=orjson.OPT_INDENT_2)
    draft = path.with_name(f".{path.name}.part")
    draft.write_bytes(content + b"\n")
    draft.replace(path)


def read_calibration(path: Path) -> Calibration:
    """Return what was written.

    Raises:
        RecordError: The file is no calibration of this version.
        OSError: It cannot be read.
    """
    if path.stat().st_size > MAX_FILE_BYTES:
        raise RecordError(f"{path}: more than {MAX_FILE_BYTES} bytes: it is no calibration")
    try:
        value = orjson.loads(path.read_bytes())
        if not isinstance(value, dict) or value.pop("version", None) != FORMAT_VERSION:
            raise RecordError(
                f"{path}: no calibration of version {FORMAT_VERSION}: run the calibration again"
            )
        levels = tuple(_level(level) for level in value.pop("levels"))
        checks = tuple(Check(**check) for check in value.pop("checks"))
        return Calibration(host=Host(**value.pop("host")), levels=levels, checks=checks, **value)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"{path}: no calibration: {error}: run the calibration again") from None


def _level(value: Mapping[str, Any]) -> LevelError:
    names = {field.name for field in fields(LevelError)}
    members = {name: member for name, member in value.items() if name in names}
    return LevelError(**{**members, "pattern": tuple(members["pattern"])})
