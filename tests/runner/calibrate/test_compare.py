"""Traces against the truth, with numbers that can be checked by hand."""

from dataclasses import replace

import pytest

from kbtool.runner.calibrate.compare import compare, percentile
from kbtool.runner.trace import ChunkKind, Chunks, Outcome, RequestTrace, Usage
from kbtool.runner.truth import TrueRequest

MS = 1_000_000
TRUE = TrueRequest("r", 1 * MS, 2 * MS, [101 * MS, 111 * MS, 121 * MS], [1, 3, 2])


def trace(
    arrivals_ms: list[float], *, tok: int = 6, cumulative: list[int | None] | None = None
) -> RequestTrace:
    """Return a trace of a request sent at 1 ms, with text at these times."""
    n = len(arrivals_ms)
    return RequestTrace(
        id="r", endpoint="e", stream=0, turn=1, asked_model="m", asked_output_tok=6, output_tok_fixed=False,
        prompt_class="", prompt_salt="", due_ns=None, connect_start_ns=0, connected_ns=0, sent_ns=1 * MS,
        sent_all_ns=1 * MS, first_byte_ns=None, done_ns=None, outcome=Outcome.OK, usage=Usage(10, tok),
        chunks=Chunks(
            t_ns=tuple(round(t * MS) for t in arrivals_ms), kind=(ChunkKind.CONTENT,) * n, n_bytes=(9,) * n,
            n_chars=(1,) * n, cumulative_tok=tuple(cumulative or [1, 4, 6]),
        ),
    )  # fmt: skip


def test_a_perfect_client_has_no_error() -> None:
    """Everything is zero, and the TTFT from parsing is longer than true by the queue."""
    found = compare([trace([101, 111, 121])], {"r": TRUE})
    assert found.ttft_true_ms == 100
    assert found.ttft_error_ratio == 0
    assert found.ttft_from_parsed_error_ratio == pytest.approx(1 / 99)
    assert found.itl_true_ms == 4
    assert (found.itl_error_ratio, found.gap_error_p99_ms, found.throughput_error_ratio) == (0, 0, 0)
    assert (found.token_errors, found.failures) == (0, 0)


def test_late_stamps_are_seen() -> None:
    """Each in its own figure."""
    found = compare([trace([102, 111, 123])], {"r": TRUE})
    assert found.ttft_error_ratio == pytest.approx(0.01)
    assert found.itl_error_ratio == pytest.approx(21 / 20 - 1)
    assert found.gap_error_p99_ms == pytest.approx(2)
    assert found.gap_p99_error_ms == pytest.approx(2)
    assert found.gap_max_error_ratio == pytest.approx(0.2)


@pytest.mark.parametrize(("tok", "cumulative"), [(5, [1, 4, 6]), (6, [1, 3, 6])])
def test_wrong_counts_are_seen(tok: int, cumulative: list[int | None]) -> None:
    """Of the whole, and of a chunk."""
    assert compare([trace([101, 111, 121], tok=tok, cumulative=cumulative)], {"r": TRUE}).token_errors == 1


def test_a_request_that_was_judged_failed_is_a_failure() -> None:
    """It is in no mean."""
    bad = replace(trace([101, 111, 121]), outcome=Outcome.NO_USAGE)
    assert compare([bad], {"r": TRUE}).failures == 1


def test_percentiles_are_values_that_were_seen() -> None:
    """By nearest rank."""
    assert percentile([3, 1, 2], 0.99) == 3
    assert percentile([], 0.5) == 0
