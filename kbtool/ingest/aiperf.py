"""aiperf `profile_export_aiperf.json`.

By default it counts tokens by tokenising text again. Where the file also has the server's `usage`, that counts;
where the two differ, figures that rest on the wrong count are refused. Its ITL is a mean per request: a TPOT here.
"""

import re
from decimal import Decimal
from typing import Any, Final

from kbtool.ingest.draft import NO_WORD, Draft, share
from kbtool.ingest.lengths import Length, length_conditions, of_range
from kbtool.ingest.model import Imported
from kbtool.ingest.reading import Reading, Reasons
from kbtool.schema.benchmark import At
from kbtool.vocab.terms import Statistic

__all__ = ["TITLE", "TOOL", "detect", "read"]

TOOL: Final = "aiperf"
TITLE: Final = "aiperf"
_STATISTICS: Final[dict[str, Statistic]] = {
    "avg": "mean", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "min": "min", "max": "max",
}  # fmt: skip
_TIMES: Final = (
    ("ttft_ms", "time_to_first_token"),
    ("e2el_ms", "request_latency"),
    ("icl_ms", "inter_chunk_latency"),
)
_BY_TOKENS: Final = (
    ("tpot_ms", "inter_token_latency", "ms"),
    ("tok_s_per_user", "output_token_throughput_per_user", "tok/s"),
)
_UNITS: Final = {
    "ms": "ms", "us": "us", "ns": "ns", "s": "s", "sec": "s", "tokens/sec": "tok/s", "requests/sec": "req/s",
    "tokens/sec/user": "tok/s", "requests": "count", "tokens": "tok", "%": "%", "ratio": "ratio",
}  # fmt: skip
_AGREE: Final = Decimal("0.005")
_REASONS: Final[Reasons] = {
    "schema_version": ("irrelevant", "version of the export"),
    "benchmark_id": ("irrelevant", "a name for the run"),
    "run_info": ("irrelevant", "names and the command line, of which the load was read"),
    "input_config": ("irrelevant", "settings of the client, of which the load was read"),
    "end_time": ("irrelevant", "clock of the run"),
    "error_summary": ("unmapped", "messages of failed requests"),
    "benchmark_duration": ("irrelevant", "wall time of the run, already in the rates"),
    "min_request_timestamp": ("irrelevant", "clock of the run"),
    "max_response_timestamp": ("irrelevant", "clock of the run"),
    "time_to_second_token": ("unmapped", "time from first to second token; no metric holds it"),
    "time_to_first_output_token": ("unmapped", "TTFT of the answer without reasoning; no metric holds it"),
    "input_token_throughput": ("unmapped", "input tokens as the client counts them"),
    "telemetry_data": ("unmapped", "series of the accelerators' sensors"),
    "request_count": ("irrelevant", "number of requests"),
} | {
    f"{name}/{key}": reason
    for name in ("time_to_first_token", "request_latency", "inter_chunk_latency", "inter_token_latency",
                 "output_token_throughput_per_user", "request_throughput", "output_token_throughput", "total_token_throughput")
    for key, reason in (
        ("p1", ("unmapped", NO_WORD)), ("p5", ("unmapped", NO_WORD)), ("p10", ("unmapped", NO_WORD)),
        ("p25", ("unmapped", NO_WORD)), ("p75", ("unmapped", NO_WORD)),
        ("std", ("unmapped", "spread over requests; a record holds the spread over runs")),
        ("sum", ("irrelevant", "sum over requests")), ("count", ("irrelevant", "number of requests")),
    )
}  # fmt: skip


def detect(value: Any) -> bool:
    """Return whether this is the summary of aiperf."""
    return isinstance(value, dict) and "aiperf_version" in value and "request_throughput" in value


def read(value: Any, data: bytes, name: str) -> Imported:
    """Return what the file says.

    Raises:
        IngestError: A value has the wrong type or a unit that aiperf does not use.
    """
    reading = Reading(name, value)
    draft = Draft(reading, TOOL, TITLE)
    draft.tool_version = reading.text("aiperf_version")
    draft.day = draft.iso_day(reading.text("start_time"))
    if reading.value("is_complete") is False or reading.value("was_cancelled") is True:
        draft.flagged("is_complete", "", "the run was cancelled: it holds fewer requests than were asked for")
    counted, doubt = _counts(draft)
    at, notes = _conditions(draft)
    notes = (*notes, *doubt)
    n = reading.count("time_to_first_token", "count")
    for metric, word in _TIMES:
        samples = reading.count(word, "count")
        draft.distribution(metric, (word,), _STATISTICS, unit=_unit(draft, word), at=at, n=samples)
    _by_tokens(draft, at, n, counted=counted, notes=notes)
    draft.figure(
        "req_s", "single", ("request_throughput", "avg"), unit=_unit(draft, "request_throughput"), at=at, n=n
    )
    _throughput(draft, at, n, counted=counted, notes=notes)
    _errors(draft, at)
    draft.refuse("goodput", reason="a goodput, whose limits are settings of the client")
    return draft.finish(data, dict(_REASONS) | _known_metrics(reading))


