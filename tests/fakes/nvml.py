"""Cards, host and kernel log that do as they are told, on a clock that stands still until it is moved.

`FakeBackend` follows a script: values over time, a card that is lost, a driver that hangs, processes that come and
go, errors.  `record` samples it as the real process would, without waiting.  `StubLibrary` stands in for NVML's
Python binding, to test what the real backend makes of its answers.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from kbtool.runner.telemetry.backend import CardProcess, MigInstance, Missing, Reason, Value
from kbtool.runner.telemetry.host import HostCounters
from kbtool.runner.telemetry.kmsg import XidLine, parse_xid
from kbtool.runner.telemetry.sample import CARD_VALUES, TelemetrySample
from kbtool.runner.telemetry.sampler import NS_PER_S, CardSampler, HostSampler, next_due

__all__ = [
    "FIXTURES",
    "FakeBackend",
    "FakeCard",
    "FakeClock",
    "FakeKernelLog",
    "StubLibrary",
    "eight_servers",
    "fake_counters",
    "load_card",
    "load_system",
    "parse_matrix",
    "record",
    "seconds",
]  # fmt: skip

FIXTURES: Final = Path(__file__).resolve().parent.parent / "fixtures" / "nvml"
LOST: Final = Missing(Reason.GPU_LOST, "GPU is lost")
NOT_SUPPORTED: Final = Missing(Reason.NOT_SUPPORTED, "Not Supported")


def seconds(value: float) -> int:
    """Return seconds as nanoseconds."""
    return round(value * NS_PER_S)


@dataclass(slots=True)
class FakeClock:
    """A clock that a test moves."""

    now_ns: int = 0
    wall_offset_ns: int = 1_800_000_000 * NS_PER_S
    asleep_ns: int = 0
    """How long the host has slept so far."""
    steps: list[tuple[int, int]] = field(default_factory=list)
    """(time, ns): the wall clock jumps by that much then."""
    sleeps: list[tuple[int, int]] = field(default_factory=list)
    """(time, ns): the host is suspended for that long then."""

    def monotonic_ns(self) -> int:
        """Return the time."""
        return self.now_ns

    def wall_ns(self) -> int:
        """Return the wall clock, with the jumps so far; it runs on during sleep."""
        jumped = sum(by for at, by in self.steps if at <= self.now_ns)
        return self.now_ns + self.wall_offset_ns + jumped + self._slept()

    def boot_ns(self) -> int:
        """Return the time that also counts sleep."""
        return self.now_ns + self._slept()

    def _slept(self) -> int:
        return self.asleep_ns + sum(length for at, length in self.sleeps if at <= self.now_ns)


@dataclass(slots=True)
class FakeCard:
    """One card and what happens to it."""

    facts: dict[str, Value]
    idle: dict[str, Value]
    """Values until the script says otherwise."""
    timeline: dict[str, list[tuple[int, Value]]] = field(default_factory=dict)
    lost_ns: int | None = None
    hangs: list[tuple[int, int]] = field(default_factory=list)
    """(time, ns): the next question after it takes that long."""
    resets: list[int] = field(default_factory=list)
    """Times when the counters begin again at 0."""
    guests: list[tuple[int, int, CardProcess]] = field(default_factory=list)
    """(from, to, process)."""
    rates: dict[str, float] = field(default_factory=dict)
    """Bytes per second that a counter grows by."""
    processes_missing: Missing | None = None

    def at(self, time_s: float, **values: Value) -> "FakeCard":
        """From `time_s` on, answer `values`; return the card, so that steps can be chained."""
        for name, value in values.items():
            assert name in CARD_VALUES, name
            self.timeline.setdefault(name, []).append((seconds(time_s), value))
            self.timeline[name].sort(key=lambda step: step[0])
        return self

    def runs(self, pid: int, memory_bytes: int | None, from_s: float = 0, to_s: float = 1e9) -> "FakeCard":
        """Have a process on the card for a time."""
        process = CardProcess(pid, memory_bytes, f"program-{pid}")
        self.guests.append((seconds(from_s), seconds(to_s), process))
        return self

    def value(self, name: str, now_ns: int) -> Value:
        """Return the value that is in force."""
        found = self.idle.get(name, NOT_SUPPORTED)
        for since, value in self.timeline.get(name, ()):
            if since <= now_ns:
                found = value
        return found

    def energy_mj(self, now_ns: int) -> Value:
        """Return the integral of the scripted power since the start or the last reset."""
        fixed = self.value("energy_mj", now_ns)
        if isinstance(fixed, Missing):
            return fixed
        since = max((at for at in self.resets if at <= now_ns), default=None)
        base = fixed if isinstance(fixed, int) and since is None else 0
        return base + self._integral(since or 0, now_ns)

    def _integral(self, start_ns: int, end_ns: int) -> int:
        changes = [at for at, _ in self.timeline.get("power_instant_mw", ()) if start_ns < at < end_ns]
        edges = [start_ns, *changes, end_ns]
        total = 0
        for begin, end in pairwise(edges):
            power = self.value("power_instant_mw", begin)
            total += (power if isinstance(power, int) else 0) * (end - begin)
        return total // NS_PER_S


@dataclass(slots=True)
class FakeBackend:
    """A driver that follows a script."""

    clock: FakeClock
    cards: list[FakeCard]
    refuses: Missing | None = None
    """What `open` returns."""
    topology: Mapping[tuple[int, int], str] = field(default_factory=dict)
    peers: Mapping[tuple[int, int], str] = field(default_factory=dict)
    errors: list[tuple[int, int, int]] = field(default_factory=list)
    """(time, card, Xid) for the driver's own queue."""
    errors_missing: Missing | None = None
    questions: list[tuple[str, int]] = field(default_factory=list)
    """Every question about a card, in order."""
    versions: Mapping[str, Value] = field(default_factory=dict)
    opened: bool = False
    _told: int = 0

    def open(self) -> Missing | None:
        """Connect, or refuse."""
        self.opened = self.refuses is None
        return self.refuses

    def close(self) -> None:
        """Disconnect."""
        self.opened = False

    def system(self) -> Mapping[str, Value]:
        """Return the versions given."""
        return self.versions

    def count(self) -> int | Missing:
        """Return the number of cards."""
        return len(self.cards)

    def facts(self, card: int) -> Mapping[str, Value]:
        """Return the facts of a card."""
        known = self._ask("facts", card)
        return dict.fromkeys(known.facts, LOST) if self._lost(known) else known.facts

    def sample(self, card: int) -> Mapping[str, Value]:
        """Return the values in force, after a hang where one is due."""
        known = self._ask("sample", card)
        if self._lost(known):
            return {"energy_mj": LOST}
        now = self.clock.now_ns
        found = {name: known.value(name, now) for name in CARD_VALUES}
        found["energy_mj"] = known.energy_mj(now)
        for name, rate in known.rates.items():
            bits = known.value("pcie_counter_bits", now)
            since = max((at for at in known.resets if at <= now), default=0)
            grown = round(rate * (now - since) / NS_PER_S)
            found[name] = grown % (1 << bits) if isinstance(bits, int) else grown
        return found

    def processes(self, card: int) -> tuple[CardProcess, ...] | Missing:
        """Return the processes that are on the card now."""
        known = self._ask("processes", card)
        if self._lost(known):
            return LOST
        now = self.clock.now_ns
        if known.processes_missing is not None:
            return known.processes_missing
        return tuple(process for begin, end, process in known.guests if begin <= now < end)

    def p2p(self, card: int, peer: int, write: bool) -> str | Missing:
        """Return the scripted state, the same for reading and writing."""
        del write
        return self.peers.get((card, peer), NOT_SUPPORTED)

    def common_ancestor(self, card: int, peer: int) -> str | Missing:
        """Return the scripted topology."""
        return self.topology.get((card, peer), NOT_SUPPORTED)

    def xids(self) -> tuple[tuple[int, int], ...] | Missing:
        """Return the scripted errors that are due and were not told yet."""
        if self.errors_missing is not None:
            return self.errors_missing
        due = [(card, xid) for at, card, xid in sorted(self.errors) if at <= self.clock.now_ns]
        new, self._told = due[self._told :], len(due)
        return tuple(new)

    def _ask(self, question: str, card: int) -> FakeCard:
        self.questions.append((question, card))
        known = self.cards[card]
        for hang in [hang for hang in known.hangs if hang[0] <= self.clock.now_ns]:
            known.hangs.remove(hang)
            self.clock.now_ns += hang[1]
        return known

    def _lost(self, card: FakeCard) -> bool:
        return card.lost_ns is not None and card.lost_ns <= self.clock.now_ns


