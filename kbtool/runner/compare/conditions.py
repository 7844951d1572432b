"""Whether two cells were measured under one load, by one client, in one way: else they are not compared."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kbtool.runner.engines import adapter_for
from kbtool.runner.plan.cells import Cell
from kbtool.runner.results import CellResult, Run
from kbtool.vocab.warnings import WARNINGS, WarningCode

__all__ = ["LENGTH_TOLERANCE", "Condition", "between_cells", "between_runs", "spoiled", "worth_saying"]

LENGTH_TOLERANCE: Final = 0.02
"""Difference of lengths, as a share, up to which loads are equal."""
MEASURED_TOLERANCE: Final = 0.05
"""The same of mean lengths that were measured where equal ones were asked for: one vocabulary cuts a text into fewer
tokens than another, and a few prompts are off by some percent; above `LENGTH_TOLERANCE`, readers are told."""
SPOILING: Final = (
    WarningCode.CLIENT_BOUND, WarningCode.SENT_LATE, WarningCode.FOREIGN_TRAFFIC, WarningCode.CONTAMINATED,
    WarningCode.UNACCOUNTED_TOKENS, WarningCode.GARBAGE_OUTPUT,
)  # fmt: skip
"""Warnings of figures that say nothing about the server."""
NOTED: Final = (
    WarningCode.DRIFT, WarningCode.OUTLIERS, WarningCode.UNSTEADY, WarningCode.ERRORS, WarningCode.RETRIES,
    WarningCode.SHORT_OUTPUTS, WarningCode.QUEUED, WarningCode.GRAPH_CLIFF, WarningCode.UNPROVEN_COLD,
    WarningCode.NOT_ISOLATED, WarningCode.THROTTLED, WarningCode.POWER_CAPPED, WarningCode.TELEMETRY_GAP,
    WarningCode.AFTER_RESTART, WarningCode.SPEED_ONLY, WarningCode.NOT_REPEATABLE, WarningCode.TRUNCATED_OUTPUT,
    WarningCode.CLOCK_STEP,
)  # fmt: skip
"""Warnings that a reader of the comparison must know."""
_EXACT: Final = (
    ("kind", "kind of load"), ("prompt_class", "prompt class"), ("cache", "cache state"), ("rate_req_s", "arrival rate"),
    ("burstiness", "burstiness"), ("turns", "turns"), ("think_s", "think time"), ("temperature", "temperature"),
    ("trace_path", "trace"), ("trace_speed", "speed of the trace"), ("trace_first", "place in the trace"),
    ("slo", "limits of the goodput"),
)  # fmt: skip
_LENGTHS: Final = (
    ("input_tok", "input length"), ("output_tok", "output length"), ("shared_prefix_tok", "shared prefix"),
    ("turn_tok", "length of a turn"),
)  # fmt: skip
_RECALIBRATE: Final = (
    "the plans ask for one length, and each run finds out anew how much text that is (environment/lengths.json): "
    "measure again, with more requests in a round"
)
_FIX_ANSWERS: Final = "the models end their answers; compare engines that can fix the length of answers"
_MEASURED: Final = (
    ("input_tok", "input length measured", _RECALIBRATE), ("output_tok", "output length measured", _FIX_ANSWERS),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that differs, and what would make it equal."""

    name: str
    a: str
    b: str
    remedy: str


def between_runs(a: Run, b: Run) -> Iterator[Condition]:
    """Yield what makes all figures of two runs incomparable."""
    same = "measure both again with one version of kbtool"
    for key, name in (("runner_version", "client version"), ("text_version", "version of the prompt text")):
        one, two = a.facts.get(key), b.facts.get(key)
        if one != two:
            yield Condition(name, str(one), str(two), same)