def _unit(draft: Draft, word: str) -> str:
    if draft.reading.peek(word) is None:
        return ""
    unit = draft.reading.text(word, "unit")
    if unit not in _UNITS:
        raise draft.reading.wrong((word, "unit"), unit, "a unit of aiperf")
    return _UNITS[unit]


def _total(draft: Draft, *words: str) -> Decimal | None:
    """Return the sum over requests that one of the metrics gives."""
    for word in words:
        key = "avg" if word.startswith("total_") else "sum"
        found = draft.reading.number(word, key)
        if found is not None:
            return found
    return None


def _counts(draft: Draft) -> tuple[bool, tuple[str, ...]]:
    """Return whether output tokens are the server's count, and the doubt where that is not known."""
    client = _total(draft, "total_osl", "output_sequence_length")
    server = _total(draft, "total_usage_completion_tokens", "usage_completion_tokens")
    if server and client:
        if abs(client - server) <= _AGREE * server:
            return True, ()
        ratio = share(client, server)
        draft.flagged(
            "output_sequence_length",
            "output_tok_s",
            f"the client counts {ratio} of the tokens that the server's usage counts",
        )
        return False, ()
    if "--use-server-token-count" in _command(draft):
        return True, ()
    reason = "output tokens are counted by tokenising the text again: on a real llama.cpp server this gave 14.7 % too many"
    draft.flagged("output_sequence_length", "output_tok_s", reason)
    return True, (reason,)


def _command(draft: Draft) -> str:
    return draft.reading.text("run_info", "cli_command") or ""


def _conditions(draft: Draft) -> tuple[At, tuple[str, ...]]:
    reading = draft.reading
    prompt, answer = (
        of_range(*(reading.number(word, key) for key in ("min", "avg", "max")))
        for word in (
            "usage_prompt_tokens" if "usage_prompt_tokens" in reading.mapping() else "input_sequence_length",
            "usage_completion_tokens"
            if "usage_completion_tokens" in reading.mapping()
            else "output_sequence_length",
        )
    )
    if "usage_prompt_tokens" not in reading.mapping():
        differing = reading.count("usage_discrepancy_count", "avg")
        if differing:
            reason = f"in {differing} requests the server's usage is another: not taken as the exact length"
            draft.flagged("input_sequence_length", "", reason)
            prompt = Length(None, prompt.mean)
    for word in (
        "usage_prompt_tokens",
        "usage_completion_tokens",
        "input_sequence_length",
        "output_sequence_length",
    ):
        reading.use(word)
    fields, notes = length_conditions(prompt, answer)
    fields |= _load(draft)
    return draft.conditions(fields), notes


def _load(draft: Draft) -> dict[str, Any]:
    """Return concurrency or rate from the settings that the file repeats, or else from its command line."""
    command = _command(draft)
    rate = _setting(draft, "request_rate") or _option(command, "request-rate")
    if rate:
        return {"request_rate_req_s": rate}
    concurrency = _setting(draft, "concurrency") or _option(command, "concurrency")
    return {"concurrency": int(concurrency)} if concurrency else {}


