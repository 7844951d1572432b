"""Kernel stamps as monotonic times, whatever happens to the wall clock."""

import struct
from array import array
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from kbtool.runner.client.clock import NS, OffsetLog, kernel_stamps_work

EPOCH = 1_700_000_000 * NS
HOUR = 3600 * NS
MS = 1_000_000


def log_of(*samples: tuple[int, int], width_ns: int = 100) -> OffsetLog:
    """Return a log with samples of (time, wall minus monotonic)."""
    log = OffsetLog()
    for at_ns, offset in samples:
        log.add(at_ns, offset - width_ns, offset + width_ns)
    return log


def stamps(*walls_ns: int) -> bytes:
    """Return kernel stamps."""
    return b"".join(struct.pack("@qq", wall // NS, wall % NS) for wall in walls_ns)


def test_stamps_become_monotonic_times() -> None:
    """With the wall clock left alone each stamp is moved by the difference of the clocks."""
    log = log_of((0, EPOCH), (900 * MS, EPOCH))
    found = log.convert(stamps(EPOCH + 10 * MS, EPOCH + 20 * MS), [11 * MS, 25 * MS], 5 * MS)
    assert found == array("q", [10 * MS, 20 * MS])
    assert log.steps == 0


def test_samples_narrow_the_difference() -> None:
    """A reading that lost the processor in between is wide, and a narrow one corrects it."""
    log = OffsetLog()
    log.add(0, EPOCH - 500_000, EPOCH + 10)
    log.add(1, EPOCH - 20, EPOCH + 30)
    assert log.steps == 0
    assert abs(log.spans[0].offset_ns - EPOCH) <= 20


def test_a_clock_that_is_set_forward_or_back_changes_no_time() -> None:
    """Segments before and after the step get the difference that held when they came."""
    for step in (HOUR, -HOUR, 50 * MS):
        log = log_of((0, EPOCH), (100 * MS, EPOCH), (150 * MS, EPOCH + step), (900 * MS, EPOCH + step))
        walls = [EPOCH + 90 * MS, EPOCH + 110 * MS, EPOCH + step + 140 * MS, EPOCH + step + 300 * MS]
        found = log.convert(stamps(*walls), [91 * MS, 111 * MS, 141 * MS, 301 * MS], 50 * MS)
        assert found == array("q", [90 * MS, 110 * MS, 140 * MS, 300 * MS])
        assert log.steps == 1


def test_a_step_there_and_back_between_two_samples_falls_back() -> None:
    """What no sample shows is still found out: the stamp would lie after its reading, or before the sending."""
    log = log_of((0, EPOCH), (900 * MS, EPOCH))
    for step in (HOUR, -HOUR):
        assert (
            log.convert(stamps(EPOCH + 10 * MS, EPOCH + step + 20 * MS), [11 * MS, 25 * MS], 5 * MS) is None
        )


def test_a_missing_stamp_falls_back() -> None:
    """All stamps or none: a mixture would put the lag of the loop into a gap."""
    log = log_of((0, EPOCH))
    assert log.convert(stamps(EPOCH + 10 * MS), [11 * MS, 25 * MS], 5 * MS) is None
    assert log.convert(b"", [], 5 * MS) == array("q")


@given(
    st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**6)), min_size=1, max_size=20),
    st.integers(-HOUR, HOUR),
    st.integers(0, 10**9),
)
def test_times_never_go_back_nor_leave_their_bounds(
    arrivals: list[tuple[int, int]], step: int, at_ns: int
) -> None:
    """Whatever is set when: a time lies between sending and reading, in order, and within microseconds of the truth."""
    truth = sorted(arrival for arrival, _ in arrivals)
    late = (arrival + lag for arrival, (_, lag) in zip(truth, sorted(arrivals), strict=True))
    reads = list(accumulate(late, max))
    log = log_of(*[(t, EPOCH + (step if t >= at_ns else 0)) for t in range(0, 2 * 10**9, 50 * MS)])
    walls = [EPOCH + t + (step if t >= at_ns else 0) for t in truth]
    found = log.convert(stamps(*walls), reads, 0)
    if found is None:
        return
    assert list(found) == sorted(found)
    assert all(t <= read for t, read in zip(found, reads, strict=True))
    if not 0 < abs(step) < 3 * 10**9:
        assert all(abs(t - true) <= 20_000 for t, true in zip(found, truth, strict=True))


def test_this_kernel_stamps_segments() -> None:
    """The best clock is there on every Linux that this runs on."""
    assert kernel_stamps_work()
