"""How far each load tool was from the truth, measured against a server that knows when it sent each token.

One table, measured by this project on 2026-11-29 on a 2-core machine under other load, so that ratios and not
wall times count. A row holds for the tool's version given with it and for a load near its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from math import log
from typing import Final

from kbtool.ingest.model import Bias, Measurement

__all__ = ["MEASURED_BY", "VERSIONS", "biases_for", "known_bias"]

MEASURED_BY: Final = "measured on 2026-11-29 by this project"
VERSIONS: Final = {
    "vllm-bench": "0.32.0",
    "sglang-bench": "0.5.23, Rust client",
    "guidellm": "0.8.1",
    "aiperf": "0.13.0",
    "inference-perf": "0.7.0",
    "evalscope": "1.14.1",
}
"""Tool -> the version that was measured."""


@dataclass(frozen=True, slots=True)
class _Row:
    """Errors at one load, in per cent of the truth."""

    concurrency: int
    ttft_mean: int
    token_gap_mean: str
    """Mean time per token as the tool's ITL gives it."""
    load: str
    """Output tokens a second that the server delivered to this client, as a share of the lightest client's."""


_SINGLE: Final = {
    "vllm-bench": (
        _Row(1, 2, "-3.1", "0.995"),
        _Row(16, 10, "-3.0", "0.991"),
        _Row(64, 28, "-2.7", "0.970"),
        _Row(256, 144, "-2.4", "0.927"),
        _Row(1024, 447, "-2.3", "0.880"),
    ),
    "sglang-bench": (
        _Row(1, 0, "0.0", "1.000"),
        _Row(16, 0, "0.0", "1.001"),
        _Row(64, 1, "0.0", "0.998"),
        _Row(256, 7, "0.1", "0.989"),
        _Row(1024, 15, "0.0", "0.989"),
    ),
    "guidellm": (
        _Row(1, 1, "0.0", "0.992"),
        _Row(16, 1, "0.1", "0.984"),
        _Row(64, 2, "0.3", "0.895"),
        _Row(256, 12, "0.0", "0.609"),
        _Row(1024, 9, "0.4", "0.366"),
    ),
    "aiperf": (
        _Row(1, 1, "0.0", "0.991"),
        _Row(16, 3, "0.6", "0.983"),
        _Row(64, 15, "2.7", "0.926"),
        _Row(256, 50, "0.1", "0.851"),
        _Row(1024, 72, "3.6", "0.698"),
    ),
    "inference-perf": (
        _Row(1, 1, "0.0", "0.999"),
        _Row(16, 1, "0.1", "0.970"),
        _Row(64, 1, "0.1", "0.933"),
        _Row(256, 2, "0.4", "0.911"),
        _Row(1024, 63, "-0.1", "0.854"),
    ),
    "evalscope": (_Row(16, 9, "0.1", "0.990"), _Row(256, 114, "-0.3", "0.941")),
}
"""One token a chunk, at 1 to 1,024 streams."""
_SEVERAL: Final = {
    "vllm-bench": _Row(16, 8, "195.4", "0.994"),
    "sglang-bench": _Row(16, 0, "202.6", "1.001"),
    "guidellm": _Row(16, 1, "0.1", "0.987"),
    "aiperf": _Row(16, 3, "0.6", "0.982"),
    "inference-perf": _Row(16, 1, "0.1", "0.980"),
    "evalscope": _Row(16, 7, "202.6", "0.994"),
}
"""1 to 5 tokens a chunk, as speculative decoding makes them, at 16 streams."""
_GAP_METRIC: Final = {
    "vllm-bench": "icl_ms",
    "sglang-bench": "icl_ms",
    "guidellm": "tpot_ms",
    "aiperf": "tpot_ms",
    "inference-perf": "itl_ms",
    "evalscope": "icl_ms",
}
"""Tool -> the metric that its ITL becomes here."""
_CENTRAL: Final = frozenset({"mean", "p50", "median", "single"})
_HUNDRED: Final = Decimal(100)


def known_bias(
    tool: str, metric: str, concurrency: int | None, *, several_tokens: bool = False
) -> Bias | None:
    """Return the tool's error in one metric at the measured load nearest to `concurrency`; None where none is known.

    For a chunk gap (`icl_ms`) the error of chunks taken for tokens is gone: we do not take them for tokens.
    """
    rows = _SINGLE.get(tool, ())
    if not rows or concurrency is None:
        return None
    row = min(rows, key=lambda each: (round(abs(log(each.concurrency / concurrency)), 6), -each.concurrency))
    case = f"{row.concurrency} stream{'' if row.concurrency == 1 else 's'}"
    if several_tokens and metric != "output_tok_s":
        row, case = _SEVERAL[tool], "16 streams with 1 to 5 tokens a chunk"
    if metric == "ttft_ms":
        return _bias(tool, metric, Decimal(row.ttft_mean), f"mean TTFT {row.ttft_mean:+d} % at {case}")
    if metric == _GAP_METRIC[tool] and not (metric == "icl_ms" and several_tokens):
        return _bias(
            tool, metric, Decimal(row.token_gap_mean), f"mean {Decimal(row.token_gap_mean):+} % at {case}"
        )
    if metric == "output_tok_s":
        loss = (Decimal(row.load) - 1) * _HUNDRED
        text = f"the server delivered {row.load} of what it gives the lightest client at {case}"
        return _bias(tool, metric, loss, text)
    return None


def _bias(tool: str, metric: str, per_cent: Decimal, text: str) -> Bias:
    return Bias(metric, per_cent / _HUNDRED, f"{text} ({VERSIONS[tool]}; {MEASURED_BY})", MEASURED_BY)


def biases_for(tool: str, measurements: Iterable[Measurement], *, several_tokens: bool) -> tuple[Bias, ...]:
    """Return what is known about the metrics and loads of a file, each once."""
    found: dict[str, Bias] = {}
    for each in measurements:
        if each.statistic in _CENTRAL:
            bias = known_bias(tool, each.metric, each.at.concurrency, several_tokens=several_tokens)
            if bias is not None:
                found.setdefault(bias.text + bias.metric, bias)
    return tuple(found.values())
