"""The cards of this host: what they are, how they are joined, and what runs on them.

Read once before a run and again after it.  What a card does not tell is None, and `gaps` says why.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kbtool.runner.telemetry.backend import (
    Backend,
    CardProcess,
    ClockReason,
    MigInstance,
    Missing,
    Reason,
    Value,
    pci_address,
)
from kbtool.runner.telemetry.match import AcceleratorMatch, AcceleratorNames, match_accelerator

__all__ = [
    "CardFacts", "CardLoad", "Gap", "Inventory", "Leftover", "PeerPath",
    "card_loads", "leftovers", "number_ranges", "read_inventory",
]  # fmt: skip

_TOLERANCE_BYTES: Final = 200_000_000
"""Memory may differ by this much between two idle moments."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that could not be read, and why."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class CardFacts:
    """One card. Power limits in W, clocks in MHz."""

    index: int
    name: str | None
    uuid: str | None
    serial_hash: str | None
    """32 bits of a hash: tells two cards apart, and leads nobody back to the serial number."""
    vbios: str | None
    pci: str | None
    compute_capability: str | None
    memory_bytes: int | None
    power_default_w: float | None
    power_set_w: float | None
    power_enforced_w: float | None
    """The limit in force; lower than `power_set_w` where something else limits too."""
    power_min_w: float | None
    power_max_w: float | None
    sm_clock_max_mhz: int | None
    memory_clock_max_mhz: int | None
    clocks_set: bool | None
    """Whether somebody set or locked the clocks, as the card's clock reasons say; no driver tells the values."""
    temperature_c: int | None
    pcie_generation: int | None
    """Now: an idle card slows its link down, so read this under load."""
    pcie_generation_max: int | None
    pcie_width: int | None
    pcie_width_max: int | None
    nvlink_links_up: int | None
    mig_mode: str | None
    mig_mode_pending: str | None
    mig_instances: tuple[MigInstance, ...] | None
    ecc_mode: str | None
    ecc_mode_pending: str | None
    persistence_mode: str | None
    compute_mode: str | None
    numa_nodes: tuple[int, ...] | None
    cpu_affinity: tuple[int, ...] | None
    lost: bool
    match: AcceleratorMatch
    gaps: tuple[Gap, ...]


@dataclass(frozen=True, slots=True)
class PeerPath:
    """How one card reaches another."""

    card: int
    peer: int
    common_ancestor: str | None
    """PIX, PXB, PHB, NODE, SYS as in `nvidia-smi topo -m`."""
    p2p_read: str | None
    """OK, or CNS, GNS, TNS, DR, NS, U as in `nvidia-smi topo -p2p r`."""
    p2p_write: str | None


@dataclass(frozen=True, slots=True)
class Inventory:
    """All cards of the host, or why there are none to see."""

    cards: tuple[CardFacts, ...]
    paths: tuple[PeerPath, ...]
    driver_version: str | None
    cuda_driver_version: str | None
    gaps: tuple[Gap, ...]

    @property
    def p2p_everywhere(self) -> bool | None:
        """Whether every card reaches every other both ways; None where that is not known of all."""
        states = [state for path in self.paths for state in (path.p2p_read, path.p2p_write)]
        return None if not states or None in states else all(state == "OK" for state in states)


@dataclass(frozen=True, slots=True)
class CardLoad:
    """What is on a card at one moment."""

    card: int
    memory_used_bytes: int | None
    processes: tuple[CardProcess, ...] | None


@dataclass(frozen=True, slots=True)
class Leftover:
    """Why a card is not as idle as it was."""

    card: int
    what: str


def read_inventory(backend: Backend, accelerators: Sequence[AcceleratorNames] = ()) -> Inventory:
    """Return what the driver tells about all cards.

    Args:
        backend: The driver; opened and closed here.
        accelerators: The records that a card's name may lead to.
    """
    failed = backend.open()
    if failed is not None:
        return Inventory((), (), None, None, (Gap("accelerators", _explained(failed)),))
    try:
        gaps: list[Gap] = []
        system = _Reader(backend.system(), gaps)
        count = backend.count()
        if isinstance(count, Missing):
            gaps.append(Gap("accelerators", _explained(count)))
            count = 0
        cards = tuple(_card(backend, index, accelerators) for index in range(count))
        alive = [card.index for card in cards if not card.lost]
        paths = tuple(_paths(backend, alive, gaps))
        return Inventory(
            cards, paths, system.text("driver_version"), system.text("cuda_driver_version"), tuple(gaps)
        )
    finally:
        backend.close()


def card_loads(backend: Backend, cards: Iterable[int]) -> tuple[CardLoad, ...]:
    """Return memory and processes of the named cards; the backend must be open."""
    found = []
    for card in cards:
        listed = backend.processes(card)
        used = backend.sample(card).get("memory_used_bytes")
        found.append(
            CardLoad(
                card,
                used if isinstance(used, int) else None,
                None if isinstance(listed, Missing) else listed,
            )
        )
    return tuple(found)


def leftovers(
    before: Sequence[CardLoad], now: Sequence[CardLoad], tolerance_bytes: int = _TOLERANCE_BYTES
) -> tuple[Leftover, ...]:
    """Return what keeps the cards from being as idle as before: processes that are new, and memory still in use.

    Engines leave workers behind that hold a card after their parent died, so this is asked before each launch.
    """
    found = []
    known = {load.card: load for load in before}
    for load in now:
        base = known.get(load.card)
        old = {process.pid for process in base.processes or ()} if base else set()
        found += [
            Leftover(load.card, f"process {process.pid} ({process.name or 'name unknown'}) is on the card")
            for process in load.processes or ()
            if process.pid not in old
        ]
        was = base.memory_used_bytes if base else None
        if was is not None and load.memory_used_bytes is not None:
            more = load.memory_used_bytes - was
            if more > tolerance_bytes:
                found.append(Leftover(load.card, f"{more / 1e6:.0f} MB more are in use than before"))
    return tuple(found)


