"""A handful of small requests that show what a server reports and does; four at most, one at a time."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from kbtool.runner.client import Endpoint, Limits, Outgoing, Recorded, Send, build_request, exchange
from kbtool.runner.client.control import ControlError
from kbtool.runner.client.parse import parse
from kbtool.runner.doctor.diagnosis import Probe, Probes, Shown
from kbtool.runner.engines import Counters, EngineAdapter
from kbtool.runner.load import Api
from kbtool.runner.prompts import PromptSpec, make_prompt
from kbtool.runner.trace import Outcome, RequestTrace, Usage

__all__ = ["PROBE_LIMITS", "Probed", "probe"]

LONG_TOK: Final = 700
"""Longer than the pages of every engine's cache, so that a repeated prompt must hit."""
OUTPUT_TOK: Final = 16
SHORTEST_TOK: Final = 64
"""A prompt below this has no room for salt and text."""
SHORT_QUESTION: Final = "Answer with the single word yes, and nothing else."
PROBE_LIMITS: Final = Limits(connect_s=10, first_byte_s=120, progress_s=60, total_s=180)
_USABLE: Final = frozenset({Outcome.OK, Outcome.NO_USAGE, Outcome.EMPTY, Outcome.BAD_USAGE})


@dataclass(frozen=True, slots=True)
class Probed:
    """What came of the probes."""

    probes: Probes
    requests: int
    failed: RequestTrace | None = None
    """The first request, where it failed: nothing more was sent then."""


@dataclass(slots=True)
class _Series:
    """Driver of the probes: one after another, the counters read in between, no more after a failed first one."""

    endpoint: Endpoint
    adapter: EngineAdapter
    model: str
    api: Api
    left: list[tuple[str, bool]]
    """Text, and whether its answer is to have the full length."""
    traces: list[RequestTrace] = field(default_factory=list)
    counted: list[Counters | None] = field(default_factory=list)
    """Totals after each answer."""

    def begin(self, now_ns: int) -> Iterable[Send]:
        """Send the first."""
        return (Send(now_ns, self._next()),)

    def ended(self, recorded: Recorded, now_ns: int) -> Iterable[Send]:
        """Read the answer and the counters; send the next."""
        self.traces.append(parse(recorded))
        self.counted.append(_counters(self.adapter, self.endpoint))
        if self.traces[0].outcome not in _USABLE or not self.left:
            return ()
        return (Send(now_ns, self._next()),)

    def stop(self, now_ns: int) -> bool:
        """Never stop early."""
        del now_ns
        return False

    def _next(self) -> Outgoing:
        text, fixed = self.left.pop(0)
        options = self.adapter.options()
        said: dict[str, Any] = (
            {"messages": [{"role": "user", "content": text}]} if self.api is Api.CHAT else {"prompt": text}
        )
        body = {
            "model": self.model, "max_tokens": OUTPUT_TOK, "temperature": 0, "stream": True, **said, **options.usage,
            **(options.fixed_length or {"ignore_eos": True} if fixed else {}),
        }  # fmt: skip
        return Outgoing(
            id=f"doctor/0/{len(self.traces)}",
            endpoint=self.endpoint,
            asked_model=self.model,
            asked_output_tok=OUTPUT_TOK,
            output_tok_fixed=fixed,
            payload=build_request(self.endpoint, self.api.path, body),
        )