@dataclass(slots=True)
class FakeKernelLog:
    """A kernel log with lines at given times."""

    clock: FakeClock
    lines: list[tuple[int, str]] = field(default_factory=list)
    refuses: Missing | None = None
    _told: int = 0

    def open(self) -> Missing | None:
        """Open, or refuse."""
        return self.refuses

    def read(self) -> tuple[XidLine, ...] | Missing:
        """Return the errors in the lines that are due."""
        due = [text for at, text in sorted(self.lines) if at <= self.clock.now_ns]
        new, self._told = due[self._told :], len(due)
        parsed = (parse_xid(text) for text in new)
        return tuple(line for line in parsed if line is not None)

    def close(self) -> None:
        """Do nothing."""


def fake_counters(
    clock: FakeClock, *, cpus: int = 8, busy_ratio: float = 0.5, runner_cpus: float = 0.25
) -> Callable[[], HostCounters]:
    """Return counters of a host with a steady load."""

    def read() -> HostCounters:
        now = clock.now_ns
        return HostCounters(
            busy_ns=round(now * cpus * busy_ratio),
            total_ns=now * cpus,
            steal_ns=0,
            available_bytes=64 << 30,
            load_ratio=busy_ratio,
            runner_cpu_ns=round(now * runner_cpus),
            runner_memory_bytes=50 << 20,
            sampler_cpu_ns=now // 100,
        )

    return read


