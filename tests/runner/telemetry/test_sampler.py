"""Sampling on a clock that stands still: rows, events, and cards that misbehave."""

import os

import pytest

from kbtool.runner.telemetry.backend import Missing, Reason
from kbtool.runner.telemetry.sample import (
    CARD_VALUES,
    COLUMNS,
    Event,
    Kind,
    TelemetrySample,
    decode,
    encode,
    from_columns,
    to_columns,
)
from kbtool.runner.telemetry.sampler import CardSampler, FileSink, HostSampler, next_due
from tests.fakes.nvml import (
    FakeBackend,
    FakeCard,
    FakeClock,
    FakeKernelLog,
    fake_counters,
    load_card,
    record,
    seconds,
)

SERVER = "rtx-pro-6000-blackwell-server"


def cards(count: int = 1) -> FakeBackend:
    """Return a driver with some Server Editions on a clock of its own."""
    return FakeBackend(FakeClock(), [load_card(SERVER) for _ in range(count)])


def only(rows: list[TelemetrySample], kind: Kind) -> list[TelemetrySample]:
    """Return the rows of one kind."""
    return [row for row in rows if row.kind == kind]


def events(rows: list[TelemetrySample], name: Event) -> list[TelemetrySample]:
    """Return the events of one name."""
    return [row for row in rows if row.event == name]


def test_cards_are_sampled_ten_times_a_second_and_the_host_once() -> None:
    """Ten seconds give 101 rows a card, 11 of the host, 11 beats and 11 process lists a card."""
    rows = record(cards(2), 10)
    assert len(only(rows, Kind.CARD)) == 2 * 101
    assert len(only(rows, Kind.HOST)) == len(only(rows, Kind.BEAT)) == 11
    assert len(only(rows, Kind.SWEEP)) == 2 * 11


def test_a_value_that_a_card_lacks_is_null_and_said_once() -> None:
    """101 null values and one event with the reason."""
    rows = record(cards(), 10)
    assert {row.memory_temperature_c for row in only(rows, Kind.CARD)} == {None}
    gaps = [row.detail for row in events(rows, Event.GAP) if "memory_temperature_c" in (row.detail or "")]
    assert gaps == ["memory_temperature_c: not_supported: Not Supported"]


def test_a_value_that_goes_and_comes_back_is_two_events() -> None:
    """Power reads N/A from second 2 to second 4: null then, and a number before and after."""
    backend = cards()
    backend.cards[0].at(2, power_instant_mw=Missing(Reason.NO_DATA)).at(4, power_instant_mw=50_000)
    rows = record(backend, 6)
    nulls = [row.t_ns for row in only(rows, Kind.CARD) if row.power_instant_mw is None]
    assert (min(nulls), max(nulls)) == (seconds(2), seconds(3.9))
    names = [
        (row.event, row.t_ns) for row in rows if row.detail and row.detail.startswith("power_instant_mw")
    ]
    assert names == [(Event.GAP, seconds(2)), (Event.GAP_CLOSED, seconds(4))]


def test_no_null_is_ever_written_as_zero() -> None:
    """A card that answers nothing gives rows without a single number."""
    backend = FakeBackend(
        FakeClock(), [FakeCard({}, {name: Missing(Reason.NOT_SUPPORTED) for name in CARD_VALUES})]
    )
    rows = only(record(backend, 1), Kind.CARD)
    assert rows
    assert {getattr(row, name) for row in rows for name in CARD_VALUES} == {None}


def test_a_lost_card_is_an_event_and_asked_nothing_more() -> None:
    """One event with the time; the other card goes on; the lost one is not touched again."""
    backend = cards(2)
    backend.cards[1].lost_ns = seconds(3)
    rows = record(backend, 10)
    assert [(row.card, row.t_ns) for row in events(rows, Event.GPU_LOST)] == [(1, seconds(3))]
    assert [row.t_ns for row in only(rows, Kind.CARD) if row.card == 1][-1] == seconds(2.9)
    assert len([row for row in only(rows, Kind.CARD) if row.card == 0]) == 101
    assert backend.questions.count(("sample", 1)) == 31
    assert backend.questions.count(("processes", 1)) == 3


