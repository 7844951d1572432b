"""One round: counters, load, counters, everything on the disk, then its figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kbtool.runner.client import ClientHealth, Endpoint, Interrupt, Limits, Progress, exchange, parse
from kbtool.runner.client.control import ControlError
from kbtool.runner.engines import Counters, EngineAdapter
from kbtool.runner.folder import CellWriter
from kbtool.runner.folder.entries import plain
from kbtool.runner.metrics import RoundContext, RoundFigures, Slo
from kbtool.runner.plan.cells import Cell
from kbtool.runner.results.load import RoundResult, round_result
from kbtool.runner.results.notes import EndpointCounters, Phase, RoundNote
from kbtool.runner.session.interrupts import StoppedError
from kbtool.runner.session.watch import Watch, clock_mark
from kbtool.runner.session.work import Load
from kbtool.runner.trace import ClockSource, Outcome, RequestTrace
from kbtool.vocab.warnings import WarningCode, in_order

__all__ = ["AcceleratorFailedError", "RoundFailedError", "RoundRunner", "Setting"]

NS_PER_MS: Final = 1_000_000
LAG_OF_GAP: Final = 0.05
"""Share of the median step gap: with stamps of our own, loop lag above it is in the times themselves."""
LAG_OF_REQUEST: Final = 0.01
"""Share of the median request: with the kernel's stamps, loop lag is in no time, but delays the next request by as much."""
LEAST_LAG_MS: Final = 5.0
BUSY_RATIO: Final = 0.70
"""Share of a core above which the client has no room to keep up."""
BODY_BYTES: Final = 1 << 20
EVENT_BYTES: Final = 8192
"""Of an answer for each token asked for; engines send a few hundred."""
PRIMED_FROM: Final = 1000
"""Rounds from this number on only filled the cache for the round that many below."""
LATE_MS: Final = 10.0
"""Requests of an open loop that leave later than this were not sent as planned."""


class RoundFailedError(Exception):
    """Nothing of the round can be used; the message says why."""


class AcceleratorFailedError(RoundFailedError):
    """An accelerator was lost, or reported an error after which nothing stands: the run stops, nothing is reset."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What holds for all rounds of a leg."""

    session: str
    running_limit: int | None
    """Requests that all instances decode at once together."""
    accelerators: int | None
    prefix_caching: bool | None
    speculates: bool | None
    calibrated: bool
    owned_pids: tuple[int, ...]
    observed: tuple[WarningCode, ...] = ()
    """Warnings that hold for every round, such as after a restart."""


