"""evalscope `benchmark_summary.json`: one flat object whose keys carry their unit, means alone."""

from decimal import Decimal
from typing import Any, Final

from kbtool.ingest.draft import Draft, share
from kbtool.ingest.lengths import Length, length_conditions
from kbtool.ingest.model import Imported
from kbtool.ingest.reading import Reading, Reasons
from kbtool.schema.benchmark import At

__all__ = ["TITLE", "TOOL", "detect", "read"]

TOOL: Final = "evalscope"
TITLE: Final = "evalscope perf"
_KEYS: Final = frozenset({"Concurrency", "Total Requests", "Output Throughput (tok/s)", "Avg TTFT (ms)"})
_MEANS: Final = (
    ("ttft_ms", "Avg TTFT (ms)", "ms"),
    ("tpot_ms", "Avg TPOT (ms)", "ms"),
    ("icl_ms", "Avg ITL (ms)", "ms"),
    ("e2el_ms", "Avg Latency (s)", "s"),
)
_RATES: Final = (
    ("req_s", "Req Throughput (req/s)", "req/s"),
    ("input_tok_s", "Input Throughput (tok/s)", "tok/s"),
    ("output_tok_s", "Output Throughput (tok/s)", "tok/s"),
    ("total_tok_s", "Total Throughput (tok/s)", "tok/s"),
)
_REASONS: Final[Reasons] = {
    "Test Duration (s)": ("irrelevant", "wall time of the run, already in the rates"),
    "Stream Requests": ("irrelevant", "requests that were streamed"),
    "Non-Stream Requests": ("irrelevant", "requests that were not streamed"),
    "KV Cache Hit Rate (%)": ("unmapped", "0 also where the server does not report it"),
}


def detect(value: Any) -> bool:
    """Return whether this is the summary of evalscope."""
    return isinstance(value, dict) and value.keys() >= _KEYS


def read(value: Any, data: bytes, name: str) -> Imported:
    """Return what the file says.

    Raises:
        IngestError: A value has the wrong type.
    """
    reading = Reading(name, value)
    draft = Draft(reading, TOOL, TITLE)
    n = reading.count("Success Requests")
    at, notes = _conditions(draft)
    unstreamed = reading.count("Non-Stream Requests")
    for metric, key, unit in _MEANS:
        if unstreamed and metric != "e2el_ms":
            draft.refuse(
                key, reason=f"{unstreamed} requests were not streamed: no first token was seen", metric=metric
            )
        else:
            draft.figure(metric, "mean", (key,), unit=unit, at=at, n=n, notes=notes)
    draft.converted("Avg ITL (ms)", "icl_ms", "gaps between chunks, of which each can hold several tokens")
    for metric, key, unit in _RATES:
        draft.figure(metric, "single", (key,), unit=unit, at=at, n=n, notes=notes)
    failed, total = reading.count("Failed Requests"), reading.count("Total Requests")
    if failed is not None and total:
        draft.derived(
            "error_ratio", "single", share(Decimal(failed), Decimal(total)), at=at,
            formula="Failed Requests / Total Requests", inputs=("Failed Requests", "Total Requests"),
        )  # fmt: skip
    return draft.finish(data, _REASONS, several_tokens=_speculation(draft))


def _conditions(draft: Draft) -> tuple[At, tuple[str, ...]]:
    reading = draft.reading
    prompt, answer = (Length(None, reading.number(f"Avg {word} Tokens")) for word in ("Input", "Output"))
    fields, notes = length_conditions(prompt, answer)
    rate, concurrency = reading.number("Request Rate (req/s)"), reading.count("Concurrency")
    if rate is not None and rate > 0:
        fields["request_rate_req_s"] = rate
    elif concurrency:
        fields["concurrency"] = concurrency
    return draft.conditions(fields), notes


def _speculation(draft: Draft) -> bool:
    """Refuse what is computed from chunks, and return whether they held several tokens."""
    per_chunk = draft.reading.number("Avg Decoded Tok/Iter")
    if per_chunk is not None:
        draft.refused(
            "Avg Decoded Tok/Iter",
            "tokens a chunk as the client saw them, not tokens a verify step",
            "acceptance_length",
        )
    draft.refuse(
        "Spec. Accept Rate",
        reason="computed as 1 - 1 / tokens a chunk, not as accepted / drafted tokens",
        metric="acceptance_ratio",
    )
    return per_chunk is not None and per_chunk > Decimal("1.2")
