"""What telemetry says about a window, from scripted cards with known truth."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbtool.runner.telemetry import (
    ABORTING_XIDS,
    ClockReason,
    Kind,
    Missing,
    Reason,
    TelemetrySample,
    WindowTelemetry,
    between,
    summarize_window,
)
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
GIB = 1 << 30


def loaded(power_mw: int = 400_000) -> FakeCard:
    """Return a Server Edition that draws a steady power from the start."""
    return load_card(SERVER).at(0, power_instant_mw=power_mw, sm_clock_mhz=2400, memory_clock_mhz=12481)


def driver(*cards: FakeCard) -> FakeBackend:
    """Return a driver with these cards."""
    return FakeBackend(FakeClock(), list(cards))


def measured(
    backend: FakeBackend,
    start_s: float,
    end_s: float,
    *,
    log: FakeKernelLog | None = None,
    owned: tuple[int, ...] = (),
) -> WindowTelemetry:
    """Return the window of a recording that begins at 0 and ends 5 s after it."""
    rows = record(backend, end_s + 5, log=log)
    cards = range(len(backend.cards))
    return summarize_window(rows, seconds(start_s), seconds(end_s), cards=cards, owned_pids=owned)


def test_energy_is_the_difference_of_the_counter() -> None:
    """Two cards at 400 W and 300 W for a minute: 24 kJ and 18 kJ."""
    found = measured(driver(loaded(), loaded(300_000)), 10, 70)
    assert [card.energy.energy_j for card in found.cards] == [24_000, 18_000]
    assert found.energy_j == 42_000
    assert {card.energy.source for card in found.cards} == {"counter"}
    assert [card.mean_power_w for card in found.cards] == [400, 300]


def test_the_ends_of_a_window_are_interpolated() -> None:
    """A window that begins and ends between two samples has no part of a sample too much."""
    found = measured(driver(loaded()), 10.037, 12.081)
    assert found.energy_j == pytest.approx(400 * 2.044, rel=1e-6)


def test_power_that_changes_is_followed_by_the_counter_and_the_trapezoid() -> None:
    """Ten seconds at 100 W and ten at 500 W: 6 kJ, with a mean of 300 W and a peak of 500 W."""
    card = loaded(100_000).at(20, power_instant_mw=500_000)
    found = measured(driver(card), 10, 30).cards[0]
    assert found.energy.counter_j == pytest.approx(6000)
    assert found.energy.trapezoid_j == pytest.approx(6000, rel=0.005)
    assert found.mean_power_w == pytest.approx(300)
    assert found.peak_power_w == 500


def test_a_counter_that_power_contradicts_is_not_believed() -> None:
    """The readings say half of what the counter says: no energy, both figures kept, and the reason."""
    backend = driver(loaded())
    rows = [
        replace(row, power_instant_mw=200_000) if row.kind == Kind.CARD else row
        for row in record(backend, 75)
    ]
    found = summarize_window(rows, seconds(10), seconds(70), cards=(0,)).cards[0].energy
    assert found.energy_j is None
    assert (found.counter_j, found.trapezoid_j) == (24_000, 12_000)
    assert "24000.0 J, the power readings 12000.0 J" in found.reasons[0]


def test_a_counter_that_began_again_gives_way_to_the_readings() -> None:
    """The driver was loaded anew in the middle: the trapezoid stands in, and is called so."""
    card = loaded()
    card.resets.append(seconds(40))
    found = measured(driver(card), 10, 70).cards[0].energy
    assert (found.energy_j, found.source) == (24_000, "trapezoid")
    assert found.counter_j is None
    assert "went back" in found.reasons[0]


def test_a_card_without_a_counter_is_integrated() -> None:
    """Energy N/A: the power readings are integrated, and the gap is named."""
    card = loaded().at(0, energy_mj=Missing(Reason.NOT_SUPPORTED, "Not Supported"))
    found = measured(driver(card), 10, 70)
    assert (found.energy_j, found.cards[0].energy.source) == (24_000, "trapezoid")
    assert ("cards[0].energy", "the card has no energy counter") in [
        (gap.what, gap.reason) for gap in found.gaps
    ]


def test_a_card_that_tells_neither_has_no_energy() -> None:
    """Neither counter nor power: None for the card and for the sum, never 0."""
    silent = loaded()
    for name in ("energy_mj", "power_instant_mw", "power_average_mw"):
        silent.at(0, **{name: Missing(Reason.NOT_SUPPORTED)})
    found = measured(driver(loaded(), silent), 10, 70)
    assert found.cards[1].energy.energy_j is None
    assert found.cards[1].mean_power_w is None
    assert found.energy_j is None
    assert found.cards[0].energy.energy_j == 24_000


def test_a_hole_in_the_samples_leaves_no_energy() -> None:
    """The driver hung for 30 s inside the window: nothing is integrated over the hole."""
    backend = driver(loaded())
    backend.cards[0].hangs.append((seconds(20), seconds(30)))
    found = measured(backend, 10, 70)
    assert found.energy_j is None
    assert found.cards[0].largest_gap_ns is not None
    assert found.cards[0].largest_gap_ns > seconds(10)
    assert any("no sample for" in gap.reason for gap in found.gaps)
    assert found.cards[0].throttle.covered_ratio == pytest.approx(0.5, abs=0.01)


def test_a_hole_outside_the_window_does_not_matter() -> None:
    """The hang ended before the window began."""
    backend = driver(loaded())
    backend.cards[0].hangs.append((seconds(2), seconds(5)))
    assert measured(backend, 10, 70).energy_j == 24_000


def test_a_window_that_the_samples_do_not_reach_has_no_energy() -> None:
    """The recording ends before the window does."""
    rows = record(driver(loaded()), 30)
    found = summarize_window(rows, seconds(10), seconds(40), cards=(0,))
    assert found.energy_j is None
    assert any(gap.reason == "no sample after the window" for gap in found.gaps)


def test_the_uncertainty_is_one_step_of_the_counter() -> None:
    """The counter moves every 0.1 s here: 40 J at 400 W."""
    assert measured(driver(loaded()), 10, 70).cards[0].energy.uncertainty_j == pytest.approx(40)


def test_five_percent_of_thermal_throttling_is_five_percent() -> None:
    """Three seconds of sixty: the share is exact, and the cell is flagged."""
    card = loaded().at(30, clock_reasons=int(ClockReason.SW_THERMAL)).at(33, clock_reasons=0)
    found = measured(driver(card), 10, 70).cards[0].throttle
    assert found.thermal_ratio == 0.05
    assert found.shares == (("sw_thermal", 0.05),)
    assert found.throttled is True
    assert (found.power_cap_ratio, found.power_capped) == (0, False)
    assert found.covered_ratio == 1


def test_half_a_percent_of_heat_is_told_and_not_flagged() -> None:
    """Below one percent, the share is there and the flag is not."""
    card = (
        loaded()
        .at(30, clock_reasons=int(ClockReason.HW_THERMAL | ClockReason.HW_SLOWDOWN))
        .at(30.3, clock_reasons=0)
    )
    found = measured(driver(card), 10, 70).cards[0].throttle
    assert found.thermal_ratio == pytest.approx(0.005)
    assert found.throttled is False


def test_the_power_cap_is_no_throttling() -> None:
    """A card that runs at its limit all the time is capped, not at fault."""
    card = loaded(600_000).at(0, clock_reasons=int(ClockReason.SW_POWER_CAP))
    found = measured(driver(card), 10, 70).cards[0]
    assert (found.throttle.power_cap_ratio, found.throttle.power_capped) == (1, True)
    assert found.throttle.throttled is False
    assert (found.power_limit_w, found.power_limit_changed) == (600, False)


def test_the_power_brake_is_throttling_and_not_heat() -> None:
    """The brake comes with the roof bit over it, which is not counted a second time."""
    bits = ClockReason.HW_POWER_BRAKE | ClockReason.HW_SLOWDOWN
    card = loaded().at(40, clock_reasons=int(bits)).at(46, clock_reasons=0)
    found = measured(driver(card), 10, 70).cards[0].throttle
    assert (found.power_brake_ratio, found.thermal_ratio, found.hardware_ratio) == (0.1, 0, 0)
    assert found.throttled is True


def test_a_hardware_slowdown_without_a_reason_is_its_own_share() -> None:
    """The roof bit alone means a fast power trigger."""
    card = loaded().at(40, clock_reasons=int(ClockReason.HW_SLOWDOWN)).at(46, clock_reasons=0)
    found = measured(driver(card), 10, 70).cards[0].throttle
    assert (found.hardware_ratio, found.throttled) == (0.1, True)


def test_the_drivers_own_count_of_lost_time_is_a_share_where_it_can_be_one() -> None:
    """Between samples only the driver sees; a count in another unit is not believed."""
    rows = [
        TelemetrySample(t_ns=seconds(t), kind=Kind.CARD, card=0, clock_reasons=0, thermal_violation_ns=seconds(t) // 20,
                        power_violation_ns=seconds(t) * 1000)
        for t in range(12)
    ]  # fmt: skip
    found = summarize_window(rows, seconds(1), seconds(10), cards=(0,)).cards[0].throttle
    assert found.thermal_violation_ratio == pytest.approx(0.05)
    assert found.power_violation_ratio is None
    assert (found.throttled, found.power_capped) == (True, False)


def test_a_card_that_does_not_tell_its_reasons_is_neither_throttled_nor_not() -> None:
    """None, not False."""
    card = loaded().at(0, clock_reasons=Missing(Reason.NOT_SUPPORTED))
    found = measured(driver(card), 10, 70).cards[0].throttle
    assert (found.throttled, found.power_capped, found.shares) == (None, None, None)


def test_a_limit_that_was_changed_in_the_middle_shows() -> None:
    """Somebody lowered the limit: the lower one is told, and that it changed."""
    card = loaded().at(40, power_limit_mw=450_000)
    found = measured(driver(card), 10, 70).cards[0]
    assert (found.power_limit_w, found.power_limit_changed) == (450, True)


def test_clocks_temperature_memory_and_use_have_their_extremes() -> None:
    """Minimum and mean of clocks, course of the temperature, peak of memory."""
    card = loaded().at(40, sm_clock_mhz=1800, temperature_c=80, memory_used_bytes=60 * GIB, busy_percent=100)
    card.at(50, sm_clock_mhz=2400, temperature_c=70, memory_used_bytes=50 * GIB, busy_percent=0)
    found = measured(driver(card), 30, 60).cards[0]
    assert found.sm_clock_min_mhz == 1800
    assert found.sm_clock_mean_mhz == pytest.approx(2200, abs=5)
    assert (found.temperature_start_c, found.temperature_max_c, found.temperature_end_c) == (26, 80, 70)
    assert found.memory_peak_bytes == 60 * GIB
    assert found.busy_ratio == pytest.approx(1 / 3, abs=0.01)
    assert (found.memory_temperature_max_c, found.samples) == (None, 301)


def test_a_narrow_pcie_counter_that_wraps_is_unwrapped() -> None:
    """20 GB/s wrap a 32-bit counter every 0.2 s; at ten samples a second the rate is right."""
    card = loaded().at(0, pcie_counter_bits=32)
    card.rates = {"pcie_rx_bytes": 20e9, "pcie_tx_bytes": 5e9}
    found = measured(driver(card), 10, 20).cards[0].pcie
    assert found.rx_bytes_s == pytest.approx(20e9)
    assert found.tx_bytes_s == pytest.approx(5e9)
    assert found.may_have_wrapped is True


def test_a_wide_pcie_counter_never_wraps_and_a_reset_leaves_no_rate() -> None:
    """At 64 bits the figure is certain, and a counter that begins again is no traffic backwards."""
    card = loaded().at(0, pcie_counter_bits=64)
    card.rates = {"pcie_rx_bytes": 60e9}
    found = measured(driver(card), 10, 20).cards[0].pcie
    assert found.rx_bytes_s == pytest.approx(60e9)
    assert (found.tx_bytes_s, found.may_have_wrapped) == (None, False)
    card.resets.append(seconds(15))
    card.timeline.pop("pcie_counter_bits")
    card.at(0, pcie_counter_bits=64)
    assert measured(driver(card), 10, 20).cards[0].pcie.rx_bytes_s is None


def test_another_tenant_at_minute_three_contaminates_from_that_second() -> None:
    """Our engine is on both cards throughout; process 666 comes to the second one at 180 s."""
    ours, shared = loaded().runs(100, 40 * GIB), loaded().runs(101, 40 * GIB)
    for card in (ours, shared):
        card.at(0, memory_used_bytes=40 * GIB)
    shared.runs(666, 2 * GIB, from_s=180, to_s=200).at(180, memory_used_bytes=42 * GIB)
    shared.at(200, memory_used_bytes=40 * GIB)
    found = measured(driver(ours, shared), 10, 240, owned=(100, 101))
    assert found.contaminated_since_ns == seconds(180)
    assert [(use.card, use.pid, use.name, use.memory_bytes) for use in found.foreign] == [
        (1, 666, "program-666", 2 * GIB)
    ]
    assert (found.foreign[0].since_ns, found.foreign[0].until_ns) == (seconds(180), seconds(199))


def test_a_tenant_that_left_before_the_window_is_nobody() -> None:
    """The same rows, another window."""
    card = loaded().runs(666, GIB, to_s=20)
    found = measured(driver(card), 30, 60)
    assert (found.foreign, found.contaminated_since_ns) == ((), None)


def test_memory_that_no_process_owns_is_somebody() -> None:
    """600 MiB more than our process holds: contaminated; 400 MiB are the driver's own."""
    card = loaded().runs(100, 40 * GIB).at(0, memory_used_bytes=40 * GIB + (400 << 20))
    assert measured(driver(card), 10, 60, owned=(100,)).foreign == ()
    card.at(30, memory_used_bytes=40 * GIB + (600 << 20))
    found = measured(driver(card), 10, 60, owned=(100,))
    assert found.contaminated_since_ns == seconds(30)
    assert (found.foreign[0].pid, found.foreign[0].memory_bytes) == (None, 600 << 20)


