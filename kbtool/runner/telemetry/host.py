"""The host: what it is, and what its CPUs and memory do while the load runs.

Facts and counters come from /proc and /sys under a root that tests replace; process lists come from psutil.
Only program names are kept: command lines hold secrets.
"""

import ctypes
import os
import platform
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kbtool.runner.telemetry.cards import Gap

__all__ = [
    "BusyProcess", "HostCounters", "HostFacts", "NumaNode", "busy_processes", "clock_synchronised",
    "process_times", "read_counters", "read_host",
]  # fmt: skip

_ROOT: Final = Path("/")
_INITIAL_PID_NAMESPACE: Final = "pid:[4026531836]"
"""The kernel gives its first PID namespace this fixed number."""
_TIME_ERROR: Final = 5
_READ_BYTES: Final = 1 << 20
_TICK_NS: Final = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class NumaNode:
    """One memory node of the host."""

    node: int
    cpus: str
    """As the kernel writes them: `0-63,128-191`."""
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What the host is. None where it does not say; `gaps` says why."""

    cpu_model: str | None
    sockets: int | None
    cores: int | None
    """Physical cores that are online."""
    cpus: int | None
    """Logical CPUs that are online."""
    cpus_allowed: int | None
    """Logical CPUs that this process may use."""
    numa_nodes: tuple[NumaNode, ...]
    memory_bytes: int | None
    swap_bytes: int | None
    kernel: str
    os_name: str | None
    architecture: str
    governor: str | None
    """CPU frequency governor; several are joined by a comma."""
    boot_id: str | None
    """Changes with every boot: a host that restarted in the middle is seen."""
    virtualisation: str | None
    """Name of the hypervisor or container kind; `none` where neither shows."""
    iommu: str | None
    """`off`, or the domain types in use, such as `DMA` or `identity`."""
    nvidia_registry: str | None
    """Overrides given to the NVIDIA driver, such as forced peer-to-peer."""
    host_pids: bool | None
    """Whether process numbers here are the host's, so that they can be compared with those the driver gives."""
    clock_synchronised: bool | None
    load_1m: float | None
    gaps: tuple[Gap, ...]


@dataclass(frozen=True, slots=True)
class HostCounters:
    """Counters of one moment; a difference of two is a share."""

    busy_ns: int | None
    total_ns: int | None
    steal_ns: int | None
    available_bytes: int | None
    load_ratio: float | None
    runner_cpu_ns: int | None
    runner_memory_bytes: int | None
    sampler_cpu_ns: int | None


@dataclass(frozen=True, slots=True)
class BusyProcess:
    """A process that took CPU time from the measurement."""

    pid: int
    name: str
    cpus_ratio: float
    """CPU time per time: 1 is one whole CPU."""


class _Tree:
    """Small text files under a root; what cannot be read is noted."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.gaps: list[Gap] = []

    def text(self, path: str, what: str | None = None) -> str | None:
        """Return a file's text without the blanks around it; note a gap under `what` where there is none."""
        try:
            with (self.root / path).open("rb") as file:
                return file.read(_READ_BYTES).decode("utf-8", "replace").strip()
        except OSError as error:
            if what is not None:
                self.gaps.append(Gap(what, f"/{path}: {error.strerror}"))
            return None

    def names(self, path: str, pattern: str) -> list[Path]:
        return sorted((self.root / path).glob(pattern))


def read_host(root: Path = _ROOT) -> HostFacts:
    """Return the facts of this host."""
    tree = _Tree(root)
    sockets, cores = _sockets_and_cores(tree)
    memory = _meminfo(tree.text("proc/meminfo", "memory_bytes"))
    online = tree.text("sys/devices/system/cpu/online", "cpus")
    load = tree.text("proc/loadavg", "load_1m")
    return HostFacts(
        cpu_model=_cpu_model(tree),
        sockets=sockets,
        cores=cores,
        cpus=None if online is None else len(_numbers(online)),
        cpus_allowed=len(os.sched_getaffinity(0)),
        numa_nodes=tuple(_nodes(tree)),
        memory_bytes=memory.get("MemTotal"),
        swap_bytes=memory.get("SwapTotal"),
        kernel=tree.text("proc/sys/kernel/osrelease") or platform.release(),
        os_name=_os_name(tree),
        architecture=platform.machine(),
        governor=_governor(tree),
        boot_id=tree.text("proc/sys/kernel/random/boot_id", "boot_id"),
        virtualisation=_virtualisation(tree),
        iommu=_iommu(tree),
        nvidia_registry=_nvidia_registry(tree),
        host_pids=_host_pids(tree),
        clock_synchronised=clock_synchronised(),
        load_1m=None if load is None else float(load.split()[0]),
        gaps=tuple(tree.gaps),
    )