def probe(
    endpoint: Endpoint,
    adapter: EngineAdapter,
    model: str,
    *,
    api: Api,
    salt: str,
    context_tok: int | None,
    limits: Limits = PROBE_LIMITS,
) -> Probed:
    """Send the probes.

    Args:
        endpoint: Whom to ask.
        adapter: Kind of server.
        model: Served model name.
        api: Which interface.
        salt: Makes the prompts new to the server's cache: another one each time.
        context_tok: The server's limit; the long prompt is kept within a quarter of it.
        limits: Deadlines of one request.
    """
    long_tok = min(LONG_TOK, (context_tok or 4 * LONG_TOK) // 4)
    if long_tok < SHORTEST_TOK:
        return Probed(Probes(), 0)
    text = make_prompt(PromptSpec("prose", long_tok, 0, f"doctor/{salt}")).messages[0].content
    short = f"{SHORT_QUESTION} ({salt})"
    series = _Series(
        endpoint, adapter, model, api, [(text, True), (text, True), (short, True), (short, False)]
    )
    exchange(series, limits=limits)
    if len(series.traces) < 4:
        return Probed(Probes(), len(series.traces), series.traces[0])
    first, again, fixed, free = series.traces
    hits = _hits(series.counted[0], series.counted[1])
    return Probed(
        Probes(
            usage=_usage(first),
            continuous_usage=_continuous(first),
            cached_tokens=_cached_tokens(first, again, hits),
            prefix_cache=_prefix_cache(again, hits),
            fixed_length=_fixed_length(fixed, free, adapter),
            repeatable=_repeatable(first, again),
            prompt_tok=None if first.usage is None else first.usage.prompt_tok,
        ),
        len(series.traces),
    )


def _counters(adapter: EngineAdapter, endpoint: Endpoint) -> Counters | None:
    try:
        return adapter.counters(endpoint)
    except ControlError:
        return None


def _hits(before: Counters | None, after: Counters | None) -> int | None:
    """Return the tokens that the counters say came from the cache in between."""
    if before is None or after is None or before.prefix_hit_tok is None or after.prefix_hit_tok is None:
        return None
    return after.prefix_hit_tok - before.prefix_hit_tok


def _usage(trace: RequestTrace) -> Probe:
    if trace.outcome is Outcome.BAD_USAGE:
        return Probe(Shown.OFF, f"its token counts cannot be true: {trace.detail}")
    if trace.usage is None:
        return Probe(Shown.OFF, "the answer ended without token counts")
    counts = trace.usage
    return Probe(Shown.ON, f"{counts.prompt_tok} prompt and {counts.completion_tok} output tokens counted")


def _continuous(trace: RequestTrace) -> Probe:
    counted = [tok for tok in trace.chunks.cumulative_tok if tok]
    if len(counted) > 1:
        return Probe(Shown.ON, f"{len(counted)} chunks say how many tokens came so far")
    return Probe(Shown.OFF, "no chunk but the last says how many tokens came so far")


def _cached(trace: RequestTrace) -> int | None:
    usage: Usage | None = trace.usage
    return None if usage is None else usage.cached_tok


def _cached_tokens(first: RequestTrace, again: RequestTrace, hits: int | None) -> Probe:
    reported = _cached(again)
    if reported is None:
        return Probe(Shown.OFF, "usage says nothing of cached tokens")
    if reported == 0 and hits:
        return Probe(
            Shown.OFF, f"usage says 0 cached tokens, while the server's counters grew by {hits}: not true"
        )
    if _cached(first):
        return Probe(
            Shown.ON, f"a prompt that was never sent before is said to have {_cached(first)} cached tokens"
        )
    return Probe(Shown.ON, f"{reported} cached tokens when the prompt was repeated")


def _prefix_cache(again: RequestTrace, hits: int | None) -> Probe:
    reported = _cached(again)
    if reported or hits:
        return Probe(Shown.ON, f"a repeated prompt had {reported or hits} tokens from the cache")
    if reported is None and hits is None:
        return Probe(Shown.UNKNOWN, "neither usage nor counters tell of cached tokens")
    if hits == 0 or (reported == 0 and hits is None):
        where = "counters" if hits == 0 else "usage"
        return Probe(Shown.OFF, f"a repeated prompt had no tokens from the cache, says {where}")
    return Probe(Shown.UNKNOWN, "the counters were reset in between")


def _fixed_length(fixed: RequestTrace, free: RequestTrace, adapter: EngineAdapter) -> Probe:
    if fixed.usage is None or fixed.outcome not in _USABLE:
        return Probe(Shown.UNKNOWN, f"the request ended with {fixed.outcome}")
    got, stopped = fixed.usage.completion_tok, fixed.finish_reason != "length"
    if got < OUTPUT_TOK or stopped:
        return Probe(Shown.OFF, f"{got} of {OUTPUT_TOK} tokens came, finish reason {fixed.finish_reason}")
    if free.usage is not None and free.usage.completion_tok < OUTPUT_TOK:
        return Probe(Shown.ON, f"{got} tokens with, {free.usage.completion_tok} without `ignore_eos`")
    if adapter.options().fixed_length:
        return Probe(
            Shown.UNKNOWN,
            f"{OUTPUT_TOK} tokens came with and without `ignore_eos`: this model did not stop early",
        )
    return Probe(Shown.UNKNOWN, "this kind of server has no option for it, and the model did not stop early")


def _repeatable(first: RequestTrace, again: RequestTrace) -> Probe:
    if again.outcome not in _USABLE:
        return Probe(Shown.UNKNOWN, f"the repeated request ended with {again.outcome}")
    same = (first.text, first.reasoning_text) == (again.text, again.reasoning_text)
    if same:
        return Probe(Shown.ON, "the same greedy prompt had the same answer")
    return Probe(Shown.OFF, "the same greedy prompt had two answers")
