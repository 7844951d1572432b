"""The server's counters against what its clients were told."""

import pytest

from kbtool.runner.metrics.reconcile import ServerTotals, reconcile
from kbtool.runner.trace import Outcome
from kbtool.vocab.warnings import WarningCode
from tests.runner.metrics.traces import failed, trace

_ZERO = ServerTotals(1000, 500, 10)
_OURS = [trace(isl=100, osl=50, number=number) for number in range(10)]
"""1,000 tokens in, 500 out."""


def _after(*, input_tok: float = 1000, output_tok: float = 500, requests: float | None = 10) -> ServerTotals:
    return ServerTotals(1000 + input_tok, 500 + output_tok, None if requests is None else 10 + requests)


def test_equal_totals_agree() -> None:
    """With no gap and nothing to warn of."""
    found = reconcile(_OURS, _ZERO, _after())
    assert (found.state, found.input_gap_tok, found.output_gap_tok, found.requests_gap) == ("agrees", 0, 0, 0)
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("after", "state"),
    [
        (_after(output_tok=505), "agrees"),
        (_after(output_tok=506), "foreign_traffic"),
        (_after(input_tok=1010), "agrees"),
        (_after(input_tok=1011), "foreign_traffic"),
        (_after(output_tok=495), "agrees"),
        (_after(output_tok=494), "unaccounted_tokens"),
        (_after(input_tok=989), "unaccounted_tokens"),
        (_after(requests=11), "foreign_traffic"),
        (_after(requests=9), "agrees"),
        (_after(requests=None), "agrees"),
        (ServerTotals(1500, 100, 20), "counter_reset"),
        (ServerTotals(2000, None, None), "agrees"),
        (ServerTotals(None, None, 20), "unavailable"),
        (None, "unavailable"),
    ],
)
def test_gaps_beyond_one_percent_are_named(after: ServerTotals | None, state: str) -> None:
    """More is somebody else's; less is what the server told and did not count."""
    assert reconcile(_OURS, _ZERO, after).state == state


def test_gaps_become_warnings() -> None:
    """They mark the cell."""
    assert reconcile(_OURS, _ZERO, _after(output_tok=900)).warnings == (WarningCode.FOREIGN_TRAFFIC,)
    assert reconcile(_OURS, _ZERO, _after(output_tok=100)).warnings == (WarningCode.UNACCOUNTED_TOKENS,)


def test_failed_requests_may_have_cost_what_they_asked_for() -> None:
    """A request that broke off was generated in part; that is no foreign traffic."""
    ours = [*_OURS, failed(Outcome.RESET, asked_output_tok=50, number=99)]
    assert reconcile(ours, _ZERO, _after(input_tok=1100, output_tok=540, requests=11)).state == "agrees"
    assert (
        reconcile(ours, _ZERO, _after(input_tok=1100, output_tok=600, requests=11)).state == "foreign_traffic"
    )


def test_request_never_sent_costs_nothing() -> None:
    """It allows for no more."""
    ours = [*_OURS, failed(Outcome.CONNECT_FAILED, sent_ns=None, asked_output_tok=50, number=99)]
    assert reconcile(ours, _ZERO, _after(output_tok=540)).state == "foreign_traffic"


def test_probes_of_the_runner_are_its_own() -> None:
    """They are told apart from foreign traffic."""
    after = _after(input_tok=1020, output_tok=510, requests=12)
    assert reconcile(_OURS, _ZERO, after).state == "foreign_traffic"
    assert reconcile(_OURS, _ZERO, after, control=ServerTotals(20, 10, 2)).state == "agrees"


def test_counter_that_appears_with_its_first_count_was_zero() -> None:
    """Labelled counters do not exist before."""
    assert reconcile(_OURS, ServerTotals(), ServerTotals(1000, 500, 10)).state == "agrees"
