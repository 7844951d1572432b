"""The legs and cells that a plan stands for: which settings, which load, in which order.

A *leg* is one start of the servers under one setting; a *cell* is one load within a leg; a *round* is one
repetition of a cell.  The base leg comes first and last, so that a drift of the machine shows as a difference
between two measurements of the same thing.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Final, Literal, assert_never, cast

import orjson

from kbtool.errors import RecordError
from kbtool.runner.plan.model import MAX_CELLS, Plan, Sweep
from kbtool.runner.plan.workloads import (
    Concurrency,
    Conversation,
    LongDecode,
    PlannedSlo,
    Prefill,
    Rate,
    Replay,
    SingleStream,
    Workload,
)
from kbtool.runner.prompts import PromptClass
from kbtool.vocab.numbers import number_text

__all__ = [
    "Cell",
    "Leg",
    "Visit",
    "cells_of",
    "class_of",
    "count_visits",
    "legs",
    "schedule",
    "too_many_cells",
    "visit_key",
]

Cache = Literal["cold", "warm"]
LegRole = Literal["base", "value"]

BASE: Final = "base"
LONGEST_WORD: Final = 48
"""Of a value in a name: legs and cells are files and folders."""


@dataclass(frozen=True, slots=True)
class Leg:
    """One start of the servers."""

    name: str
    """`base`, or `<sweep>-<value>`."""
    role: LegRole
    sweep: Sweep | None = None
    value_index: int = 0


@dataclass(frozen=True, slots=True)
class Cell:
    """One load. Equal cells of several visits are repetitions of one measurement."""

    name: str
    """Unique among the cells of a plan; result ids begin with it."""
    workload: str
    kind: str
    prompt_class: str
    input_tok: int
    output_tok: int
    streams: int
    """Users at once in a closed loop; the bound on requests in flight in an open one."""
    requests: int
    """Requests of a round, all users together; 0 where a duration bounds it."""
    temperature: float = 0.0
    rate_req_s: float | None = None
    duration_s: float | None = None
    burstiness: float = 1.0
    cache: Cache = "cold"
    shared_prefix_tok: int = 0
    turns: int = 1
    turn_tok: int = 0
    think_s: float = 0.0
    trace_path: str | None = None
    trace_speed: float = 1.0
    trace_first: int = 0
    slo: tuple[tuple[str, float], ...] = ()
    """Metric id and limit in its unit."""
    straight_to: str | None = None
    """Name of the instance that is asked directly, past the router: a control."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One cell in one leg of one session: what is run, sealed and repeated as a whole."""

    number: int
    """Place in the schedule, from 0."""
    session: int
    leg: Leg
    leg_number: int
    """Start of the servers that it belongs to, from 0 over the whole run."""
    cell: Cell


def legs(plan: Plan, session: int) -> tuple[Leg, ...]:
    """Return the legs of one session in order; every second session runs backwards, which cancels a steady drift."""
    base = Leg(BASE, "base")
    found = [base]
    for sweep in plan.sweeps:
        others = [
            Leg(f"{sweep.id}-{_word(each.value)}", "value", sweep, index)
            for index, each in enumerate(sweep.values)
            if each.value != sweep.base
        ]
        if sweep.order == "shuffled":
            random.Random(f"{plan.repeats.seed}/{sweep.id}/{session // 2}").shuffle(others)
        for leg in others:
            found.append(leg)
            if sweep.order == "bracketed":
                found.append(base)
        if found[-1] is not base:
            found.append(base)
    return tuple(reversed(found)) if session % 2 else tuple(found)


def cells_of(plan: Plan) -> tuple[Cell, ...]:
    """Return the cells of the base leg, in the order of the plan, controls last."""
    found = [cell for workload in plan.workloads for cell in _cells(workload)]
    first = _first_instance(plan)
    if plan.control_cell and plan.target.router is not None and first:
        found += [
            replace(cell, name=f"{cell.name}-straight", straight_to=first)
            for cell in found
            if cell.kind in {"single_stream", "concurrency"}
        ][:1]
    return tuple(found)


