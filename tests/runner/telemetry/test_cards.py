"""The inventory of cards, from fixtures of four kinds of card."""

from pathlib import Path

import pytest

from kbtool.runner.telemetry import (
    AcceleratorMatch,
    AcceleratorNames,
    CardLoad,
    CardProcess,
    Missing,
    Reason,
    card_loads,
    leftovers,
    number_ranges,
    read_inventory,
)
from kbtool.runner.telemetry.backend import ClockReason, MigInstance, pci_address
from kbtool.schema.things import Accelerator
from kbtool.store.yamlio import parse
from tests.fakes.nvml import FakeBackend, FakeClock, eight_servers, load_card, load_system

EDITIONS = {
    "rtx-pro-6000-blackwell-server": ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 600.0),
    "rtx-pro-6000-blackwell-workstation": ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 600.0),
    "rtx-pro-6000-blackwell-max-q": ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 300.0),
    "h200": ("NVIDIA H200", 700.0),
}


@pytest.mark.parametrize("fixture", EDITIONS)
def test_each_edition_is_recognised_by_name_and_power(fixture: str) -> None:
    """Every fixture leads to the record whose title is its name, without a doubt."""
    records = tuple(AcceleratorNames(key, name, (), power) for key, (name, power) in EDITIONS.items())
    backend = FakeBackend(FakeClock(), [load_card(fixture)], versions=load_system(fixture))
    card = read_inventory(backend, records).cards[0]
    assert (card.match.accelerator, card.match.doubts) == (fixture, ())
    assert card.name == EDITIONS[fixture][0]
    assert card.power_default_w == EDITIONS[fixture][1]
    assert not backend.opened


def test_what_a_card_does_not_tell_is_none_with_the_reason() -> None:
    """A card without NVLink has no count of links, not 0, and the driver's words are kept."""
    backend = FakeBackend(FakeClock(), [load_card("rtx-pro-6000-blackwell-server")])
    card = read_inventory(backend).cards[0]
    assert card.nvlink_links_up is None
    assert [gap.reason for gap in card.gaps if gap.what.endswith("nvlink_links_up")] == [
        "not_supported: Not Supported"
    ]
    assert card.memory_bytes == 97887 << 20
    assert (card.pcie_generation, card.pcie_generation_max, card.pcie_width) == (1, 5, 16)


def test_a_host_without_a_driver_is_a_state_and_no_error() -> None:
    """The inventory is empty and says what to do."""
    refused = FakeBackend(FakeClock(), [], refuses=Missing(Reason.NO_DRIVER, "NVML Shared Library Not Found"))
    found = read_inventory(refused)
    assert found.cards == ()
    assert found.p2p_everywhere is None
    assert "no NVIDIA driver" in found.gaps[0].reason


def test_a_lost_card_is_listed_and_left_alone() -> None:
    """A card that fell off the bus has no facts, and paths are asked of the others alone."""
    clock = FakeClock()
    backend = eight_servers(clock)
    backend.cards[3].lost_ns = 0
    found = read_inventory(backend)
    assert [card.index for card in found.cards if card.lost] == [3]
    assert found.cards[3].name is None
    assert {path.card for path in found.paths} == {0, 1, 2, 4, 5, 6, 7}


def test_topology_and_peer_access_are_read_for_every_pair() -> None:
    """Eight cards on two nodes: the words are those of `nvidia-smi topo`."""
    found = read_inventory(eight_servers(FakeClock()))
    joined = {(path.card, path.peer): path.common_ancestor for path in found.paths}
    assert len(joined) == 56
    assert (joined[0, 1], joined[0, 2], joined[0, 4], joined[6, 7]) == ("PIX", "NODE", "SYS", "PIX")
    assert found.p2p_everywhere is True
    assert [card.numa_nodes for card in found.cards] == [(0,)] * 4 + [(1,)] * 4
    assert (found.driver_version, found.cuda_driver_version) == ("595.58.03", "13.2")


def test_peer_access_that_one_pair_lacks_is_not_everywhere() -> None:
    """One refused pair is enough, and one unknown pair leaves the question open."""
    backend = eight_servers(FakeClock())
    backend.peers = {**backend.peers, (2, 5): "CNS"}
    assert read_inventory(backend).p2p_everywhere is False
    backend.peers = {pair: word for pair, word in backend.peers.items() if pair != (2, 5)}
    assert read_inventory(backend).p2p_everywhere is None