def read_counters(runner_pid: int | None, root: Path = _ROOT) -> HostCounters:
    """Return CPU, memory and process counters of now.

    Args:
        runner_pid: The process whose CPU time is that of the client; None for none.
        root: Where /proc lies.
    """
    tree = _Tree(root)
    busy, total, steal = _cpu_times(tree.text("proc/stat"))
    memory = _meminfo(tree.text("proc/meminfo"))
    load = tree.text("proc/loadavg")
    runner = (None, None) if runner_pid is None else _process_times(tree.text(f"proc/{runner_pid}/stat"))
    return HostCounters(
        busy_ns=busy,
        total_ns=total,
        steal_ns=steal,
        available_bytes=memory.get("MemAvailable"),
        load_ratio=None if load is None else float(load.split()[0]) / (os.cpu_count() or 1),
        runner_cpu_ns=runner[0],
        runner_memory_bytes=runner[1],
        sampler_cpu_ns=time.process_time_ns(),
    )


def process_times() -> dict[int, tuple[str, float]]:
    """Return (name, CPU seconds so far) of every process that may be read."""
    import psutil

    found: dict[int, tuple[str, float]] = {}
    for process in psutil.process_iter(["pid", "name", "cpu_times"]):
        times = process.info["cpu_times"]
        if times is not None:
            found[process.info["pid"]] = (process.info["name"] or "", times.user + times.system)
    return found


def busy_processes(
    before: Mapping[int, tuple[str, float]],
    after: Mapping[int, tuple[str, float]],
    elapsed_s: float,
    *,
    ours: Iterable[int] = (),
    least_ratio: float = 0.05,
) -> tuple[BusyProcess, ...]:
    """Return the processes, other than ours, that used CPU between two readings, busiest first.

    Args:
        before: What `process_times` gave first.
        after: What it gave later; a process that is only here is counted from its start.
        elapsed_s: Time between the two.
        ours: Processes to leave out.
        least_ratio: Smaller shares of a CPU are left out.
    """
    own = set(ours)
    found = []
    for pid, (name, cpu_s) in after.items():
        was = before.get(pid, (name, 0.0))
        ratio = (cpu_s - (was[1] if was[0] == name else 0.0)) / elapsed_s
        if pid not in own and ratio >= least_ratio:
            found.append(BusyProcess(pid, name[:64], ratio))
    return tuple(sorted(found, key=lambda entry: (-entry.cpus_ratio, entry.pid)))


def clock_synchronised() -> bool | None:
    """Return whether the kernel takes its wall clock for synchronised; None where it cannot be asked."""
    try:
        adjtimex = ctypes.CDLL(None, use_errno=True).adjtimex
    except (OSError, AttributeError):
        return None
    # struct timex, all zero: modes 0 reads and sets nothing.
    state = adjtimex(ctypes.create_string_buffer(512))
    return None if state < 0 else state != _TIME_ERROR


