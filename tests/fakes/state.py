"""What a scripted engine remembers: counters, its prefix cache, and the truth about every request it served."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace

from tests.fakes.script import BLOCK_TOK, Script

__all__ = ["Served", "State"]


@dataclass(slots=True)
class Served:
    """One generation as the server knows it; times in ns of CLOCK_MONOTONIC, taken just before `send`."""

    path: str
    body: dict[str, object]
    read_ns: int
    """When the request had been read."""
    begun_ns: int = 0
    """When it had a slot: what the schedule counts from."""
    prompt_tok: int = 0
    cached_tok: int = 0
    output_tok: int = 0
    chunk_ns: list[int] = field(default_factory=list)
    chunk_tok: list[int] = field(default_factory=list)
    done_ns: int | None = None
    left: bool = False
    """Whether it is counted as done."""


class State:
    """The mutable part of an engine; every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cache: set[tuple[str, ...]] = set()
        self.counts: Counter[str] = Counter()
        self.accepted: Counter[int] = Counter()
        self.running = 0
        self.waiting = 0
        self.finished = 0
        self.asked = 0
        self.started_s = time.time()
        self.served: list[Served] = []
        self.heads: list[tuple[str, str, dict[str, str]]] = []
        """Method, path and headers of every request, in order of arrival."""

    def seen(self, method: str, path: str, headers: dict[str, str]) -> None:
        """Keep the head of a request."""
        with self._lock:
            self.heads.append((method, path, headers))

    def take_number(self) -> int:
        """Return the number of a generation, from 0."""
        with self._lock:
            self.asked += 1
            return self.asked - 1

    def begin(self, served: Served, prompt: tuple[str, ...], script: Script, *, use_cache: bool) -> None:
        """Look the prompt up in the cache, remember it there, and count it."""
        blocks = [prompt[:end] for end in range(BLOCK_TOK, len(prompt) + 1, BLOCK_TOK)]
        with self._lock:
            self.served.append(served)
            hit = 0
            if script.prefix_cache and use_cache:
                for block in blocks:
                    if block not in self._cache:
                        break
                    hit = len(block)
                # The last token of a prompt is always computed: its logits are wanted.
                hit = min(hit, max(0, len(prompt) - 1) // BLOCK_TOK * BLOCK_TOK)
                self._cache.update(blocks)
            served.prompt_tok, served.cached_tok = len(prompt), hit
            self.counts["prompt"] += len(prompt)
            self.counts["cached"] += hit
            self.counts["query"] += len(prompt) if script.prefix_cache else 0

    def generated(self, tokens: int, drafts: int) -> None:
        """Count the tokens of one step, of which all but the first were drafted."""
        with self._lock:
            self.counts["generation"] += tokens
            self.counts["steps"] += 1
            if drafts:
                self.counts["drafts"] += 1
                self.counts["draft"] += drafts
                self.counts["accepted"] += min(tokens - 1, drafts)
                for position in range(min(tokens - 1, drafts)):
                    self.accepted[position] += 1

    def move(self, running: int, waiting: int) -> int:
        """Change how many run and wait; return how many run."""
        with self._lock:
            self.running += running
            self.waiting += waiting
            return self.running

    def leave(self, served: Served, script: Script) -> None:
        """Count a request as done, once; forget all counts where the script says so.

        Engines count a request before its last bytes are out: who has read them finds it in the counters.
        """
        with self._lock:
            if served.left:
                return
            served.left = True
            self.running -= 1
            self.finished += 1
            self.counts["finished"] += 1
            if self.finished == script.reset_counters_after:
                self.counts.clear()
                self.accepted.clear()

    def read(self, script: Script) -> tuple[dict[str, int], dict[int, int]]:
        """Return the counters, after somebody else's traffic has been added."""
        with self._lock:
            if script.foreign_tok:
                self.counts["prompt"] += script.foreign_tok
                self.counts["generation"] += script.foreign_tok
                self.counts["finished"] += 1
            counts = dict(self.counts)
            counts["running"] = self.running + script.foreign_running
            counts["waiting"] = self.waiting
            return counts, dict(self.accepted)

    def forget_cache(self) -> None:
        """Empty the prefix cache."""
        with self._lock:
            self._cache.clear()

    def truth(self) -> tuple[Served, ...]:
        """Return copies of what was served, in order of arrival."""
        with self._lock:
            return tuple(
                replace(one, chunk_ns=list(one.chunk_ns), chunk_tok=list(one.chunk_tok))
                for one in self.served
            )
