"""Traces against the truth. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from kbtool.runner.trace import ChunkKind, Outcome, RequestTrace
from kbtool.runner.truth import TrueRequest

__all__ = ["Compared", "Gap", "compare", "percentile", "token_arrivals"]

MS: Final = 1e6
_TOKEN_KINDS: Final = frozenset({ChunkKind.CONTENT, ChunkKind.REASONING, ChunkKind.TOOL})

Gap = tuple[float, float]
"""True and measured, in ms."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The errors of one level; times in ms."""

    ttft_true_ms: float
    ttft_error_ratio: float
    ttft_from_parsed_error_ratio: float
    itl_true_ms: float
    itl_error_ratio: float
    gap_p99_true_ms: float
    gap_p99_error_ms: float
    gap_error_p99_ms: float
    gap_max_error_ratio: float
    """Of the largest gap."""
    throughput_error_ratio: float
    token_errors: int
    failures: int


def compare(traces: Sequence[RequestTrace], truth: Mapping[str, TrueRequest]) -> Compared:
    """Compare what the client says of requests with what the server did, matched by id."""
    pairs = [
        (trace, truth[trace.id]) for trace in traces if trace.outcome is Outcome.OK and trace.id in truth
    ]
    ttft_true, ttft_parsed, ttft_found = _ttfts(pairs)
    gaps = [gap for trace, true in pairs for gap in _gaps(trace, true)]
    itl_true, itl_found = _itls(pairs)
    true_gaps, found_gaps = [true for true, _ in gaps], [found for _, found in gaps]
    p99_true = percentile(true_gaps, 0.99)
    return Compared(
        ttft_true_ms=ttft_true,
        ttft_error_ratio=_error(ttft_found, ttft_true),
        ttft_from_parsed_error_ratio=_error(ttft_found, ttft_parsed),
        itl_true_ms=itl_true,
        itl_error_ratio=_error(itl_found, itl_true),
        gap_p99_true_ms=p99_true,
        gap_p99_error_ms=percentile(found_gaps, 0.99) - p99_true,
        gap_error_p99_ms=percentile([abs(found - true) for true, found in gaps], 0.99),
        gap_max_error_ratio=_error(max(found_gaps, default=0.0), max(true_gaps, default=0.0)),
        throughput_error_ratio=_error(_reported_tok_s(pairs), _true_tok_s(pairs)),
        token_errors=sum(_miscounted(trace, true) for trace, true in pairs),
        failures=len(traces) - len(pairs),
    )


def token_arrivals(trace: RequestTrace) -> list[tuple[int, int | None]]:
    """Return time and cumulative tokens of each event with generated text."""
    chunks = trace.chunks
    return [
        (t_ns, tok)
        for t_ns, kind, tok in zip(chunks.t_ns, chunks.kind, chunks.cumulative_tok, strict=True)
        if kind in _TOKEN_KINDS
    ]


def percentile(values: Sequence[float], ratio: float) -> float:
    """Return the value below which `ratio` of the values lie, by nearest rank; 0 without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(ratio * len(ordered)))] if ordered else 0.0


def _ttfts(pairs: Sequence[tuple[RequestTrace, TrueRequest]]) -> tuple[float, float, float]:
    """Return mean TTFT: true from arrival, true from parsing, and as measured."""
    arrived, parsed, found = [], [], []
    for trace, true in pairs:
        first_ns = true.token_sends[0][0]
        arrived.append(first_ns - (true.parsed_ns if true.arrived_ns is None else true.arrived_ns))
        parsed.append(first_ns - true.parsed_ns)
        assert trace.sent_ns is not None
        found.append(token_arrivals(trace)[0][0] - trace.sent_ns)
    return _mean(arrived) / MS, _mean(parsed) / MS, _mean(found) / MS


def _gaps(trace: RequestTrace, true: TrueRequest) -> list[Gap]:
    sends, arrivals = true.token_sends, token_arrivals(trace)
    if len(sends) != len(arrivals):
        return []
    true_gaps = [(b[0] - a[0]) / MS for a, b in pairwise(sends)]
    found_gaps = [(b[0] - a[0]) / MS for a, b in pairwise(arrivals)]
    return list(zip(true_gaps, found_gaps, strict=True))


def _itls(pairs: Sequence[tuple[RequestTrace, TrueRequest]]) -> tuple[float, float]:
    """Return mean time per token after the first chunk, true and measured, over all requests."""
    true_ns = found_ns = true_tok = found_tok = 0
    for trace, true in pairs:
        sends, arrivals = true.token_sends, token_arrivals(trace)
        true_ns += sends[-1][0] - sends[0][0]
        true_tok += true.tok - sends[0][1]
        assert trace.usage is not None
        found_ns += arrivals[-1][0] - arrivals[0][0]
        found_tok += trace.usage.completion_tok - (arrivals[0][1] or 1)
    return true_ns / max(1, true_tok) / MS, found_ns / max(1, found_tok) / MS


def _true_tok_s(pairs: Sequence[tuple[RequestTrace, TrueRequest]]) -> float:
    if not pairs:
        return 0.0
    begin = min(true.parsed_ns if true.arrived_ns is None else true.arrived_ns for _, true in pairs)
    end = max(true.token_sends[-1][0] for _, true in pairs)
    return sum(true.tok for _, true in pairs) / (end - begin) * 1e9


def _reported_tok_s(pairs: Sequence[tuple[RequestTrace, TrueRequest]]) -> float:
    if not pairs:
        return 0.0
    begin = min(trace.sent_ns for trace, _ in pairs if trace.sent_ns is not None)
    end = max(token_arrivals(trace)[-1][0] for trace, _ in pairs)
    return (
        sum(trace.usage.completion_tok for trace, _ in pairs if trace.usage is not None) / (end - begin) * 1e9
    )


def _miscounted(trace: RequestTrace, true: TrueRequest) -> bool:
    assert trace.usage is not None
    if trace.usage.completion_tok != true.tok:
        return True
    arrivals = token_arrivals(trace)
    if any(tok is None for _, tok in arrivals):
        return False
    running, total = [], 0
    for _, tok in true.token_sends:
        total += tok
        running.append(total)
    return [tok for _, tok in arrivals] != running


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _error(found: float, true: float) -> float:
    return (found - true) / true if true else 0.0
