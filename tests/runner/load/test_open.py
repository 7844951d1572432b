"""Open loop: requests leave when they are due, whatever happened, and none is dropped."""

from itertools import pairwise
from statistics import fmean, pvariance

import pytest

from kbtool.errors import UsageError
from kbtool.runner.client import Endpoint
from kbtool.runner.load import Affinity, EndpointChoice, OpenLoop, OpenLoopSpec
from kbtool.runner.load.open import arrivals_ns
from kbtool.runner.load.schedule import LEAD_NS
from kbtool.runner.prompts import Draws
from kbtool.runner.trace import Outcome
from tests.runner.load.script import MS, body_of, play, work


def gaps(spec: OpenLoopSpec) -> list[float]:
    """Return the gaps between arrivals in units of their mean."""
    times = arrivals_ns(spec, Draws("gaps"))
    return [(b - a) / 1e9 * spec.rate_req_s for a, b in pairwise(times)]


@pytest.mark.parametrize(("burstiness", "variance"), [(1.0, 1.0), (0.25, 4.0), (4.0, 0.25)])
def test_gaps_have_the_burstiness_asked_for(burstiness: float, variance: float) -> None:
    """The variance of the gaps is one over the burstiness, their mean that of the rate."""
    found = gaps(OpenLoopSpec(100.0, 200.0, burstiness))
    assert fmean(found) == pytest.approx(1, rel=0.05)
    assert pvariance(found) == pytest.approx(variance, rel=0.12)


def test_even_arrivals_are_even() -> None:
    """Without burstiness every gap is the same, and the first request is due at the start."""
    assert arrivals_ns(OpenLoopSpec(4.0, 1.0, None), Draws("x")) == (0, 250 * MS, 500 * MS, 750 * MS)


def test_requests_leave_when_due_however_long_others_take() -> None:
    """Slow answers hold nothing back: every request is sent at its time."""
    driver = OpenLoop(work(), OpenLoopSpec(50.0, 1.0))
    played = play(driver, lambda *_: 5000 * MS)
    assert len(played.sent) > 30
    assert [at_ns for at_ns, _ in played.sent] == [o.due_ns for _, o in played.sent]
    assert played.most_in_flight == len(played.sent)
    assert driver.n_held_back == 0


def test_the_schedule_starts_when_connections_can_be_open() -> None:
    """Nothing is due before the lead has passed."""
    played = play(OpenLoop(work(), OpenLoopSpec(10.0, 0.5, None)))
    assert played.sent[0][0] == LEAD_NS


def test_beyond_the_bound_requests_are_late_and_none_is_lost() -> None:
    """With two in flight at most, requests wait, keep the time at which they were due, and are counted."""
    free = play(OpenLoop(work(), OpenLoopSpec(100.0, 0.3, None)))
    driver = OpenLoop(work(), OpenLoopSpec(100.0, 0.3, None, max_in_flight=2))
    played = play(driver, lambda *_: 50 * MS)
    assert played.most_in_flight == 2
    assert played.ids == free.ids
    assert [o.due_ns for _, o in played.sent] == [o.due_ns for _, o in free.sent]
    late = [at_ns - (o.due_ns or 0) for at_ns, o in played.sent]
    assert late[0] == late[1] == 0
    assert driver.n_held_back == sum(each > 0 for each in late) == 28
    assert max(late) > 300 * MS


def test_a_bound_that_is_not_reached_changes_nothing() -> None:
    """Where fewer are in flight than allowed, every request leaves when due."""
    driver = OpenLoop(work(), OpenLoopSpec(100.0, 0.3, max_in_flight=30))
    played = play(driver, lambda *_: 20 * MS)
    assert [at_ns for at_ns, _ in played.sent] == [o.due_ns for _, o in played.sent]
    assert driver.n_held_back == 0


def test_failures_do_not_slow_arrivals_down() -> None:
    """Users of an open loop do not know that the server is down."""
    driver = OpenLoop(work(), OpenLoopSpec(50.0, 0.5, None))
    played = play(driver, fails=lambda *_: Outcome.CONNECT_FAILED)
    assert len(played.sent) == 25
    assert not driver.stop(10**12)


def test_arrivals_follow_from_seed_and_salt() -> None:
    """The same round has the same arrivals, another round others."""
    spec = OpenLoopSpec(50.0, 1.0)
    one, same, other = (play(OpenLoop(work(salt=salt), spec)).at_ms for salt in ("a", "a", "b"))
    assert one == same
    assert one != other


def test_each_arrival_is_a_session_of_its_own() -> None:
    """With sticky endpoints and keys, arrivals are still spread over all endpoints."""
    endpoints = (Endpoint("a", "127.0.0.1", 1), Endpoint("b", "127.0.0.1", 2))
    spread = work(endpoints=endpoints, choice=EndpointChoice.STICKY, affinity=Affinity(field="key"))
    sent = [o for _, o in play(OpenLoop(spread, OpenLoopSpec(100.0, 0.1, None))).sent]
    assert [o.endpoint.name for o in sent] == ["a", "b"] * 5
    assert len({body_of(o)["key"] for o in sent}) == 10


@pytest.mark.parametrize(
    "spec", [OpenLoopSpec(0, 1), OpenLoopSpec(1, 0), OpenLoopSpec(1, 1, 0), OpenLoopSpec(1e6, 86_400)]
)
def test_schedules_that_cannot_be_are_refused(spec: OpenLoopSpec) -> None:
    """Nothing a second, no time, no shape, or more than memory holds."""
    with pytest.raises(UsageError, match="open loop"):
        arrivals_ns(spec, Draws("x"))
