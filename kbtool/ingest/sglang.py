"""`python -m sglang.bench_serving --output-file`: JSON lines, one a run, with or without `--output-details`.

Token counts are the requested length unless the server volunteers `usage`. Gaps are between stream chunks, but
the Python client divides them by re-tokenised counts where the server reports an acceptance length.
"""

from decimal import Decimal
from typing import Any, Final

from kbtool.ingest.draft import Draft, share
from kbtool.ingest.fault import IngestError
from kbtool.ingest.lengths import length_conditions, of_total
from kbtool.ingest.model import Imported
from kbtool.ingest.reading import Reading, Reasons
from kbtool.ingest.sglang_server import read_server_info
from kbtool.schema.benchmark import At
from kbtool.vocab.terms import Statistic

__all__ = ["TITLE", "TOOL", "detect", "read"]

TOOL: Final = "sglang-bench"
TITLE: Final = "sglang.bench_serving"
_KEYS: Final = frozenset(
    {"backend", "dataset_name", "completed", "mean_e2e_latency_ms", "total_output_tokens"}
)
_METRICS: Final = {"e2e_latency": "e2el_ms", "ttft": "ttft_ms", "tpot": "tpot_ms"}
_STATISTICS: Final[dict[str, Statistic]] = {
    "mean": "mean",
    "median": "p50",
    "p90": "p90",
    "p95": "p95",
    "p99": "p99",
}
_RATES: Final = (
    ("req_s", "request_throughput", "req/s"),
    ("input_tok_s", "input_throughput", "tok/s"),
    ("output_tok_s", "output_throughput", "tok/s"),
    ("total_tok_s", "total_throughput", "tok/s"),
)
_NEAR: Final = Decimal("0.1")
_LISTS: Final = ("irrelevant", "raw data of each request; the file is kept by its hash")
_REASONS: Final[Reasons] = {
    "*/tag": ("irrelevant", "a name for the run"),
    "*/protocol": ("irrelevant", "HTTP or not"),
    "*/sharegpt_output_len": ("irrelevant", "the length asked for; what came is in output_lens"),
    "*/random_range_ratio": ("irrelevant", "spread of the lengths asked for"),
    "*/random_input_len": ("irrelevant", "the length asked for; what was sent is in total_input_tokens"),
    "*/duration": ("irrelevant", "wall time of the run, already in the rates"),
    "*/total_input_text_tokens": ("irrelevant", "part of total_input_tokens"),
    "*/total_input_vision_tokens": ("irrelevant", "part of total_input_tokens"),
    "*/std_e2e_latency_ms": ("unmapped", "spread over requests; a record holds the spread over runs"),
    "*/std_ttft_ms": ("unmapped", "spread over requests; a record holds the spread over runs"),
    "*/std_tpot_ms": ("unmapped", "spread over requests; a record holds the spread over runs"),
    "*/std_itl_ms": ("unmapped", "spread over requests; a record holds the spread over runs"),
    "*/concurrency": ("unmapped", "mean requests in flight; the conditions hold the limit that was set"),
    "*/max_concurrent_requests": ("unmapped", "counted in one-second bins: it showed 32 for 16 streams"),
    "*/ttfts": _LISTS,
    "*/itls": _LISTS,
    "*/generated_texts": _LISTS,
    "*/errors": _LISTS,
    "*/cached_tokens": _LISTS,
    "*/cached_tokens_details": _LISTS,
    "*/cache_report": ("unmapped", "cache hits over the whole run; the state of the cache is a word here"),
    "*/server_info": ("unmapped", "a server setting that no field holds"),
}


