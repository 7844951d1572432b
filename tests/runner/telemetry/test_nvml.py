"""What the real backend makes of NVML's answers, with the binding's own errors."""

from typing import Any

import pytest

from kbtool.runner.telemetry.backend import CardProcess, MigInstance, Missing, Reason
from kbtool.runner.telemetry.cards import read_inventory
from kbtool.runner.telemetry.nvml import NvmlBackend
from kbtool.runner.telemetry.sample import CARD_VALUES
from tests.fakes.nvml import StubLibrary, load_card, load_system

SERVER = "rtx-pro-6000-blackwell-server"


def library(**fails: int) -> StubLibrary:
    """Return NVML with one Server Edition, whose named functions fail with an error number."""
    return StubLibrary(load_card(SERVER), load_system(SERVER), fails)


def opened(stub: StubLibrary) -> NvmlBackend:
    """Return a backend that is connected."""
    backend = NvmlBackend(stub)
    assert backend.open() is None
    return backend


def test_all_facts_of_the_log_come_through() -> None:
    """The inventory equals what `nvidia-smi -q` printed."""
    card = read_inventory(NvmlBackend(library())).cards[0]
    assert card.vbios == "98.02.67.00.0A"
    assert (card.power_min_w, card.power_max_w, card.power_enforced_w) == (300, 600, 600)
    assert (card.sm_clock_max_mhz, card.memory_clock_max_mhz) == (2430, 12481)
    assert (card.mig_mode, card.ecc_mode, card.persistence_mode) == ("disabled", "enabled", "enabled")
    assert card.compute_mode == "default"
    assert card.compute_capability == "12.0"
    assert card.pci == "0000:06:00.0"
    assert card.cpu_affinity == (*range(64), *range(128, 192))
    assert card.numa_nodes == (0,)
    assert [gap.what for gap in card.gaps] == ["cards[0].nvlink_links_up"]


@pytest.mark.parametrize(
    ("number", "reason"),
    [(12, Reason.NO_DRIVER), (9, Reason.NO_DRIVER), (18, Reason.VERSION_MISMATCH), (4, Reason.NO_PERMISSION)],
)
def test_a_driver_that_cannot_be_reached_is_a_reason(number: int, reason: Reason) -> None:
    """Connecting never raises: it says why it failed."""
    refused = NvmlBackend(library(nvmlInit=number)).open()
    assert isinstance(refused, Missing)
    assert refused.reason is reason


def test_a_missing_binding_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without nvidia-ml-py, the reason says what to install."""

    def refuse(_: str) -> None:
        raise ImportError

    monkeypatch.setattr("kbtool.runner.telemetry.nvml.import_module", refuse)
    refused = NvmlBackend().open()
    assert refused is not None
    assert refused.reason is Reason.NO_BINDING


def test_a_sample_has_units_and_reasons() -> None:
    """Power is in mW as NVML gives it; what the card refuses says so; nothing is 0 for want of a value."""
    found = opened(library()).sample(0)
    assert set(found) == set(CARD_VALUES)
    assert (found["power_instant_mw"], found["sm_clock_mhz"]) == (39170, 180)
    assert found["memory_temperature_c"] == Missing(Reason.NOT_SUPPORTED, "Not Supported")
    assert isinstance(found["thermal_violation_ns"], Missing)
    assert (found["pcie_rx_bytes"], found["pcie_counter_bits"]) == (1 << 31, 32)


def test_what_a_card_does_not_have_is_asked_once() -> None:
    """Ten times a second, a refused question costs as much as an answered one."""
    stub = library()
    backend = opened(stub)
    backend.sample(0)
    backend.sample(0)
    assert stub.calls.count("nvmlDeviceGetViolationStatus") == 2
    assert stub.calls.count("nvmlDeviceGetEnforcedPowerLimit") == 2


def test_a_lost_card_is_asked_nothing_more_in_a_sweep() -> None:
    """The first answer says that it is lost, and no second question follows."""
    stub = library(nvmlDeviceGetTotalEnergyConsumption=15)
    found = opened(stub).sample(0)
    assert found == {"energy_mj": Missing(Reason.GPU_LOST, "GPU is lost")}
    assert stub.calls[-1] == "nvmlDeviceGetTotalEnergyConsumption"


def test_a_card_without_a_handle_has_no_facts_and_the_reason() -> None:
    """A card that the driver lists and does not open is lost in every fact."""
    card = read_inventory(NvmlBackend(library(nvmlDeviceGetHandleByIndex=15))).cards[0]
    assert card.lost
    assert {gap.reason for gap in card.gaps} == {"gpu_lost: GPU is lost"}


def test_only_the_program_of_a_process_is_kept() -> None:
    """Arguments hold secrets: they never leave the driver's answer."""
    stub = library()
    stub.card.runs(4242, 5 << 30)
    assert opened(stub).processes(0) == (CardProcess(4242, 5 << 30, "python3"),)


def test_the_slices_of_a_card_are_listed() -> None:
    """Slots without a slice are passed over."""
    stub = library()
    stub.mig = [
        MigInstance("MIG-a", "card MIG 1g.24gb", 24 << 30),
        MigInstance("MIG-b", "card MIG 2g.48gb", 48 << 30),
    ]
    facts = opened(stub).facts(0)
    assert facts["mig_mode"] == "enabled"
    assert facts["mig_instances"] == tuple(stub.mig)


def test_peer_states_have_the_words_of_the_driver_tool() -> None:
    """Disabled by a registry key is DR; a common host bridge inside a node is NODE."""
    backend = opened(library())
    assert backend.p2p(0, 0, write=True) == "DR"
    assert backend.common_ancestor(0, 0) == "NODE"


def test_driver_errors_are_told_once() -> None:
    """The queue is emptied without waiting, and a quiet queue is no gap."""
    stub = library()
    backend = opened(stub)
    assert backend.xids() == ()
    stub.waiting = [79, 154]
    assert backend.xids() == ((0, 79), (0, 154))
    assert backend.xids() == ()
    backend.close()
    assert stub.calls[-1] == "nvmlShutdown"


def test_a_driver_without_an_error_queue_is_a_gap() -> None:
    """Registration that is refused says why."""
    found = opened(library(nvmlDeviceRegisterEvents=3)).xids()
    assert isinstance(found, Missing)
    assert found.reason is Reason.NOT_SUPPORTED


def test_nothing_is_ever_set() -> None:
    """The backend reads: it calls no function that sets, resets, clears or creates but its own event queue."""
    stub = library()
    backend = opened(stub)
    calls: list[Any] = [backend.facts(0), backend.sample(0), backend.processes(0), backend.xids()]
    assert calls
    changing = [
        name for name in stub.calls if any(verb in name for verb in ("Set", "Reset", "Clear", "Create"))
    ]
    assert set(changing) == {"nvmlEventSetCreate", "nvmlEventSetWait_v2"}