def _setting(draft: Draft, name: str) -> Decimal | None:
    """Return a setting where it is one number: a sweep lists several, and this file is then one of them."""
    value = draft.reading.peek("input_config", "loadgen", name)
    return Decimal(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None


def _option(command: str, name: str) -> Decimal | None:
    match = re.search(rf"--{name}[ =]'?([0-9]+(?:\.[0-9]+)?)'?(?![0-9.,])", command)
    return Decimal(match[1]) if match else None


def _by_tokens(draft: Draft, at: At, n: int | None, *, counted: bool, notes: tuple[str, ...]) -> None:
    """Take what is divided by the number of tokens, unless that number is wrong."""
    for metric, word, _ in _BY_TOKENS:
        if counted:
            draft.distribution(metric, (word,), _STATISTICS, unit=_unit(draft, word), at=at, n=n, notes=notes)
        else:
            draft.refuse(
                word,
                reason="divided by tokens that the client counted, of which usage counts another number",
                metric=metric,
            )
    draft.converted(
        "inter_token_latency",
        "tpot_ms",
        "a mean per request, (latency - TTFT) / (tokens - 1), not a distribution of gaps",
    )


def _throughput(draft: Draft, at: At, n: int | None, *, counted: bool, notes: tuple[str, ...]) -> None:
    rates = (("output_tok_s", "output_token_throughput"), ("total_tok_s", "total_token_throughput"))
    if counted:
        for metric, word in rates:
            draft.figure(metric, "single", (word, "avg"), unit=_unit(draft, word), at=at, n=n, notes=notes)
        return
    for metric, word in rates:
        draft.refuse(
            word,
            reason="rests on tokens that the client counted, of which usage counts another number",
            metric=metric,
        )
    tokens = _total(draft, "total_usage_completion_tokens", "usage_completion_tokens")
    seconds = draft.reading.number("benchmark_duration", "avg")
    if tokens and seconds and _unit(draft, "benchmark_duration") == "s":
        draft.derived(
            "output_tok_s", "single", share(tokens, seconds), at=at, n=n, notes=notes,
            formula="usage_completion_tokens / benchmark_duration",
            inputs=("usage_completion_tokens.sum", "benchmark_duration.avg"),
        )  # fmt: skip


def _errors(draft: Draft, at: At) -> None:
    failed, done = (
        draft.reading.count("error_request_count", "avg"),
        draft.reading.count("request_count", "avg"),
    )
    if failed is not None and done is not None and failed + done:
        draft.derived(
            "error_ratio", "single", share(Decimal(failed), Decimal(failed + done)), at=at,
            formula="error_request_count / (error_request_count + request_count)",
            inputs=("error_request_count.avg", "request_count.avg"),
        )  # fmt: skip


_FAMILIES: Final = (
    ("http_req_", "irrelevant", "parts of an HTTP exchange"),
    ("usage_", "irrelevant", "the server's own counts; those of prompts and answers were used"),
    ("total_usage_", "irrelevant", "the server's own counts; those of prompts and answers were used"),
    ("overall_usage_", "irrelevant", "the server's own counts; those of prompts and answers were used"),
    ("nvidia_", "unmapped", "telemetry of the client's host, which need not be the server's"),
    ("amd_", "unmapped", "telemetry of the client's host, which need not be the server's"),
    ("spec_decode_", "unmapped", "speculation as this client derives it; not checked against ours"),
    ("total_spec_decode_", "unmapped", "speculation as this client derives it; not checked against ours"),
    ("total_accepted_draft", "unmapped", "speculation as this client derives it; not checked against ours"),
    ("total_draft", "unmapped", "speculation as this client derives it; not checked against ours"),
    ("osl_mismatch", "irrelevant", "counts behind the lengths"),
    ("requested_osl", "irrelevant", "counts behind the lengths"),
    ("total_isl", "irrelevant", "counts behind the lengths"),
    ("total_osl", "irrelevant", "counts behind the lengths"),
    ("total_output_tokens", "irrelevant", "counts behind the lengths"),
    ("output_token_count", "irrelevant", "counts behind the lengths"),
    ("error_isl", "irrelevant", "counts behind the lengths"),
    ("total_error_isl", "irrelevant", "counts behind the lengths"),
    ("reasoning_", "unmapped", "reasoning tokens; no metric holds them apart"),
    ("total_reasoning_", "unmapped", "reasoning tokens; no metric holds them apart"),
    ("thinking_", "unmapped", "reasoning tokens; no metric holds them apart"),
    ("overall_thinking_", "unmapped", "reasoning tokens; no metric holds them apart"),
    (
        "e2e_output_token_throughput",
        "unmapped",
        "tokens over the whole latency of a request; no metric holds it",
    ),
    (
        "prefill_throughput_per_user",
        "unmapped",
        "input length over TTFT under load; the speed of a lone prompt is another",
    ),
    ("decode_duration", "irrelevant", "latency without TTFT"),
    ("stream_", "unmapped", "parts of TTFT as the client sees them"),
    ("replay_", "irrelevant", "delays inside the client"),
    ("credit_", "irrelevant", "delays inside the client"),
    ("network_", "unmapped", "figures less the network's round trip"),
)
"""Beginning of a metric's name, kind and reason."""


def _known_metrics(reading: Reading) -> dict[str, tuple[str, str]]:
    """Return the reason for metrics of aiperf by family."""
    return {
        key: (kind, reason)
        for key in reading.mapping()
        for start, kind, reason in _FAMILIES
        if key.startswith(start)
    }
