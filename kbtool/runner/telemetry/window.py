"""What telemetry says about one window of time: pure functions over rows.

A figure that the rows do not carry is None, and `gaps` says why.  Nothing here decides whether a cell counts; the
flags say what was seen, and the caller attaches them to the numbers.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Final

from kbtool.runner.telemetry.cards import Gap
from kbtool.runner.telemetry.energy import Energy, coverage_gap, window_energy
from kbtool.runner.telemetry.gaps import lost_since, standing_gaps, unlisted_processes
from kbtool.runner.telemetry.kmsg import ABORTING_XIDS
from kbtool.runner.telemetry.sample import Event, Kind, TelemetrySample
from kbtool.runner.telemetry.tenancy import ForeignUse, foreign_use
from kbtool.runner.telemetry.throttle import Throttle, window_throttle

__all__ = [
    "CLOCK_STEP_NS", "CardWindow", "ClockVerdict", "HostWindow", "Traffic", "WindowTelemetry", "XidEvent",
    "summarize_window",
]  # fmt: skip

CLOCK_STEP_NS: Final = 100_000_000
"""Clocks that drift apart by more than this were stepped, or the host slept."""
_XID_LATE_NS: Final = 1_000_000_000
"""An error is read from the log up to this long after it happened."""
_SAME_XID_NS: Final = 10_000_000_000
"""Kernel log and driver report one error within this time."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes over a card's PCIe link, per second."""

    rx_bytes_s: float | None
    tx_bytes_s: float | None
    may_have_wrapped: bool
    """The counter could have wrapped unseen between two samples: the figures are a lower bound."""


@dataclass(frozen=True, slots=True)
class CardWindow:
    """One card over the window."""

    card: int
    energy: Energy
    mean_power_w: float | None
    """Energy by time where the energy is known, else the mean of the readings."""
    peak_power_w: float | None
    power_limit_w: float | None
    """The lowest limit in force."""
    power_limit_changed: bool | None
    sm_clock_min_mhz: int | None
    sm_clock_mean_mhz: float | None
    memory_clock_min_mhz: int | None
    memory_clock_mean_mhz: float | None
    temperature_start_c: int | None
    temperature_end_c: int | None
    temperature_max_c: int | None
    memory_temperature_max_c: int | None
    throttle: Throttle
    busy_ratio: float | None
    """Mean part of the time in which any kernel ran."""
    memory_peak_bytes: int | None
    pcie: Traffic
    samples: int
    largest_gap_ns: int | None
    lost_ns: int | None
    """When the card was lost, if that was before the end of the window."""


@dataclass(frozen=True, slots=True)
class XidEvent:
    """An error of a card."""

    t_ns: int
    xid: int
    card: int | None
    pci: str | None
    detail: str | None
    ours: bool
    """On one of our cards, or on none that is known."""
    aborts: bool
    """Nothing measured after it stands."""


@dataclass(frozen=True, slots=True)
class HostWindow:
    """The host over the window: from the last counters before it to the first after it."""

    cpu_busy_ratio: float | None
    """Part of all CPU time that processes used."""
    cpu_steal_ratio: float | None
    """Part that a hypervisor gave to others."""
    runner_cpus_ratio: float | None
    """CPU time per time of the runner: 1 is one whole CPU."""
    sampler_cpus_ratio: float | None
    available_min_bytes: int | None
    runner_memory_max_bytes: int | None


@dataclass(frozen=True, slots=True)
class ClockVerdict:
    """Whether time ran evenly; None where the rows do not say."""

    wall_step_ns: int | None
    """The most that the wall clock moved against the monotonic one."""
    suspended_ns: int | None
    """How long the host slept."""
    stepped: bool | None
    suspended: bool | None


@dataclass(frozen=True, slots=True)
class WindowTelemetry:
    """All that is known about a window."""

    start_ns: int
    end_ns: int
    cards: tuple[CardWindow, ...]
    energy_j: float | None
    """Of all our cards; None unless each is known."""
    foreign: tuple[ForeignUse, ...]
    contaminated_since_ns: int | None
    xids: tuple[XidEvent, ...]
    aborted: bool
    """An error after which nothing stands, or a card was lost."""
    host: HostWindow
    clock: ClockVerdict
    events: tuple[TelemetrySample, ...]
    """What the sampler said about itself and the cards."""
    gaps: tuple[Gap, ...]