@dataclass(frozen=True, slots=True)
class RoundRunner:
    """Carries out the rounds of one leg."""

    adapter: EngineAdapter
    endpoints: tuple[Endpoint, ...]
    """The instances, whose counters are read."""
    limits: Limits
    setting: Setting
    watch: Watch | None
    interrupt: Callable[[], Interrupt | None]
    template_tok: int = 0
    """Tokens of the chat template's opening, which all prompts share."""

    def run(
        self,
        writer: CellWriter,
        cell: Cell,
        load: Load,
        *,
        number: int,
        phase: Phase,
        progress: Callable[[Progress], None],
    ) -> RoundResult:
        """Carry out one round, write it down, and return its figures.

        Raises:
            StoppedError: the operator asked for an end; nothing was written.
            AcceleratorFailedError: an accelerator was lost meanwhile; the raw data is written.
            RoundFailedError: not one request succeeded; the raw data is written.
        """
        before = [self._counters(each) for each in self.endpoints]
        start = clock_mark()
        done = exchange(load.driver, limits=self._limits(cell), interrupt=self.interrupt, watch=progress)
        end = clock_mark()
        if self.interrupt() is not None:
            raise StoppedError
        after = [self._counters(each) for each in self.endpoints]
        traces = tuple(parse(each) for each in done.recorded)
        primed = tuple(each for each in traces if load.primes and each.turn == 1)
        counted = tuple(each for each in traces if not (load.primes and each.turn == 1))
        note = RoundNote(
            number=number,
            phase=phase,
            context=self._context(cell, load, number, counted),
            health=done.health,
            start=start,
            end=end,
            counters=()
            if primed
            else tuple(
                EndpointCounters(endpoint.name, one, other)
                for endpoint, one, other in zip(self.endpoints, before, after, strict=True)
            ),
            speculates=self.setting.speculates,
        )
        note, aborted = self._watched(note, counted)
        note = self._judged(note, counted)
        writer.write_round(number, counted, plain(note))
        if primed:
            self._write_primed(writer, note, primed)
        result = round_result(note, counted)
        if aborted:
            raise AcceleratorFailedError(aborted)
        if not result.figures.n_ok:
            raise RoundFailedError(_why_nothing(counted))
        return result

    def _limits(self, cell: Cell) -> Limits:
        """Bound an answer by what was asked for: a hostile server must not fill our memory."""
        if not cell.output_tok:
            return self.limits
        return replace(self.limits, body_bytes=BODY_BYTES + EVENT_BYTES * cell.output_tok)

    def _write_primed(self, writer: CellWriter, note: RoundNote, primed: Sequence[RequestTrace]) -> None:
        """Keep what only filled the cache, marked, under a number of its own."""
        other = replace(note, number=note.number + PRIMED_FROM, phase="warm_up", counters=())
        writer.write_round(other.number, primed, plain(other))

    def _counters(self, endpoint: Endpoint) -> Counters | None:
        try:
            return self.adapter.counters(endpoint)
        except ControlError:
            return None  # kept as None: the reconciliation says that it is unavailable

    def _context(self, cell: Cell, load: Load, number: int, traces: Sequence[RequestTrace]) -> RoundContext:
        expects = "off" if self.setting.prefix_caching is False else load.expects
        lone = load.concurrency or 1
        return RoundContext(
            session=self.setting.session,
            round=number,
            concurrency=load.concurrency,
            request_rate_req_s=cell.rate_req_s,
            prompt_class=None if cell.trace_path else cell.prompt_class,  # type: ignore[arg-type]  # a plan has those words alone
            # Of a conversation only the system prompt has a length that was asked for.
            input_tok=None if cell.turns > 1 else cell.input_tok or None,
            output_tok=cell.output_tok or None,
            running_limit=self.setting.running_limit,
            cache_expected=expects,
            prompts_unique=load.unique,
            template_tok=self.template_tok,
            slos=tuple(Slo(metric, limit) for metric, limit in cell.slo),
            accelerators=self.setting.accelerators,
            observed=self.setting.observed if traces and lone else (),
        )

    def _watched(self, note: RoundNote, traces: Sequence[RequestTrace]) -> tuple[RoundNote, str]:
        """Add what telemetry says of the time from the first request to the last byte."""
        times = [each.sent_ns for each in traces if each.sent_ns is not None]
        ends = [each.done_ns for each in traces if each.done_ns is not None]
        if self.watch is None or not times or not ends:
            return note, ""
        found = self.watch.window(min(times), max(ends), self.setting.owned_pids)
        joules = None if found.energy is None else found.energy.energy_j
        context = replace(
            note.context, energy_j=joules, observed=in_order({*note.context.observed, *found.warnings})
        )
        return replace(note, context=context, energy=found.energy), found.aborted

    def _judged(self, note: RoundNote, traces: Sequence[RequestTrace]) -> RoundNote:
        """Add what the client's own health says."""
        figures = round_result(note, traces).figures
        health = note.health
        assert health is not None
        found = set(note.context.observed)
        if health.cpu_share_ratio > BUSY_RATIO or health.loop_lag_p99_ns / NS_PER_MS > _lag_limit_ms(
            health, figures
        ):
            found.add(WarningCode.CLIENT_BOUND)
        if note.context.request_rate_req_s is not None and health.send_late_p99_ns / NS_PER_MS > LATE_MS:
            found.add(WarningCode.SENT_LATE)
        if health.clock is ClockSource.USER:
            found.add(WarningCode.USER_CLOCK)
        if health.clock_steps:
            found.add(WarningCode.CLOCK_STEP)
        if not self.setting.calibrated:
            found.add(WarningCode.UNCALIBRATED)
        return replace(note, context=replace(note.context, observed=in_order(found)))


def _lag_limit_ms(health: ClientHealth, figures: RoundFigures) -> float:
    """Return the loop lag in ms above which the client disturbs what it measures."""
    by_kernel = health.clock is ClockSource.KERNEL
    found = figures.sample("e2el_ms", "p50") if by_kernel else figures.sample("step_gap_ms", "p50")
    found = found or figures.sample("e2el_ms" if by_kernel else "step_gap_ms", "mean")
    share = LAG_OF_REQUEST if by_kernel else LAG_OF_GAP
    return LEAST_LAG_MS if found is None else max(LEAST_LAG_MS, share * found.value)


def _why_nothing(traces: Sequence[RequestTrace]) -> str:
    outcomes: dict[Outcome, int] = {}
    for each in traces:
        outcomes[each.outcome] = outcomes.get(each.outcome, 0) + 1
    if not outcomes:
        return "no request was sent"
    worst = max(outcomes, key=lambda each: outcomes[each])
    detail = next((each.detail for each in traces if each.outcome is worst and each.detail), "")
    return f"none of {len(traces)} requests succeeded, {outcomes[worst]} of them {worst}{': ' if detail else ''}{detail}"
