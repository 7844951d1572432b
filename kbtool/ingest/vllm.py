"""`vllm bench serve --save-result`, with or without `--save-detailed`.

TTFT begins before the client connects and ends at the first event with choices, the role chunk included.
"ITL" is one sample an event: an inter-chunk latency here. TPOT excludes the first token, as ours does.
"""

from decimal import Decimal
from typing import Any, Final

from kbtool.ingest.draft import NO_WORD, Draft, share
from kbtool.ingest.lengths import length_conditions, of_total
from kbtool.ingest.model import Imported
from kbtool.ingest.reading import Reading, Reasons
from kbtool.schema.benchmark import At
from kbtool.vocab.terms import Statistic

__all__ = ["TITLE", "TOOL", "detect", "read"]

TOOL: Final = "vllm-bench"
TITLE: Final = "vllm bench serve"
_KEYS: Final = frozenset(
    {"model_id", "tokenizer_id", "completed", "total_output_tokens", "output_throughput"}
)
_METRICS: Final = {"ttft": "ttft_ms", "tpot": "tpot_ms", "itl": "icl_ms", "e2el": "e2el_ms"}
_STATISTICS: Final[dict[str, Statistic]] = {
    "mean": "mean",
    "p50": "p50",
    "p90": "p90",
    "p95": "p95",
    "p99": "p99",
}
_ROLE_CHUNK_S: Final = Decimal("0.0005")
"""A first gap below this says that role chunk and first token came in one packet."""
_LISTS: Final = ("irrelevant", "raw data of each request; the file is kept by its hash")
_REASONS: Final[Reasons] = {
    "endpoint_type": ("irrelevant", "repeats backend"),
    "label": ("irrelevant", "a name for the run"),
    "tokenizer_id": ("irrelevant", "the client's tokenizer, at times a path of its machine"),
    "burstiness": ("unmapped", "shape of the arrivals; no field of the conditions holds it"),
    "duration": ("irrelevant", "wall time of the run, already in the rates"),
    "latencies": _LISTS,
    "start_times": _LISTS,
    "queue_times": _LISTS,
    "ttfts": _LISTS,
    "generated_texts": _LISTS,
    "errors": _LISTS,
    "rtfx": ("irrelevant", "only for audio"),
    "max_concurrent_requests": ("unmapped", "counted in one-second bins: it showed 32 for 16 streams"),
    "spec_decode_num_drafts": ("irrelevant", "already in the acceptance length"),
    "spec_decode_draft_tokens": ("irrelevant", "already in the acceptance rate"),
    "spec_decode_accepted_tokens": ("irrelevant", "already in the acceptance rate"),
    "spec_decode_per_position_acceptance_rates": ("unmapped", "acceptance by position; no metric holds it"),
}


def detect(value: Any) -> bool:
    """Return whether this is a result of `vllm bench serve`."""
    return isinstance(value, dict) and value.keys() >= _KEYS


def read(value: Any, data: bytes, name: str) -> Imported:
    """Return what the file says.

    Raises:
        IngestError: A value has the wrong type.
    """
    reading = Reading(name, value)
    draft = Draft(reading, TOOL, TITLE)
    draft.day = draft.iso_day(reading.text("date"))
    draft.model = reading.text("model_id")
    backend = reading.text("backend") or ""
    at, notes = _conditions(draft)
    completed = reading.count("completed")
    _latencies(draft, at, completed, notes, backend)
    for metric, key, unit in (
        ("req_s", "request_throughput", "req/s"),
        ("output_tok_s", "output_throughput", "tok/s"),
        ("total_tok_s", "total_token_throughput", "tok/s"),
    ):
        draft.figure(metric, "single", (key,), unit=unit, at=at, n=completed, notes=notes)
    _errors(draft, at, completed)
    _speculation(draft, at)
    draft.refuse(
        "request_goodput", reason="a goodput, but the file does not say which limits a request had to meet"
    )
    draft.refuse(
        "max_output_tokens_per_s",
        reason="counts chunks in one-second bins: it came out below the average on a speculative server",
    )
    reasons = dict(_REASONS) | _reasons_of_statistics(reading)
    return draft.finish(data, reasons)


def _conditions(draft: Draft) -> tuple[At, tuple[str, ...]]:
    reading = draft.reading
    completed = reading.count("completed")
    prompts = of_total(
        reading.count("total_input_tokens"), completed, _list_of(draft, "input_lens", completed)
    )
    answers = of_total(
        reading.count("total_output_tokens"), completed, _list_of(draft, "output_lens", completed)
    )
    fields, notes = length_conditions(prompts, answers)
    rate = reading.value("request_rate")
    limit = reading.count("max_concurrency")
    if rate in (None, "inf"):
        if limit is not None:
            fields["concurrency"] = limit
        else:
            draft.flagged(
                "request_rate", "", "all requests were sent at once: TTFT holds the queue of the whole run"
            )
    else:
        fields["request_rate_req_s"] = reading.number("request_rate")
        if limit is not None:
            draft.flagged(
                "max_concurrency",
                "",
                f"requests came at a rate, with at most {limit} in flight at the client",
            )
    return draft.conditions(fields), notes