def summarize_window(
    rows: Sequence[TelemetrySample],
    start_ns: int,
    end_ns: int,
    *,
    cards: Sequence[int],
    owned_pids: Collection[int] = (),
    pids_comparable: bool = True,
    pci_of: Mapping[int, str] | None = None,
    idle_bytes: Mapping[int, int] | None = None,
) -> WindowTelemetry:
    """Return what the rows say about the time from `start_ns` to `end_ns`.

    Give rows from some seconds before and after as well: what lies at the ends is interpolated.

    Args:
        rows: Rows of any kind, in any order.
        start_ns: Begin, CLOCK_MONOTONIC.
        end_ns: End.
        cards: Our cards.
        owned_pids: Every process that was ours at any time, as the host numbers them.
        pids_comparable: Whether process numbers here are the host's (`HostFacts.host_pids`).
        pci_of: PCI address of each card, to tell whose a kernel error is.
        idle_bytes: Memory in use on each card before anything of ours ran.

    Raises:
        ValueError: The window is empty.
    """
    if end_ns <= start_ns:
        raise ValueError(f"telemetry window from {start_ns} to {end_ns} ns: expected an end after the start")
    # A start comes before what the same nanosecond tells about it.
    ordered = sorted(rows, key=lambda row: (row.t_ns, row.event != Event.STARTED))
    gaps = list(standing_gaps(ordered, cards, end_ns))
    windows = tuple(_card_window(ordered, card, start_ns, end_ns, gaps) for card in cards)
    energies = [window.energy.energy_j for window in windows]
    foreign: tuple[ForeignUse, ...] = ()
    if pids_comparable:
        foreign = foreign_use(
            ordered, start_ns, end_ns, cards=cards, owned_pids=owned_pids, idle_bytes=idle_bytes
        )
        gaps += unlisted_processes(ordered, cards, start_ns, end_ns)
    elif cards:
        gaps.append(
            Gap("foreign", "process numbers here are not the host's: run on the host or with --pid=host")
        )
    xids = _xids(ordered, start_ns, end_ns, cards, pci_of or {})
    hosts = _enclosing([row for row in ordered if row.kind == Kind.HOST], start_ns, end_ns)
    if len(hosts) < 2:
        gaps.append(Gap("host", "fewer than two host rows at the window"))
    events = [row for row in ordered if row.kind == Kind.EVENT and start_ns <= row.t_ns <= end_ns]
    return WindowTelemetry(
        start_ns=start_ns,
        end_ns=end_ns,
        cards=windows,
        energy_j=None if not energies or None in energies else sum(e for e in energies if e is not None),
        foreign=foreign,
        contaminated_since_ns=min((use.since_ns for use in foreign), default=None),
        xids=xids,
        aborted=any(xid.aborts for xid in xids) or any(window.lost_ns is not None for window in windows),
        host=_host_window(hosts),
        clock=_clock_verdict(hosts),
        events=tuple(events),
        gaps=tuple(gaps),
    )


def _card_window(
    rows: Sequence[TelemetrySample], card: int, start_ns: int, end_ns: int, gaps: list[Gap]
) -> CardWindow:
    """Return one card's figures, and note what is missing."""
    samples = [row for row in rows if row.kind == Kind.CARD and row.card == card]
    inside = [row for row in samples if start_ns <= row.t_ns <= end_ns]
    around = _enclosing(samples, start_ns, end_ns)
    energy = window_energy(samples, start_ns, end_ns)
    gaps += [Gap(f"cards[{card}].energy", reason) for reason in energy.reasons]
    gap = coverage_gap([row.t_ns for row in samples], start_ns, end_ns)
    if gap is not None:
        gaps.append(Gap(f"cards[{card}]", gap))
    readings = [value / 1000 for value in _values(inside, "power_instant_mw")]
    limits = _values(inside, "power_limit_mw")
    temperatures = _values(inside, "temperature_c")
    mean_power = None if energy.energy_j is None else energy.energy_j / ((end_ns - start_ns) / 1e9)
    spaces = [later.t_ns - earlier.t_ns for earlier, later in pairwise(around)]
    return CardWindow(
        card=card,
        energy=energy,
        mean_power_w=_mean(readings) if mean_power is None else mean_power,
        peak_power_w=max(readings, default=None),
        power_limit_w=min(limits) / 1000 if limits else None,
        power_limit_changed=len(set(limits)) > 1 if limits else None,
        sm_clock_min_mhz=min(_values(inside, "sm_clock_mhz"), default=None),
        sm_clock_mean_mhz=_mean(_values(inside, "sm_clock_mhz")),
        memory_clock_min_mhz=min(_values(inside, "memory_clock_mhz"), default=None),
        memory_clock_mean_mhz=_mean(_values(inside, "memory_clock_mhz")),
        temperature_start_c=temperatures[0] if temperatures else None,
        temperature_end_c=temperatures[-1] if temperatures else None,
        temperature_max_c=max(temperatures, default=None),
        memory_temperature_max_c=max(_values(inside, "memory_temperature_c"), default=None),
        throttle=window_throttle(samples, start_ns, end_ns),
        busy_ratio=_ratio(_mean(_values(inside, "busy_percent"))),
        memory_peak_bytes=max(_values(inside, "memory_used_bytes"), default=None),
        pcie=_traffic(around),
        samples=len(inside),
        largest_gap_ns=max(spaces, default=None),
        lost_ns=lost_since(rows, card, end_ns),
    )


