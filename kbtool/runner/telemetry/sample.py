"""The rows of telemetry: one table, its columns named and typed in one place.

A row has a kind, and each kind fills its own columns; all others are null.  A value that could not be read is
null, and a row of kind `event` says since when and why.  Times are nanoseconds of CLOCK_MONOTONIC.  Counters are
stored as the driver or kernel counts them, so that a window is a difference and a reset is seen.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final, get_args, get_type_hints

import orjson

__all__ = [
    "CARD_VALUES",
    "COLUMNS",
    "FORMAT_VERSION",
    "Event",
    "Kind",
    "TelemetrySample",
    "decode",
    "encode",
    "from_columns",
    "header",
    "to_columns",
]

FORMAT_VERSION: Final = 1
"""Version of the stream and of the table. A reader refuses one that it does not know."""


class Kind(StrEnum):
    """What a row tells."""

    CARD = "card"
    HOST = "host"
    PROCESS = "process"
    """One process on one card at one second."""
    SWEEP = "sweep"
    """The process list of a card was read: without it, no process row would mean both none and unknown."""
    XID = "xid"
    EVENT = "event"
    BEAT = "beat"
    """The sampler lives; also says when it last heard from the cards."""


class Event(StrEnum):
    """What an `event` row tells."""

    STARTED = "sampler_started"
    STOPPED = "sampler_stopped"
    NO_CARDS = "no_cards"
    """Cards cannot be read at all."""
    GAP = "gap"
    """A column of a card is null from here on."""
    GAP_CLOSED = "gap_closed"
    GPU_LOST = "gpu_lost"
    """Nothing more is asked of the card; nothing resets it."""
    HANG = "driver_hang"
    """The driver has not answered for 2 s."""
    HANG_OVER = "driver_hang_over"
    NO_KERNEL_LOG = "no_kernel_log"
    NO_DRIVER_EVENTS = "no_driver_events"
    NO_PROCESSES = "no_process_list"
    TORN_LINE = "torn_line"
    """A line of the stream was cut: the sampler died while it wrote."""
    DIED = "sampler_died"
    SILENT = "sampler_silent"
    SPOKE = "sampler_spoke_again"


@dataclass(frozen=True, slots=True)
class TelemetrySample:
    """One row. The order of the fields is the order of the columns."""

    t_ns: int
    kind: str
    card: int | None = None
    """Number of the card, as the driver counts."""
    read_ns: int | None = None
    """How long the reading took; `t_ns` is its middle."""
    energy_mj: int | None = None
    """Since the driver was loaded."""
    power_instant_mw: int | None = None
    power_average_mw: int | None = None
    """Mean over the driver's own window, about a second."""
    power_limit_mw: int | None = None
    """The limit in force."""
    busy_percent: int | None = None
    """Part of the time in which any kernel ran: no measure of load."""
    memory_busy_percent: int | None = None
    memory_used_bytes: int | None = None
    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    temperature_c: int | None = None
    memory_temperature_c: int | None = None
    pstate: int | None = None
    clock_reasons: int | None = None
    """Bits of `ClockReason`."""
    power_violation_ns: int | None = None
    """Time below the wanted clocks because of power, counted by the driver."""
    thermal_violation_ns: int | None = None
    pcie_rx_bytes: int | None = None
    pcie_tx_bytes: int | None = None
    pcie_counter_bits: int | None = None
    """Width of the two counters before: at 32 they wrap every 4 GiB."""
    pid: int | None = None
    process_name: str | None = None
    process_memory_bytes: int | None = None
    xid: int | None = None
    pci: str | None = None
    event: str | None = None
    detail: str | None = None
    wall_ns: int | None = None
    """CLOCK_REALTIME at `t_ns`: a label, and the witness of a step."""
    boot_ns: int | None = None
    """CLOCK_BOOTTIME at `t_ns`: runs on while the host is suspended."""
    host_busy_ns: int | None = None
    """CPU time of all processes on all CPUs."""
    host_total_ns: int | None = None
    """CPU time there was, idle included."""
    host_steal_ns: int | None = None
    """CPU time that a hypervisor gave to others."""
    host_available_bytes: int | None = None
    host_load_ratio: float | None = None
    """Load average over a minute, per CPU."""
    runner_cpu_ns: int | None = None
    """CPU time of the runner, all threads."""
    runner_memory_bytes: int | None = None
    sampler_cpu_ns: int | None = None
    cards_t_ns: int | None = None
    """When the last sweep over the cards ended."""


