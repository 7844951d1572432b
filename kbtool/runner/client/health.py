"""How well the client itself did, from what the loop counted. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kbtool.runner.client.clock import OffsetLog
from kbtool.runner.client.flight import Finished
from kbtool.runner.client.recorded import ClientHealth, Recorded
from kbtool.runner.trace import ClockSource

__all__ = ["Counts", "health_of", "nearest_rank", "with_arrival_times"]


@dataclass(slots=True)
class Counts:
    """What the loop counts while it runs."""

    start_ns: int
    cpu_start_ns: int
    late_ns: list[int] = field(default_factory=list)
    blocked_sends: int = 0
    received_bytes: int = 0
    ended: int = 0
    failed: int = 0


def nearest_rank(ordered: Sequence[int], ratio: float) -> int:
    """Return the value below which `ratio` of the ascending values lie, by nearest rank; 0 without values."""
    if not ordered:
        return 0
    return ordered[min(len(ordered) - 1, int(ratio * len(ordered)))]


def with_arrival_times(finished: Finished, offsets: OffsetLog) -> Recorded:
    """Return the record with the kernel's times, or with the client's own and saying so."""
    recorded = finished.recorded
    if not finished.kernel or recorded.sent_ns is None:
        return recorded
    times = offsets.convert(finished.stamps, recorded.t_ns, recorded.sent_ns)
    if times is None:
        return recorded
    return replace(recorded, t_ns=times, clock=ClockSource.KERNEL)


def health_of(
    finished: Sequence[Finished],
    recorded: Sequence[Recorded],
    counts: Counts,
    offsets: OffsetLog,
    *,
    heartbeat_late_ns: Sequence[int],
    end_ns: int,
    cpu_end_ns: int,
    retries: int,
    spares_lost: int,
) -> ClientHealth:
    """Return the client's own figures for one exchange; `recorded` are the `finished` with their final times."""
    lags: list[int] = []
    user_stamped = 0
    segments = events = 0
    for before, after in zip(finished, recorded, strict=True):
        segments += len(after.t_ns)
        events += after.raw.count(b"\ndata:")
        if after.clock is ClockSource.KERNEL:
            lags += [read - came for read, came in zip(before.recorded.t_ns, after.t_ns, strict=True)]
        elif len(after.t_ns):
            user_stamped += 1
    lags = sorted(lags or heartbeat_late_ns)
    late = sorted(counts.late_ns)
    wall_ns = max(1, end_ns - counts.start_ns)
    cpu_ns = cpu_end_ns - counts.cpu_start_ns
    return ClientHealth(
        loop_lag_p50_ns=nearest_rank(lags, 0.5),
        loop_lag_p99_ns=nearest_rank(lags, 0.99),
        loop_lag_max_ns=lags[-1] if lags else 0,
        send_late_p50_ns=nearest_rank(late, 0.5),
        send_late_p99_ns=nearest_rank(late, 0.99),
        send_late_max_ns=late[-1] if late else 0,
        cpu_s=cpu_ns / 1e9,
        wall_s=wall_ns / 1e9,
        cpu_share_ratio=cpu_ns / wall_ns,
        events=events,
        segments=segments,
        blocked_sends=counts.blocked_sends,
        clock=ClockSource.USER if user_stamped or not segments else ClockSource.KERNEL,
        clock_steps=offsets.steps,
        user_stamped=user_stamped,
        connect_retries=retries,
        spares_lost=spares_lost,
    )
