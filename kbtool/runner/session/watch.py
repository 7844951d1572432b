"""The accelerators and the host while a run goes on: sampled apart, cut into the windows of rounds and cells."""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kbtool.runner.folder.table import Column, ColumnType, Table
from kbtool.runner.plan.model import TelemetryPlan
from kbtool.runner.results.notes import ClockMark, Energy
from kbtool.runner.telemetry import (
    COLUMNS,
    CardWindow,
    Inventory,
    SamplerProcess,
    TelemetrySample,
    WindowTelemetry,
    between,
    sampler_command,
    summarize_window,
    to_columns,
)
from kbtool.runner.telemetry.sample import FORMAT_VERSION
from kbtool.vocab.warnings import WarningCode

__all__ = ["KIND", "Watch", "Watched", "clock_mark", "watching"]

KIND: Final = "telemetry"
NS_PER_S: Final = 1_000_000_000
MARGIN_NS: Final = 3 * NS_PER_S
"""Samples before and after a window that its ends are interpolated from."""
_TYPES: Final = {"int64": ColumnType.INT64, "float64": ColumnType.FLOAT64, "string": ColumnType.TEXT}
_READY_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Watched:
    """What telemetry says of one round."""

    energy: Energy | None
    warnings: tuple[WarningCode, ...]
    aborted: str
    """Why nothing measured after this stands; empty where it does."""


@dataclass(slots=True)
class Watch:
    """The sampler of a run, and the rows that it gave."""

    sampler: SamplerProcess
    cards: tuple[int, ...]
    """Indices of the accelerators that are ours."""
    pids_comparable: bool
    rows: list[TelemetrySample] = field(default_factory=list)

    def poll(self) -> None:
        """Take in what the sampler wrote since the last call."""
        self.rows += self.sampler.poll()

    def settle(self, end_ns: int) -> None:
        """Wait until the samples reach past a time, for a second at most: the ends of a window need them."""
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            self.poll()
            if self.rows and self.rows[-1].t_ns > end_ns:
                return
            time.sleep(0.05)

    def window(self, start_ns: int, end_ns: int, owned_pids: Collection[int]) -> Watched:
        """Return what the samples say of the time between two moments."""
        self.settle(end_ns)
        found = summarize_window(
            between(self.rows, start_ns, end_ns, MARGIN_NS),
            start_ns,
            end_ns,
            cards=self.cards,
            owned_pids=owned_pids,
            pids_comparable=self.pids_comparable,
        )
        return Watched(_energy(found), tuple(_warnings(found, self.cards)), _abort(found))

    def table(self, start_ns: int, end_ns: int) -> Table:
        """Return the rows of a time as a table to be stored, and forget all that is older."""
        self.settle(end_ns)
        kept = between(self.rows, start_ns, end_ns, MARGIN_NS)
        self.rows = [row for row in self.rows if row.t_ns >= end_ns - MARGIN_NS]
        values = to_columns(kept)
        return Table(
            KIND,
            FORMAT_VERSION,
            tuple(Column(name, _TYPES[kind], name, values[name]) for name, kind in COLUMNS),
        )

    def hottest_c(self) -> int | None:
        """Return the temperature of the hottest card now, or None where no card tells."""
        self.poll()
        latest = {row.card: row.temperature_c for row in self.rows if row.card in self.cards}
        return max((each for each in latest.values() if each is not None), default=None)


@contextmanager
def watching(
    plan: TelemetryPlan, inventory: Inventory, cards: Sequence[int], folder: Path, *, host_pids: bool | None
) -> Iterator[Watch]:
    """Sample until the block ends; the stream lies in `folder` and survives whatever happens to us."""
    stream = folder / "telemetry.stream"
    command = sampler_command(
        stream,
        interval_ms=plan.interval_ms,
        cards=cards or None,
        with_cards=plan.accelerators and bool(inventory.cards),
    )
    sampler = SamplerProcess(command, stream, folder / "telemetry.log")
    known = tuple(cards) if plan.accelerators and inventory.cards else ()
    watch = Watch(sampler, known, pids_comparable=host_pids is not False)
    sampler.start()
    try:
        deadline = time.monotonic() + _READY_S
        while not sampler.ready and time.monotonic() < deadline:
            watch.poll()
            time.sleep(0.05)
        yield watch
    finally:
        watch.rows += sampler.stop()


