"""The part of a plan that says which requests are sent: one model a kind of workload."""

from decimal import Decimal
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from kbtool.schema.base import Number, PositiveNumber, Seq, Slug, StrictModel, has_default, need, opt, seq

__all__ = [
    "Concurrency",
    "Conversation",
    "LongDecode",
    "PlannedSlo",
    "Prefill",
    "Rate",
    "Replay",
    "SingleStream",
    "TextClass",
    "Workload",
]

TextClass = Literal["prose", "code", "structured", "synthetic"]
"""Classes of single prompts; conversations are of the class `agent`."""
Tokens = Annotated[int, Field(ge=1, le=4_000_000)]
MAX_STREAMS: Final = 4096
"""Users at once that a client on one host can be."""
Streams = Annotated[int, Field(ge=1, le=MAX_STREAMS)]
Requests = Annotated[int, Field(ge=1, le=1_000_000)]
Seconds = Annotated[PositiveNumber, Field(le=86_400)]
FilePath = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00\n]+$")]


class _Workload(StrictModel):
    """What every workload has."""

    id: Slug = need("Name, unique in the plan; result ids begin with it.")
    temperature: Annotated[Number, Field(ge=0, le=10)] = has_default(
        Decimal(0), "Sampling temperature; 0 is greedy."
    )


class _Prompts(_Workload):
    """Prompts of one class and length."""

    prompt_class: TextClass = has_default("prose", "What prompts and answers are.")
    input_tok: Tokens = has_default(1024, "Tokens of a prompt, as the server counts.")
    output_tok: Tokens = has_default(256, "Tokens of an answer; fixed where the engine allows it.")
    shared_prefix_tok: Annotated[int, Field(ge=0, le=4_000_000)] = has_default(
        0, "Leading tokens that all prompts of a cell share."
    )


class SingleStream(_Workload):
    """One user at a time, for each class of prompt."""

    kind: Literal["single_stream"] = need("One user at a time.")
    prompt_classes: Seq[TextClass] = has_default(
        ("prose", "code", "structured"), "Classes, one cell each.", min_length=1
    )
    input_tok: Tokens = has_default(1024, "Tokens of a prompt.")
    output_tok: Tokens = has_default(512, "Tokens of an answer.")
    requests: Requests = has_default(8, "Requests a round.")


class Concurrency(_Prompts):
    """Closed loop: each of n users sends the next request when the last one is answered."""

    kind: Literal["concurrency"] = need("Closed loop over numbers of users.")
    levels: Seq[Streams] = need("Users at once, one cell each.", min_length=1, max_length=64)
    requests_per_stream: Annotated[int, Field(ge=1, le=10_000)] = has_default(
        4, "Requests of each user a round."
    )
    at_least_s: Seconds | None = opt("Go on with each user until so many seconds have passed.")
    find_cliff: bool = has_default(True, "Bisect a drop of throughput to the last good number of users.")


class PlannedSlo(StrictModel):
    """A limit that a request must meet to count for goodput."""

    metric: Literal["ttft_ms", "tpot_ms", "e2el_ms"] = need("Metric of the request.")
    limit: PositiveNumber = need("Limit in milliseconds.")


class Rate(_Prompts):
    """Open loop: requests arrive at random, whatever the server does."""

    kind: Literal["rate"] = need("Open loop over arrival rates.")
    rates_req_s: Seq[PositiveNumber] = need("Arrival rates, one cell each.", min_length=1, max_length=64)
    duration_s: Seconds = has_default(Decimal(60), "Length of a round.")
    burstiness: PositiveNumber = has_default(
        Decimal(1), "1 is Poisson; below 1 burstier, above 1 steadier (gamma)."
    )
    max_in_flight: Streams = has_default(1024, "Beyond this, requests wait in the client and count as late.")
    slo: Seq[PlannedSlo] = seq("Limits for goodput.")


class Prefill(_Workload):
    """Prompts of growing length, one at a time, cold and then warm."""

    kind: Literal["prefill"] = need("One long prompt at a time.")
    lengths_tok: Seq[Tokens] = need(
        "Prompt lengths, one cell each and cache state.", min_length=1, max_length=64
    )
    caches: Seq[Literal["cold", "warm"]] = has_default(
        ("cold", "warm"), "Cache states to measure.", min_length=1
    )
    output_tok: Tokens = has_default(16, "Tokens of an answer; few, the prompt is what is timed.")
    requests: Requests = has_default(3, "Prompts a round.")
    prompt_class: TextClass = has_default("synthetic", "What the prompts are.")


class Conversation(_Workload):
    """Agents that talk in turns: contexts grow, and each turn begins with the last one's text."""

    kind: Literal["conversation"] = need("Multi-turn sessions.")
    agents: Seq[Streams] = has_default((1,), "Agents at once, one cell each.", min_length=1, max_length=64)
    turns: Annotated[int, Field(ge=1, le=1000)] = has_default(8, "Turns of a conversation.")
    system_tok: Tokens = has_default(2048, "Tokens of the system prompt with its tools, the same for all.")
    turn_tok: Tokens = has_default(512, "Tokens that a user or a tool adds a turn.")
    output_tok: Tokens = has_default(256, "Tokens of an answer.")
    think_s: Annotated[Number, Field(ge=0, le=3600)] = has_default(
        Decimal(0), "Mean pause before the next turn."
    )


class LongDecode(_Workload):
    """Few users and very long answers: speed as the context grows."""

    kind: Literal["long_decode"] = need("Long answers.")
    prompt_class: TextClass = has_default("prose", "What prompts and answers are.")
    input_tok: Tokens = has_default(512, "Tokens of a prompt.")
    output_tok: Tokens = has_default(16_384, "Tokens of an answer.")
    streams: Streams = has_default(1, "Users at once.")
    requests: Requests = has_default(1, "Requests of each user a round.")


class Replay(_Workload):
    """Requests at the times and lengths of a recorded trace."""

    kind: Literal["replay"] = need("A recorded trace.")
    path: FilePath = need("Trace file, relative to the plan.")
    speed: PositiveNumber = has_default(Decimal(1), "2 plays it twice as fast.")
    first: Annotated[int, Field(ge=0)] = has_default(0, "Requests to skip.")
    requests: Requests = has_default(1000, "Requests a round, at most.")
    max_in_flight: Streams = has_default(1024, "Beyond this, requests wait in the client and count as late.")
    slo: Seq[PlannedSlo] = seq("Limits for goodput.")

    @model_validator(mode="after")
    def _inside(self) -> Self:
        if self.path.startswith("/") or ".." in self.path.split("/"):
            raise ValueError(
                "the trace lies outside the plan's folder; expected a path inside: copy it there"
            )
        return self


Workload = Annotated[
    SingleStream | Concurrency | Rate | Prefill | Conversation | LongDecode | Replay,
    Field(discriminator="kind"),
]
