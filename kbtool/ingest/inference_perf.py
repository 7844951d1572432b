"""inference-perf `summary_lifecycle_metrics.json` and `stage_N_lifecycle_metrics.json`, in seconds.

Tokens of one chunk get gaps of 0 in its ITL: with several tokens a chunk its median is 0. Only the mean is one of
tokens then. Rates and TPOT rest on a client tokenizer unless told otherwise; the server's count stands beside it.
"""

from decimal import Decimal
from typing import Any, Final

from kbtool.ingest.draft import NO_WORD, Draft, share
from kbtool.ingest.lengths import length_conditions, of_range
from kbtool.ingest.model import Imported
from kbtool.ingest.reading import Reading, Reasons
from kbtool.schema.benchmark import At
from kbtool.vocab.terms import Statistic

__all__ = ["TITLE", "TOOL", "detect", "read"]

TOOL: Final = "inference-perf"
TITLE: Final = "inference-perf"
_STATISTICS: Final[dict[str, Statistic]] = {
    "mean": "mean", "median": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "min": "min", "max": "max",
}  # fmt: skip
_LATENCY: Final = ("successes", "latency")
_RATE: Final = ("successes", "throughput")
_BY_TOKENS: Final = (
    ("tpot_ms", "time_per_output_token"),
    ("normalized_tpot_ms", "normalized_time_per_output_token"),
)
_AGREE: Final = Decimal("0.005")
_MEDIA: Final = ("irrelevant", "not about text")
_REASONS: Final[Reasons] = {
    "benchmark_time_seconds": ("irrelevant", "wall time of the run, already in the rates"),
    "load_summary": ("irrelevant", "what the client was asked to send, and how late it was"),
    "retries": ("unmapped", "requests sent again; no metric holds them"),
    "successes/image": _MEDIA,
    "successes/video": _MEDIA,
    "successes/audio": _MEDIA,
    "successes/request_size_bytes": ("irrelevant", "bytes of the requests"),
    "successes/throughput/images_per_sec": _MEDIA,
    "successes/throughput/videos_per_sec": _MEDIA,
    "successes/throughput/audios_per_sec": _MEDIA,
    "successes/prompt_len": ("irrelevant", "lengths as the client's tokenizer counts them"),
    "successes/output_len": ("irrelevant", "lengths as the client's tokenizer counts them"),
    "successes/prompt_tokens": ("irrelevant", "the server's counts, of which the length was read"),
    "successes/output_tokens": ("irrelevant", "the server's counts, of which the length was read"),
    "successes/client_fallback_requests": ("irrelevant", "requests whose usage was missing"),
    "successes/goodput_metrics": ("unmapped", "a goodput, whose limits are settings of the client"),
    "successes/latency/*/p0.1": ("unmapped", NO_WORD),
    "successes/latency/*/p1": ("unmapped", NO_WORD),
    "successes/latency/*/p5": ("unmapped", NO_WORD),
    "successes/latency/*/p10": ("unmapped", NO_WORD),
    "successes/latency/*/p25": ("unmapped", NO_WORD),
    "successes/latency/*/p75": ("unmapped", NO_WORD),
    "successes/latency/*/p99.9": ("unmapped", NO_WORD),
    "failures": ("irrelevant", "of requests that failed; a failure is never in a statistic"),
}


def detect(value: Any) -> bool:
    """Return whether this is a summary of inference-perf."""
    if not isinstance(value, dict) or not isinstance(value.get("successes"), dict):
        return False
    return "load_summary" in value and "latency" in value["successes"]


def read(value: Any, data: bytes, name: str) -> Imported:
    """Return what the file says.

    Raises:
        IngestError: A value has the wrong type.
    """
    reading = Reading(name, value)
    draft = Draft(reading, TOOL, TITLE)
    count = reading.count("successes", "count")
    at, notes = _conditions(draft)
    counted, doubt = _counts(draft, count)
    for metric, word in (("ttft_ms", "time_to_first_token"), ("e2el_ms", "request_latency")):
        draft.distribution(metric, (*_LATENCY, word), _STATISTICS, unit="s", at=at, n=count, notes=notes)
    draft.flagged(
        "time_to_first_token",
        "ttft_ms",
        "ends at the first content: reasoning before it is not seen, and TTFT is then too long",
    )
    for metric, word in _BY_TOKENS:
        if counted:
            draft.distribution(
                metric, (*_LATENCY, word), _STATISTICS, unit="s", at=at, n=count, notes=(*notes, *doubt)
            )
        else:
            draft.refuse(
                *_LATENCY,
                word,
                reason="divided by tokens that the client counted, of which usage counts another number",
                metric=metric,
            )
    several = _gaps(draft, at, count, counted=counted)
    _rates(draft, at, count, counted=counted, notes=(*notes, *doubt))
    _errors(draft, at, count)
    _send_delay(draft)
    return draft.finish(data, _REASONS, several_tokens=several)