def test_when_the_last_card_is_lost_the_host_is_still_sampled() -> None:
    """Host rows and beats go on; sweeping ends."""
    backend = cards()
    backend.cards[0].lost_ns = seconds(1)
    rows = record(backend, 5)
    assert len(only(rows, Kind.HOST)) == 6
    assert only(rows, Kind.BEAT)[-1].cards_t_ns == seconds(1)


def test_a_driver_that_hangs_for_30_seconds_leaves_a_hole_and_no_zeros() -> None:
    """The reading that hung says how long it took; no row pretends to have been taken meanwhile."""
    backend = cards()
    backend.cards[0].hangs.append((seconds(5), seconds(30)))
    rows = record(backend, 60)
    slow = [row for row in only(rows, Kind.CARD) if (row.read_ns or 0) > seconds(1)]
    assert [(row.t_ns, row.read_ns) for row in slow] == [(seconds(20), seconds(30))]
    assert not [
        row for row in only(rows, Kind.CARD) if seconds(5) < row.t_ns < seconds(35) and row not in slow
    ]
    assert len(only(rows, Kind.CARD)) == 50 + 1 + 250


def test_the_host_thread_reports_a_hang_while_it_lasts() -> None:
    """The watcher sees a sweep that began and did not end, then that it did."""
    clock = FakeClock()
    sweep = CardSampler(cards(), clock)
    host = HostSampler(clock, fake_counters(clock), FakeKernelLog(clock), sweep)
    host.open()
    sweep.begun_ns = 0
    said = []
    for second in (1, 2, 3, 10, 29):
        clock.now_ns = seconds(second)
        said += [(row.event, row.t_ns) for row in host.tick(with_counters=False)]
    sweep.begun_ns, sweep.ended_ns = None, seconds(30)
    clock.now_ns = seconds(30)
    said += [(row.event, row.t_ns) for row in host.tick(with_counters=False)]
    assert said == [(Event.HANG, seconds(3)), (Event.HANG_OVER, seconds(30))]


def test_a_driver_that_hangs_while_it_is_opened_is_seen_too() -> None:
    """The opening counts as a sweep that began; afterwards none is going on."""

    class SlowToOpen(FakeBackend):
        def open(self) -> Missing | None:
            begun.append(sampler.begun_ns)
            return None

    begun: list[int | None] = []
    sampler = CardSampler(SlowToOpen(FakeClock(), []), FakeClock(now_ns=7))
    sampler.open()
    assert (begun, sampler.begun_ns) == ([7], None)


def test_cards_that_the_driver_does_not_list_are_lost() -> None:
    """A plan that names card 7 on a box that shows two cards learns so at the start."""
    sampler = CardSampler(cards(2), FakeClock(), (0, 7))
    assert [(row.event, row.card) for row in sampler.open()] == [(Event.GPU_LOST, 7)]


def test_without_a_driver_there_is_one_event_and_no_card_rows() -> None:
    """The host is sampled all the same."""
    backend = cards()
    backend.refuses = Missing(Reason.NO_DRIVER, "NVML Shared Library Not Found")
    rows = record(backend, 2)
    assert [row.detail for row in events(rows, Event.NO_CARDS)] == [
        "no_driver: NVML Shared Library Not Found"
    ]
    assert not only(rows, Kind.CARD)
    assert len(only(rows, Kind.HOST)) == 3


def test_processes_are_listed_once_a_second_with_their_memory() -> None:
    """A process that lives for two seconds is in two lists; the empty lists are there as well."""
    backend = cards()
    backend.cards[0].runs(17, 3 << 30, from_s=1, to_s=3)
    rows = record(backend, 4)
    found = [(row.t_ns, row.pid, row.process_memory_bytes) for row in only(rows, Kind.PROCESS)]
    assert found == [(seconds(1), 17, 3 << 30), (seconds(2), 17, 3 << 30)]
    assert len(only(rows, Kind.SWEEP)) == 5


