"""Loads as workloads of a plan: one workload with one cell for each load, so that a link names one figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kbtool.runner.plan.workloads import (
    Concurrency,
    Conversation,
    PlannedSlo,
    Prefill,
    Rate,
    SingleStream,
    Workload,
)
from kbtool.runner.reproduce.loads import PROMPT_ONLY, Load, Reading
from kbtool.runner.reproduce.model import OpenPoint
from kbtool.vocab.numbers import number_text

__all__ = ["Made", "workloads_of"]

INPUT_TOK: Final = 1024
OUTPUT_TOK: Final = {"single": 512, "closed": 256, "rate": 256, "prefill": 16, "conversation": 256}
DECODE_TOK: Final = 256
"""Answer behind a long prompt whose speed of decoding is asked for as well."""
_PROMPTS: Final = 7
"""Prompts a round where a median is compared: three rounds then have the 20 that it takes."""
_OF_USERS: Final = frozenset(
    {"output_tok_s", "total_tok_s", "req_s", "tok_s_per_accelerator", "energy_j_per_tok"}
)


@dataclass(frozen=True, slots=True)
class Made:
    """A workload, and what had to be chosen for it."""

    workload: Workload
    points: tuple[OpenPoint, ...]

    @property
    def words(self) -> str:
        """The load in words."""
        return _words(self.workload)


def workloads_of(readings: Sequence[Reading]) -> Mapping[Load, Made]:
    """Return the workload of each load, in the order in which the loads first appear."""
    metrics: dict[Load, set[str]] = {}
    of_medians = {each.load for each in readings if each.result.statistic in {"p50", "median"}}
    for each in readings:
        if each.load is not None:
            metrics.setdefault(each.load, set()).add(each.result.metric)
    taken: set[str] = set()
    made = {}
    for load, asked in metrics.items():
        # Result ids of a run begin with the workload's id and a hyphen: without hyphens of their own, no id begins
        # with another one.
        name = _free(_name(load), taken)
        taken.add(name)
        made[load] = _made(load, name, asked, of_medians=load in of_medians)
    return made


def _free(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    letters = (
        f"{name}{first}{second}" for first in ("", *"abcdefghij") for second in "bcdefghijklmnopqrstuvwxyz"
    )
    return next(each for each in letters if each not in taken)


def _name(load: Load) -> str:
    match load.kind:
        case "prefill":
            return f"prefill{load.input_tok}{load.cache}"
        case "rate":
            return "rate" + number_text(load.rate_req_s or 0).replace(".", "p")
        case "conversation":
            return f"agents{load.concurrency}"
        case "closed":
            return f"users{load.concurrency}"


def _made(load: Load, name: str, metrics: set[str], *, of_medians: bool) -> Made:
    points: list[OpenPoint] = []
    alone = (
        load.kind == "closed" and load.concurrency == 1 and not (metrics & _OF_USERS and metrics <= _OF_USERS)
    )
    usual = OUTPUT_TOK["single" if alone else load.kind]
    if load.kind == "prefill" and not metrics <= PROMPT_ONLY:
        usual = DECODE_TOK
    output = load.output_tok or usual
    if load.output_tok is None:
        points.append(OpenPoint("results.at.output_tok", "not said", f"{output:,} tokens"))
    fallback = 2048 if load.kind == "conversation" else INPUT_TOK
    if load.input_tok is None:
        points.append(OpenPoint("results.at.input_tok", "not said", f"{fallback:,} tokens"))
    workload = _workload(load, name, load.input_tok or fallback, output, alone=alone)
    if of_medians and isinstance(workload, Prefill):
        workload = workload.model_copy(update={"requests": _PROMPTS})
    return Made(workload, tuple(points))


def _workload(load: Load, name: str, input_tok: int, output_tok: int, *, alone: bool) -> Workload:
    match load.kind:
        case "prefill":
            return Prefill(
                id=name,
                kind="prefill",
                lengths_tok=(input_tok,),
                caches=(load.cache,),
                prompt_class=load.prompt_class,
                output_tok=output_tok,
                temperature=load.temperature,
            )
        case "rate":
            assert load.rate_req_s is not None
            return Rate(
                id=name,
                kind="rate",
                rates_req_s=(load.rate_req_s,),
                prompt_class=load.prompt_class,
                input_tok=input_tok,
                output_tok=output_tok,
                slo=tuple(PlannedSlo(metric=metric, limit=limit) for metric, limit in load.slo),
                temperature=load.temperature,
            )
        case "conversation":
            return Conversation(
                id=name,
                kind="conversation",
                agents=(load.concurrency,),
                turns=load.turns,
                system_tok=input_tok,
                output_tok=output_tok,
                temperature=load.temperature,
            )
        case "closed":
            return _closed(load, name, input_tok, output_tok, alone=alone)


def _closed(load: Load, name: str, input_tok: int, output_tok: int, *, alone: bool) -> Workload:
    if alone:
        return SingleStream(
            id=name,
            kind="single_stream",
            prompt_classes=(load.prompt_class,),
            input_tok=input_tok,
            output_tok=output_tok,
            temperature=load.temperature,
        )
    return Concurrency(
        id=name,
        kind="concurrency",
        levels=(load.concurrency,),
        prompt_class=load.prompt_class,
        input_tok=input_tok,
        output_tok=output_tok,
        find_cliff=False,
        temperature=load.temperature,
    )


def _words(workload: Workload) -> str:
    match workload:
        case Prefill():
            return f"{workload.caches[0]} prompts of {workload.lengths_tok[0]:,} tokens, one at a time"
        case Rate():
            return f"{number_text(workload.rates_req_s[0])} requests a second"
        case Conversation():
            return f"{workload.agents[0]} agents in {workload.turns} turns"
        case Concurrency():
            return f"{workload.levels[0]} users, {workload.prompt_class}"
        case SingleStream():
            return f"one user, {workload.prompt_classes[0]}"
        case _:
            return workload.kind
