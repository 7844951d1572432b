"""inference-perf `per_request_lifecycle_metrics.json`: one object a request, from which the figures are computed here."""

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

from kbtool.ingest.draft import Draft, share
from kbtool.ingest.fault import IngestError
from kbtool.ingest.lengths import Length, length_conditions, of_range
from kbtool.ingest.merged import merged
from kbtool.ingest.model import Imported
from kbtool.ingest.reading import Reading, Reasons
from kbtool.ingest.series import add_series
from kbtool.schema.benchmark import At

__all__ = ["TITLE", "TOOL", "detect", "read"]

TOOL: Final = "inference-perf"
TITLE: Final = "inference-perf"
_USAGE: Final = ("info", "response_metrics", "server_usage")
_CHUNKS: Final = ("info", "response_metrics", "chunk_times")
_MS: Final = Decimal(1000)
_REASONS: Final[Reasons] = {
    "request": ("irrelevant", "text of the request"),
    "response": ("irrelevant", "text of the answer"),
    "error": ("unmapped", "messages of failed requests"),
    "info": ("irrelevant", "names and details of each request"),
    "info/request_metrics": ("irrelevant", "lengths as the client counts them"),
    "info/response_metrics": ("irrelevant", "chunks of each answer, of which the times were used"),
    "stage_id": ("irrelevant", "number of the stage"),
    "scheduled_time": ("irrelevant", "when the client planned to send"),
}


def detect(value: Any) -> bool:
    """Return whether these are the requests of inference-perf."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and first.keys() >= {"start_time", "end_time", "info"}


def read(value: Any, data: bytes, name: str) -> Imported:
    """Return what the file says.

    Raises:
        IngestError: A value has the wrong type, or no request ended well.
    """
    for index, each in enumerate(value):
        if not isinstance(each, dict):
            raise IngestError(
                name, f"[{index}]", "no object", "one object a request", "name the file that the tool wrote"
            )
    everything = [Reading(name, each) for each in value]
    good = [each for each in everything if each.peek("error") is None]
    if not good:
        raise IngestError(
            name, "", "no request that ended well", "at least one", "look whether the run succeeded"
        )
    draft = Draft(Reading(name, merged(value)), TOOL, TITLE)
    for path in (
        ("start_time",),
        ("end_time",),
        _USAGE,
        _CHUNKS,
        ("info", "response_metrics", "output_token_times"),
    ):
        if draft.reading.peek(*path) is not None:
            draft.reading.use(*path)
    tokens = [each.number(*_USAGE, "completion_tokens") for each in good]
    at, notes = _conditions(draft, good, tokens)
    if None in tokens:
        draft.flagged("server_usage", "", "missing in some requests: nothing is divided by tokens")
    _times(draft, good, tokens, at, notes)
    _rates(draft, good, tokens, at)
    failed = len(everything) - len(good)
    draft.derived(
        "error_ratio", "single", share(Decimal(failed), Decimal(len(everything))), at=at,
        formula="requests with an error / requests", inputs=("error",),
    )  # fmt: skip
    return draft.finish(data, _REASONS)


def _conditions(
    draft: Draft, good: Sequence[Reading], tokens: Sequence[Decimal | None]
) -> tuple[At, tuple[str, ...]]:
    prompts = [each.number(*_USAGE, "prompt_tokens") for each in good]
    fields, notes = length_conditions(_length(prompts), _length(tokens))
    cached = [each.number(*_USAGE, "prompt_tokens_details", "cached_tokens") for each in good]
    if all(each == 0 for each in cached):
        fields |= {"prefix_cache": "cold", "cache_proof": ("cached_tokens_zero",)}
    return draft.conditions(fields), notes


def _length(values: Sequence[Decimal | None]) -> Length:
    known = [each for each in values if each is not None]
    if len(known) < len(values):
        return Length(None, None)
    return of_range(min(known), sum(known, Decimal(0)) / len(known), max(known))


def _times(
    draft: Draft, good: Sequence[Reading], tokens: Sequence[Decimal | None], at: At, notes: tuple[str, ...]
) -> None:
    first_ms, whole_ms, gaps_ms, tpot_ms = [], [], [], []
    for each, count in zip(good, tokens, strict=True):
        start, end = each.number("start_time"), each.number("end_time")
        if start is None or end is None:
            raise each.wrong(("start_time",), None, "a time")
        whole_ms.append((end - start) * _MS)
        chunks = each.numbers(*_CHUNKS)
        if not chunks:
            continue
        first_ms.append((chunks[0] - start) * _MS)
        gaps_ms += [(later - earlier) * _MS for earlier, later in pairwise(chunks)]
        if count is not None and count > 1 and len(chunks) > 1:
            tpot_ms.append((chunks[-1] - chunks[0]) * _MS / (count - 1))
    add_series(draft, "ttft_ms", first_ms, word="info.response_metrics.chunk_times[0] - start_time", at=at)
    add_series(draft, "e2el_ms", whole_ms, word="end_time - start_time", at=at)
    add_series(draft, "icl_ms", gaps_ms, word="differences of info.response_metrics.chunk_times", at=at)
    word = "(last - first of info.response_metrics.chunk_times) / (completion_tokens - 1)"
    add_series(draft, "tpot_ms", tpot_ms, word=word, at=at, notes=notes)
    if gaps_ms:
        draft.converted(
            "chunk_times",
            "icl_ms",
            "gaps between chunks; the tool's own token times give tokens of one chunk gaps of 0",
        )


def _rates(draft: Draft, good: Sequence[Reading], tokens: Sequence[Decimal | None], at: At) -> None:
    starts = [each.number("start_time") for each in good]
    ends = [each.number("end_time") for each in good]
    seconds = max(each for each in ends if each is not None) - min(
        each for each in starts if each is not None
    )
    if seconds <= 0:
        return
    window, count = ("end_time", "start_time"), len(good)
    draft.derived(
        "req_s",
        "single",
        share(Decimal(count), seconds),
        formula="requests / (last end - first start)",
        inputs=window,
        at=at,
        n=count,
    )
    known = [each for each in tokens if each is not None]
    if len(known) == count:
        rate = share(sum(known, Decimal(0)), seconds)
        draft.derived(
            "output_tok_s",
            "single",
            rate,
            formula="completion_tokens / (last end - first start)",
            inputs=("info.response_metrics.server_usage.completion_tokens", *window),
            at=at,
            n=count,
        )
