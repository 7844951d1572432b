"""The driver of NVIDIA cards, through NVML.

The only module that knows NVML's names and numbers.  It reads and never sets; it resets nothing.  The binding is
imported when it is first needed, so that a host without it or without a driver gets a reason and no traceback.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from kbtool.runner.telemetry.backend import CardProcess, MigInstance, Missing, Reason, Value

__all__ = ["NvmlBackend"]

_REASONS: Final[Mapping[int, Reason]] = {
    3: Reason.NOT_SUPPORTED,
    4: Reason.NO_PERMISSION,
    9: Reason.NO_DRIVER,
    10: Reason.TIMEOUT,
    12: Reason.NO_DRIVER,
    13: Reason.NOT_SUPPORTED,
    15: Reason.GPU_LOST,
    16: Reason.GPU_LOST,
    18: Reason.VERSION_MISMATCH,
    20: Reason.NO_DATA,
}
"""NVML's error numbers: unsupported, permission, driver, timeout, library, function, lost, reset required, ..."""

_ERROR_TIMEOUT: Final = 10
_ERROR_LOST: Final = 15

# Numbers that all drivers share; the clock-event counters are left out because their numbers moved.
_MEMORY_TEMPERATURE, _POWER_AVERAGE, _POWER_INSTANT, _PCIE_TX, _PCIE_RX = 82, 185, 186, 197, 198
_FIELDS: Final = {
    _MEMORY_TEMPERATURE: "memory_temperature_c",
    _POWER_AVERAGE: "power_average_mw",
    _POWER_INSTANT: "power_instant_mw",
    _PCIE_TX: "pcie_tx_bytes",
    _PCIE_RX: "pcie_rx_bytes",
}
_UNION: Final = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""Member of NVML's value for each type number."""
_TYPE_BITS: Final[Mapping[int, int]] = {1: 32, 2: 64, 3: 64, 4: 64, 5: 32}

_CLOCK_SM, _CLOCK_MEMORY = 1, 2
_TEMPERATURE_GPU = 0
_POLICY_POWER, _POLICY_THERMAL = 0, 1
_P2P_READ, _P2P_WRITE = 0, 1  # the binding has a tuple where READ should be
_P2P_STATUS: Final = ("OK", "CNS", "GNS", "TNS", "DR", "NS", "U")
_ANCESTORS: Final = {0: "INT", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
_COMPUTE_MODES: Final = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}
_EVENT_XID = 0x8
_MAX_LINKS = 36
_CPU_WORDS = 64
"""Room for 4,096 CPUs."""
_NODE_WORDS = 4


