"""Traps that are known of an engine and its settings: each one made somebody publish a wrong figure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from kbtool.runner.doctor.diagnosis import Remark, ServerReport, Severity, Shown
from kbtool.runner.plan.target import EngineKind

__all__ = ["TRAPS", "Trap", "trap_remarks"]


@dataclass(frozen=True, slots=True)
class Trap:
    """One trap."""

    kinds: frozenset[EngineKind]
    """Empty for every kind."""
    applies: Callable[[ServerReport], bool]
    severity: Severity
    found: str
    remedy: str


def trap_remarks(report: ServerReport) -> Iterator[Remark]:
    """Yield the traps that a server's kind, settings and behaviour lead into."""
    for trap in TRAPS:
        if (not trap.kinds or report.kind in trap.kinds) and trap.applies(report):
            yield Remark(trap.severity, "engine", trap.found, trap.remedy, report.name)


def _drafts(report: ServerReport) -> bool:
    return report.value("speculation.method") not in {None, "none"}


def _draft_tok_at_least(count: int) -> Callable[[ServerReport], bool]:
    def applies(report: ServerReport) -> bool:
        value = report.value("speculation.draft_tok")
        return isinstance(value, int) and value >= count

    return applies


def _off(name: str) -> Callable[[ServerReport], bool]:
    return lambda report: getattr(report.probes, name).shown is Shown.OFF


def _attention_ranks(report: ServerReport) -> bool:
    return report.value("deployment.attn_dp") not in {None, 1}


def _no_server_info(report: ServerReport) -> bool:
    return report.identity is not None and not any("server_info" in each.where for each in report.settings)


def _cached_and_silent(report: ServerReport) -> bool:
    cached = (
        report.value("serving.prefix_caching") is not False
        and report.probes.prefix_cache.shown is not Shown.OFF
    )
    return cached and report.probes.cached_tokens.shown is Shown.OFF


_ALL: Final[frozenset[EngineKind]] = frozenset()
_VLLM: Final[frozenset[EngineKind]] = frozenset({"vllm"})
_SGLANG: Final[frozenset[EngineKind]] = frozenset({"sglang"})
_LLAMA: Final[frozenset[EngineKind]] = frozenset({"llama_cpp"})
_DS4: Final[frozenset[EngineKind]] = frozenset({"ds4"})
_CACHE_UNSEEN: Final = (
    "the prefix cache works and answers do not say how much came from it: no prompt can be shown to be cold"
)
_NO_TOTALS: Final = (
    "it gives no totals: foreign traffic cannot be seen, and its token counts cannot be checked"
)

TRAPS: Final = (
    Trap(
        _VLLM, _no_server_info, Severity.NOTE,
        "without its development mode it tells few settings, and its prefix cache cannot be reset",
        "start it with VLLM_SERVER_DEV_MODE=1 on a machine that nobody else reaches",
    ),
    Trap(
        _VLLM, _cached_and_silent, Severity.WARNING,
        _CACHE_UNSEEN,
        "start it with --enable-prompt-tokens-details",
    ),
    Trap(
        _SGLANG, _cached_and_silent, Severity.WARNING,
        _CACHE_UNSEEN,
        "start it with --enable-cache-report",
    ),
    Trap(
        _SGLANG, lambda report: report.metrics.shown is Shown.OFF, Severity.WARNING,
        _NO_TOTALS,
        "start it with --enable-metrics",
    ),
    Trap(
        _SGLANG, _drafts, Severity.NOTE,
        "it counts no drafts: its acceptance length is a mean since the start of the server, and belongs to no cell",
        "acceptance is taken from each answer where the answer has it; restart the server before a run",
    ),
    Trap(
        _SGLANG, _attention_ranks, Severity.NOTE,
        "attention data parallelism divides the prefill chunk among its ranks: the record has the chunk of one rank",
        "",
    ),
    Trap(
        _SGLANG, _draft_tok_at_least(5), Severity.WARNING,
        "five or more draft tokens corrupted answers on some starts of this engine, at normal speed",
        "keep `sanity.greedy_repeats` on, and measure several starts (`repeats.sessions`)",
    ),
    Trap(
        _LLAMA, lambda report: report.metrics.shown is Shown.OFF, Severity.WARNING,
        _NO_TOTALS,
        "start it with --metrics",
    ),
    Trap(
        _LLAMA, _drafts, Severity.NOTE,
        "it sends one event a token even where a step accepted several: they arrive together and are counted as one step",
        "",
    ),
    Trap(
        _LLAMA, lambda report: report.value("speculation.method") is None, Severity.NOTE,
        "the running server does not say how drafts are made, only whether",
        "start llama-server itself on this machine, so that its arguments can be read, or give `subject.speculation`",
    ),
    Trap(
        _DS4, lambda _: True, Severity.WARNING,
        "it gives no totals, no version and no settings, and cannot be told to go on to a fixed length",
        "give `subject.engine_commit` and `subject.revision`; short answers are marked",
    ),
    Trap(
        _ALL, _off("usage"), Severity.PROBLEM,
        "answers come without token counts: nothing can be counted, as chunks are no tokens",
        "turn `usage` on in the server or the proxy in front (`stream_options.include_usage` was asked for)",
    ),
    Trap(
        _ALL, _off("continuous_usage"), Severity.NOTE,
        "chunks do not say how many tokens came so far: the time between tokens is known as a mean of a request alone",
        "",
    ),
    Trap(
        _ALL, _off("fixed_length"), Severity.WARNING,
        "`ignore_eos` is not honoured: answers differ in length, and with it every rate",
        "ask for answers that the model does not end early; short answers are marked",
    ),
    Trap(
        _ALL, _off("repeatable"), Severity.NOTE,
        "the same greedy prompt was answered in two ways: batching or kernels are not deterministic",
        "answers are compared by likeness, not letter by letter",
    ),
)  # fmt: skip
"""All traps. A condition looks at the report alone, so that a test can try each."""
