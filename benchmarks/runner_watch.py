"""CPU time and memory of a process and its descendants, sampled from outside, with times that a server's log shares.

CPU time comes from the scheduler's own count in ns, summed over threads.  What a thread or process had used when it
was last seen stays in the sum after its end.
"""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

__all__ = ["Tree", "Usage"]

PERIOD_S: Final = 0.05
LONE_PERIOD_S: Final = 0.005
"""For a single process, which costs little to look at: what it used up to its first request is then known closely."""
FAMILY_PERIOD_S: Final = 0.25
PAGE_BYTES: Final = 4096
_PROC: Final = Path("/proc")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a tree had used at one moment."""

    t_ns: int
    cpu_ns: int
    rss_bytes: int
    """Sum over processes: pages that they share count for each."""


class Tree:
    """Watches a process tree from a thread of its own until the `with` block ends."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._seen: dict[str, int] = {}
        self._family: tuple[int, ...] = (root,)
        self._family_until = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.samples: list[Usage] = []

    def __enter__(self) -> Self:
        self._sample()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def cpu_ns(self, at_ns: int) -> int:
        """Return the CPU time used until then, between two samples in proportion."""
        before = self.samples[0]
        for after in self.samples:
            if after.t_ns >= at_ns:
                span = after.t_ns - before.t_ns
                share = (at_ns - before.t_ns) / span if span > 0 else 0.0
                return before.cpu_ns + round(max(0.0, share) * (after.cpu_ns - before.cpu_ns))
            before = after
        return before.cpu_ns

    @property
    def peak_rss_bytes(self) -> int:
        """Return the most memory that was seen."""
        return max(each.rss_bytes for each in self.samples)

    def _watch(self) -> None:
        while not self._stop.wait(LONE_PERIOD_S if len(self._family) == 1 else PERIOD_S):
            self._sample()

    def _sample(self) -> None:
        now = time.monotonic()
        if now >= self._family_until:
            self._family = tuple(_family(self._root))
            self._family_until = now + FAMILY_PERIOD_S
        rss = 0
        for pid in self._family:
            rss += _rss_bytes(pid)
            for thread, cpu_ns in _threads(pid):
                self._seen[thread] = max(cpu_ns, self._seen.get(thread, 0))
        self.samples.append(Usage(time.monotonic_ns(), sum(self._seen.values()), rss))


def _family(root: int) -> Iterator[int]:
    """Yield the process and its descendants."""
    yield root
    try:
        threads = list((_PROC / str(root) / "task").iterdir())
        words = [word for thread in threads for word in (thread / "children").read_text().split()]
    except OSError:
        return
    for word in words:
        yield from _family(int(word))


def _threads(pid: int) -> Iterator[tuple[str, int]]:
    """Yield each thread and its CPU time in ns."""
    try:
        threads = list((_PROC / str(pid) / "task").iterdir())
    except OSError:
        return
    for thread in threads:
        try:
            yield f"{pid}/{thread.name}", int((thread / "schedstat").read_text().split()[0])
        except (OSError, IndexError, ValueError):
            continue


def _rss_bytes(pid: int) -> int:
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0