def test_serial_numbers_leave_only_a_short_hash() -> None:
    """Two cards differ, and no digit of a serial number is in the inventory."""
    first, second = load_card("rtx-pro-6000-blackwell-server"), load_card("rtx-pro-6000-blackwell-server")
    second.facts["serial"] = "1000000000009"
    found = read_inventory(FakeBackend(FakeClock(), [first, second]))
    hashes = [card.serial_hash for card in found.cards]
    assert all(text is not None and len(text) == 8 for text in hashes)
    assert hashes[0] != hashes[1]
    assert "1000000000" not in repr(found)


def test_a_card_in_mig_mode_lists_its_slices() -> None:
    """The mode and each slice's memory are facts of the card."""
    card = load_card("rtx-pro-6000-blackwell-server")
    slices = tuple(MigInstance(f"MIG-{n}", f"{card.facts['name']} MIG 1g.24gb", 24 << 30) for n in range(4))
    card.facts |= {"mig_mode": "enabled", "mig_instances": slices}
    found = read_inventory(FakeBackend(FakeClock(), [card])).cards[0]
    assert found.mig_mode == "enabled"
    assert found.mig_instances == slices


def test_clocks_that_somebody_set_are_seen() -> None:
    """No driver tells locked clocks; the clock reasons do."""
    card = load_card("rtx-pro-6000-blackwell-server")
    assert read_inventory(FakeBackend(FakeClock(), [card])).cards[0].clocks_set is False
    card.facts["clock_reasons"] = int(ClockReason.APPLICATION_CLOCKS)
    assert read_inventory(FakeBackend(FakeClock(), [card])).cards[0].clocks_set is True


def test_workers_that_outlived_their_engine_are_found_before_the_next_one() -> None:
    """A process and 40 GB that were not there before keep a card from being idle; 100 MB do not."""
    clock = FakeClock()
    backend = FakeBackend(clock, [load_card("rtx-pro-6000-blackwell-server") for _ in range(2)])
    backend.cards[0].runs(99, 4 << 20)
    before = card_loads(backend, (0, 1))
    assert leftovers(before, before) == ()
    backend.cards[1].runs(4711, 40 << 30, from_s=1).at(1, memory_used_bytes=40 << 30)
    backend.cards[0].at(1, memory_used_bytes=100_000_000)
    clock.now_ns = 2_000_000_000
    assert [(item.card, item.what) for item in leftovers(before, card_loads(backend, (0, 1)))] == [
        (1, "process 4711 (program-4711) is on the card"),
        (1, "42950 MB more are in use than before"),
    ]


def test_leftovers_do_not_invent_what_a_card_does_not_tell() -> None:
    """Unknown memory and unknown processes are no leftovers."""
    silent = (CardLoad(0, None, None),)
    assert leftovers(silent, (CardLoad(0, 5 << 30, None),)) == ()
    assert (
        leftovers((), (CardLoad(0, 0, (CardProcess(1, None),)),))[0].what
        == "process 1 (name unknown) is on the card"
    )


@pytest.mark.parametrize(
    ("numbers", "text"), [((), ""), ((3,), "3"), ((0, 1, 2, 8, 9, 11), "0-2,8-9,11"), (range(64), "0-63")]
)
def test_cpu_sets_are_written_as_the_kernel_writes_them(numbers: tuple[int, ...], text: str) -> None:
    """Runs of numbers become ranges."""
    assert number_ranges(numbers) == text


@pytest.mark.parametrize("text", ["00000000:06:00.0", "0000:06:00", "06:00.0", "0000:06:00.0"])
def test_pci_addresses_have_one_form(text: str) -> None:
    """NVML, the kernel and lspci write the same place differently."""
    assert pci_address(text) == "0000:06:00.0"
    assert pci_address("00000008:AB:00.0") == "0008:ab:00.0"


@pytest.mark.parametrize("edition", ["server", "workstation", "max-q"])
def test_each_fixture_is_found_among_the_projects_own_records(edition: str) -> None:
    """The editions lead to their records by title, and no power limit speaks against it."""
    backend = FakeBackend(FakeClock(), [load_card(f"rtx-pro-6000-blackwell-{edition}")])
    match = read_inventory(backend, _records()).cards[0].match
    assert match == AcceleratorMatch(f"nvidia-rtx-pro-6000-blackwell-{edition}", "title")


def _records() -> list[AcceleratorNames]:
    """Return the accelerators of the project, with the power limits that are exact."""
    root = Path(__file__).resolve().parents[3]
    found = []
    for path in sorted((root / "records" / "accelerators").glob("*.yaml")):
        record = Accelerator.model_validate(parse(path.read_bytes()))
        power = record.power
        limits = (power.default_w, power.min_limit_w, power.max_limit_w)
        exact = [
            None if figure is None or figure.qualifier or figure.value is None else float(figure.value)
            for figure in limits
        ]
        found.append(AcceleratorNames(record.id, record.title, tuple(record.names), *exact))
    return found
