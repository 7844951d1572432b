"""One visit to a cell: warm up, measure until it is enough, check the answers, seal."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from kbtool.runner.client import Endpoint, Progress
from kbtool.runner.engines import Identity
from kbtool.runner.folder import CellWriter, RunFolder
from kbtool.runner.folder.entries import plain
from kbtool.runner.metrics import RoundContext
from kbtool.runner.plan import Plan
from kbtool.runner.plan.cells import Visit, visit_key
from kbtool.runner.prompts import LengthError, PromptClass, PromptSpec, make_prompt
from kbtool.runner.results.load import CELL_NOTE, RoundResult, VisitResult, affinity_of, load_visit, shares_of
from kbtool.runner.results.notes import CellNote, Phase, RoundNote, VisitNote
from kbtool.runner.session.events import RoundDone, RoundRunning, Tell
from kbtool.runner.session.rounds import RoundFailedError, RoundRunner
from kbtool.runner.session.single import Asker
from kbtool.runner.session.watch import clock_mark
from kbtool.runner.session.work import Sender, load_of
from kbtool.runner.stats import extension
from kbtool.runner.target import Fault, Running
from kbtool.runner.target.topology import Split, TurnSeen
from kbtool.runner.trace import RequestTrace

__all__ = ["ROUND_FAILED", "TARGET_LOST", "TargetLostError", "VisitRunner"]

ROUND_FAILED: Final = "round_failed"
TARGET_LOST: Final = "target_lost"

AGREE_RATIO: Final = 0.05
"""Two warm-up rounds whose throughput is within this are warm."""
MAIN: Final = {"prefill": "prefill_tok_s", "single_stream": "tok_s_per_user", "long_decode": "tok_s_per_user"}
"""Metric by kind of workload whose interval decides on further rounds; output throughput for the others."""
LOG_CHARS: Final = 600
SANITY_TOK: Final = 64
SANITY_ROUND: Final = 900
"""Number of the round that holds the repeated greedy prompt."""

Ended = Literal["interval_reached", "rounds_done", "most_rounds", "deadline"]


@dataclass(frozen=True, slots=True)
class _Spread:
    """How one round was spread over instances."""

    split: Split | None
    turns: tuple[TurnSeen, ...]


class TargetLostError(Exception):
    """A server died, restarted or was swapped: what follows needs a new start."""


@dataclass(frozen=True, slots=True)
class VisitRunner:
    """Carries out the visits of one leg."""

    plan: Plan
    folder: RunFolder
    running: Running
    rounds: RoundRunner
    sender: Sender
    asker: Asker
    ask: Callable[[Endpoint], Identity]
    environment: str
    """Name of the environment file of the leg."""
    plan_sha256: str
    client_version: str
    tell: Tell

    def run(self, visit: Visit, *, first_of_leg: bool) -> VisitResult:
        """Measure a cell, seal it, and return its figures.

        Raises:
            StoppedError: the operator asked for an end; the cell stays open and is measured again on resuming.
            RoundFailedError: nothing of the cell can be used; it is marked as failed.
            TargetLostError: the same, and the servers have to be started again.
        """
        self._require_target()
        key = visit_key(visit, self.plan_sha256, self.client_version)
        writer = self.folder.begin_cell(key, {"visit": plain(VisitNote.of(visit))})
        start_ns = time.monotonic_ns()
        try:
            ended, rounds = self._measure(visit, writer, first_of_leg=first_of_leg)
            self._require_target()
            self._check_answers(visit, writer)
        except (RoundFailedError, TargetLostError) as error:
            faults = self.running.alive(self.ask)
            lost = bool(faults) or isinstance(error, TargetLostError)
            said = (
                f"{error}; {_said(faults)}"
                if faults and not isinstance(error, TargetLostError)
                else str(error)
            )
            writer.fail(TARGET_LOST if lost else ROUND_FAILED, said[:2000])
            if lost and not isinstance(error, TargetLostError):
                raise TargetLostError(said) from error
            raise
        if self.rounds.watch is not None:
            writer.write_table("telemetry", self.rounds.watch.table(start_ns, time.monotonic_ns()))
        writer.write_json(CELL_NOTE, plain(self._note(visit, ended, rounds)))
        writer.seal({"ended_because": ended})
        return load_visit(self.folder.cell(key))

    def _measure(
        self, visit: Visit, writer: CellWriter, *, first_of_leg: bool
    ) -> tuple[Ended, list[_Spread]]:
        """Run warm-up rounds, then measured ones until it is enough."""
        repeats = self.plan.repeats
        deadline = time.monotonic() + float(self.plan.deadlines.cell_s)
        number = self._warm_up(visit, writer, most=repeats.warm_up_rounds if first_of_leg else 1)
        values: list[float] = []
        done: list[_Spread] = []
        want = repeats.rounds
        while True:
            number += 1
            result = self._round(visit, writer, number, "measured")
            values += _main_value(visit, result)
            # All of a round's samples would fill the memory of a long cell: they are on the disk.
            done.append(_Spread(result.split, result.turns))
            if time.monotonic() > deadline:
                return "deadline", done
            if len(done) < want:
                continue
            ended = self._enough(values, len(done))
            if isinstance(ended, str):
                return ended, done
            want = ended

    def _enough(self, values: Sequence[float], rounds: int) -> Ended | int:
        """Return why it is enough, or how many rounds to reach next."""
        repeats = self.plan.repeats
        if repeats.interval_ratio is None or repeats.max_rounds == repeats.rounds or len(values) < 2:
            return "rounds_done"
        if rounds >= repeats.max_rounds:
            return "most_rounds"
        next_step = extension(
            [values],
            asked_ratio=float(repeats.interval_ratio),
            at_least=max(2, repeats.rounds),
            at_most=max(2, repeats.max_rounds),
        )
        if next_step.state == "enough":
            return "interval_reached"
        if next_step.state == "limit_reached":
            return "most_rounds"
        return min(repeats.max_rounds, rounds + max(1, next_step.more))

    def _warm_up(self, visit: Visit, writer: CellWriter, *, most: int) -> int:
        """Run rounds until two agree, or `most`; return how many."""
        before: float | None = None
        for number in range(1, most + 1):
            result = self._round(visit, writer, number, "warm_up")
            (value,) = _main_value(visit, result) or (None,)
            if value and before and abs(value / before - 1) <= AGREE_RATIO:
                return number
            before = value
        return most

    def _round(self, visit: Visit, writer: CellWriter, number: int, phase: Phase) -> RoundResult:
        endpoint = self._endpoint(visit)
        session = f"{visit.leg_number}-{writer.attempt}"
        try:
            load = load_of(self.sender, visit.cell, endpoint, session=session, number=number)
        except LengthError as error:
            # How short a prompt can be depends on the model's vocabulary, which only the lengths measured here show.
            raise RoundFailedError(str(error)) from error

        def progress(now: Progress) -> None:
            self.tell(RoundRunning(visit, phase, number, now))

        result = self.rounds.run(writer, visit.cell, load, number=number, phase=phase, progress=progress)
        self.tell(RoundDone(visit, phase, number, result))
        return result

    def _endpoint(self, visit: Visit) -> Endpoint:
        wanted = visit.cell.straight_to
        found = self.running.measured
        if wanted is not None:
            found = next(each for each in self.running.endpoints if each.name == wanted)
        return replace(found, spare_connections=0) if self.sender.options.thread_a_connection else found

    def _require_target(self) -> None:
        faults = self.running.alive(self.ask)
        if faults:
            raise TargetLostError(_said(faults))

    def _check_answers(self, visit: Visit, writer: CellWriter) -> None:
        """Send one greedy prompt several times: a broken kernel seldom gives the same answer twice."""
        times = self.plan.sanity.greedy_repeats
        if times < 2:
            return
        prompt_class: PromptClass = "code" if visit.cell.prompt_class == "code" else "prose"
        lengths = self.sender.lengths.get(prompt_class)
        spec = PromptSpec(
            prompt_class,
            256,
            self.plan.repeats.seed,
            f"{self.sender.run_id}/sanity/{visit.number}",
            None if lengths is None else lengths.tok_per_piece,
            0.0 if lengths is None else lengths.fixed_tok,
        )
        prompt = make_prompt(spec)
        traces = [
            self.asker.ask(self._endpoint(visit), self.sender.model, prompt, output_tok=SANITY_TOK)
            for _ in range(times)
        ]
        self._write_sanity(writer, traces)

    def _write_sanity(self, writer: CellWriter, traces: Sequence[RequestTrace]) -> None:
        mark = clock_mark()
        context = RoundContext(session=self.rounds.setting.session, round=SANITY_ROUND, concurrency=1)
        note = RoundNote(SANITY_ROUND, "sanity", context, None, mark, mark)
        writer.write_round(SANITY_ROUND, traces, plain(note))

    def _note(self, visit: Visit, ended: Ended, rounds: Sequence[_Spread]) -> CellNote:
        return CellNote(
            VisitNote.of(visit),
            self.sender.model,
            ended,
            self.environment,
            shares=shares_of([each.split for each in rounds]),
            affinity_ratio=affinity_of(each.turns for each in rounds).kept_ratio,
        )


def _said(faults: Sequence[Fault]) -> str:
    """Return what is wrong, with the end of each log, which holds no secret."""
    said = "; ".join(f"{each.instance} {each.kind}: {each.detail}" for each in faults)
    tails = (each.log_tail.strip()[-LOG_CHARS:] for each in faults)
    return "".join([said, *(f"; its log ends: {tail}" for tail in tails if tail)])


def _main_value(visit: Visit, result: RoundResult) -> list[float]:
    """Return the figure of a round that decides on further rounds, where it has one."""
    metric = MAIN.get(visit.cell.kind, "output_tok_s")
    for statistic in ("single", "mean", "p50"):
        found = result.figures.sample(metric, statistic)
        if found is not None:
            return [found.value]
    fallback = result.figures.sample("output_tok_s", "single")
    return [] if fallback is None else [fallback.value]
