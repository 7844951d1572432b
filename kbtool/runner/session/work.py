"""From a cell to a driver: which requests a round sends, and what is known of them beforehand."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol, cast

from kbtool.errors import UsageError
from kbtool.runner.client import Driver, Endpoint
from kbtool.runner.engines import RequestOptions as EngineOptions
from kbtool.runner.load import (
    Affinity,
    Api,
    ClosedLoop,
    ClosedLoopSpec,
    Content,
    Conversations,
    ConversationsSpec,
    FixedLength,
    OpenLoop,
    OpenLoopSpec,
    PrefillSpec,
    Replay,
    ReplaySpec,
    RequestOptions,
    SingleStreamSpec,
    WorkSpec,
    prefill,
    single_stream,
)
from kbtool.runner.plan import Plan
from kbtool.runner.plan.cells import Cell, cells_of, class_of
from kbtool.runner.plan.check import require_length
from kbtool.runner.prompts import LengthError, LengthModel, PromptClass, read_trace, trace_lines

__all__ = ["Load", "Sender", "asked_lengths", "load_of", "require_lengths"]


class KnowsLengths(Protocol):
    """A driver that knows how long its prompts should be."""

    @property
    def expected_tok(self) -> Mapping[str, int]:
        """Prompt tokens by request id."""


class LoadDriver(Driver, KnowsLengths, Protocol):
    """What every driver of `kbtool.runner.load` is."""


@dataclass(frozen=True, slots=True)
class Load:
    """The requests of one round."""

    driver: LoadDriver
    primes: bool
    """Whether first turns only fill the cache and are no part of the measurement."""
    unique: bool
    """Whether no two prompts of the run begin alike."""
    concurrency: int | None
    expects: Literal["cold", "warm"] | None


@dataclass(frozen=True, slots=True)
class Sender:
    """What all rounds of a leg share."""

    plan: Plan
    plan_folder: Path
    """Where traces to replay lie."""
    run_id: str
    model: str
    options: EngineOptions
    lengths: Mapping[PromptClass, LengthModel]


_UNKNOWN_TOK: Final = 1024
"""Length to calibrate at where a recorded trace sets the lengths."""
_OPEN: Final = frozenset({"rate", "replay"})


def asked_lengths(cells: tuple[Cell, ...]) -> dict[PromptClass, list[int]]:
    """Return the prompt lengths that cells ask for, tokens, by class in a fixed order."""
    found: dict[PromptClass, list[int]] = {}
    for cell in cells:
        found.setdefault(class_of(cell), []).append(cell.input_tok or _UNKNOWN_TOK)
    return dict(sorted(found.items()))


def require_lengths(plan: Plan, lengths: Mapping[PromptClass, LengthModel]) -> None:
    """Refuse a plan with prompts that are too short for what they hold, as this server counts, before any is sent.

    Raises:
        UsageError: a cell has such prompts.
    """
    for cell in cells_of(plan):
        try:
            require_length(cell, plan.repeats.seed, lengths.get(class_of(cell)))
        except LengthError as error:
            raise UsageError(f"cell {cell.name}: {error}") from None


def load_of(sender: Sender, cell: Cell, endpoint: Endpoint, *, session: str, number: int) -> Load:
    """Return the driver of one round.

    Args:
        sender: What all rounds share.
        cell: The load.
        endpoint: Where it is sent.
        session: Start of the server; goes into every prompt, so that no cache knows it.
        number: Round of the cell.

    Raises:
        UsageError: the trace to replay cannot be read.
    """
    work = _work(sender, cell, endpoint, session=session, number=number)
    concurrency = None if cell.kind in _OPEN else cell.streams
    cold, warm = _is_cold(cell), cell.cache == "warm"
    return Load(
        driver=cast("LoadDriver", _driver(sender, cell, work)),
        primes=warm,
        unique=cold,
        concurrency=concurrency,
        expects="warm" if warm else "cold" if cold else None,
    )


def _driver(sender: Sender, cell: Cell, work: WorkSpec) -> Driver:
    match cell.kind:
        case "single_stream":
            return single_stream(work, SingleStreamSpec(cell.requests))
        case "prefill":
            caches: Literal["cold", "cold_then_warm"] = "cold_then_warm" if cell.cache == "warm" else "cold"
            return prefill(work, PrefillSpec((cell.input_tok,), cell.requests, caches))
        case "concurrency" | "long_decode":
            return ClosedLoop(work, ClosedLoopSpec(cell.streams, cell.requests, at_least_s=cell.duration_s))
        case "rate":
            assert cell.rate_req_s is not None
            assert cell.duration_s is not None
            spec = OpenLoopSpec(cell.rate_req_s, cell.duration_s, cell.burstiness, cell.streams)
            return OpenLoop(work, spec)
        case "conversation":
            return Conversations(
                work,
                ConversationsSpec(
                    agents=cell.streams,
                    turns=cell.turns,
                    system_tok=cell.input_tok,
                    turn_tok=FixedLength(cell.turn_tok),
                    think_s=cell.think_s,
                ),
            )
        case "replay":
            return Replay(work, _replay(sender, cell))
    raise UsageError(f"cell {cell.name}: no driver for a workload of kind {cell.kind}")


def _replay(sender: Sender, cell: Cell) -> ReplaySpec:
    assert cell.trace_path is not None
    lines = trace_lines(sender.plan_folder / cell.trace_path)
    trace = read_trace(lines, cell.trace_path, first=cell.trace_first, most=cell.requests)
    return ReplaySpec(trace, cell.trace_speed, cell.streams)


def _work(sender: Sender, cell: Cell, endpoint: Endpoint, *, session: str, number: int) -> WorkSpec:
    plan = sender.plan
    affinity = plan.target.affinity
    classes = (class_of(cell),)
    return WorkSpec(
        cell=cell.name,
        round=number,
        seed=plan.repeats.seed,
        salt=f"{sender.run_id}/{session}/{cell.name}/{number}",
        model=sender.model,
        endpoints=(endpoint,),
        api=Api(plan.target.api),
        affinity=None if affinity is None else Affinity(affinity.header, affinity.field),
        content=Content(
            classes,
            FixedLength(cell.input_tok),
            FixedLength(cell.output_tok),
            shared_prefix_tok=cell.shared_prefix_tok,
        ),
        options=_options(sender.options, cell),
        lengths=tuple(sender.lengths.items()),
    )


def _options(engine: EngineOptions, cell: Cell) -> RequestOptions:
    stream = engine.usage.get("stream_options", {})
    continuous = isinstance(stream, dict) and bool(stream.get("continuous_usage_stats"))
    return RequestOptions(
        temperature=cell.temperature,
        # A schema ends the answer by itself: forcing it on would turn the tail into noise.
        ignore_eos="ignore_eos" in engine.fixed_length and cell.prompt_class != "structured",
        min_tokens="min_tokens" in engine.fixed_length and cell.prompt_class != "structured",
        continuous_usage=continuous,
        extra=tuple(engine.no_cache.items()) if _is_cold(cell) else (),
    )


def _is_cold(cell: Cell) -> bool:
    """Return whether no part of a prompt is meant to be in the cache."""
    shares = cell.shared_prefix_tok > 0 or cell.turns > 1 or cell.trace_path is not None
    return cell.cache == "cold" and not shares
