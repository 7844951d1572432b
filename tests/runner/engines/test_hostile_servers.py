"""Every misbehaviour of a server, through the real client: each request gets the outcome that the table names."""

import pytest

from kbtool.runner.client.control import get
from kbtool.runner.client.outgoing import Limits
from kbtool.runner.trace import Outcome
from tests.fakes.asking import ask_once
from tests.fakes.engine import Script, running
from tests.fakes.hostile import BENIGN, MODES

IMPATIENT = Limits(
    connect_s=5, first_byte_s=0.2, progress_s=0.2, total_s=0.6, line_bytes=256 * 1024, body_bytes=4 * 2**20
)
READ_BYTES = 2**20
"""More than one read brings beyond a limit."""


@pytest.mark.parametrize("name", MODES)
def test_outcome_is_the_one_of_the_table(name: str) -> None:
    """A request is a success only where nothing is wrong with its answer; a failure has its name and keeps its times."""
    mode = MODES[name]
    patient = Limits(
        connect_s=5, first_byte_s=5, progress_s=5, total_s=10, line_bytes=256 * 1024, body_bytes=4 * 2**20
    )
    waits = mode.outcome in {Outcome.FIRST_BYTE_TIMEOUT, Outcome.STALLED, Outcome.TOTAL_TIMEOUT}
    with running(Script(mode=name)) as engine:
        (trace,) = ask_once(engine.endpoint, limits=IMPATIENT if waits else patient)
    assert trace.outcome is mode.outcome, f"{mode.what} {trace.detail}"
    assert trace.n_body_bytes <= patient.body_bytes + READ_BYTES
    assert len(trace.detail) <= 300
    assert None not in {trace.connected_ns, trace.sent_ns}


def test_the_table_is_long_and_has_what_must_be_allowed() -> None:
    """Most modes are wrong, and enough are right to catch a client that refuses everything."""
    assert len(MODES) - len(BENIGN) >= 70
    assert len(BENIGN) >= 12


def test_a_healthy_server_may_be_dead() -> None:
    """`/health` answers 200 while no request is ever answered: only a generated token shows life."""
    with running(Script(mode="never_answers")) as engine:
        assert get(engine.endpoint, "/health").status == 200
        (trace,) = ask_once(engine.endpoint, limits=IMPATIENT)
    assert trace.outcome is Outcome.FIRST_BYTE_TIMEOUT


def test_a_redirect_is_not_followed_and_takes_no_key_away() -> None:
    """The host that a redirect points to gets no request, hence no key."""
    with running(Script()) as thief:
        script = Script(
            mode="redirect", api_key="k-0123456789", settings={"location": f"{thief.url}/chat/completions"}
        )
        with running(script) as engine:
            (trace,) = ask_once(engine.endpoint, limits=IMPATIENT)
        assert trace.outcome is Outcome.REDIRECTED
        assert thief.state.heads == []
        assert "k-0123456789" not in repr(trace)


def test_one_bad_server_among_many_requests_fails_each_of_them_alone() -> None:
    """Thirty-two requests at once to a server that stalls all end by their own deadline."""
    with running(Script(mode="stall")) as engine:
        traces = ask_once(engine.endpoint, limits=IMPATIENT, n=32)
    assert [trace.outcome for trace in traces] == [Outcome.STALLED] * 32
