"""Closed loop: n users, always n requests in flight until the round drains."""

from itertools import pairwise

import pytest

from kbtool.errors import UsageError
from kbtool.runner.client import Endpoint
from kbtool.runner.load import Affinity, ClosedLoop, ClosedLoopSpec, EndpointChoice
from kbtool.runner.trace import Outcome
from tests.runner.load.script import MS, body_of, play, prompt_of, work


def test_each_user_sends_when_its_last_request_ended() -> None:
    """Three users have three requests in flight, each user one, until the requests are used up."""
    driver = ClosedLoop(work(), ClosedLoopSpec(users=3, requests=11))
    played = play(driver, lambda n, _: (5 + n % 4) * MS)
    assert (len(played.sent), played.most_in_flight) == (11, 3)
    assert sorted(played.ids) == sorted(f"cell/1/{n}" for n in range(11))
    assert {o.stream for _, o in played.sent} == {0, 1, 2}
    assert played.at_ms[:3] == [0, 0, 0]


def test_users_begin_over_the_ramp() -> None:
    """Four users over 80 ms begin 20 ms apart."""
    driver = ClosedLoop(work(), ClosedLoopSpec(users=4, requests=4, ramp_s=0.08))
    assert play(driver).at_ms == [0, 20, 40, 60]


def test_marks_enclose_the_steady_part() -> None:
    """All users are busy from the last one's first request until the first one has nothing to follow."""
    driver = ClosedLoop(work(), ClosedLoopSpec(users=2, requests=8, ramp_s=0.01))
    play(driver, lambda *_: 10 * MS)
    marks = driver.marks
    assert (marks.begun_ns, marks.full_ns, marks.draining_ns) == (0, 5 * MS, 40 * MS)


def test_marks_are_open_where_a_user_never_ended() -> None:
    """Before anything has ended nothing is said about a steady part."""
    driver = ClosedLoop(work(), ClosedLoopSpec(users=2, requests=8))
    list(driver.begin(5))
    assert (driver.marks.begun_ns, driver.marks.full_ns, driver.marks.draining_ns) == (5, None, None)


def test_users_go_on_until_enough_time_has_passed() -> None:
    """`at_least_s` goes beyond the number of requests."""
    driver = ClosedLoop(work(), ClosedLoopSpec(users=2, requests=4, at_least_s=0.1))
    played = play(driver, lambda *_: 10 * MS)
    assert len(played.sent) == 20
    assert played.end_ns == 100 * MS


def test_no_user_sends_after_the_time_limit() -> None:
    """`at_most_s` ends the round, whatever is left; what is in flight comes to its end."""
    driver = ClosedLoop(work(), ClosedLoopSpec(users=2, at_most_s=0.095))
    played = play(driver, lambda *_: 10 * MS)
    assert len(played.sent) == 20
    assert max(played.at_ms) < 95


def test_a_pause_lies_between_a_users_requests() -> None:
    """Think time is added to each user's loop."""
    driver = ClosedLoop(work(), ClosedLoopSpec(users=1, requests=3, pause_s=0.02))
    assert play(driver).at_ms == [0, 30, 60]


def test_fewer_requests_than_users_start_no_more() -> None:
    """Two requests are two requests, with eight users too."""
    assert len(play(ClosedLoop(work(), ClosedLoopSpec(users=8, requests=2))).sent) == 2


def test_requests_beyond_those_prebuilt_are_unique_too() -> None:
    """When the prebuilt ones are used up, each comes again with another salt, right to its length."""
    driver = ClosedLoop(work(), ClosedLoopSpec(users=2, at_most_s=0.2, prebuilt=3))
    sent = [outgoing for _, outgoing in play(driver).sent]
    prompts = [prompt_of(outgoing) for outgoing in sent]
    assert len(sent) == 40
    assert driver.supply.n_resalted == 37
    assert len({text[:24] for text in prompts}) == 40
    assert len({text[24:] for text in prompts}) == 3
    assert len({o.id for o in sent}) == len({o.prompt_salt for o in sent}) == 40
    assert set(driver.expected_tok) == {o.id for o in sent}


@pytest.mark.parametrize("sticky", [False, True])
def test_sticky_users_stay_with_their_endpoint(sticky: bool) -> None:
    """A user is a session: one endpoint and one key, prebuilt or not; otherwise endpoints take turns."""
    endpoints = (Endpoint("a", "127.0.0.1", 1), Endpoint("b", "127.0.0.1", 2))
    choice = EndpointChoice.STICKY if sticky else EndpointChoice.ROUND_ROBIN
    affinity = Affinity(field="key") if sticky else None
    driver = ClosedLoop(
        work(endpoints=endpoints, choice=choice, affinity=affinity),
        ClosedLoopSpec(users=3, requests=12, prebuilt=6),
    )
    sent = [outgoing for _, outgoing in play(driver, lambda n, _: (1 + n % 3) * MS).sent]
    names = [o.endpoint.name for o in sent]
    assert {"a", "b"} == set(names)
    if sticky:
        assert {(o.stream, o.endpoint.name) for o in sent} == {(0, "a"), (1, "b"), (2, "a")}
        assert len({(o.stream, body_of(o)["key"]) for o in sent}) == 3
    else:
        assert all(one != other for one, other in pairwise(names))


def test_a_lone_sticky_user_stays_too() -> None:
    """One user is one session, however many requests it sends."""
    endpoints = (Endpoint("a", "127.0.0.1", 1), Endpoint("b", "127.0.0.1", 2))
    driver = ClosedLoop(
        work(endpoints=endpoints, choice=EndpointChoice.STICKY, affinity=Affinity(field="key")),
        ClosedLoopSpec(users=1, requests=5),
    )
    sent = [outgoing for _, outgoing in play(driver).sent]
    assert len({(o.endpoint.name, body_of(o)["key"]) for o in sent}) == 1


def test_a_dead_server_ends_the_round() -> None:
    """With two failures in a row for each user the loop gives up, instead of failing thousands of times."""
    driver = ClosedLoop(work(), ClosedLoopSpec(users=16, at_most_s=60.0, prebuilt=16))
    played = play(driver, lambda *_: 0, lambda *_: Outcome.CONNECT_FAILED)
    assert len(played.sent) <= 48
    assert driver.stop(0)


def test_a_round_without_an_end_is_refused() -> None:
    """Requests or time have to end it."""
    with pytest.raises(UsageError, match="`requests` or `at_most_s`"):
        ClosedLoop(work(), ClosedLoopSpec(users=2))


def test_equal_specs_send_equal_requests() -> None:
    """The same spec gives the same bytes in the same order for the same answers."""
    one, same = (play(ClosedLoop(work(), ClosedLoopSpec(users=2, requests=6))).sent for _ in range(2))
    assert one == same