def class_of(cell: Cell) -> PromptClass:
    """Return the class of the prompts of a cell; a recorded trace is sent as synthetic text."""
    return cast("PromptClass", "synthetic" if cell.prompt_class == "mixed" else cell.prompt_class)


def schedule(plan: Plan) -> tuple[Visit, ...]:
    """Return every visit of the run in the order in which they are made; equal plans give equal schedules.

    Raises:
        RecordError: there are more than `MAX_CELLS`.
    """
    count = count_visits(plan)
    if count > MAX_CELLS:
        raise RecordError(f"sweeps: {too_many_cells(count)}")
    visits: list[Visit] = []
    leg_number = 0
    for session in range(plan.repeats.sessions):
        for leg in legs(plan, session):
            for cell in _ordered(plan, leg, session, leg_number):
                visits.append(Visit(len(visits), session, leg, leg_number, cell))
            leg_number += 1
    return tuple(visits)


def count_visits(plan: Plan) -> int:
    """Return how many visits a plan stands for, without making them: there may be thousands of millions."""
    of_workload = Counter(cell.workload for cell in cells_of(plan))
    count = leg_number = 0
    for session in range(plan.repeats.sessions):
        for leg in legs(plan, session):
            wanted = _wanted(plan, leg, leg_number) or of_workload.keys()
            count += sum(of_workload[name] for name in wanted)
            leg_number += 1
    return count


def too_many_cells(count: int) -> str:
    """Return what is said of a plan with so many cells."""
    return f"the plan has {count:,} cells; expected at most {MAX_CELLS:,}: take out values or levels"


def visit_key(visit: Visit, plan_sha256: str, client_version: str) -> str:
    """Return the name of a visit's folder: readable, and different as soon as anything that matters is."""
    said = {
        "plan": plan_sha256,
        "client": client_version,
        "session": visit.session,
        "leg": [visit.leg.name, visit.leg_number],
        "cell": asdict(visit.cell),
    }
    digest = hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]
    return f"{visit.number:04d}-{visit.leg.name}-{visit.cell.name}"[:80].rstrip("-") + f"-{digest}"


def _ordered(plan: Plan, leg: Leg, session: int, leg_number: int) -> Sequence[Cell]:
    wanted = _wanted(plan, leg, leg_number)
    cells = [cell for cell in cells_of(plan) if not wanted or cell.workload in wanted]
    if plan.repeats.order == "as_given":
        return cells
    return _shuffled(cells, random.Random(f"{plan.repeats.seed}/{session}/{leg_number}"))


def _wanted(plan: Plan, leg: Leg, leg_number: int) -> set[str]:
    """Return the workloads of a leg; all where empty."""
    if leg.role == "base" and plan.sweeps and leg_number:
        # A base leg between sweeps is there to show drift: it runs what the sweeps run, nothing else.
        return {name for sweep in plan.sweeps for name in sweep.workloads}
    return set(leg.sweep.workloads) if leg.sweep is not None else set()


def _shuffled(cells: list[Cell], source: random.Random) -> list[Cell]:
    """Return the cells in random order, but a warm cell right behind its cold one, whose prompts it repeats."""
    groups: list[list[Cell]] = []
    for cell in cells:
        if cell.cache == "warm" and groups and groups[-1][0].workload == cell.workload:
            groups[-1].append(cell)
        else:
            groups.append([cell])
    source.shuffle(groups)
    return [cell for group in groups for cell in group]


def _first_instance(plan: Plan) -> str | None:
    if plan.target.launch is not None:
        return plan.target.launch.instances[0].name
    return plan.target.endpoints[0].name if plan.target.endpoints else None


def _cells(workload: Workload) -> Iterator[Cell]:
    match workload:
        case SingleStream():
            yield from _single_stream(workload)
        case Concurrency():
            yield from _concurrency(workload)
        case Rate():
            yield from _rate(workload)
        case Prefill():
            yield from _prefill(workload)
        case Conversation():
            yield from _conversation(workload)
        case LongDecode():
            yield _long_decode(workload)
        case Replay():
            yield _replay(workload)
        case _:
            assert_never(workload)