def test_a_process_list_that_is_refused_is_said_once_and_is_no_empty_list() -> None:
    """No sweep row, so nobody can take the silence for an empty card."""
    backend = cards()
    backend.cards[0].processes_missing = Missing(Reason.NO_PERMISSION, "Insufficient Permissions")
    rows = record(backend, 5)
    assert not only(rows, Kind.SWEEP)
    assert len(events(rows, Event.NO_PROCESSES)) == 1


def test_errors_come_from_the_kernel_log_and_from_the_driver() -> None:
    """Both sources are kept, with where they came from."""
    backend = cards()
    backend.errors = [(seconds(2), 0, 79)]
    log = FakeKernelLog(
        backend.clock, [(seconds(2.05), "NVRM: Xid (PCI:0000:06:00): 79, GPU has fallen off the bus.")]
    )
    found = only(record(backend, 4, log=log), Kind.XID)
    assert [(row.event, row.card, row.pci, row.xid, row.t_ns) for row in found] == [
        ("driver", 0, None, 79, seconds(2)),
        ("kernel", None, "0000:06:00.0", 79, seconds(2.1)),
    ]


def test_a_kernel_log_that_may_not_be_read_is_one_event() -> None:
    """The reason stands in the rows; the driver's own queue still works."""
    backend = cards()
    log = FakeKernelLog(backend.clock, refuses=Missing(Reason.NO_PERMISSION, "/dev/kmsg may not be read"))
    rows = record(backend, 3, log=log)
    assert [row.detail for row in events(rows, Event.NO_KERNEL_LOG)] == [
        "no_permission: /dev/kmsg may not be read"
    ]


def test_rows_survive_the_stream_and_the_table() -> None:
    """Line by line and column by column, every row comes back as it was."""
    backend = cards(2)
    backend.cards[1].runs(5, None)
    backend.cards[0].lost_ns = seconds(2)
    rows = record(backend, 4)
    assert [decode(encode(row)) for row in rows] == rows
    columns = to_columns(rows)
    assert list(columns) == [name for name, _ in COLUMNS]
    assert from_columns(columns) == rows


def test_columns_have_one_type_each_and_the_first_two_are_never_null() -> None:
    """What the folder stores as Parquet is whole, real or text."""
    assert {kind for _, kind in COLUMNS} == {"int64", "float64", "string"}
    assert COLUMNS[:2] == (("t_ns", "int64"), ("kind", "string"))


def test_a_table_with_a_column_of_another_version_is_refused() -> None:
    """A reader refuses what it does not know."""
    with pytest.raises(ValueError, match="fan_percent"):
        from_columns({"t_ns": [1], "kind": ["card"], "fan_percent": [3]})


@pytest.mark.parametrize(
    "line", [b"", b"[]", b'["card",1]', b'["ghost",1,2]', b'["beat","x",null]', b'["beat",1,nul']
)
def test_a_line_that_is_no_row_is_refused(line: bytes) -> None:
    """Torn and foreign lines raise, and do not become half a row."""
    with pytest.raises(ValueError, match=r".+"):
        decode(line)


def test_a_full_disk_is_an_error_and_no_silence() -> None:
    """A write that took less than all of it raises."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    row = TelemetrySample(t_ns=1, kind=Kind.EVENT, event=Event.GAP, detail="x" * 60_000)
    try:
        with pytest.raises(OSError, match=r"disk full|unavailable"):
            FileSink(writer).write([row, row])
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize(("now", "due"), [(0, 100), (99, 100), (100, 200), (101, 200), (350, 400)])
def test_missed_steps_are_not_made_up_for(now: int, due: int) -> None:
    """After a pause, sampling goes on at the next point of the grid."""
    assert next_due(0, now, 100) == due