def _numbers(text: str) -> list[int]:
    """Return the numbers in the kernel's `0-3,8`."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def _cpu_model(tree: _Tree) -> str | None:
    text = tree.text("proc/cpuinfo", "cpu_model")
    found = re.search(r"^(?:model name|Hardware|cpu)\s*:\s*(.+)$", text or "", re.MULTILINE)
    if found is None and text is not None:
        tree.gaps.append(Gap("cpu_model", "/proc/cpuinfo names no model"))
    return found[1].strip() if found else None


def _sockets_and_cores(tree: _Tree) -> tuple[int | None, int | None]:
    packages, cores = set(), set()
    for path in tree.names("sys/devices/system/cpu", "cpu[0-9]*/topology"):
        place = path.relative_to(tree.root).as_posix()
        package, core = tree.text(f"{place}/physical_package_id"), tree.text(f"{place}/core_id")
        if package is not None and core is not None:
            packages.add(package)
            cores.add((package, core))
    if not packages:
        tree.gaps.append(Gap("sockets", "/sys/devices/system/cpu shows no topology"))
        return None, None
    return len(packages), len(cores)


def _nodes(tree: _Tree) -> Iterable[NumaNode]:
    for path in tree.names("sys/devices/system/node", "node[0-9]*"):
        place = path.relative_to(tree.root).as_posix()
        total = re.search(r"MemTotal:\s+(\d+) kB", tree.text(f"{place}/meminfo") or "")
        yield NumaNode(
            int(path.name[4:]),
            tree.text(f"{place}/cpulist") or "",
            int(total[1]) * 1024 if total else None,
        )


def _meminfo(text: str | None) -> dict[str, int]:
    """Return the sizes in /proc/meminfo, in bytes."""
    return {
        name: int(size) * 1024 for name, size in re.findall(r"^(\w+):\s+(\d+) kB$", text or "", re.MULTILINE)
    }


def _os_name(tree: _Tree) -> str | None:
    found = re.search(r'^PRETTY_NAME="?([^"\n]+)', tree.text("etc/os-release", "os_name") or "", re.MULTILINE)
    return found[1] if found else None


def _governor(tree: _Tree) -> str | None:
    places = tree.names("sys/devices/system/cpu", "cpu[0-9]*/cpufreq/scaling_governor")
    found = {tree.text(path.relative_to(tree.root).as_posix()) for path in places}
    names = sorted(name for name in found if name)
    if not names:
        tree.gaps.append(
            Gap("governor", "the kernel offers no CPU frequency control, as in most virtual machines")
        )
    return ",".join(names) or None


def _virtualisation(tree: _Tree) -> str | None:
    """Return the kind of container, else the hypervisor's product name, else `none`."""
    if (tree.root / ".dockerenv").exists():
        return "docker"
    if (tree.root / "run/.containerenv").exists():
        return "podman"
    cpu = tree.text("proc/cpuinfo")
    if cpu is None:
        return None
    if not re.search(r"^flags\s*:.*\bhypervisor\b", cpu, re.MULTILINE):
        return "none"
    product = tree.text("sys/class/dmi/id/product_name") or ""
    vendor = tree.text("sys/class/dmi/id/sys_vendor") or ""
    return f"{vendor} {product}".strip() or "hypervisor"


def _iommu(tree: _Tree) -> str | None:
    groups = tree.names("sys/kernel/iommu_groups", "*/type")
    found = {tree.text(path.relative_to(tree.root).as_posix()) for path in groups}
    if found:
        return ",".join(sorted(name for name in found if name))
    if (tree.root / "sys/kernel/iommu_groups").is_dir():
        return "off"
    tree.gaps.append(Gap("iommu", "/sys/kernel/iommu_groups does not exist"))
    return None


def _nvidia_registry(tree: _Tree) -> str | None:
    text = tree.text("proc/driver/nvidia/params", "nvidia_registry")
    found = re.search(r'^RegistryDwords:\s*"([^"]*)"', text or "", re.MULTILINE)
    return found[1] if found else None


def _host_pids(tree: _Tree) -> bool | None:
    try:
        return str((tree.root / "proc/self/ns/pid").readlink()) == _INITIAL_PID_NAMESPACE
    except OSError as error:
        tree.gaps.append(Gap("host_pids", f"/proc/self/ns/pid: {error.strerror}"))
        return None


def _cpu_times(text: str | None) -> tuple[int | None, int | None, int | None]:
    """Return busy, total and stolen CPU time; guests are already in `user` and are not counted twice."""
    found = re.match(r"cpu\s+([\d ]+)", text or "")
    if found is None:
        return None, None, None
    ticks = [int(part) for part in found[1].split()] + [0] * 8
    idle = ticks[3] + ticks[4]
    steal = ticks[7]
    total = sum(ticks[:8])
    return (total - idle - steal) * _TICK_NS, total * _TICK_NS, steal * _TICK_NS


def _process_times(text: str | None) -> tuple[int | None, int | None]:
    """Return CPU time and resident memory from /proc/PID/stat, whose second field may hold blanks."""
    if text is None:
        return None, None
    parts = text.rpartition(")")[2].split()
    if len(parts) < 22:
        return None, None
    return (int(parts[11]) + int(parts[12])) * _TICK_NS, int(parts[21]) * os.sysconf("SC_PAGE_SIZE")