def _list_of(draft: Draft, key: str, completed: int | None) -> list[Decimal]:
    lengths = draft.reading.numbers(key)
    if lengths and len(lengths) != completed:
        draft.flagged(key, "", f"holds {len(lengths)} entries for {completed} completed requests: not used")
    return lengths


def _latencies(draft: Draft, at: At, completed: int | None, notes: tuple[str, ...], backend: str) -> None:
    gaps = _gaps(draft, completed)
    for word, metric in _METRICS.items():
        n = gaps if word == "itl" else completed
        for prefix, statistic in _STATISTICS.items():
            draft.figure(metric, statistic, (f"{prefix}_{word}_ms",), unit="ms", at=at, n=n, notes=notes)
        if draft.reading.peek(f"p50_{word}_ms") is None:
            draft.figure(metric, "p50", (f"median_{word}_ms",), unit="ms", at=at, n=n, notes=notes)
        draft.reading.use(f"median_{word}_ms")
    draft.converted(
        "itl",
        "icl_ms",
        "one sample an event of the stream: chunks are counted, of which each can hold several tokens",
    )
    if backend.endswith("chat"):
        draft.flagged(
            "ttft",
            "ttft_ms",
            "the role chunk counts as the first token: where a server sends it early, TTFT is too short",
        )
    draft.flagged(
        "ttft", "ttft_ms", "the clock starts before the client connects: under load its own queue is inside"
    )


def _gaps(draft: Draft, completed: int | None) -> int | None:
    """Return how many gaps the file lists, and say what the first of them shows; None without a full list."""
    lists = draft.reading.sequence("itls")
    draft.reading.use("itls")
    if not lists or not all(isinstance(each, list) for each in lists):
        return None
    firsts = [each[0] for each in lists if each and isinstance(each[0], Decimal)]
    early = sum(1 for each in firsts if each < _ROLE_CHUNK_S)
    if firsts and early == len(firsts):
        reason = f"the first gap of {early} of {early} requests is below 0.5 ms: role chunk and first token came together and count as two"
        draft.flagged("itl", "icl_ms", reason)
    return sum(map(len, lists)) if len(lists) == completed else None


def _errors(draft: Draft, at: At, completed: int | None) -> None:
    failed, sent = draft.reading.count("failed"), draft.reading.count("num_prompts")
    if failed is None or completed is None or not failed + completed:
        return
    if sent is not None and sent != failed + completed:
        draft.flagged(
            "num_prompts",
            "error_ratio",
            f"{sent} requests were asked for, {failed + completed} are accounted for",
        )
    ratio = share(Decimal(failed), Decimal(failed + completed))
    draft.derived(
        "error_ratio", "single", ratio, formula="failed / (failed + completed)", inputs=("failed", "completed"), at=at
    )  # fmt: skip


def _speculation(draft: Draft, at: At) -> None:
    reading = draft.reading
    length = draft.figure(
        "acceptance_length", "mean", ("spec_decode_acceptance_length",), unit="tok/step", at=at
    )
    draft.figure("acceptance_ratio", "mean", ("spec_decode_acceptance_rate",), unit="%", at=at)
    if length is not None:
        draft.fact("speculation.acceptance_length", length, "spec_decode_acceptance_length")
        draft.converted(
            "spec_decode_acceptance_rate", "acceptance_ratio", "per cent in the file, a share of 1 here"
        )
        drafts, accepted = reading.peek("spec_decode_num_drafts"), reading.peek("spec_decode_accepted_tokens")
        if isinstance(drafts, int) and isinstance(accepted, int) and drafts:
            with_bonus = 1 + Decimal(accepted) / drafts
            if abs(with_bonus - length) > Decimal("0.01"):
                reason = f"1 + accepted / drafts is {with_bonus:.4g}: the bonus token may be left out"
                draft.flagged("spec_decode_acceptance_length", "acceptance_length", reason)


def _reasons_of_statistics(reading: Reading) -> dict[str, tuple[str, str]]:
    reasons = {}
    for key in reading.mapping():
        prefix, _, rest = key.partition("_")
        word = rest.removesuffix("_ms")
        if prefix == "std" and word in _METRICS:
            reasons[key] = ("unmapped", "spread over requests; a record holds the spread over runs")
        elif rest.endswith("_ms") and word in _METRICS:
            reasons[key] = ("unmapped", NO_WORD)
        elif "client_queue" in rest:
            reasons[key] = ("unmapped", "time in the client's own queue; no metric holds it")
        elif key.startswith("probe_"):
            reasons[key] = ("unmapped", "probe requests beside the load; no metric holds them")
    return reasons
