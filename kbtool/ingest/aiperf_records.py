"""aiperf `profile_export.jsonl`: one line a request, from which the figures are computed here.

Only requests of the profiling phase that ended count. Tokens are those of the server's `usage` where it is there.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from kbtool.ingest.draft import Draft, share
from kbtool.ingest.fault import IngestError
from kbtool.ingest.lengths import length_conditions, of_range
from kbtool.ingest.merged import merged
from kbtool.ingest.model import Imported
from kbtool.ingest.reading import Reading, Reasons
from kbtool.ingest.series import add_series
from kbtool.schema.benchmark import At

__all__ = ["TITLE", "TOOL", "detect", "read"]

TOOL: Final = "aiperf"
TITLE: Final = "aiperf"
_NS: Final = Decimal(1_000_000_000)
_SCALE: Final = {"ms": 0, "us": -3, "ns": -6, "s": 3, "sec": 3}
_REASONS: Final[Reasons] = {
    "metadata": ("irrelevant", "names, phases and clocks of each request"),
    "metrics": ("unmapped", "figures of each request that no metric holds"),
    "error": ("unmapped", "messages of failed requests"),
    "trace_data": ("irrelevant", "parts of an HTTP exchange"),
}


def detect(value: Any) -> bool:
    """Return whether these are the records of aiperf."""
    lines = value if isinstance(value, list) else [value]
    first = lines[0] if lines else None
    if not isinstance(first, dict) or not isinstance(first.get("metadata"), dict):
        return False
    return "request_start_ns" in first["metadata"] and ("metrics" in first or "error" in first)


def read(value: Any, data: bytes, name: str) -> Imported:
    """Return what the file says.

    Raises:
        IngestError: A value has the wrong type, or no request ended well.
    """
    lines = [Reading(name, {"line": index, **each}) for index, each in _objects(value, name)]
    wanted = [each for each in lines if each.peek("metadata", "benchmark_phase") in (None, "profiling")]
    good = [
        each
        for each in wanted
        if each.peek("error") is None and each.peek("metadata", "was_cancelled") is not True
    ]
    if not good:
        raise IngestError(
            name, "", "no request that ended well", "at least one", "look whether the run succeeded"
        )
    draft = Draft(Reading(name, merged([each for _, each in _objects(value, name)])), TOOL, TITLE)
    draft.reading.use("metadata", "benchmark_phase")
    start = good[0].count("metadata", "request_start_ns") or 0
    draft.day = datetime.fromtimestamp(start // 10**9, UTC).date() if 0 < start < 10**19 else None
    at, notes, tokens = _conditions(draft, good)
    _times(draft, good, at)
    _tokens(draft, good, at, tokens, notes)
    failed = len(wanted) - len(good)
    draft.derived(
        "error_ratio", "single", share(Decimal(failed), Decimal(len(wanted))), at=at,
        formula="records with an error or cancelled / records of the profiling phase", inputs=("error", "metadata.was_cancelled"),
    )  # fmt: skip
    if len(wanted) < len(lines):
        draft.flagged(
            "benchmark_phase",
            "",
            f"{len(lines) - len(wanted)} records of other phases, such as the warm-up, are left out",
        )
    return draft.finish(data, _REASONS)


def _objects(value: Any, name: str) -> Iterable[tuple[int, dict[str, Any]]]:
    for index, each in enumerate(value if isinstance(value, list) else [value]):
        if not isinstance(each, dict):
            raise IngestError(
                name, f"line {index + 1}", "no object", "one object a line", "name the file that aiperf wrote"
            )
        yield index, each


def _values(draft: Draft, good: Sequence[Reading], word: str) -> list[Decimal]:
    """Return a time of each request in ms, and count it as used."""
    draft.reading.use("metrics", word)
    found = []
    for each in good:
        unit = each.text("metrics", word, "unit")
        number = None if unit is None else each.number("metrics", word, "value")
        if number is not None:
            if unit not in _SCALE:
                raise each.wrong(("metrics", word, "unit"), unit, "a unit of time")
            found.append(number.scaleb(_SCALE[unit]))
    return found


def _counts(draft: Draft, good: Sequence[Reading], word: str) -> list[Decimal]:
    draft.reading.use("metrics", word)
    numbers = (each.number("metrics", word, "value") for each in good)
    return [each for each in numbers if each is not None]


def _conditions(draft: Draft, good: Sequence[Reading]) -> tuple[At, tuple[str, ...], list[Decimal]]:
    """Return conditions, notes, and the output tokens of each request."""
    prompts = _counts(draft, good, "usage_prompt_tokens")
    tokens = _counts(draft, good, "usage_completion_tokens")
    client = _counts(draft, good, "output_sequence_length")
    inputs = _counts(draft, good, "input_sequence_length")
    notes: tuple[str, ...] = ()
    if len(tokens) < len(good):
        reason = "tokens are counted by tokenising the text again: on a real llama.cpp server this gave 14.7 % too many"
        draft.flagged("output_sequence_length", "output_tok_s", reason)
        tokens, notes = client, (reason,)
    elif sum(client) != sum(tokens) and client:
        draft.flagged(
            "output_sequence_length",
            "",
            f"the client counts {sum(client)} tokens, usage {sum(tokens)}: usage is taken",
        )
    exact = prompts if len(prompts) == len(good) else inputs
    fields, means = length_conditions(_length(exact), _length(tokens))
    cached = _counts(draft, good, "usage_prompt_cache_read_tokens")
    if len(cached) == len(good) and not any(cached):
        fields |= {"prefix_cache": "cold", "cache_proof": ("cached_tokens_zero",)}
    return draft.conditions(fields), (*notes, *means), tokens


def _length(values: Sequence[Decimal]) -> Any:
    return (
        of_range(min(values), sum(values, Decimal(0)) / len(values), max(values))
        if values
        else of_range(None, None, None)
    )


def _times(draft: Draft, good: Sequence[Reading], at: At) -> None:
    add_series(
        draft,
        "ttft_ms",
        _values(draft, good, "time_to_first_token"),
        word="metrics.time_to_first_token",
        at=at,
    )
    add_series(
        draft, "e2el_ms", _values(draft, good, "request_latency"), word="metrics.request_latency", at=at
    )
    draft.reading.use("metrics", "inter_chunk_latency")
    gaps: list[Decimal] = []
    for each in good:
        if each.peek("metrics", "inter_chunk_latency", "unit") == "ms":
            gaps += each.numbers("metrics", "inter_chunk_latency", "value")
    add_series(draft, "icl_ms", gaps, word="metrics.inter_chunk_latency", at=at)


def _tokens(
    draft: Draft, good: Sequence[Reading], at: At, tokens: Sequence[Decimal], notes: tuple[str, ...]
) -> None:
    """Add time per token and throughput, both from the tokens that were decided on."""
    draft.reading.use("metrics", "inter_token_latency")
    ttft, e2el = _values(draft, good, "time_to_first_token"), _values(draft, good, "request_latency")
    if len(ttft) == len(e2el) == len(tokens):
        each = [
            (last - first) / (count - 1)
            for first, last, count in zip(ttft, e2el, tokens, strict=True)
            if count > 1
        ]
        add_series(
            draft,
            "tpot_ms",
            each,
            word="(request_latency - time_to_first_token) / (tokens - 1)",
            at=at,
            notes=notes,
        )
    starts = [each.number("metadata", "request_start_ns") for each in good]
    ends = [each.number("metadata", "request_end_ns") for each in good]
    draft.reading.use("metadata", "request_start_ns")
    draft.reading.use("metadata", "request_end_ns")
    if None in starts or None in ends:
        return
    seconds = (
        max(each for each in ends if each is not None) - min(each for each in starts if each is not None)
    ) / _NS
    if seconds <= 0:
        return
    window = ("metadata.request_start_ns", "metadata.request_end_ns")
    draft.derived(
        "req_s",
        "single",
        share(Decimal(len(good)), seconds),
        formula="requests / (last end - first start)",
        inputs=window,
        at=at,
        n=len(good),
    )
    if len(tokens) == len(good):
        rate = share(sum(tokens, Decimal(0)), seconds)
        draft.derived(
            "output_tok_s",
            "single",
            rate,
            formula="tokens / (last end - first start)",
            inputs=("metrics.usage_completion_tokens", *window),
            at=at,
            n=len(good),
            notes=notes,
        )