def test_memory_that_was_there_before_us_is_not_counted() -> None:
    """A desktop that held 1 GiB before the run holds it still."""
    card = loaded().runs(100, 40 * GIB).at(0, memory_used_bytes=41 * GIB)
    rows = record(driver(card), 65)
    found = summarize_window(
        rows, seconds(10), seconds(60), cards=(0,), owned_pids=(100,), idle_bytes={0: GIB}
    )
    assert found.foreign == ()


def test_processes_without_known_memory_hide_no_one_and_accuse_no_one() -> None:
    """The owner is known, its size is not: memory cannot be attributed."""
    card = loaded().runs(100, None).at(0, memory_used_bytes=40 * GIB)
    assert measured(driver(card), 10, 60, owned=(100,)).foreign == ()


def test_in_another_process_namespace_nobody_is_accused_and_the_gap_is_said() -> None:
    """The driver gives the host's numbers; inside a container they mean nothing."""
    rows = record(driver(loaded().runs(666, GIB)), 65)
    found = summarize_window(rows, seconds(10), seconds(60), cards=(0,), pids_comparable=False)
    assert found.foreign == ()
    assert any("--pid=host" in gap.reason for gap in found.gaps)


def test_a_process_list_that_nobody_could_read_is_a_gap() -> None:
    """No list is not an empty list."""
    card = loaded()
    card.processes_missing = Missing(Reason.NO_PERMISSION)
    found = measured(driver(card), 10, 60)
    assert ("cards[0].processes", "no_permission") in [(gap.what, gap.reason) for gap in found.gaps]