def clock_mark() -> ClockMark:
    """Read all clocks."""
    return ClockMark(time.monotonic_ns(), time.time_ns(), time.clock_gettime_ns(time.CLOCK_BOOTTIME))


def _energy(found: WindowTelemetry) -> Energy | None:
    """Return the figures of a window over all our cards; None where nothing at all was sampled."""
    cards = found.cards
    if not cards and found.host.cpu_busy_ratio is None:
        return None
    memory = _most(cards, "memory_peak_bytes")
    return Energy(
        energy_j=found.energy_j,
        mean_power_w=_mean(cards, "mean_power_w"),
        peak_power_w=_most(cards, "peak_power_w"),
        utilization_ratio=_mean(cards, "busy_ratio"),
        min_sm_clock_mhz=min(
            (each.sm_clock_min_mhz for each in cards if each.sm_clock_min_mhz), default=None
        ),
        max_temperature_c=_most(cards, "temperature_max_c"),
        peak_memory_gib=None if memory is None else memory / 2**30,
        throttle_ratio=max((_throttled(each) for each in cards), default=None),
        power_cap_ratio=max(
            (each.throttle.power_cap_ratio for each in cards if each.throttle.power_cap_ratio is not None),
            default=None,
        ),
        host_cpu_ratio=found.host.cpu_busy_ratio,
        remarks=tuple(_remarks(found)),
    )


def _throttled(card: CardWindow) -> float:
    throttle = card.throttle
    shares = (throttle.thermal_ratio, throttle.power_brake_ratio, throttle.hardware_ratio)
    return sum(each for each in shares if each is not None)


def _mean(cards: Sequence[CardWindow], name: str) -> float | None:
    """Return the mean over the cards, or None where one does not tell: a part of a mean is none."""
    values = [getattr(each, name) for each in cards]
    return None if not values or None in values else sum(values) / len(values)


def _most(cards: Sequence[CardWindow], name: str) -> float | None:
    return max((value for each in cards if (value := getattr(each, name)) is not None), default=None)


def _remarks(found: WindowTelemetry) -> Iterator[str]:
    for use in found.foreign:
        who = (
            f"process {use.pid} ({use.name})"
            if use.pid is not None
            else "memory that no visible process owns"
        )
        yield f"{who} on card {use.card}"
    for xid in found.xids:
        yield f"Xid {xid.xid} on {xid.pci or 'an unknown card'}"
    for gap in found.gaps:
        yield f"{gap.what}: {gap.reason}"
    for event in found.events:
        yield f"sampler: {event.event}: {event.detail or ''}".rstrip(": ")


def _warnings(found: WindowTelemetry, cards: Sequence[int]) -> Iterator[WarningCode]:
    if any(each.throttle.throttled for each in found.cards):
        yield WarningCode.THROTTLED
    if any(each.throttle.power_capped for each in found.cards):
        yield WarningCode.POWER_CAPPED
    if found.foreign:
        yield WarningCode.NOT_ISOLATED
    if found.clock.stepped or found.clock.suspended:
        yield WarningCode.CLOCK_STEP
    if cards and found.energy_j is None:
        yield WarningCode.TELEMETRY_GAP


def _abort(found: WindowTelemetry) -> str:
    if not found.aborted:
        return ""
    lost = [f"card {each.card} was lost" for each in found.cards if each.lost_ns is not None]
    fatal = [f"Xid {each.xid} on {each.pci or 'an unknown card'}" for each in found.xids if each.aborts]
    return "; ".join([*fatal, *lost])
