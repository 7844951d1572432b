"""Who else was on the cards.

A process that is not ours contaminates a measurement from the second in which it is first seen.  Memory that no
visible process owns does so too: somebody may be in a place that the driver does not list.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kbtool.runner.telemetry.energy import GAP_NS
from kbtool.runner.telemetry.sample import Kind, TelemetrySample

__all__ = ["UNOWNED_BYTES", "ForeignUse", "foreign_use", "sweep_margin_ns"]

UNOWNED_BYTES: Final = 500 * 1024 * 1024
"""Memory in use beyond all visible processes; driver and context keep less than this."""


@dataclass(frozen=True, slots=True)
class ForeignUse:
    """Somebody else on one card."""

    card: int
    since_ns: int
    """First second in which it was seen inside the window."""
    until_ns: int
    """Last one."""
    pid: int | None
    """None for memory that no process owns."""
    name: str | None
    memory_bytes: int | None
    """The most that it held."""


def foreign_use(
    rows: Sequence[TelemetrySample],
    start_ns: int,
    end_ns: int,
    *,
    cards: Collection[int],
    owned_pids: Collection[int],
    idle_bytes: Mapping[int, int] | None = None,
) -> tuple[ForeignUse, ...]:
    """Return what was on our cards and is not ours, first seen first.

    Args:
        rows: Rows in order of time.
        start_ns: Begin of the window.
        end_ns: End of it.
        cards: Our cards.
        owned_pids: Every process that was ours at any time, as the host numbers them.
        idle_bytes: Memory in use on each card before anything of ours ran.
    """
    seen: dict[tuple[int, int | None], ForeignUse] = {}
    used = _used_memory(rows, cards)
    sweeps: dict[tuple[int, int], list[TelemetrySample]] = {}
    margin = sweep_margin_ns(start_ns, end_ns)
    for row in rows:
        if row.card in cards and start_ns - margin <= row.t_ns <= end_ns + margin and row.card is not None:
            if row.kind == Kind.SWEEP:
                sweeps.setdefault((row.t_ns, row.card), [])
            elif row.kind == Kind.PROCESS:
                sweeps.setdefault((row.t_ns, row.card), []).append(row)
    for (t_ns, card), processes in sorted(sweeps.items()):
        for row in processes:
            if row.pid not in owned_pids:
                _add(
                    seen,
                    card,
                    t_ns,
                    pid=row.pid,
                    name=row.process_name,
                    memory_bytes=row.process_memory_bytes,
                )
        unowned = _unowned(used.get(card, []), t_ns, processes, (idle_bytes or {}).get(card, 0))
        if unowned is not None and unowned > UNOWNED_BYTES:
            _add(seen, card, t_ns, pid=None, name=None, memory_bytes=unowned)
    return tuple(sorted(seen.values(), key=lambda use: (use.since_ns, use.card, use.pid or 0)))


def sweep_margin_ns(start_ns: int, end_ns: int) -> int:
    """Return how far outside a window a process list still counts: processes are listed once a second."""
    return GAP_NS if end_ns - start_ns < 2 * GAP_NS else 0


def _add(
    seen: dict[tuple[int, int | None], ForeignUse],
    card: int,
    t_ns: int,
    *,
    pid: int | None,
    name: str | None,
    memory_bytes: int | None,
) -> None:
    """Begin or go on with one use."""
    known = seen.get((card, pid))
    since = t_ns if known is None else known.since_ns
    sizes = [size for size in (memory_bytes, known.memory_bytes if known else None) if size is not None]
    seen[card, pid] = ForeignUse(card, since, t_ns, pid, name, max(sizes, default=None))


def _used_memory(rows: Sequence[TelemetrySample], cards: Collection[int]) -> dict[int, list[tuple[int, int]]]:
    """Return time and memory in use for each card."""
    found: dict[int, list[tuple[int, int]]] = {}
    for row in rows:
        if row.kind == Kind.CARD and row.card in cards and row.memory_used_bytes is not None:
            assert row.card is not None
            found.setdefault(row.card, []).append((row.t_ns, row.memory_used_bytes))
    return found


def _unowned(
    used: Sequence[tuple[int, int]], t_ns: int, processes: Sequence[TelemetrySample], idle_bytes: int
) -> int | None:
    """Return the memory that no process in the list owns; None where a part is not known."""
    near = [(abs(when - t_ns), size) for when, size in used if abs(when - t_ns) <= GAP_NS]
    sizes = [row.process_memory_bytes for row in processes]
    if not near or None in sizes:
        return None
    return min(near)[1] - idle_bytes - sum(size for size in sizes if size is not None)
