"""Finished runs made by hand: real run folders, from traces whose times are computed and not measured."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from kbtool.runner.client.recorded import ClientHealth
from kbtool.runner.folder import Column, ColumnType, FolderOptions, Mode, RunFolder, Table, Warned
from kbtool.runner.folder.entries import plain
from kbtool.runner.folder.fs import FileSystem
from kbtool.runner.metrics import RoundContext, Slo
from kbtool.runner.plan import Plan
from kbtool.runner.plan.cells import Visit, schedule
from kbtool.runner.results.notes import CellNote, ClockMark, RoundNote, VisitNote
from kbtool.runner.telemetry import COLUMNS, TelemetrySample, to_columns
from kbtool.runner.trace import ChunkKind, Chunks, ClockSource, Outcome, RequestTrace, Usage

__all__ = ["PLAN", "Shape", "make_run", "plan_of", "workload"]

MS: Final = 1_000_000
START_NS: Final = 9_000_000_000_000
ROUND_NS: Final = 20_000_000_000
SESSION: Final = "attached"


class _CalmDisk(FileSystem):
    """The real disk without waiting for it."""

    def sync(self, descriptor: int) -> None:
        """Believe the disk."""

    def sync_data(self, descriptor: int) -> None:
        """Believe the disk."""


def workload(kind: str, name: str, **others: Any) -> dict[str, Any]:
    """Return one workload of a plan."""
    small = {"input_tok": 200, "output_tok": 24}
    fixed: dict[str, dict[str, Any]] = {
        "single_stream": {**small, "prompt_classes": ["prose", "code"], "requests": 4},
        "concurrency": {**small, "levels": [1, 4, 16], "requests_per_stream": 2},
        "rate": {
            **small,
            "rates_req_s": ["2", "8"],
            "duration_s": "4",
            "slo": [{"metric": "ttft_ms", "limit": "180"}],
        },
        "prefill": {"lengths_tok": [1000, 8000], "requests": 2, "output_tok": 8},
        "conversation": {"turns": 4, "system_tok": 900, "turn_tok": 60, "output_tok": 16},
    }
    return {"kind": kind, "id": name, **fixed[kind], **others}


PLAN: Final[Mapping[str, Any]] = {
    "plan_version": 1,
    "id": "made",
    "title": "A made run",
    "subject": {"engine": "engines/llama-cpp", "model": "models/tiny"},
    "target": {"endpoints": [{"url": "http://127.0.0.1:8000/v1"}]},
    "workloads": [workload("concurrency", "users")],
    "repeats": {"rounds": 3, "max_rounds": 3, "order": "as_given"},
}


def plan_of(*workloads: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    """Return the plan with these workloads, as JSON says it."""
    return {**PLAN, **({"workloads": list(workloads)} if workloads else {}), **others}


@dataclass(frozen=True, slots=True)
class Shape:
    """What is special about a run; each test says only what matters to it."""

    rounds: int = 3
    speed: Callable[[Visit], float] = lambda _: 1.0
    """How fast the server is in a visit, as a factor."""
    change: Callable[[Visit, RequestTrace], RequestTrace] = lambda _, trace: trace
    """What becomes of each request."""
    fail: Callable[[Visit], str] = lambda _: ""
    """Why a visit comes to nothing; empty where it does not."""
    cards: int = 0
    model: str = "tiny"
    shares: tuple[tuple[str, int], ...] = ()
    affinity_ratio: float | None = None
    calibration: Mapping[str, Any] | None = None
    warned: Sequence[tuple[str, str]] = ()
    straight: bool = False
    """Whether the first concurrency cell is measured straight at an instance as well."""
    finished: bool = True


def make_run(root: Path, plan: Mapping[str, Any] = PLAN, shape: Shape | None = None) -> RunFolder:
    """Make a run folder and return it, opened for reading."""
    shape = shape or Shape()
    made = Plan.model_validate_json(json.dumps(plan))
    environment: dict[str, Mapping[str, Any]] = {"host": _host(shape), "leg-00-base": _leg(shape)}
    if shape.calibration is not None:
        environment["calibration"] = shape.calibration
    facts = {
        "run_id": "20291130-014512-9f3a61c2",
        "started": "2029-11-30T01:45:12+00:00",
        "command": "bench run plan.yaml",
        "runner_version": "1.0",
        "plan": made.model_dump(mode="json", by_alias=True),
    }
    folder = RunFolder.create(
        root,
        run_id="20291130-014512-9f3a61c2",
        runner_version="1.0",
        plan=b"plan: made\n",
        run=facts,
        environment=environment,
        fingerprint={},
        options=FolderOptions(reserve_bytes=0, sync_interval_s=3600.0, fs=_CalmDisk()),
    )
    for code, detail in shape.warned:
        folder.append(Warned(code, detail))
    for visit in _visits(made, shape):
        _carry_out(folder, visit, shape)
    if shape.finished:
        folder.finish()
    folder.close()
    return RunFolder.open(root, Mode.READ)


def _visits(plan: Plan, shape: Shape) -> list[Visit]:
    visits = list(schedule(plan))
    looped = next((visit for visit in visits if visit.cell.kind == "concurrency"), None)
    if shape.straight and looped is not None:
        cell = replace(looped.cell, name=f"{looped.cell.name}-straight", straight_to="server-1")
        visits.append(replace(looped, number=len(visits), cell=cell))
    return visits


def _carry_out(folder: RunFolder, visit: Visit, shape: Shape) -> None:
    key = f"{visit.number:04d}-{visit.leg.name}-{visit.cell.name}"[:80]
    writer = folder.begin_cell(key, {})
    reason = shape.fail(visit)
    if reason:
        writer.fail("round_failed", reason)
        return
    for number in range(1, shape.rounds + 2):
        phase = "warm_up" if number == 1 else "measured"
        start_ns = START_NS + (visit.number * 10 + number) * ROUND_NS
        traces = [shape.change(visit, each) for each in _traces(visit, number, start_ns, shape.speed(visit))]
        end_ns = max((each.done_ns or start_ns for each in traces), default=start_ns) + MS
        note = RoundNote(number, phase, _context(visit, number), _health(), _mark(start_ns), _mark(end_ns))  # type: ignore[arg-type]
        writer.write_round(number, traces, plain(note))
    writer.write_table("telemetry", _telemetry(visit, shape))
    about = CellNote(
        VisitNote.of(visit), shape.model, "rounds_done", "leg-00-base", shape.shares, shape.affinity_ratio
    )
    writer.write_json("note", plain(about))
    writer.seal({})


def _context(visit: Visit, number: int) -> RoundContext:
    cell = visit.cell
    return RoundContext(
        session=f"{SESSION}-{visit.number}",
        round=number,
        concurrency=None if cell.kind == "rate" else cell.streams,
        request_rate_req_s=cell.rate_req_s,
        prompt_class="prose",
        input_tok=cell.input_tok,
        output_tok=cell.output_tok,
        cache_expected="warm" if cell.cache == "warm" or cell.turns > 1 else "cold",
        prompts_unique=True,
        slos=tuple(Slo(metric, limit) for metric, limit in cell.slo),
    )


def _mark(t_ns: int) -> ClockMark:
    return ClockMark(t_ns, t_ns + 1_800_000_000_000_000_000, t_ns)


def _health() -> ClientHealth:
    return ClientHealth(
        20_000,
        90_000,
        150_000,
        40_000,
        300_000,
        500_000,
        0.02,
        0.4,
        0.05,
        100,
        90,
        0,
        ClockSource.KERNEL,
        0,
        0,
        0,
        0,
    )


def _traces(visit: Visit, number: int, start_ns: int, speed: float) -> list[RequestTrace]:
    cell = visit.cell
    rng = random.Random(f"{visit.leg.name}/{visit.leg_number}/{cell.name}/{number}")
    if cell.kind == "rate":
        starts = [
            start_ns + round(at / (cell.rate_req_s or 1.0) * 1e9)
            for at in range(round((cell.rate_req_s or 1.0) * (cell.duration_s or 1.0)))
        ]
        return [
            _trace(visit, rng, f"{cell.name}/{number}/{at}", sent_ns=sent_ns, speed=speed)
            for at, sent_ns in enumerate(starts)
        ]
    found: list[RequestTrace] = []
    per_user = max(1, cell.requests // cell.streams)
    for stream in range(cell.streams):
        sent_ns = start_ns + stream * 1000
        for turn in range(1, per_user + 1):
            name = f"{cell.name}/{number}/{len(found)}"
            made = _trace(
                visit,
                rng,
                name,
                sent_ns=sent_ns,
                speed=speed,
                stream=stream,
                turn=turn if cell.turns > 1 else 1,
            )
            found.append(made)
            sent_ns = (made.done_ns or sent_ns) + MS // 5
    return found


def _trace(
    visit: Visit, rng: random.Random, name: str, *, sent_ns: int, speed: float, stream: int = 0, turn: int = 1
) -> RequestTrace:
    load = visit.cell
    users = load.streams if load.kind == "concurrency" else 1
    warm = load.cache == "warm" or turn > 1
    first_ms = (20 + users * 3 + (0 if warm else load.input_tok / 20)) * rng.uniform(0.9, 1.3) / speed
    step_ms = (8 + 0.4 * users) / speed
    times, total, t_ms = [], 0, first_ms
    tokens: list[int] = []
    while total < load.output_tok:
        total = min(load.output_tok, total + rng.choice((1, 1, 2, 3)))
        times.append(sent_ns + round(t_ms * MS))
        tokens.append(total)
        t_ms += step_ms * rng.uniform(0.8, 1.2) + (150 if rng.random() < 0.004 else 0)
    isl = max(load.input_tok, 50) + (turn - 1) * load.turn_tok
    return RequestTrace(
        id=name,
        endpoint="server",
        stream=stream,
        turn=turn,
        asked_model="tiny",
        asked_output_tok=load.output_tok,
        output_tok_fixed=True,
        prompt_class="prose",
        prompt_salt=f"{rng.getrandbits(32):08x}",
        due_ns=sent_ns if load.kind == "rate" else None,
        connect_start_ns=sent_ns - 400_000,
        connected_ns=sent_ns - 200_000,
        sent_ns=sent_ns,
        sent_all_ns=sent_ns + 9_000,
        first_byte_ns=times[0],
        done_ns=times[-1] + 30_000,
        outcome=Outcome.OK,
        status=200,
        chunks=Chunks(
            tuple(times),
            (ChunkKind.CONTENT,) * len(times),
            (200,) * len(times),
            (5,) * len(times),
            tuple(tokens),
        ),
        usage=Usage(isl, total, cached_tok=round(isl * 0.8) if warm else 0),
        finish_reason="length",
        model="tiny",
        text="Plain words that make sense to a reader who knows them.",
    )


def _telemetry(visit: Visit, shape: Shape) -> Table:
    start_ns = START_NS + (visit.number * 10 + 1) * ROUND_NS
    rng = random.Random(visit.number)
    rows: list[TelemetrySample] = []
    for at in range(160):
        t_ns = start_ns + at * ROUND_NS * (shape.rounds + 1) // 160
        rows += [
            TelemetrySample(
                t_ns, "card", card=card, power_average_mw=420_000 + rng.randrange(150_000), power_limit_mw=600_000,
                sm_clock_mhz=2400 - rng.randrange(200), temperature_c=50 + at // 8 + card,
            )
            for card in range(shape.cards)
        ]  # fmt: skip
        busy = at * 900_000_000 + rng.randrange(400_000_000)
        rows.append(
            TelemetrySample(
                t_ns,
                "host",
                host_busy_ns=busy,
                host_total_ns=at * 2_000_000_000,
                runner_cpu_ns=at * 40_000_000,
            )
        )
    if shape.cards:
        rows.append(TelemetrySample(start_ns + ROUND_NS, "xid", card=0, xid=79, pci="0000:01:00.0"))
    values = to_columns(sorted(rows, key=lambda each: each.t_ns))
    types = {"int64": ColumnType.INT64, "float64": ColumnType.FLOAT64, "string": ColumnType.TEXT}
    return Table(
        "telemetry", 1, tuple(Column(name, types[kind], name, values[name]) for name, kind in COLUMNS)
    )


def _host(shape: Shape) -> dict[str, Any]:
    card = {"name": "NVIDIA RTX PRO 6000 Blackwell Server Edition", "power_enforced_w": 600.0}
    return {
        "host": {
            "cpu_model": "AMD EPYC",
            "cores": 64,
            "memory_bytes": 512 << 30,
            "os_name": "Debian",
            "kernel": "6.1",
        },
        "accelerators": {
            "cards": [card] * shape.cards,
            "driver_version": "580.10" if shape.cards else None,
            "gaps": [],
        },
    }


def _leg(shape: Shape) -> dict[str, Any]:
    return {
        "kind": "llama_cpp",
        "model": shape.model,
        "identities": {
            "server": {
                "version": "1.2.3",
                "build": "b77",
                "context_tok": 4096,
                "model_root": f"/models/{shape.model}",
            }
        },
        "settings": [
            {
                "field": "serving.context_tok",
                "value": 4096,
                "as_published": "4096",
                "trust": "engine",
                "where": "GET /props",
            },
            {
                "field": "model.checkpoint",
                "value": shape.model,
                "as_published": shape.model,
                "trust": "process",
                "where": "--model",
            },
        ],
    }