def detect(value: Any) -> bool:
    """Return whether this is a result of SGLang's benchmark."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and first.keys() >= _KEYS


def read(value: Any, data: bytes, name: str) -> Imported:
    """Return what the file says, all runs of it.

    Raises:
        IngestError: A value has the wrong type, or the runs are of several servers.
    """
    runs = value if isinstance(value, list) else [value]
    reading = Reading(name, runs)
    draft = Draft(reading, TOOL, TITLE)
    several = False
    for index, run in enumerate(runs):
        if not isinstance(run, dict) or not run.keys() >= _KEYS:
            raise IngestError(
                name,
                f"[{index}]",
                "a line of another kind",
                "a result of this tool in each line",
                "split the file",
            )
        if index and run.get("server_info") != runs[0].get("server_info"):
            draft.flagged(
                "server_info",
                "",
                f"run {index + 1} shows other server settings than run 1: import it apart if they matter",
            )
        several |= _run(draft, index)
    read_server_info(draft)
    for index in range(1, len(runs)):
        reading.use(index, "server_info")
    return draft.finish(data, _REASONS, several_tokens=several)


def _run(draft: Draft, index: int) -> bool:
    """Read one run, and return whether its chunks held several tokens."""
    reading = draft.reading
    completed = reading.count(index, "completed")
    reading.use(index, "backend")
    at, notes = _conditions(draft, index, completed)
    doubt = _token_doubt(draft, index, completed)
    for word, metric in _METRICS.items():
        doubts = doubt if word == "tpot" else ()
        for prefix, statistic in _STATISTICS.items():
            draft.figure(
                metric,
                statistic,
                (index, f"{prefix}_{word}_ms"),
                unit="ms",
                at=at,
                n=completed,
                notes=(*notes, *doubts),
            )
    for metric, key, unit in _RATES:
        doubts = doubt if key in ("output_throughput", "total_throughput") else ()
        draft.figure(metric, "single", (index, key), unit=unit, at=at, n=completed, notes=(*notes, *doubts))
    draft.refuse(
        index,
        "max_output_tokens_per_s",
        reason="counts chunks in one-second bins: the peak is not one of tokens",
    )
    several = _gaps(draft, index, at, notes)
    length = draft.figure("acceptance_length", "mean", (index, "accept_length"), unit="tok/step", at=at)
    if length is not None:
        draft.fact("speculation.acceptance_length", length, index, "accept_length")
        reason = (
            "the server's mean since its start, not that of the run: right only for a server started for it"
        )
        draft.flagged("accept_length", "acceptance_length", reason)
    return several


def _conditions(draft: Draft, index: int, completed: int | None) -> tuple[At, tuple[str, ...]]:
    reading = draft.reading
    inputs, outputs = reading.numbers(index, "input_lens"), reading.numbers(index, "output_lens")
    prompts = of_total(reading.count(index, "total_input_tokens"), completed, inputs)
    answers = of_total(reading.count(index, "total_output_tokens"), completed, outputs)
    for key, items in (("input_lens", inputs), ("output_lens", outputs)):
        if items and len(items) != completed:
            draft.flagged(key, "", f"holds {len(items)} entries for {completed} completed requests: not used")
    fields, notes = length_conditions(prompts, answers)
    dataset = reading.text(index, "dataset_name")
    if dataset in ("random", "random-ids"):
        fields["prompt_class"] = "random_tokens"
    elif dataset:
        fields["prompt_as_published"] = f"dataset {dataset[:100]}"
    rate, limit = reading.value(index, "request_rate"), reading.count(index, "max_concurrency")
    if rate not in (None, "inf", "trace"):
        fields["request_rate_req_s"] = reading.number(index, "request_rate")
    elif limit is not None:
        fields["concurrency"] = limit
    return draft.conditions(fields), notes


def _token_doubt(draft: Draft, index: int, completed: int | None) -> tuple[str, ...]:
    """Return a note where the count of output tokens may be the length that was asked for."""
    reading = draft.reading
    total, asked = reading.count(index, "total_output_tokens"), reading.count(index, "random_output_len")
    retokenized = reading.count(index, "total_output_tokens_retokenized")
    if not total:
        return ()
    if retokenized and abs(Decimal(retokenized) - total) > total * Decimal("0.05"):
        ratio = share(Decimal(total), Decimal(retokenized))
        reason = (
            f"{total} tokens are counted, but the text has {retokenized} when tokenised again (ratio {ratio})"
        )
    elif asked and completed and total == asked * completed:
        reason = "every answer has exactly the length asked for: counted only if the server sent usage"
    else:
        return ()
    draft.flagged(
        "total_output_tokens",
        "output_tok_s",
        f"{reason}; without usage this tool counts the requested length",
    )
    return (reason,)


def _gaps(draft: Draft, index: int, at: At, notes: tuple[str, ...]) -> bool:
    """Take the gaps as between chunks, unless they may have been divided by tokens."""
    reading = draft.reading
    gap, tpot = reading.number(index, "mean_itl_ms"), reading.number(index, "mean_tpot_ms")
    length = reading.number(index, "accept_length")
    several = bool(length and length > Decimal("1.05"))
    divided = several and gap and tpot and abs(gap - tpot) <= _NEAR * tpot
    for prefix, statistic in _STATISTICS.items():
        path = (index, f"{prefix}_itl_ms")
        if divided:
            draft.refuse(
                *path,
                reason="gaps divided by tokens that the client counted again: neither chunks nor steps",
                metric="itl_ms",
            )
        else:
            draft.figure("icl_ms", statistic, path, unit="ms", at=at, notes=notes)
    if gap and not divided:
        draft.converted(
            "itl",
            "icl_ms",
            "one sample an event of the stream: chunks are counted, of which each can hold several tokens",
        )
    return several
