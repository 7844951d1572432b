"""What can be said of a plan before anything is measured: work, time, what cannot work, what will mislead."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from kbtool.runner.plan.cells import Cell, cells_of, class_of, count_visits, legs, schedule, too_many_cells
from kbtool.runner.plan.model import MAX_CELLS, Plan
from kbtool.runner.prompts import (
    DEFAULT_LENGTHS,
    LengthError,
    LengthModel,
    require_conversation,
    require_prompt,
)

__all__ = ["Estimate", "Known", "Remark", "Speeds", "estimate", "remarks", "require_length"]

MAX_REQUESTS: Final = 5_000_000
"""Requests of a whole run; more is a slip."""
MAX_RUN_S: Final = 14 * 86_400
"""Two weeks."""
_START_S: Final = 120
"""Time that a launched server takes until its first token, where nothing is known."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the server: from the doctor, or from the plan's arguments. None is unknown."""

    context_tok: int | None = None
    proxy_context_tok: int | None = None
    kv_capacity_tok: int | None = None
    max_running_requests: int | None = None
    graph_max_batch: int | None = None
    """Largest captured decode batch, in verify rows."""
    verify_rows: int | None = None
    """Rows that one request takes in a decode step: draft tokens + 1."""


@dataclass(frozen=True, slots=True)
class Speeds:
    """Speeds that a time is estimated with."""

    prefill_tok_s: float = 5000.0
    decode_tok_s_per_user: float = 50.0
    basis: str = "assumed"
    """Where they come from."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Work of a run. The least is `rounds` everywhere; the most is `max_rounds`."""

    visits: int
    starts: int
    """Starts of the servers."""
    rounds: int
    requests: int
    input_tok: int
    output_tok: int
    least_s: float
    most_s: float
    speeds: Speeds


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to know before the run starts."""

    severity: Literal["refused", "warning"]
    place: str
    """Workload or part of the plan."""
    message: str


def estimate(plan: Plan, speeds: Speeds) -> Estimate:
    """Return the work of a plan: tokens exactly where lengths hold, seconds by the speeds."""
    visits = schedule(plan)
    rounds = plan.repeats.rounds + 1  # one round to warm up at least
    requests = sum(_requests(each.cell) for each in visits) * rounds
    seconds = sum(_round_s(each.cell, speeds) for each in visits)
    starts = len({each.leg_number for each in visits}) if plan.target.launch is not None else 0
    most = (plan.repeats.max_rounds + plan.repeats.warm_up_rounds) * seconds + starts * _START_S
    return Estimate(
        visits=len(visits),
        starts=starts,
        rounds=rounds * len(visits),
        requests=requests,
        input_tok=sum(_requests(each.cell) * _mean_input_tok(each.cell) for each in visits) * rounds,
        output_tok=sum(_requests(each.cell) * each.cell.output_tok for each in visits) * rounds,
        least_s=rounds * seconds + starts * _START_S,
        most_s=most,
        speeds=speeds,
    )


def remarks(plan: Plan, known: Known) -> tuple[Remark, ...]:
    """Return what cannot work and what will mislead, refusals first."""
    count = count_visits(plan)
    if count > MAX_CELLS:
        return (Remark("refused", "sweeps", too_many_cells(count)),)
    found = [*_too_much(plan), *_named_twice(plan), *_no_proof(plan)]
    for cell in cells_of(plan):
        found += _too_short(plan, cell)
        found += _context(cell, known)
        found += _capacity(cell, known)
        found += _batch(cell, known)
    found += _habits(plan)
    return tuple(sorted(dict.fromkeys(found), key=lambda each: each.severity != "refused"))


def _too_much(plan: Plan) -> Iterator[Remark]:
    work = estimate(plan, Speeds())
    if work.requests > MAX_REQUESTS:
        yield Remark(
            "refused",
            "workloads",
            f"the plan sends {work.requests:,} requests; expected at most {MAX_REQUESTS:,}: lower `requests`",
        )
    bound_s = work.visits * float(plan.deadlines.cell_s)
    if min(work.least_s, bound_s) > MAX_RUN_S:
        yield Remark(
            "refused", "workloads", "the plan takes more than two weeks at the assumed speeds: split it"
        )


def _named_twice(plan: Plan) -> Iterator[Remark]:
    """Yield a refusal for each name that two cells or two legs would have: results are told apart by it."""
    cells = [(cell.workload, cell.name) for cell in cells_of(plan)]
    seen: set[str] = set()
    for workload, name in cells:
        if name in seen:
            yield Remark(
                "refused",
                workload,
                f"two cells are called {name}: list each value once, or rename a workload",
            )
        seen.add(name)
    swept = [leg for leg in legs(plan, 0) if leg.role == "value"]
    for leg in {leg.name: leg for leg in swept if [each.name for each in swept].count(leg.name) > 1}.values():
        yield Remark("refused", "sweeps", f"two legs are called {leg.name}: list each value of a sweep once")


def _no_proof(plan: Plan) -> Iterator[Remark]:
    """Yield a refusal where it shows already that the servers could not be started or told apart."""
    target = plan.target
    if (
        target.router is None
        and len(target.endpoints) + len(target.launch.instances if target.launch else ()) > 1
    ):
        yield Remark(
            "refused", "target", "several servers and no router: add `router`, or measure one server a plan"
        )
    if target.launch is None or not target.launch.nonce:
        return
    for each in target.launch.instances:
        engine = each.arguments if each.container is None else each.container.arguments
        if not any("{model_name}" in argument for argument in engine):
            yield Remark(
                "refused",
                "target.launch",
                f"no argument of {each.name} holds {{model_name}}, which proves that the server is ours: add such as "
                "`--served-model-name {model_name}`, or set `nonce: false`",
            )


def _too_short(plan: Plan, cell: Cell) -> Iterator[Remark]:
    """Yield a refusal where no prompt of the length has room for its salt and what it asks."""
    try:
        require_length(cell, plan.repeats.seed, None)
    except LengthError as error:
        yield Remark("refused", cell.workload, str(error))


def require_length(cell: Cell, seed: int, lengths: LengthModel | None) -> None:
    """Do nothing where the prompts of a cell can be made.

    Args:
        cell: The load.
        seed: Seed of the plan.
        lengths: Tokens a piece of its class, as the server counts; None before it was asked.

    Raises:
        LengthError: they are too short.
    """
    known = DEFAULT_LENGTHS if lengths is None else lengths
    if cell.turns > 1:
        require_conversation(cell.input_tok, cell.turn_tok, seed=seed, lengths=known)
    elif cell.trace_path is None:
        require_prompt(
            class_of(cell),
            cell.input_tok,
            seed=seed,
            shared_prefix_tok=cell.shared_prefix_tok,
            lengths=known,
        )


def _context(cell: Cell, known: Known) -> Iterator[Remark]:
    longest = _longest_tok(cell)
    for limit, whose in ((known.context_tok, "the server"), (known.proxy_context_tok, "the proxy in front")):
        if limit is not None and longest > limit:
            yield Remark(
                "refused",
                cell.workload,
                f"a request of {longest:,} tokens is over the {limit:,} that {whose} accepts: shorten the prompt, "
                "or start the server with a longer context",
            )


def _capacity(cell: Cell, known: Known) -> Iterator[Remark]:
    if known.kv_capacity_tok is None:
        return
    longest = _longest_tok(cell)
    if longest > known.kv_capacity_tok:
        yield Remark(
            "refused",
            cell.workload,
            f"one request of {longest:,} tokens is over the KV cache of {known.kv_capacity_tok:,}: shorten it",
        )
    elif cell.rate_req_s is None and longest * _decoded_at_once(cell, known) > known.kv_capacity_tok:
        yield Remark(
            "warning",
            cell.workload,
            f"{cell.streams} requests of {longest:,} tokens are over the KV cache of {known.kv_capacity_tok:,}: "
            "requests will wait or be preempted, and the cell is marked",
        )


def _batch(cell: Cell, known: Known) -> Iterator[Remark]:
    if cell.rate_req_s is None and known.max_running_requests and cell.streams > known.max_running_requests:
        yield Remark(
            "warning",
            cell.workload,
            f"{cell.streams} users are over the server's {known.max_running_requests} running requests: the rest "
            "queues, and the cell is marked `queued`",
        )
    if known.graph_max_batch and known.verify_rows:
        rows = _decoded_at_once(cell, known) * known.verify_rows
        if rows > known.graph_max_batch and cell.rate_req_s is None:
            yield Remark(
                "warning",
                cell.workload,
                f"{rows} rows a step ({_decoded_at_once(cell, known)} requests of {known.verify_rows}) are over the "
                f"largest captured graph of {known.graph_max_batch}: expect a cliff there",
            )


def _habits(plan: Plan) -> Iterator[Remark]:
    if plan.repeats.rounds < 3:
        yield Remark(
            "warning", "repeats", "fewer than 3 rounds show no spread: the results are marked `few_samples`"
        )
    if plan.sanity.greedy_repeats == 0:
        yield Remark("warning", "sanity", "answers are not checked: the results are marked `speed_only`")
    if plan.target.launch is None:
        yield Remark(
            "warning",
            "target",
            "an attached server is one session: the interval holds for this start of the server, not for another",
        )


def _decoded_at_once(cell: Cell, known: Known) -> int:
    return min(cell.streams, known.max_running_requests or cell.streams)


def _longest_tok(cell: Cell) -> int:
    """Return the longest context of a request: prompt and answer, after the last turn of a conversation."""
    if cell.turns > 1:
        return cell.input_tok + cell.turns * (cell.turn_tok + cell.output_tok)
    return cell.input_tok + cell.output_tok


def _mean_input_tok(cell: Cell) -> int:
    if cell.turns > 1:
        return cell.input_tok + cell.turn_tok + (cell.turns - 1) * (cell.turn_tok + cell.output_tok) // 2
    return cell.input_tok


def _requests(cell: Cell) -> int:
    if cell.rate_req_s is not None and cell.duration_s is not None:
        return round(cell.rate_req_s * cell.duration_s)
    return cell.requests


def _round_s(cell: Cell, speeds: Speeds) -> float:
    """Return the length of a round: prefills one after another, decodes side by side at the single user's speed."""
    if cell.rate_req_s is not None and cell.duration_s is not None:
        return cell.duration_s
    new_tok = _mean_input_tok(cell) if cell.cache == "cold" and cell.turns == 1 else cell.turn_tok
    prefill_s = cell.requests * new_tok / speeds.prefill_tok_s
    decode_s = cell.requests / cell.streams * cell.output_tok / speeds.decode_tok_s_per_user
    return max(prefill_s + decode_s + cell.requests / cell.streams * cell.think_s, cell.duration_s or 0.0)