def test_a_short_window_uses_the_nearest_process_list() -> None:
    """Half a second between two lists still sees who is there."""
    found = measured(driver(loaded().runs(666, GIB)), 10.2, 10.7)
    assert [use.pid for use in found.foreign] == [666]
    assert not [gap for gap in found.gaps if gap.what.endswith("processes")]


def test_a_card_in_mig_mode_keeps_what_it_tells() -> None:
    """The whole card has no utilisation in MIG mode: None, and everything else is there."""
    lacking = Missing(Reason.NOT_SUPPORTED, "Not Supported")
    card = loaded().at(0, busy_percent=lacking, memory_busy_percent=lacking)
    found = measured(driver(card), 10, 70)
    assert found.cards[0].busy_ratio is None
    assert found.energy_j == 24_000


@pytest.mark.parametrize("xid", sorted(ABORTING_XIDS))
def test_an_error_after_which_nothing_stands_aborts(xid: int) -> None:
    """Number, address and card are told, once, although log and driver both report it."""
    backend = driver(loaded(), loaded())
    backend.errors = [(seconds(40), 1, xid)]
    log = FakeKernelLog(backend.clock, [(seconds(40), f"NVRM: Xid (PCI:0000:47:00): {xid}, words")])
    rows = record(backend, 75, log=log)
    found = summarize_window(
        rows, seconds(10), seconds(70), cards=(0, 1), pci_of={0: "0000:06:00.0", 1: "0000:47:00.0"}
    )
    assert [(e.xid, e.card, e.pci, e.detail, e.ours, e.aborts) for e in found.xids] == [
        (xid, 1, "0000:47:00.0", "words", True, True)
    ]
    assert found.aborted is True