def _single_stream(load: SingleStream) -> Iterator[Cell]:
    for prompt_class in load.prompt_classes:
        yield Cell(
            name=f"{load.id}-{prompt_class}",
            workload=load.id,
            kind=load.kind,
            prompt_class=prompt_class,
            input_tok=load.input_tok,
            output_tok=load.output_tok,
            streams=1,
            requests=load.requests,
            temperature=float(load.temperature),
        )


def _concurrency(load: Concurrency) -> Iterator[Cell]:
    for level in load.levels:
        yield Cell(
            name=f"{load.id}-c{level}",
            workload=load.id,
            kind=load.kind,
            prompt_class=load.prompt_class,
            input_tok=load.input_tok,
            output_tok=load.output_tok,
            streams=level,
            requests=level * load.requests_per_stream,
            duration_s=None if load.at_least_s is None else float(load.at_least_s),
            shared_prefix_tok=load.shared_prefix_tok,
            temperature=float(load.temperature),
        )


def _rate(load: Rate) -> Iterator[Cell]:
    for rate in load.rates_req_s:
        yield Cell(
            name=f"{load.id}-r{_word(rate)}",
            workload=load.id,
            kind=load.kind,
            prompt_class=load.prompt_class,
            input_tok=load.input_tok,
            output_tok=load.output_tok,
            streams=load.max_in_flight,
            requests=0,
            rate_req_s=float(rate),
            duration_s=float(load.duration_s),
            burstiness=float(load.burstiness),
            shared_prefix_tok=load.shared_prefix_tok,
            slo=_slo(load.slo),
            temperature=float(load.temperature),
        )


def _prefill(load: Prefill) -> Iterator[Cell]:
    for length in load.lengths_tok:
        for cache in load.caches:
            yield Cell(
                name=f"{load.id}-{length}-{cache}",
                workload=load.id,
                kind=load.kind,
                prompt_class=load.prompt_class,
                input_tok=length,
                output_tok=load.output_tok,
                streams=1,
                requests=load.requests,
                cache=cache,
                temperature=float(load.temperature),
            )


def _conversation(load: Conversation) -> Iterator[Cell]:
    for agents in load.agents:
        yield Cell(
            name=f"{load.id}-a{agents}",
            workload=load.id,
            kind=load.kind,
            prompt_class="agent",
            input_tok=load.system_tok,
            output_tok=load.output_tok,
            streams=agents,
            requests=agents * load.turns,
            turns=load.turns,
            turn_tok=load.turn_tok,
            think_s=float(load.think_s),
            temperature=float(load.temperature),
        )


def _long_decode(load: LongDecode) -> Cell:
    return Cell(
        name=load.id,
        workload=load.id,
        kind=load.kind,
        prompt_class=load.prompt_class,
        input_tok=load.input_tok,
        output_tok=load.output_tok,
        streams=load.streams,
        requests=load.streams * load.requests,
        temperature=float(load.temperature),
    )


def _replay(load: Replay) -> Cell:
    return Cell(
        name=load.id,
        workload=load.id,
        kind=load.kind,
        prompt_class="mixed",
        input_tok=0,
        output_tok=0,
        streams=load.max_in_flight,
        requests=load.requests,
        trace_path=load.path,
        trace_speed=float(load.speed),
        trace_first=load.first,
        slo=_slo(load.slo),
        temperature=float(load.temperature),
    )


def _slo(limits: Sequence[PlannedSlo]) -> tuple[tuple[str, float], ...]:
    return tuple((each.metric, float(each.limit)) for each in limits)


def _word(value: object) -> str:
    """Return a value as part of a slug: `0.5` is `0p5`."""
    text = (
        number_text(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else str(value)
    )
    kept = "".join(
        char if char.isascii() and char.isalnum() else "p" if char == "." else "-" for char in text.lower()
    )
    word = "-".join(part for part in kept.split("-") if part)
    return word[:LONGEST_WORD].rstrip("-") or "none"