def _values(rows: Sequence[TelemetrySample], name: str) -> list[int]:
    return [value for row in rows if (value := getattr(row, name)) is not None]


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _ratio(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def _enclosing(rows: Sequence[TelemetrySample], start_ns: int, end_ns: int) -> list[TelemetrySample]:
    """Return the rows of a window with the last before it and the first after it."""
    before = [row for row in rows if row.t_ns < start_ns][-1:]
    after = [row for row in rows if row.t_ns > end_ns][:1]
    return [*before, *(row for row in rows if start_ns <= row.t_ns <= end_ns), *after]


def _traffic(rows: Sequence[TelemetrySample]) -> Traffic:
    """Return the rates over the rows' time; counters wrap at their width."""
    rx, rx_unsure = _rate(rows, lambda row: row.pcie_rx_bytes)
    tx, tx_unsure = _rate(rows, lambda row: row.pcie_tx_bytes)
    return Traffic(rx, tx, rx_unsure or tx_unsure)


def _rate(
    rows: Sequence[TelemetrySample], value: Callable[[TelemetrySample], int | None]
) -> tuple[float | None, bool]:
    """Return bytes per second, and whether a wrap may have gone unseen."""
    total, span_ns, unsure = 0, 0, False
    for earlier, later in pairwise([row for row in rows if value(row) is not None]):
        was, now = value(earlier) or 0, value(later) or 0
        span_ns += later.t_ns - earlier.t_ns
        narrow = later.pcie_counter_bits == 32
        if now < was and not narrow:
            # A wide counter does not wrap: it was reset, and what came before is lost.
            return None, False
        total += (now - was) % (1 << 32) if narrow else now - was
        unsure = unsure or (narrow and later.t_ns - earlier.t_ns > _WRAP_NS)
    return (total / (span_ns / 1e9), unsure) if span_ns else (None, False)


_WRAP_NS: Final = (1 << 32) * 1_000_000_000 // 64_000_000_000
"""A 32-bit counter may wrap in this time on a Gen5 x16 link, which moves 64 GB/s one way."""


def _xids(
    rows: Sequence[TelemetrySample],
    start_ns: int,
    end_ns: int,
    cards: Collection[int],
    pci_of: Mapping[int, str],
) -> tuple[XidEvent, ...]:
    """Return the errors of a window, each once, in the kernel's words where it has some."""
    card_at = {pci: card for card, pci in pci_of.items()}
    kept: list[XidEvent] = []
    near = [row for row in rows if row.kind == Kind.XID and start_ns <= row.t_ns <= end_ns + _XID_LATE_NS]
    # The kernel's lines first: they have address and words.
    for row in sorted(near, key=lambda row: (row.event != "kernel", row.t_ns)):
        if row.xid is None:
            continue
        card = row.card if row.card is not None else card_at.get(row.pci or "")
        pci = row.pci if row.pci is not None else pci_of.get(-1 if card is None else card)
        if any(
            known.xid == row.xid and known.card == card and abs(known.t_ns - row.t_ns) <= _SAME_XID_NS
            for known in kept
        ):
            continue
        # An error without an address could be anybody's: it counts as ours.
        ours = card in cards if card is not None else pci is None or not card_at
        kept.append(
            XidEvent(row.t_ns, row.xid, card, pci, row.detail, ours, ours and row.xid in ABORTING_XIDS)
        )
    return tuple(sorted(kept, key=lambda event: event.t_ns))


def _host_window(rows: Sequence[TelemetrySample]) -> HostWindow:
    """Return the host's shares between the first and the last of the rows."""
    if len(rows) < 2:
        return HostWindow(None, None, None, None, None, None)
    first, last = rows[0], rows[-1]
    span_ns = last.t_ns - first.t_ns

    def share(name: str, whole_ns: int | None) -> float | None:
        was, now = getattr(first, name), getattr(last, name)
        return None if was is None or now is None or not whole_ns else (now - was) / whole_ns

    total = (
        None
        if first.host_total_ns is None or last.host_total_ns is None
        else last.host_total_ns - first.host_total_ns
    )
    return HostWindow(
        cpu_busy_ratio=share("host_busy_ns", total),
        cpu_steal_ratio=share("host_steal_ns", total),
        runner_cpus_ratio=share("runner_cpu_ns", span_ns),
        sampler_cpus_ratio=share("sampler_cpu_ns", span_ns),
        available_min_bytes=min(_values(rows, "host_available_bytes"), default=None),
        runner_memory_max_bytes=max(_values(rows, "runner_memory_bytes"), default=None),
    )


def _clock_verdict(rows: Sequence[TelemetrySample]) -> ClockVerdict:
    """Return how far wall clock and boot time ran from the monotonic clock."""
    wall = [row.wall_ns - row.t_ns for row in rows if row.wall_ns is not None]
    boot = [row.boot_ns - row.t_ns for row in rows if row.boot_ns is not None]
    if len(wall) < 2 or len(boot) < 2:
        return ClockVerdict(None, None, None, None)
    slept = boot[-1] - boot[0]
    # The wall clock runs on while the host sleeps: that part is no step.
    moves = [(w - wall[0]) - (b - boot[0]) for w, b in zip(wall, boot, strict=True)]
    step = max(moves, key=abs)
    return ClockVerdict(step, slept, abs(step) > CLOCK_STEP_NS, slept > CLOCK_STEP_NS)