def test_another_error_is_told_and_aborts_nothing() -> None:
    """Xid 13 is a program's fault: it stands in the window."""
    backend = driver(loaded())
    log = FakeKernelLog(backend.clock, [(seconds(40), "NVRM: Xid (PCI:0000:06:00): 13, Graphics Exception")])
    found = measured(backend, 10, 70, log=log)
    assert ([event.xid for event in found.xids], found.aborted) == ([13], False)


def test_an_error_of_a_card_that_is_not_ours_aborts_nothing() -> None:
    """The address belongs to a card outside the measurement."""
    backend = driver(loaded())
    log = FakeKernelLog(backend.clock, [(seconds(40), "NVRM: Xid (PCI:0000:99:00): 79, fallen off the bus")])
    rows = record(backend, 75, log=log)
    found = summarize_window(rows, seconds(10), seconds(70), cards=(0,), pci_of={0: "0000:06:00.0"})
    assert [(event.xid, event.ours) for event in found.xids] == [(79, False)]
    assert found.aborted is False


def test_two_errors_of_one_number_far_apart_are_two() -> None:
    """What happens again is told again."""
    backend = driver(loaded())
    backend.errors = [(seconds(20), 0, 31), (seconds(50), 0, 31)]
    assert len(measured(backend, 10, 70).xids) == 2


