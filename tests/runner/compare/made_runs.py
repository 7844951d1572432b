"""Runs made by hand, with known speeds: each test says only what matters to it."""

import random
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from kbtool.runner.client.recorded import ClientHealth
from kbtool.runner.metrics import (
    CacheVerdict,
    CellSummary,
    Pool,
    Reconciliation,
    RoundContext,
    RoundFigures,
    Sample,
    Sanity,
    SpeculationVerdict,
    TokenTotals,
    summarize,
)
from kbtool.runner.plan import Plan
from kbtool.runner.plan.cells import Cell
from kbtool.runner.results import CellResult, RoundResult, Run, VisitResult
from kbtool.runner.results.notes import CellNote, ClockMark, RoundNote, VisitNote
from kbtool.runner.trace import ClockSource, Outcome
from kbtool.vocab.warnings import WarningCode

__all__ = ["CELL", "Speed", "cell_result", "run", "sessions", "steady", "visit", "with_warning"]

NS_PER_S = 1_000_000_000
REQUESTS = 32
CELL = Cell(
    name="users-c8", workload="users", kind="concurrency", prompt_class="prose", input_tok=1024, output_tok=256,
    streams=8, requests=REQUESTS,
)  # fmt: skip
HEALTH = ClientHealth(
    loop_lag_p50_ns=0, loop_lag_p99_ns=0, loop_lag_max_ns=0, send_late_p50_ns=0, send_late_p99_ns=0, send_late_max_ns=0,
    cpu_s=0.1, wall_s=10.0, cpu_share_ratio=0.01, events=100, segments=100, blocked_sends=0, clock=ClockSource.KERNEL,
    clock_steps=0, user_stamped=0, connect_retries=0, spares_lost=0,
)  # fmt: skip

Speed = Callable[[int, int], float]
"""Session and round -> speed of the server, as a share of the usual one."""


def steady(
    generator: random.Random, *, level: float = 1.0, between: float = 0.017, within: float = 0.017
) -> Speed:
    """Return speeds that vary between sessions and rounds, 2.4 % in all unless told otherwise."""
    levels: dict[int, float] = {}

    def speed(session: int, _: int) -> float:
        levels.setdefault(session, level * generator.gauss(1, between))
        return levels[session] * generator.gauss(1, within)

    return speed


def visit(
    speed: Callable[[int], float],
    *,
    cell: Cell = CELL,
    session: int = 0,
    leg: str = "base",
    leg_number: int = 0,
    setting: str | None = None,
    value: Any = None,
    start_s: float = 0.0,
    rounds: int = 3,
    totals: tuple[int, int] = (1024, 256),
    clock: ClockSource = ClockSource.KERNEL,
    environment: str = "leg-00-base",
) -> VisitResult:
    """Return one visit whose rounds have these speeds."""
    note = VisitNote(
        number=leg_number * 100, session=session, leg=leg, leg_number=leg_number, is_base=setting is None,
        sweep=None if setting is None else "sweep", setting=setting, value=value, cell=cell,
    )  # fmt: skip
    made = tuple(
        _round(
            number,
            speed(number),
            f"start-{leg_number}",
            start_s=start_s + 10 * number,
            totals=totals,
            clock=clock,
        )
        for number in range(1, rounds + 1)
    )
    return VisitResult(
        key=f"{leg_number:04d}-{leg}-{cell.name}",
        note=CellNote(note, "tiny", "rounds_done", environment),
        rounds=made,
        warm_up=(),
        sanity=Sanity(REQUESTS, (), (), 1.0),
    )


def _round(
    number: int, speed: float, session: str, *, start_s: float, totals: tuple[int, int], clock: ClockSource
) -> RoundResult:
    start_ns = round(start_s * NS_PER_S)
    marks = [ClockMark(at, at, at) for at in (start_ns, start_ns + 9 * NS_PER_S)]
    context = RoundContext(session=session, round=number, concurrency=8, prompt_class="prose")
    note = RoundNote(number, "measured", context, replace(HEALTH, clock=clock), marks[0], marks[1])
    values = {"output_tok_s": 800 * speed, "tok_s_per_user": 110 * speed, "ttft_ms": 90 / speed}
    samples = (
        Sample("output_tok_s", "single", values["output_tok_s"], REQUESTS),
        *(Sample(name, word, values[name], REQUESTS) for name in ("tok_s_per_user", "ttft_ms") for word in ("mean", "p50")),
    )  # fmt: skip
    figures = RoundFigures(
        context=context,
        samples=samples,
        pools=tuple(
            Pool(name, array("d", [values[name]] * REQUESTS)) for name in ("tok_s_per_user", "ttft_ms")
        ),
        outcomes=((Outcome.OK, REQUESTS),),
        retries=0,
        started_ns=start_ns,
        wall_s=9.0,
        window=None,
        totals=TokenTotals(totals[0] * REQUESTS, totals[1] * REQUESTS, 0, None),
        cache=CacheVerdict("proven_cold", ("cached_tokens_zero", "unique_prompt")),
        warnings=(),
    )
    return RoundResult(note, figures, Reconciliation("agrees"), SpeculationVerdict("disabled"))


def cell_result(visits: Sequence[VisitResult], *, summary: CellSummary | None = None) -> CellResult:
    """Return all visits to one cell as one measurement."""
    first = visits[0].note.visit
    found = [each.figures for one in visits for each in one.rounds]
    unique = [replace(each, context=replace(each.context, session=f"{at}")) for at, each in enumerate(found)]
    return CellResult(
        leg=first.leg,
        setting=first.setting,
        value=first.value,
        cell=first.cell,
        visits=tuple(visits),
        summary=summary or summarize(unique),
    )


def with_warning(cell: CellResult, code: WarningCode) -> CellResult:
    """Return a cell that carries a warning."""
    return replace(cell, summary=replace(cell.summary, warnings=(*cell.summary.warnings, code)))


def run(
    name: str, cells: Sequence[CellResult], *, facts: Mapping[str, Any] | None = None, kind: str = "vllm"
) -> Run:
    """Return a complete run of these cells on the one host that all made runs share."""
    plan = Plan.model_validate(
        {
            "plan_version": 1,
            "id": "demo",
            "title": "Demo",
            "subject": {"engine": "engines/vllm", "model": "models/tiny"},
            "target": {"endpoints": [{"url": "http://127.0.0.1:8000/v1"}]},
            "workloads": [{"id": "users", "kind": "concurrency", "levels": [8]}],
        }
    )
    known = {"runner_version": "kbtool bench 1", "text_version": 1, **(facts or {})}
    settings = [{"field": "serving.context_tok", "value": 4096, "trust": "engine"}]
    environments: dict[str, dict[str, Any]] = {
        "host": {"host": {"boot_id": "boot", "cpu_model": "cpu"}, "accelerators": {"cards": []}},
        "leg-00-base": {"kind": kind, "settings": settings},
    }
    return Run(name, plan, known, environments, tuple(cells), (), (), finished=True, remarks=())


def sessions(
    speed: Speed,
    order: str,
    side: str,
    *,
    cell: Cell = CELL,
    session_s: float = 100.0,
    rounds: int = 3,
    **others: Any,
) -> CellResult:
    """Return a cell measured in the sessions of one side of an order such as `ABBA`."""
    places = [at for at, letter in enumerate(order) if letter == side]
    return cell_result(
        [
            visit(
                partial(speed, session),
                cell=cell, session=session, leg_number=session, start_s=place * session_s, rounds=rounds, **others,
            )
            for session, place in enumerate(places)
        ]
    )  # fmt: skip