class NvmlBackend:
    """NVML as a `Backend`."""

    def __init__(self, library: Any = None) -> None:
        """Keep `library` for later: the binding's module, imported by `open` where it is None."""
        self._nvml: Any = library
        self._handles: dict[int, Any] = {}
        self._unsupported: dict[tuple[int, str], Missing] = {}
        self._events: Any = None
        self._uuids: dict[str, int] = {}

    def open(self) -> Missing | None:
        """Load the library and connect to the driver."""
        if self._nvml is None:
            try:
                self._nvml = import_module("pynvml")
            except ImportError:
                return Missing(Reason.NO_BINDING, "install kbtool[runner] for nvidia-ml-py")
        found = self._ask(self._nvml.nvmlInit)
        return found if isinstance(found, Missing) else None

    def close(self) -> None:
        """Disconnect; a driver that is gone by now has nothing to disconnect."""
        if self._events is not None:
            self._ask(self._nvml.nvmlEventSetFree, self._events)
        self._ask(self._nvml.nvmlShutdown)
        self._handles.clear()
        self._events = None

    def system(self) -> Mapping[str, Value]:
        """Return the versions of driver, CUDA and NVML."""
        cuda = self._ask(self._nvml.nvmlSystemGetCudaDriverVersion_v2)
        if isinstance(cuda, int):
            cuda = f"{cuda // 1000}.{cuda % 1000 // 10}"
        return {
            "driver_version": self._ask(self._nvml.nvmlSystemGetDriverVersion),
            "cuda_driver_version": cuda,
            "nvml_version": self._ask(self._nvml.nvmlSystemGetNVMLVersion),
        }

    def count(self) -> int | Missing:
        """Return the number of cards that the driver lists."""
        found = self._ask(self._nvml.nvmlDeviceGetCount)
        return found if isinstance(found, Missing) else int(found)

    def facts(self, card: int) -> Mapping[str, Value]:
        """Return identity, limits, link, and modes of a card."""
        handle = self._handle(card)
        if isinstance(handle, Missing):
            return dict.fromkeys((*_IDENTITY, *_PAIRS, *_OTHERS), handle)
        found: dict[str, Value] = {
            name: self._once(card, name, call, handle) for name, call in self._identity()
        }
        for names, call in self._pairs():
            pair = self._ask(call, handle)
            for at, name in enumerate(names):
                found[name] = pair if isinstance(pair, Missing) else int(pair[at])
        for name in ("mig_mode", "mig_mode_pending", "ecc_mode", "ecc_mode_pending", "persistence_mode"):
            value = found[name]
            if isinstance(value, int):
                found[name] = "enabled" if value else "disabled"
        found["nvlink_links_up"] = self._links_up(handle)
        found["cpu_affinity"] = self._mask(self._nvml.nvmlDeviceGetCpuAffinity, handle, _CPU_WORDS)
        found["numa_nodes"] = self._mask(self._nvml.nvmlDeviceGetMemoryAffinity, handle, _NODE_WORDS, 0)
        found["mig_instances"] = self._instances(handle, found["mig_mode"])
        found["compute_capability"] = self._capability(handle)
        return found

    def sample(self, card: int) -> Mapping[str, Value]:
        """Return power, clocks, memory and counters of a card."""
        handle = self._handle(card)
        if isinstance(handle, Missing):
            return {"energy_mj": handle}
        found: dict[str, Value] = {
            "energy_mj": self._once(card, "energy_mj", self._nvml.nvmlDeviceGetTotalEnergyConsumption, handle)
        }
        if isinstance(found["energy_mj"], Missing) and found["energy_mj"].reason is Reason.GPU_LOST:
            return found
        found.update(self._field_values(handle))
        for name, call in self._readings():
            found[name] = self._once(card, name, call, handle)
        utilisation = self._once(card, "busy_percent", self._nvml.nvmlDeviceGetUtilizationRates, handle)
        lacking = isinstance(utilisation, Missing)
        found["busy_percent"] = utilisation if lacking else int(utilisation.gpu)
        found["memory_busy_percent"] = utilisation if lacking else int(utilisation.memory)
        return found

    def processes(self, card: int) -> tuple[CardProcess, ...] | Missing:
        """Return compute processes, those under MPS included."""
        handle = self._handle(card)
        if isinstance(handle, Missing):
            return handle
        listed = self._ask(self._nvml.nvmlDeviceGetComputeRunningProcesses, handle)
        if isinstance(listed, Missing):
            return listed
        shared = self._ask(self._nvml.nvmlDeviceGetMPSComputeRunningProcesses, handle)
        both = [*listed, *([] if isinstance(shared, Missing) else shared)]
        return tuple({entry.pid: self._process(entry) for entry in both}.values())

    def p2p(self, card: int, peer: int, write: bool) -> str | Missing:
        """Return the peer-to-peer status between two cards."""
        index = _P2P_WRITE if write else _P2P_READ
        return self._between(
            self._nvml.nvmlDeviceGetP2PStatus, card, peer, dict(enumerate(_P2P_STATUS)), index
        )

    def common_ancestor(self, card: int, peer: int) -> str | Missing:
        """Return what joins two cards."""
        return self._between(self._nvml.nvmlDeviceGetTopologyCommonAncestor, card, peer, _ANCESTORS)

    def xids(self) -> tuple[tuple[int, int], ...] | Missing:
        """Return the critical errors that NVML queued; needs no access to the kernel log."""
        if self._events is None:
            found = self._register()
            if found is not None:
                return found
        seen: list[tuple[int, int]] = []
        while len(seen) < 1000:
            event = self._ask(self._nvml.nvmlEventSetWait_v2, self._events, 0)
            if isinstance(event, Missing):
                return tuple(seen) if event.reason is Reason.TIMEOUT else event
            uuid = self._ask(self._nvml.nvmlDeviceGetUUID, event.device)
            seen.append((self._uuids.get(str(uuid), -1), int(event.eventData)))
        return tuple(seen)

    def _ask(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return the call's result, or why there is none."""
        try:
            return call(*arguments)
        except self._nvml.NVMLError as error:
            return _missing(error)
        except UnicodeDecodeError as error:
            return Missing(Reason.OTHER, f"the driver answered bytes that are no text: {error.reason}")

    def _once(self, card: int, name: str, call: Callable[..., Any], *arguments: Any) -> Any:
        """Ask, but never again where the card has said that it has no such thing."""
        known = self._unsupported.get((card, name))
        if known is not None:
            return known
        found = self._ask(call, *arguments)
        if isinstance(found, Missing) and found.reason is Reason.NOT_SUPPORTED:
            self._unsupported[card, name] = found
        return found

    def _handle(self, card: int) -> Any:
        """Return NVML's handle of a card."""
        if card not in self._handles:
            found = self._ask(self._nvml.nvmlDeviceGetHandleByIndex, card)
            if isinstance(found, Missing):
                return found
            self._handles[card] = found
        return self._handles[card]

    def _identity(self) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
        """Return the facts that one call each tells."""
        nvml = self._nvml
        return (
            ("name", nvml.nvmlDeviceGetName),
            ("uuid", nvml.nvmlDeviceGetUUID),
            ("serial", nvml.nvmlDeviceGetSerial),
            ("vbios", nvml.nvmlDeviceGetVbiosVersion),
            ("pci", lambda handle: nvml.nvmlDeviceGetPciInfo(handle).busId),
            ("memory_bytes", lambda handle: int(nvml.nvmlDeviceGetMemoryInfo(handle).total)),
            ("power_default_mw", nvml.nvmlDeviceGetPowerManagementDefaultLimit),
            ("power_set_mw", nvml.nvmlDeviceGetPowerManagementLimit),
            ("power_enforced_mw", nvml.nvmlDeviceGetEnforcedPowerLimit),
            ("sm_clock_max_mhz", lambda handle: nvml.nvmlDeviceGetMaxClockInfo(handle, _CLOCK_SM)),
            ("memory_clock_max_mhz", lambda handle: nvml.nvmlDeviceGetMaxClockInfo(handle, _CLOCK_MEMORY)),
            ("temperature_c", lambda handle: nvml.nvmlDeviceGetTemperature(handle, _TEMPERATURE_GPU)),
            ("clock_reasons", nvml.nvmlDeviceGetCurrentClocksEventReasons),
            ("pcie_generation", nvml.nvmlDeviceGetCurrPcieLinkGeneration),
            ("pcie_generation_max", nvml.nvmlDeviceGetMaxPcieLinkGeneration),
            ("pcie_width", nvml.nvmlDeviceGetCurrPcieLinkWidth),
            ("pcie_width_max", nvml.nvmlDeviceGetMaxPcieLinkWidth),
            ("persistence_mode", nvml.nvmlDeviceGetPersistenceMode),
            (
                "compute_mode",
                lambda handle: _COMPUTE_MODES.get(nvml.nvmlDeviceGetComputeMode(handle), "unknown"),
            ),
        )

    def _pairs(self) -> tuple[tuple[tuple[str, str], Callable[[Any], Any]], ...]:
        """Return the facts that come in twos."""
        return (
            (("power_min_mw", "power_max_mw"), self._nvml.nvmlDeviceGetPowerManagementLimitConstraints),
            (("mig_mode", "mig_mode_pending"), self._nvml.nvmlDeviceGetMigMode),
            (("ecc_mode", "ecc_mode_pending"), self._nvml.nvmlDeviceGetEccMode),
        )

    def _readings(self) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
        """Return the changing values that one call each tells."""
        nvml = self._nvml
        return (
            ("power_limit_mw", nvml.nvmlDeviceGetEnforcedPowerLimit),
            ("memory_used_bytes", self._memory_used),
            ("sm_clock_mhz", lambda handle: nvml.nvmlDeviceGetClockInfo(handle, _CLOCK_SM)),
            ("memory_clock_mhz", lambda handle: nvml.nvmlDeviceGetClockInfo(handle, _CLOCK_MEMORY)),
            ("temperature_c", lambda handle: nvml.nvmlDeviceGetTemperature(handle, _TEMPERATURE_GPU)),
            ("pstate", nvml.nvmlDeviceGetPerformanceState),
            ("clock_reasons", nvml.nvmlDeviceGetCurrentClocksEventReasons),
            ("power_violation_ns", lambda handle: self._violation(handle, _POLICY_POWER)),
            ("thermal_violation_ns", lambda handle: self._violation(handle, _POLICY_THERMAL)),
        )

    def _memory_used(self, handle: Any) -> int:
        """Return memory in use without what the driver keeps for itself, which the first version counts in."""
        return int(self._nvml.nvmlDeviceGetMemoryInfo(handle, self._nvml.nvmlMemory_v2).used)

    def _violation(self, handle: Any, policy: int) -> int:
        return int(self._nvml.nvmlDeviceGetViolationStatus(handle, policy).violationTime)

    def _field_values(self, handle: Any) -> dict[str, Value]:
        """Return the values that NVML gives in one call."""
        listed = self._ask(self._nvml.nvmlDeviceGetFieldValues, handle, list(_FIELDS))
        if isinstance(listed, Missing):
            return dict.fromkeys(_FIELDS.values(), listed)
        found: dict[str, Value] = {}
        for entry in listed:
            name = _FIELDS[int(entry.fieldId)]
            if entry.nvmlReturn:
                found[name] = _missing(self._nvml.NVMLError(entry.nvmlReturn))
                continue
            kind = int(entry.valueType)
            found[name] = int(getattr(entry.value, _UNION[kind]))
            if name == "pcie_rx_bytes" and kind in _TYPE_BITS:
                found["pcie_counter_bits"] = _TYPE_BITS[kind]
        return found

    def _links_up(self, handle: Any) -> Value:
        """Return the number of NVLinks that are up, or why this card has none."""
        up, known = 0, False
        for link in range(_MAX_LINKS):
            state = self._ask(self._nvml.nvmlDeviceGetNvLinkState, handle, link)
            if isinstance(state, Missing):
                return up if known else state
            known = True
            up += state == 1
        return up

    def _mask(self, call: Callable[..., Any], handle: Any, words: int, *more: int) -> Value:
        """Return the numbers of the bits in a set of CPUs or nodes."""
        found = self._ask(call, handle, words, *more)
        if isinstance(found, Missing):
            return found
        return tuple(64 * at + bit for at, word in enumerate(found) for bit in range(64) if word >> bit & 1)

    def _instances(self, handle: Any, mode: Value) -> Value:
        """Return the slices of a card in MIG mode."""
        if mode != "enabled":
            return mode if isinstance(mode, Missing) else ()
        most = self._ask(self._nvml.nvmlDeviceGetMaxMigDeviceCount, handle)
        if isinstance(most, Missing):
            return most
        found = []
        for index in range(most):
            slice_ = self._ask(self._nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
            if isinstance(slice_, Missing):
                continue
            memory = self._ask(self._nvml.nvmlDeviceGetMemoryInfo, slice_)
            found.append(
                MigInstance(
                    uuid=str(self._ask(self._nvml.nvmlDeviceGetUUID, slice_)),
                    name=str(self._ask(self._nvml.nvmlDeviceGetName, slice_)),
                    memory_bytes=None if isinstance(memory, Missing) else int(memory.total),
                )
            )
        return tuple(found)

    def _capability(self, handle: Any) -> Value:
        found = self._ask(self._nvml.nvmlDeviceGetCudaComputeCapability, handle)
        return found if isinstance(found, Missing) else f"{found[0]}.{found[1]}"

    def _process(self, entry: Any) -> CardProcess:
        name = self._ask(self._nvml.nvmlSystemGetProcessName, entry.pid)
        # Only the program: arguments may hold secrets.
        short = None if isinstance(name, Missing) else str(name).split("\0")[0].split()[0:1]
        instance = getattr(entry, "gpuInstanceId", None)
        return CardProcess(
            pid=int(entry.pid),
            memory_bytes=None if entry.usedGpuMemory is None else int(entry.usedGpuMemory),
            name=short[0].rsplit("/", 1)[-1][:64] if short else None,
            mig_instance=None if instance in (None, 0xFFFFFFFF) else int(instance),
        )

    def _between(
        self, call: Callable[..., Any], card: int, peer: int, words: Mapping[int, str], *more: int
    ) -> str | Missing:
        one, other = self._handle(card), self._handle(peer)
        for handle in (one, other):
            if isinstance(handle, Missing):
                return handle
        found = self._ask(call, one, other, *more)
        return found if isinstance(found, Missing) else words.get(int(found), "U")

    def _register(self) -> Missing | None:
        """Ask NVML to queue critical errors of all cards."""
        count = self.count()
        if isinstance(count, Missing):
            return count
        events = self._ask(self._nvml.nvmlEventSetCreate)
        if isinstance(events, Missing):
            return events
        failed: Missing | None = None
        for card in range(count):
            handle = self._handle(card)
            done = handle if isinstance(handle, Missing) else None
            done = done or self._ask(self._nvml.nvmlDeviceRegisterEvents, handle, _EVENT_XID, events)
            if isinstance(done, Missing):
                failed = done
                continue
            self._uuids[str(self._ask(self._nvml.nvmlDeviceGetUUID, handle))] = card
        if not self._uuids:
            self._ask(self._nvml.nvmlEventSetFree, events)
            return failed or Missing(Reason.NO_DATA, "no card")
        self._events = events
        return None


_IDENTITY: Final = (
    "name", "uuid", "serial", "vbios", "pci", "memory_bytes", "power_default_mw", "power_set_mw",
    "power_enforced_mw", "sm_clock_max_mhz", "memory_clock_max_mhz", "temperature_c", "clock_reasons",
    "pcie_generation", "pcie_generation_max", "pcie_width", "pcie_width_max", "persistence_mode", "compute_mode",
)  # fmt: skip
_PAIRS: Final = (
    "power_min_mw",
    "power_max_mw",
    "mig_mode",
    "mig_mode_pending",
    "ecc_mode",
    "ecc_mode_pending",
)
_OTHERS: Final = ("nvlink_links_up", "cpu_affinity", "numa_nodes", "mig_instances", "compute_capability")


def _missing(error: Any) -> Missing:
    """Return NVML's error as a reason, in its own words."""
    return Missing(_REASONS.get(int(error.value), Reason.OTHER), str(error))