def between_cells(a: Run, one: CellResult, b: Run, two: CellResult) -> Iterator[Condition]:
    """Yield the conditions in which two cells differ."""
    yield from _between_loads(one.cell, two.cell)
    yield from _between_lengths(one, two)
    states = one.summary.cache.state, two.summary.cache.state
    if states[0] != states[1]:
        yield Condition(
            "cache state shown", *states, "let both servers report cached tokens, and measure again"
        )
    clocks = _clocks(one), _clocks(two)
    if clocks[0] != clocks[1]:
        yield Condition("clock of the client", *clocks, "measure both over plain HTTP, or both over TLS")
    fixed = _fixed_length(a, one), _fixed_length(b, two)
    if None not in fixed and fixed[0] != fixed[1]:
        words = ["fixed" if each else "ended by the model" for each in fixed]
        yield Condition(
            "length of answers", words[0], words[1], "none of these servers' figures of decoding compare"
        )


def spoiled(cell: CellResult) -> tuple[WarningCode, ...]:
    """Return the warnings that leave nothing to compare."""
    return tuple(each for each in SPOILING if each in cell.summary.warnings)


def worth_saying(a: CellResult, b: CellResult) -> Iterator[str]:
    """Yield what a reader of the comparison must know about the two cells."""
    for code in NOTED:
        sides = [side for side, each in (("A", a), ("B", b)) if code in each.summary.warnings]
        if sides:
            yield f"{code.value} ({' and '.join(sides)}): {WARNINGS[code].means}"
    for name, title, _ in _MEASURED:
        one, two = _mean(a, name), _mean(b, name)
        if _off(one, two) > LENGTH_TOLERANCE:
            yield f"{title}: {one:.0f} and {two:.0f} tok: a difference of {_off(one, two):.1%} may come from that alone"
    if a.cell.requests != b.cell.requests:
        yield f"rounds of {a.cell.requests} and {b.cell.requests} requests: ramp and tail weigh differently"


def _between_loads(a: Cell, b: Cell) -> Iterator[Condition]:
    for name, title in _EXACT:
        one, two = getattr(a, name), getattr(b, name)
        if one != two:
            yield Condition(title, str(one), str(two), "set both plans alike, and measure again")
    open_loop = a.rate_req_s is not None or a.trace_path is not None
    if not open_loop and a.streams != b.streams:
        yield Condition("users", str(a.streams), str(b.streams), "compare equal numbers of users")
    if (a.straight_to is None) != (b.straight_to is None):
        words = ["through the router" if each.straight_to is None else "past the router" for each in (a, b)]
        yield Condition("way to the server", words[0], words[1], "compare the same way")


def _between_lengths(a: CellResult, b: CellResult) -> Iterator[Condition]:
    asked = [
        each
        for name, title in _LENGTHS
        for each in _apart(title, getattr(a.cell, name), getattr(b.cell, name), "set both plans alike")
    ]
    yield from asked
    if not asked:
        for name, title, remedy in _MEASURED:
            yield from _apart(title, _mean(a, name), _mean(b, name), remedy, MEASURED_TOLERANCE)


def _apart(
    title: str, a: float, b: float, remedy: str, tolerance: float = LENGTH_TOLERANCE
) -> Iterator[Condition]:
    if _off(a, b) > tolerance:
        may = f"lengths may differ by {tolerance:.0%}: {remedy}"
        yield Condition(title, f"{a:g} tok", f"{b:g} tok", may)


def _off(a: float, b: float) -> float:
    """Return the difference as a share of the larger."""
    return abs(a - b) / max(a, b) if max(a, b) > 0 else 0.0


def _mean(cell: CellResult, name: str) -> float:
    ok = sum(each.figures.n_ok for each in cell.rounds)
    return sum(getattr(each.figures.totals, name) for each in cell.rounds) / ok if ok else 0.0


def _clocks(cell: CellResult) -> str:
    found = {each.note.health.clock.value for each in cell.rounds if each.note.health is not None}
    return " and ".join(sorted(found)) or "unknown"


def _fixed_length(run: Run, cell: CellResult) -> bool | None:
    """Return whether the server was told how long answers are; None where its kind is not known."""
    if cell.cell.prompt_class == "structured":
        return False
    facts: Mapping[str, Any] = run.environments.get(cell.visits[0].note.environment, {})
    kind = facts.get("kind")
    if kind not in {"vllm", "sglang", "llama_cpp", "ds4", "openai"}:
        return None
    return bool(adapter_for(kind).options().fixed_length)