def record(
    backend: FakeBackend,
    duration_s: float,
    *,
    log: FakeKernelLog | None = None,
    interval_ns: int = 100_000_000,
    counters: Callable[[], HostCounters] | None = None,
) -> list[TelemetrySample]:
    """Return the rows that the sampler's process would write in `duration_s`, on the backend's clock."""
    clock = backend.clock
    cards = CardSampler(backend, clock)
    host = HostSampler(clock, counters or fake_counters(clock), log or FakeKernelLog(clock), cards)
    end = clock.now_ns + seconds(duration_s)
    rows = [*host.open(), *cards.open()]
    due = slow_due = clock.now_ns
    while due <= end:
        clock.now_ns = max(clock.now_ns, due)
        slow = clock.now_ns >= slow_due
        if slow:
            slow_due = next_due(slow_due, clock.now_ns, NS_PER_S)
        rows += host.tick(slow)
        if cards.alive:
            rows += cards.sweep(slow)
        due = next_due(due, clock.now_ns, interval_ns)
    return rows


def load_card(name: str) -> FakeCard:
    """Return a card from the fixture `name`."""
    found = json.loads((FIXTURES / f"{name}.json").read_text("utf-8"))
    return FakeCard(_values(found["facts"]), _values(found["sample"]))


def load_system(name: str) -> dict[str, Value]:
    """Return the versions in the fixture `name`."""
    found = json.loads((FIXTURES / f"{name}.json").read_text("utf-8"))
    return _values(found["system"])


