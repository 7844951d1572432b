"""The host's facts and counters, from trees made for the purpose."""

import os
from pathlib import Path

from kbtool.runner.telemetry.host import (
    BusyProcess,
    NumaNode,
    busy_processes,
    process_times,
    read_counters,
    read_host,
)

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
STAT = "cpu  100 5 45 800 50 0 0 20 30 0\ncpu0 50 0 20 400 25 0 0 10 15 0\n"
PROCESS = "77 (a) b (c) S 1 77 77 0 -1 4194560 10 0 0 0 250 150 9 9 20 0 8 0 12345 1000000 2048 18446744073709551615\n"


def tree(root: Path, files: dict[str, str]) -> Path:
    """Lay out files under a root."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def two_sockets(root: Path) -> Path:
    """Return a host with two sockets of two cores with two threads each, and a node a socket."""
    files = {
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD EPYC 9575F 64-Core Processor\nflags\t\t: fpu sse\n",
        "proc/meminfo": "MemTotal:       1000 kB\nMemAvailable:    600 kB\nSwapTotal:         0 kB\n",
        "proc/loadavg": "4.00 3.00 2.00 1/500 1234\n",
        "proc/stat": STAT,
        "proc/77/stat": PROCESS,
        "proc/sys/kernel/osrelease": "6.18.0-generic\n",
        "proc/sys/kernel/random/boot_id": "0b6c9d5e-1111-4222-8333-944455556666\n",
        "proc/driver/nvidia/params": 'EnableMSI: 1\nRegistryDwords: "ForceP2P=0x11;RMForceP2PType=1"\n',
        "etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
        "sys/devices/system/cpu/online": "0-7\n",
        "sys/kernel/iommu_groups/0/type": "identity\n",
        "sys/kernel/iommu_groups/1/type": "DMA\n",
        "sys/devices/system/node/node0/cpulist": "0-3\n",
        "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:  500 kB\n",
        "sys/devices/system/node/node1/cpulist": "4-7\n",
        "sys/devices/system/node/node1/meminfo": "Node 1 MemTotal:  500 kB\n",
    }
    for cpu in range(8):
        place = f"sys/devices/system/cpu/cpu{cpu}"
        files[f"{place}/topology/physical_package_id"] = f"{cpu // 4}\n"
        files[f"{place}/topology/core_id"] = f"{cpu % 4 // 2}\n"
        files[f"{place}/cpufreq/scaling_governor"] = "performance\n"
    tree(root, files)
    (root / "proc/self/ns").mkdir(parents=True)
    (root / "proc/self/ns/pid").symlink_to("pid:[4026531836]")
    return root


def test_a_whole_host_is_read(tmp_path: Path) -> None:
    """Sockets, cores, nodes, memory, governor, IOMMU and driver overrides, without a gap."""
    host = read_host(two_sockets(tmp_path))
    assert host.cpu_model == "AMD EPYC 9575F 64-Core Processor"
    assert (host.sockets, host.cores, host.cpus) == (2, 4, 8)
    assert host.numa_nodes == (NumaNode(0, "0-3", 512_000), NumaNode(1, "4-7", 512_000))
    assert (host.memory_bytes, host.swap_bytes) == (1_024_000, 0)
    assert (host.kernel, host.os_name) == ("6.18.0-generic", "Debian GNU/Linux 12 (bookworm)")
    assert (host.governor, host.iommu) == ("performance", "DMA,identity")
    assert host.virtualisation == "none"
    assert host.nvidia_registry == "ForceP2P=0x11;RMForceP2PType=1"
    assert (host.host_pids, host.load_1m) == (True, 4.0)
    assert host.gaps == ()


def test_a_host_that_tells_nothing_is_all_gaps(tmp_path: Path) -> None:
    """An empty root gives None everywhere, each with the file that was missing."""
    host = read_host(tmp_path)
    assert (host.cpu_model, host.sockets, host.memory_bytes, host.boot_id) == (None, None, None, None)
    assert (host.governor, host.virtualisation, host.host_pids) == (None, None, None)
    assert {gap.what for gap in host.gaps} == {
        "boot_id", "cpu_model", "cpus", "governor", "host_pids", "iommu", "load_1m", "memory_bytes",
        "nvidia_registry", "os_name", "sockets",
    }  # fmt: skip


def test_containers_and_virtual_machines_are_told_apart(tmp_path: Path) -> None:
    """A hypervisor is named by its product; a container by its mark."""
    root = two_sockets(tmp_path)
    tree(
        root,
        {"proc/cpuinfo": "model name: x\nflags : fpu hypervisor\n", "sys/class/dmi/id/product_name": "KVM\n"},
    )
    assert read_host(root).virtualisation == "KVM"
    tree(root, {"run/.containerenv": ""})
    assert read_host(root).virtualisation == "podman"
    (root / "proc/self/ns/pid").unlink()
    (root / "proc/self/ns/pid").symlink_to("pid:[4026532001]")
    assert read_host(root).host_pids is False


def test_this_host_can_be_read() -> None:
    """On the machine of the test, facts and counters come without an error."""
    assert read_host().kernel
    counters = read_counters(os.getpid())
    assert counters.runner_memory_bytes
    assert counters.total_ns
    assert counters.busy_ns is not None
    assert counters.busy_ns <= counters.total_ns


def test_counters_are_nanoseconds_and_count_guests_once(tmp_path: Path) -> None:
    """Busy is all but idle, waiting and stolen; guest time is inside user time."""
    counters = read_counters(77, two_sockets(tmp_path))
    assert counters.busy_ns == 150 * TICK_NS
    assert counters.total_ns == 1020 * TICK_NS
    assert counters.steal_ns == 20 * TICK_NS
    assert counters.available_bytes == 614_400


def test_a_process_name_with_brackets_does_not_shift_the_fields(tmp_path: Path) -> None:
    """Names may hold blanks and brackets; the last bracket ends them."""
    counters = read_counters(77, two_sockets(tmp_path))
    assert counters.runner_cpu_ns == 400 * TICK_NS
    assert counters.runner_memory_bytes == 2048 * os.sysconf("SC_PAGE_SIZE")


def test_counters_of_a_process_that_is_gone_are_null(tmp_path: Path) -> None:
    """Null, not 0."""
    counters = read_counters(78, two_sockets(tmp_path))
    assert (counters.runner_cpu_ns, counters.runner_memory_bytes) == (None, None)
    assert read_counters(None, tmp_path / "none").total_ns is None


def test_busy_processes_are_those_of_others_busiest_first() -> None:
    """Ours are left out, small shares too, and a number that was reused counts from its start."""
    before = {1: ("init", 5.0), 2: ("engine", 10.0), 3: ("backup", 1.0), 4: ("old", 50.0)}
    after = {1: ("init", 5.01), 2: ("engine", 30.0), 3: ("backup", 6.0), 4: ("new", 8.0), 5: ("make", 1.0)}
    assert busy_processes(before, after, 10, ours=[2]) == (
        BusyProcess(4, "new", 0.8),
        BusyProcess(3, "backup", 0.5),
        BusyProcess(5, "make", 0.1),
    )


def test_this_process_is_among_the_processes() -> None:
    """Psutil lists the test itself with the CPU time that it used."""
    assert process_times()[os.getpid()][1] > 0
