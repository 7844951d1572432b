"""What of the machine will show in the figures: cards, links, limits, other users, and the host itself."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from kbtool.runner.doctor.diagnosis import Remark, Severity
from kbtool.runner.telemetry import CardFacts, CardLoad, HostFacts, Inventory

__all__ = ["card_remarks", "host_remarks", "in_use"]

HOT_C: Final = 70
"""An idle card above this has something to say about its cooling, or is not idle."""
_IDLE_LIMIT_RATIO: Final = 0.995
"""Limits are kept in whole milliwatts; a difference below this is rounding."""


def in_use(loads: Sequence[CardLoad], pids: Collection[int]) -> tuple[int, ...]:
    """Return the cards that these processes compute on."""
    return tuple(load.card for load in loads if any(process.pid in pids for process in load.processes or ()))


def card_remarks(
    inventory: Inventory,
    loads: Sequence[CardLoad],
    *,
    ours: Collection[int],
    cards: Collection[int],
    pids_match: bool,
) -> Iterator[Remark]:
    """Yield what is to be known of the cards.

    Args:
        inventory: All cards of the host.
        loads: What is on them.
        ours: Processes of the servers under test.
        cards: Cards that take part; all where it is not known which.
        pids_match: Whether our process numbers are those that the driver gives.
    """
    for gap in inventory.gaps:
        yield Remark(Severity.NOTE, "cards", f"{gap.what} cannot be read: {gap.reason}")
    taking_part = [card for card in inventory.cards if not cards or card.index in cards]
    for card in taking_part:
        yield from _one_card(card)
    yield from _unlike(taking_part)
    yield from _links(inventory, [card.index for card in taking_part])
    for load in loads:
        if not cards or load.card in cards:
            yield from _others(load, ours, pids_match=pids_match)


def _one_card(card: CardFacts) -> Iterator[Remark]:
    place = f"card {card.index}"
    if card.lost:
        yield Remark(
            Severity.PROBLEM,
            "cards",
            "the driver has lost it",
            "restart the machine; keep the kernel log",
            place,
        )
        return
    for doubt in card.match.doubts:
        remedy = "name the accelerator in `subject.accelerator`, once you have looked at the label"
        yield Remark(Severity.WARNING, "cards", doubt, remedy, place)
    yield from _limits(card, place)
    if card.temperature_c is not None and card.temperature_c >= HOT_C:
        remedy = "let it cool down, or set `telemetry.cool_to_c`"
        yield Remark(
            Severity.WARNING, "cards", f"{card.temperature_c} degrees before any load", remedy, place
        )
    if card.clocks_set:
        yield Remark(
            Severity.WARNING, "cards", "its clocks are set by somebody",
            "`nvidia-smi --reset-gpu-clocks`, or leave it and let the record say so", place,
        )  # fmt: skip
    if (
        card.pcie_width is not None
        and card.pcie_width_max is not None
        and card.pcie_width < card.pcie_width_max
    ):
        found = f"its PCIe link has {card.pcie_width} of {card.pcie_width_max} lanes"
        yield Remark(Severity.WARNING, "cards", found, "look at slot, riser and BIOS bifurcation", place)
    if card.mig_mode == "enabled":
        yield Remark(
            Severity.NOTE, "cards", "it is cut into MIG slices; power is that of the whole card", "", place
        )
    if card.persistence_mode == "disabled":
        remedy = "`nvidia-smi --persistence-mode=1`"
        yield Remark(
            Severity.NOTE,
            "cards",
            "persistence mode is off: the first use after a pause is slow",
            remedy,
            place,
        )


def _limits(card: CardFacts, place: str) -> Iterator[Remark]:
    """A limit below the default explains a slow card, and is easily set and forgotten."""
    enforced, chosen, default = card.power_enforced_w, card.power_set_w, card.power_default_w
    if enforced is not None and default is not None and enforced < default * _IDLE_LIMIT_RATIO:
        found = f"its power limit is {enforced:g} W, by default {default:g} W"
        yield Remark(
            Severity.WARNING,
            "cards",
            found,
            "the record will say so; compare only with the same limit",
            place,
        )
    if enforced is not None and chosen is not None and enforced < chosen * _IDLE_LIMIT_RATIO:
        found = f"{chosen:g} W are set and {enforced:g} W are in force: something else limits too"
        yield Remark(Severity.WARNING, "cards", found, "look at the power supply and its cables", place)


def _unlike(cards: Sequence[CardFacts]) -> Iterator[Remark]:
    for what, values in (
        ("names", {card.name for card in cards}),
        ("power limits", {card.power_enforced_w for card in cards}),
        ("PCIe widths", {card.pcie_width for card in cards}),
    ):
        if len(values) > 1:
            told = ", ".join(sorted(str(value) for value in values))
            remedy = "the slowest card sets the pace: make them alike, or choose others"
            yield Remark(
                Severity.WARNING, "cards", f"cards that work together have different {what}: {told}", remedy
            )


def _links(inventory: Inventory, cards: Sequence[int]) -> Iterator[Remark]:
    paths = [path for path in inventory.paths if path.card in cards and path.peer in cards]
    barred = [path for path in paths if path.p2p_read not in {"OK", None}]
    if barred:
        states = ", ".join(sorted({str(path.p2p_read) for path in barred}))
        found = f"{len(barred)} of {len(paths)} pairs of cards cannot copy directly ({states}): traffic goes through the host"
        yield Remark(
            Severity.WARNING, "cards", found, "driver options and IOMMU decide that; the record will say so"
        )
    across = [path for path in paths if path.common_ancestor == "SYS"]
    if across:
        found = f"{len(across)} of {len(paths)} pairs of cards lie on different processors"
        remedy = "an instance on the cards of one NUMA node avoids the slower way"
        yield Remark(Severity.NOTE, "cards", found, remedy)


def _others(load: CardLoad, ours: Collection[int], *, pids_match: bool) -> Iterator[Remark]:
    place = f"card {load.card}"
    if load.processes is None:
        yield Remark(Severity.NOTE, "cards", "its processes cannot be listed", "", place)
        return
    foreign = [process for process in load.processes if process.pid not in ours]
    if foreign and pids_match:
        names = ", ".join(f"{process.name or 'a process'} (pid {process.pid})" for process in foreign[:5])
        remedy = "end it, or choose other cards: cells that it runs beside are marked"
        yield Remark(
            Severity.WARNING, "cards", f"used by {names}, which does not belong to the server", remedy, place
        )
    elif foreign:
        found = f"{len(foreign)} processes compute on it; whose they are cannot be told inside a container"
        yield Remark(Severity.NOTE, "cards", found, "share the host's process ids (`--pid=host`)", place)


def host_remarks(host: HostFacts, inventory: Inventory) -> Iterator[Remark]:
    """Yield what is to be known of the host."""
    if host.load_1m is not None and host.cpus and host.load_1m > 0.5 * host.cpus:
        found = f"a load of {host.load_1m:g} on {host.cpus} CPUs before anything is measured"
        yield Remark(Severity.WARNING, "host", found, "end what else runs: it slows client and server")
    if host.governor is not None and "performance" not in host.governor:
        found = f"CPU frequency governor {host.governor}"
        yield Remark(
            Severity.NOTE, "host", found, "`cpupower frequency-set -g performance` for steadier figures"
        )
    if host.clock_synchronised is False:
        found = "the wall clock is not synchronised: dates may be wrong, durations are not"
        yield Remark(Severity.NOTE, "host", found, "start a time service")
    translating = [kind for kind in (host.iommu or "").split(",") if kind.startswith("DMA")]
    if translating and len(inventory.cards) > 1 and not any(card.nvlink_links_up for card in inventory.cards):
        found = f"the IOMMU translates ({host.iommu}) and the cards talk over PCIe"
        remedy = "should an engine hang with all cards at 100 % while NCCL starts, boot with `iommu=pt` or set NCCL_P2P_DISABLE=1"
        yield Remark(Severity.NOTE, "host", found, remedy)