def _values(found: Mapping[str, Any]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name, value in found.items():
        if isinstance(value, dict):
            values[name] = Missing(Reason(value["missing"]), value["detail"])
        elif isinstance(value, list):
            values[name] = tuple(value)
        else:
            values[name] = value
    return values


def parse_matrix(name: str) -> dict[tuple[int, int], str]:
    """Return the words between cards in the output of `nvidia-smi topo -m` or `topo -p2p r` in fixture `name`."""
    found = {}
    for line in (FIXTURES / name).read_text("utf-8").splitlines():
        head, *cells = line.strip().split("\t")
        if not head.startswith("GPU") or not cells or cells[0].startswith("GPU"):
            continue
        for peer, word in enumerate(cells):
            if word.strip() not in ("X", "") and peer < 8:
                found[int(head[3:]), peer] = word.strip()
    return found


class StubLibrary:
    """NVML's Python binding over one fixture: the real names, numbers and errors, no library below.

    `fails` gives an error number to a function's name.
    """

    nvmlMemory_v2 = 0x2000028  # noqa: N815 - the binding's own name

    def __init__(
        self, card: FakeCard, versions: Mapping[str, Value], fails: Mapping[str, int] | None = None
    ) -> None:
        """Answer for one card."""
        self.NVMLError = import_module("pynvml").NVMLError
        self.card = card
        self.versions = versions
        self.fails = dict(fails or {})
        self.calls: list[str] = []
        self.waiting: list[int] = []
        self.programs = {4242: "/usr/bin/python3 -m server --api-key secret"}
        self.mig: list[MigInstance] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the function `name` of the binding."""
        if not name.startswith("nvml"):
            raise AttributeError(name)
        answer = getattr(self, f"_{name[4:]}", None) or self._simple(name)

        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            if name in self.fails:
                raise self.NVMLError(self.fails[name])
            return answer(*arguments)

        return call

    def _simple(self, name: str) -> Callable[..., Any]:
        """Return a function that answers a fact, or fails as a driver would."""
        fact = _FACTS.get(name)

        def answer(*_: Any) -> Any:
            value = self.card.facts.get(fact, NOT_SUPPORTED) if fact else NOT_SUPPORTED
            return self._plain(value)

        return answer

    def _plain(self, value: Value) -> Any:
        if isinstance(value, Missing):
            raise self.NVMLError(3 if value.reason is not Reason.GPU_LOST else 15)
        return value

    def _Init(self) -> None: ...  # noqa: N802 - names follow the binding

    def _Shutdown(self) -> None: ...  # noqa: N802

    def _SystemGetDriverVersion(self) -> Any:  # noqa: N802
        return self.versions["driver_version"]

    def _SystemGetCudaDriverVersion_v2(self) -> int:  # noqa: N802
        return 13020

    def _DeviceGetCount(self) -> int:  # noqa: N802
        return 1

    def _DeviceGetHandleByIndex(self, index: int) -> str:  # noqa: N802
        return f"handle {index}"

    def _DeviceGetPciInfo(self, _: Any) -> Any:  # noqa: N802
        return SimpleNamespace(busId=self.card.facts["pci"])

    def _DeviceGetMemoryInfo(self, handle: Any, version: int | None = None) -> Any:  # noqa: N802
        del version
        if isinstance(handle, MigInstance):
            return SimpleNamespace(total=handle.memory_bytes)
        used = self.card.idle["memory_used_bytes"]
        return SimpleNamespace(total=self.card.facts["memory_bytes"], used=used)

    def _DeviceGetMaxClockInfo(self, _: Any, kind: int) -> Any:  # noqa: N802
        return self._plain(self.card.facts["sm_clock_max_mhz" if kind == 1 else "memory_clock_max_mhz"])

    def _DeviceGetClockInfo(self, _: Any, kind: int) -> Any:  # noqa: N802
        return self._plain(self.card.idle["sm_clock_mhz" if kind == 1 else "memory_clock_mhz"])

    def _DeviceGetTemperature(self, *_: Any) -> Any:  # noqa: N802
        return self._plain(self.card.facts["temperature_c"])

    def _DeviceGetPowerManagementLimitConstraints(self, _: Any) -> list[Any]:  # noqa: N802
        return [self._plain(self.card.facts[name]) for name in ("power_min_mw", "power_max_mw")]

    def _DeviceGetMigMode(self, _: Any) -> list[int]:  # noqa: N802
        return [int(bool(self.mig))] * 2

    def _DeviceGetMaxMigDeviceCount(self, _: Any) -> int:  # noqa: N802
        return 4

    def _DeviceGetMigDeviceHandleByIndex(self, _: Any, index: int) -> MigInstance:  # noqa: N802
        if index >= len(self.mig):
            raise self.NVMLError(6)
        return self.mig[index]

    def _DeviceGetUUID(self, handle: Any) -> Any:  # noqa: N802
        return handle.uuid if isinstance(handle, MigInstance) else self.card.facts["uuid"]

    def _DeviceGetName(self, handle: Any) -> Any:  # noqa: N802
        return handle.name if isinstance(handle, MigInstance) else self.card.facts["name"]

    def _DeviceGetEccMode(self, _: Any) -> list[int]:  # noqa: N802
        return [1, 1]

    def _DeviceGetPersistenceMode(self, _: Any) -> int:  # noqa: N802
        return 1

    def _DeviceGetComputeMode(self, _: Any) -> int:  # noqa: N802
        return 0

    def _DeviceGetCudaComputeCapability(self, _: Any) -> tuple[int, int]:  # noqa: N802
        return 12, 0

    def _DeviceGetCpuAffinity(self, _: Any, words: int) -> list[int]:  # noqa: N802
        return _bits(self.card.facts["cpu_affinity"], words)

    def _DeviceGetMemoryAffinity(self, _: Any, words: int, scope: int) -> list[int]:  # noqa: N802
        del scope
        return _bits(self.card.facts["numa_nodes"], words)

    def _DeviceGetUtilizationRates(self, _: Any) -> Any:  # noqa: N802
        return SimpleNamespace(
            gpu=self.card.idle["busy_percent"], memory=self.card.idle["memory_busy_percent"]
        )

    def _DeviceGetTotalEnergyConsumption(self, _: Any) -> Any:  # noqa: N802
        return self._plain(self.card.idle["energy_mj"])

    def _DeviceGetFieldValues(self, _: Any, numbers: Sequence[int]) -> list[Any]:  # noqa: N802
        names = {82: "memory_temperature_c", 185: "power_average_mw", 186: "power_instant_mw"}
        found = []
        for number in numbers:
            value = self.card.idle.get(
                names.get(number, ""), 1 << 31 if number in (197, 198) else NOT_SUPPORTED
            )
            failed = isinstance(value, Missing)
            union = SimpleNamespace(uiVal=0 if failed else value)
            found.append(
                SimpleNamespace(fieldId=number, nvmlReturn=3 if failed else 0, valueType=1, value=union)
            )
        return found

    def _DeviceGetComputeRunningProcesses(self, _: Any) -> list[Any]:  # noqa: N802
        return [
            SimpleNamespace(pid=process.pid, usedGpuMemory=process.memory_bytes, gpuInstanceId=0xFFFFFFFF)
            for _, _, process in self.card.guests
        ]

    def _SystemGetProcessName(self, pid: int) -> str:  # noqa: N802
        return self.programs[pid]

    def _DeviceGetP2PStatus(self, *_: Any) -> int:  # noqa: N802
        return 4

    def _DeviceGetTopologyCommonAncestor(self, *_: Any) -> int:  # noqa: N802
        return 40

    def _EventSetCreate(self) -> str:  # noqa: N802
        return "events"

    def _EventSetFree(self, _: Any) -> None: ...  # noqa: N802

    def _DeviceRegisterEvents(self, *_: Any) -> None: ...  # noqa: N802

    def _EventSetWait_v2(self, *_: Any) -> Any:  # noqa: N802
        if not self.waiting:
            raise self.NVMLError(10)
        return SimpleNamespace(device="handle 0", eventData=self.waiting.pop(0))


_FACTS: Final = {
    "nvmlDeviceGetSerial": "serial",
    "nvmlDeviceGetVbiosVersion": "vbios",
    "nvmlDeviceGetPowerManagementDefaultLimit": "power_default_mw",
    "nvmlDeviceGetPowerManagementLimit": "power_set_mw",
    "nvmlDeviceGetEnforcedPowerLimit": "power_enforced_mw",
    "nvmlDeviceGetCurrentClocksEventReasons": "clock_reasons",
    "nvmlDeviceGetCurrPcieLinkGeneration": "pcie_generation",
    "nvmlDeviceGetMaxPcieLinkGeneration": "pcie_generation_max",
    "nvmlDeviceGetCurrPcieLinkWidth": "pcie_width",
    "nvmlDeviceGetMaxPcieLinkWidth": "pcie_width_max",
}


def _bits(numbers: Value, words: int) -> list[int]:
    assert isinstance(numbers, tuple)
    found = [0] * words
    for number in numbers:
        assert isinstance(number, int)
        found[number // 64] |= 1 << number % 64
    return found


def eight_servers(clock: FakeClock) -> FakeBackend:
    """Return eight Server Editions on two nodes, joined as in the fixtures."""
    cards = []
    for index in range(8):
        card = load_card("rtx-pro-6000-blackwell-server")
        node = index // 4
        card.facts |= {
            "uuid": f"GPU-00000000-0000-4000-8000-00000000001{index}",
            "pci": f"00000000:{6 + 16 * index:02X}:00.0",
            "numa_nodes": (node,),
        }
        cards.append(replace(card))
    return FakeBackend(
        clock,
        cards,
        topology=parse_matrix("topo-m-8x-server.txt"),
        peers=parse_matrix("topo-p2p-r-8x-on.txt"),
        versions=load_system("rtx-pro-6000-blackwell-server"),
    )