def test_a_lost_card_aborts_and_the_other_keeps_its_figures() -> None:
    """The event has its time, the lost card no energy, and the sum is not made up."""
    gone = loaded()
    gone.lost_ns = seconds(40)
    found = measured(driver(loaded(), gone), 10, 70)
    assert found.aborted is True
    assert (found.cards[0].lost_ns, found.cards[1].lost_ns) == (None, seconds(40))
    assert (found.cards[0].energy.energy_j, found.cards[1].energy.energy_j) == (24_000, None)
    assert found.energy_j is None
    assert [event.event for event in found.events if event.card == 1] == ["gpu_lost"]


def test_the_hosts_shares_are_differences_of_counters() -> None:
    """Half of the CPUs busy, a quarter of one for the runner, a hundredth for the sampler."""
    found = measured(driver(loaded()), 10.5, 60.5).host
    assert (found.cpu_busy_ratio, found.cpu_steal_ratio) == (0.5, 0)
    assert (found.runner_cpus_ratio, found.sampler_cpus_ratio) == (0.25, 0.01)
    assert found.available_min_bytes == 64 * GIB


def test_even_time_is_neither_stepped_nor_suspended() -> None:
    """All three clocks run together."""
    found = measured(driver(loaded()), 10, 60).clock
    assert (found.wall_step_ns, found.suspended_ns, found.stepped, found.suspended) == (0, 0, False, False)