_TYPES: Final[Mapping[type, str]] = {int: "int64", float: "float64", str: "string"}


def _columns() -> tuple[tuple[str, str], ...]:
    """Return name and type of each column, from the annotations."""
    hints = get_type_hints(TelemetrySample)
    pairs = []
    for entry in fields(TelemetrySample):
        hint = hints[entry.name]
        base = next((part for part in get_args(hint) if part is not type(None)), hint)
        pairs.append((entry.name, _TYPES[base]))
    return tuple(pairs)


COLUMNS: Final = _columns()
"""Name and type (int64, float64, string) of each column; all but `t_ns` and `kind` may be null."""

_CARD_ROW = ("t_ns", "card", "read_ns")
_NAMES: Final = tuple(name for name, _ in COLUMNS)
CARD_VALUES: Final = _NAMES[_NAMES.index("energy_mj") : _NAMES.index("pid")]
"""The columns that a backend fills for a card."""

_ROW_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    Kind.CARD: (*_CARD_ROW, *CARD_VALUES),
    Kind.PROCESS: ("t_ns", "card", "pid", "process_name", "process_memory_bytes"),
    Kind.SWEEP: ("t_ns", "card"),
    Kind.XID: ("t_ns", "card", "pci", "xid", "event", "detail"),
    Kind.EVENT: ("t_ns", "card", "event", "detail"),
    Kind.HOST: ("t_ns", *_NAMES[_NAMES.index("wall_ns") : _NAMES.index("cards_t_ns")]),
    Kind.BEAT: ("t_ns", "cards_t_ns"),
}


def header() -> bytes:
    """Return the first line of a stream, which names the fields of each kind of row."""
    rows = {str(kind): names for kind, names in _ROW_FIELDS.items()}
    return orjson.dumps({"format": "kbtool-telemetry", "version": FORMAT_VERSION, "rows": rows}) + b"\n"


def encode(row: TelemetrySample) -> bytes:
    """Return a row as one line: its kind, then the fields of that kind in order."""
    values = [getattr(row, name) for name in _ROW_FIELDS[row.kind]]
    return orjson.dumps([row.kind, *values]) + b"\n"


def decode(line: bytes) -> TelemetrySample:
    """Return the row of a line.

    Raises:
        ValueError: The line is torn, or no row of this version.
    """
    parts = orjson.loads(line)
    if not isinstance(parts, list) or not parts or parts[0] not in _ROW_FIELDS:
        raise ValueError(f"telemetry row: found {line[:80]!r}, expected a list that starts with a kind")
    names = _ROW_FIELDS[parts[0]]
    if len(parts) != len(names) + 1 or not isinstance(parts[1], int):
        raise ValueError(
            f"telemetry row: found {len(parts) - 1} values, expected {len(names)} for {parts[0]}"
        )
    return TelemetrySample(kind=parts[0], **dict(zip(names, parts[1:], strict=True)))


def to_columns(rows: Iterable[TelemetrySample]) -> dict[str, list[Any]]:
    """Return rows as one list a column, in the order of `COLUMNS`."""
    kept = list(rows)
    return {name: [getattr(row, name) for row in kept] for name in _NAMES}


def from_columns(columns: Mapping[str, Sequence[Any]]) -> list[TelemetrySample]:
    """Return the rows of a table; a column that it lacks is null.

    Raises:
        ValueError: The columns differ in length, or a column is not ours.
    """
    unknown = sorted(set(columns) - set(_NAMES))
    if unknown:
        raise ValueError(
            f"telemetry table: found columns {unknown}, expected only those of version {FORMAT_VERSION}"
        )
    names = list(columns)
    return [
        TelemetrySample(**dict(zip(names, values, strict=True)))
        for values in zip(*columns.values(), strict=True)
    ]