def number_ranges(numbers: Iterable[int]) -> str:
    """Return numbers as the kernel writes sets of CPUs: `0-63,128-191`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)


class _Reader:
    """Values of one mapping by type; what is missing is noted as a gap."""

    def __init__(self, found: Mapping[str, Value], gaps: list[Gap], prefix: str = "") -> None:
        self._found = found
        self._gaps = gaps
        self._prefix = prefix

    def _take(self, name: str, kind: type) -> Any:
        value = self._found.get(name, Missing(Reason.NOT_ASKED))
        if isinstance(value, kind):
            return value
        reason = str(value) if isinstance(value, Missing) else f"the driver answered {value!r}"
        self._gaps.append(Gap(self._prefix + name, reason))
        return None

    def text(self, name: str) -> str | None:
        value: str | None = self._take(name, str)
        return value

    def whole(self, name: str) -> int | None:
        value: int | None = self._take(name, int)
        return value

    def watts(self, name: str) -> float | None:
        value = self.whole(name)
        return None if value is None else value / 1000

    def many(self, name: str) -> tuple[Any, ...] | None:
        value: tuple[Any, ...] | None = self._take(name, tuple)
        return value


def _card(backend: Backend, index: int, accelerators: Sequence[AcceleratorNames]) -> CardFacts:
    """Return the facts of one card."""
    found = backend.facts(index)
    gaps: list[Gap] = []
    read = _Reader(found, gaps, f"cards[{index}].")
    name, uuid, reasons = read.text("name"), read.text("uuid"), read.whole("clock_reasons")
    default, low, high = (
        read.watts("power_default_mw"),
        read.watts("power_min_mw"),
        read.watts("power_max_mw"),
    )
    pci = read.text("pci")
    match = AcceleratorMatch(None, doubts=("the driver gives no name",))
    if name is not None:
        match = match_accelerator(
            name, accelerators, power_default_w=default, power_min_w=low, power_max_w=high
        )
    return CardFacts(
        index=index,
        name=name,
        uuid=uuid,
        serial_hash=_hashed(read.text("serial"), uuid),
        vbios=read.text("vbios"),
        pci=None if pci is None else pci_address(pci),
        compute_capability=read.text("compute_capability"),
        memory_bytes=read.whole("memory_bytes"),
        power_default_w=default,
        power_set_w=read.watts("power_set_mw"),
        power_enforced_w=read.watts("power_enforced_mw"),
        power_min_w=low,
        power_max_w=high,
        sm_clock_max_mhz=read.whole("sm_clock_max_mhz"),
        memory_clock_max_mhz=read.whole("memory_clock_max_mhz"),
        clocks_set=None if reasons is None else bool(reasons & ClockReason.APPLICATION_CLOCKS),
        temperature_c=read.whole("temperature_c"),
        pcie_generation=read.whole("pcie_generation"),
        pcie_generation_max=read.whole("pcie_generation_max"),
        pcie_width=read.whole("pcie_width"),
        pcie_width_max=read.whole("pcie_width_max"),
        nvlink_links_up=read.whole("nvlink_links_up"),
        mig_mode=read.text("mig_mode"),
        mig_mode_pending=read.text("mig_mode_pending"),
        mig_instances=read.many("mig_instances"),
        ecc_mode=read.text("ecc_mode"),
        ecc_mode_pending=read.text("ecc_mode_pending"),
        persistence_mode=read.text("persistence_mode"),
        compute_mode=read.text("compute_mode"),
        numa_nodes=read.many("numa_nodes"),
        cpu_affinity=read.many("cpu_affinity"),
        lost=any(isinstance(value, Missing) and value.reason is Reason.GPU_LOST for value in found.values()),
        match=match,
        gaps=tuple(gaps),
    )


def _paths(backend: Backend, cards: Sequence[int], gaps: list[Gap]) -> Iterable[PeerPath]:
    """Yield how each living card reaches each other one."""
    for card in cards:
        for peer in cards:
            if card == peer:
                continue
            answers = {
                "common_ancestor": backend.common_ancestor(card, peer),
                "p2p_read": backend.p2p(card, peer, write=False),
                "p2p_write": backend.p2p(card, peer, write=True),
            }
            for what, answer in answers.items():
                if isinstance(answer, Missing):
                    gaps.append(Gap(f"paths[{card},{peer}].{what}", str(answer)))
            known = {
                what: None if isinstance(answer, Missing) else answer for what, answer in answers.items()
            }
            yield PeerPath(card, peer, **known)


def _hashed(serial: str | None, uuid: str | None) -> str | None:
    """Return a short hash of a serial number.

    Serial numbers are few enough to try them all, so a long hash would give them away; 8 digits fit thousands.
    """
    if serial is None or not serial.strip("0 "):
        return None
    return hashlib.sha256(f"{uuid}|{serial}".encode()).hexdigest()[:8]


def _explained(missing: Missing) -> str:
    """Return the reason with what to do about it."""
    remedies = {
        Reason.NO_DRIVER: "no NVIDIA driver answers on this host: install or load it, or measure on the host that has the cards",
        Reason.NO_BINDING: "nvidia-ml-py is not installed: install kbtool[runner]",
        Reason.VERSION_MISMATCH: "the NVIDIA driver was updated under a running kernel module: reboot",
        Reason.NO_PERMISSION: "the NVIDIA driver refuses this user: run where the device files may be opened",
    }
    return remedies.get(missing.reason, str(missing))