@pytest.mark.parametrize("step_s", [3600, -3600, 0.25])
def test_a_step_of_the_wall_clock_is_flagged_and_moves_no_duration(step_s: float) -> None:
    """An hour either way, or a quarter of a second: energy and window are the same to the last digit."""
    backend = driver(loaded())
    backend.clock.steps.append((seconds(30), seconds(step_s)))
    found = measured(backend, 10, 70)
    assert (found.clock.wall_step_ns, found.clock.stepped) == (seconds(step_s), True)
    assert found.clock.suspended is False
    assert found.energy_j == 24_000


def test_a_step_of_half_a_tenth_of_a_second_is_told_and_not_flagged() -> None:
    """Below the limit, the figure is there and the flag is not."""
    backend = driver(loaded())
    backend.clock.steps.append((seconds(30), seconds(0.05)))
    found = measured(backend, 10, 70).clock
    assert (found.wall_step_ns, found.stepped) == (seconds(0.05), False)


def test_a_host_that_slept_is_suspended_and_not_stepped() -> None:
    """CLOCK_MONOTONIC stands still in sleep; boot time and wall clock run on."""
    backend = driver(loaded())
    backend.clock.sleeps.append((seconds(30), seconds(10)))
    found = measured(backend, 10, 70).clock
    assert (found.suspended_ns, found.suspended) == (seconds(10), True)
    assert (found.wall_step_ns, found.stepped) == (0, False)


def test_a_window_without_rows_knows_nothing() -> None:
    """None and gaps, no zeros and no crash."""
    found = summarize_window([], 0, seconds(10), cards=(0,))
    assert found.energy_j is None
    assert (found.cards[0].samples, found.cards[0].peak_power_w, found.cards[0].throttle.throttled) == (
        0,
        None,
        None,
    )
    assert (found.host.cpu_busy_ratio, found.clock.stepped) == (None, None)
    assert {gap.what for gap in found.gaps} == {"cards[0]", "cards[0].energy", "cards[0].processes", "host"}


def test_a_window_without_cards_has_no_energy_of_zero() -> None:
    """Measured against a remote server: None, not 0 J."""
    found = measured(driver(), 10, 20)
    assert (found.energy_j, found.cards, found.aborted) == (None, (), False)
    assert found.host.cpu_busy_ratio == 0.5


def test_an_empty_window_is_refused() -> None:
    """A window that ends before it begins is a mistake of the caller."""
    with pytest.raises(ValueError, match="expected an end after the start"):
        summarize_window([], 5, 5, cards=())


def test_the_order_of_the_rows_does_not_matter() -> None:
    """Two threads write one stream: rows may come out of order."""
    rows = record(driver(loaded()), 30)
    found = summarize_window(rows, seconds(10), seconds(20), cards=(0,))
    assert summarize_window(rows[::-1], seconds(10), seconds(20), cards=(0,)) == found


def test_rows_of_a_window_come_with_a_margin() -> None:
    """What the ends need is kept, and every event before; the rest of a long run is not."""
    rows = record(driver(loaded()), 60)
    kept = between(rows, seconds(20), seconds(30), seconds(2))
    samples = [row.t_ns for row in kept if row.kind != Kind.EVENT]
    assert (samples[0], samples[-1]) == (seconds(18), seconds(32))
    assert len(kept) < len(rows) / 4
    whole = summarize_window(rows, seconds(20), seconds(30), cards=(0,))
    assert summarize_window(kept, seconds(20), seconds(30), cards=(0,)) == whole