def _conditions(draft: Draft) -> tuple[At, tuple[str, ...]]:
    reading = draft.reading
    lengths = []
    for tokens, length in (("prompt_tokens", "prompt_len"), ("output_tokens", "output_len")):
        word = tokens if "min" in reading.mapping("successes", tokens) else length
        lengths.append(of_range(*(reading.number("successes", word, key) for key in ("min", "mean", "max"))))
        for each in (tokens, length):
            if reading.mapping("successes", each):
                reading.use("successes", each)
    fields, notes = length_conditions(*lengths)
    concurrency = reading.count("load_summary", "concurrency")
    rate = reading.number("load_summary", "requested_rate")
    if concurrency:
        fields["concurrency"] = concurrency
    elif rate:
        fields["request_rate_req_s"] = rate
    cached = reading.number("successes", "prompt_tokens", "cached")
    fallbacks = reading.count("successes", "client_fallback_requests", "prompt")
    if cached is not None and cached > 0:
        draft.flagged(
            "prompt_tokens.cached",
            "ttft_ms",
            f"{cached} prompt tokens came from the cache: TTFT is not that of a cold one",
        )
    elif cached == 0 and fallbacks == 0:
        draft.flagged(
            "prompt_tokens.cached",
            "",
            "0 cached tokens: a cold cache, or a server that does not report them; not taken as proof",
        )
    return draft.conditions(fields), notes


def _counts(draft: Draft, count: int | None) -> tuple[bool, tuple[str, ...]]:
    """Return whether output tokens are the server's count, and the doubt where that is not known."""
    reading = draft.reading
    rate, seconds = reading.number(*_RATE, "output_tokens_per_sec"), reading.number("benchmark_time_seconds")
    server = reading.number("successes", "output_tokens", "total")
    fallbacks = reading.count("successes", "client_fallback_requests", "output")
    mismatches = reading.count("successes", "token_count_mismatches")
    if mismatches:
        draft.flagged(
            "token_count_mismatches",
            "output_tok_s",
            f"in {mismatches} requests usage and the client's tokenizer differ",
        )
    if server and rate and seconds and not fallbacks:
        counted = rate * seconds
        if abs(counted - server) <= _AGREE * server:
            return True, ()
        draft.flagged(
            "output_tokens_per_sec",
            "output_tok_s",
            f"rests on {share(counted, server)} of the tokens that the server's usage counts",
        )
        return False, ()
    reason = (
        "tokens are counted by tokenising the text again: on a real llama.cpp server this gave 8.9 % too many"
    )
    if count:
        draft.flagged("output_tokens_per_sec", "output_tok_s", reason)
    return True, (reason,)


def _gaps(draft: Draft, at: At, count: int | None, *, counted: bool) -> bool:
    """Take gaps between tokens as far as they are some, and return whether chunks held several tokens."""
    reading, word = draft.reading, (*_LATENCY, "inter_token_latency")
    if not reading.mapping(*word):
        return False
    if not counted:
        draft.refuse(
            *word,
            reason="gaps of tokens that the client counted, of which usage counts another number",
            metric="itl_ms",
        )
        return False
    lowest, median = reading.number(*word, "min"), reading.number(*word, "median")
    draft.figure("itl_ms", "mean", (*word, "mean"), unit="s", at=at, n=count)
    if lowest == 0:
        reason = (
            "tokens of one chunk get gaps of 0: a percentile of these is one of neither tokens nor chunks"
        )
        for key in _STATISTICS:
            if key != "mean":
                draft.refuse(*word, key, reason=reason, metric="itl_ms")
    else:
        rest = {key: statistic for key, statistic in _STATISTICS.items() if key != "mean"}
        draft.distribution("itl_ms", word, rest, unit="s", at=at, n=count)
    return median == 0


def _rates(draft: Draft, at: At, count: int | None, *, counted: bool, notes: tuple[str, ...]) -> None:
    draft.figure("req_s", "single", (*_RATE, "requests_per_sec"), unit="req/s", at=at, n=count)
    draft.figure("input_tok_s", "single", (*_RATE, "input_tokens_per_sec"), unit="tok/s", at=at, n=count)
    rates = (("output_tok_s", "output_tokens_per_sec"), ("total_tok_s", "total_tokens_per_sec"))
    for metric, word in rates:
        if counted:
            draft.figure(metric, "single", (*_RATE, word), unit="tok/s", at=at, n=count, notes=notes)
        else:
            draft.refuse(
                *_RATE,
                word,
                reason="rests on tokens that the client counted, of which usage counts another number",
                metric=metric,
            )
    tokens = draft.reading.number("successes", "output_tokens", "total")
    seconds = draft.reading.number("benchmark_time_seconds")
    if not counted and tokens and seconds:
        draft.derived(
            "output_tok_s", "single", share(tokens, seconds), at=at, n=count, notes=notes,
            formula="successes.output_tokens.total / benchmark_time_seconds",
            inputs=("successes.output_tokens.total", "benchmark_time_seconds"),
        )  # fmt: skip


def _errors(draft: Draft, at: At, count: int | None) -> None:
    failed = draft.reading.count("failures", "count")
    if failed is not None and count is not None and failed + count:
        draft.derived(
            "error_ratio", "single", share(Decimal(failed), Decimal(failed + count)), at=at,
            formula="failures.count / (failures.count + successes.count)", inputs=("failures.count", "successes.count"),
        )  # fmt: skip


def _send_delay(draft: Draft) -> None:
    """Flag a client that sent later than planned, where a rate was asked for."""
    late = draft.reading.number("load_summary", "schedule_delay", "p90")
    if late is not None and late > 1 and draft.reading.peek("load_summary", "requested_rate"):
        draft.flagged(
            "schedule_delay",
            "",
            f"a tenth of the requests left more than {late} s late: the rate was not reached",
        )