def test_a_card_lost_long_before_a_window_is_still_lost_in_it() -> None:
    """Cells after the loss are aborted too, and say since when."""
    gone = loaded()
    gone.lost_ns = seconds(10)
    rows = between(record(driver(gone), 100), seconds(60), seconds(80), seconds(2))
    found = summarize_window(rows, seconds(60), seconds(80), cards=(0,))
    assert (found.aborted, found.cards[0].lost_ns, found.energy_j) == (True, seconds(10), None)


def test_a_column_that_was_null_from_the_start_has_its_reason_in_every_window() -> None:
    """The driver said so once, an hour ago; closed gaps are gone, and a restart asks anew."""
    card = loaded().at(5, power_limit_mw=Missing(Reason.NO_DATA)).at(8, power_limit_mw=600_000)
    rows = record(driver(card), 40)
    found = {
        gap.what: gap.reason for gap in summarize_window(rows, seconds(20), seconds(30), cards=(0,)).gaps
    }
    assert found["cards[0].memory_temperature_c"] == "not_supported: Not Supported"
    assert "cards[0].power_limit_mw" not in found
    again = TelemetrySample(t_ns=seconds(25), kind=Kind.EVENT, event="sampler_started")
    assert summarize_window([*rows, again], seconds(20), seconds(30), cards=(0,)).gaps == ()


def test_errors_that_nobody_could_see_are_a_gap() -> None:
    """Neither kernel log nor driver queue: no error is no proof of none."""
    backend = driver(loaded())
    backend.errors_missing = Missing(Reason.NOT_SUPPORTED, "Not Supported")
    log = FakeKernelLog(backend.clock, refuses=Missing(Reason.NO_PERMISSION, "/dev/kmsg may not be read"))
    found = {gap.what: gap.reason for gap in measured(backend, 10, 20, log=log).gaps}
    assert found["kernel_log"] == "no_permission: /dev/kmsg may not be read"
    assert found["driver_events"] == "not_supported: Not Supported"


@given(
    changes=st.lists(st.tuples(st.integers(0, 400), st.integers(30_000, 600_000)), max_size=12),
    start=st.integers(100, 150),
    length=st.integers(50, 200),
)
def test_the_counters_energy_is_the_true_integral(
    changes: list[tuple[int, int]], start: int, length: int
) -> None:
    """For any course of power, the energy over a window on the sampling grid is the integral to a mJ a step."""
    card = loaded()
    for tenth, power in changes:
        card.at(tenth / 10, power_instant_mw=power)
    begin, end = start / 10, (start + length) / 10
    true_j = (card._integral(0, seconds(end)) - card._integral(0, seconds(begin))) / 1000
    found = measured(driver(card), begin, end).cards[0].energy
    assert found.counter_j == pytest.approx(true_j, abs=0.002)


def test_parts_of_a_window_add_up() -> None:
    """Energy is additive: two halves make the whole, wherever they are cut."""
    card = loaded(100_000).at(15.55, power_instant_mw=500_000)
    rows = record(driver(card), 40)

    def energy(begin: float, end: float) -> float:
        found = summarize_window(rows, seconds(begin), seconds(end), cards=(0,)).energy_j
        assert found is not None
        return found

    assert energy(10, 17.3) + energy(17.3, 30) == pytest.approx(energy(10, 30))


def test_counters_of_a_hundred_cpus_do_not_lose_digits() -> None:
    """Nanoseconds over years of CPU time are whole numbers, not floats."""
    clock = FakeClock(now_ns=seconds(3e8))
    backend = FakeBackend(clock, [])
    rows = record(backend, 20, counters=fake_counters(clock, cpus=256, busy_ratio=0.125))
    start = seconds(3e8)
    found = summarize_window(rows, start + seconds(2), start + seconds(12), cards=())
    assert found.host.cpu_busy_ratio == pytest.approx(0.125, abs=1e-6)
