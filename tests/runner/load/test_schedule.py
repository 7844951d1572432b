"""The schedule's promise, tried on random schedules: late only where the bound was full, and never dropped."""

import pytest

from kbtool.runner.client import Outgoing
from kbtool.runner.load.schedule import Due, Schedule
from kbtool.runner.prompts import Draws
from tests.runner.load.script import ENDPOINT, MS, Played, play


def outgoing(at: int) -> Outgoing:
    """Return a request without content."""
    return Outgoing(f"c/1/{at}", ENDPOINT, "m", 1, b"")


class Scheduled:
    """A driver that is nothing but its schedule."""

    def __init__(self, schedule: Schedule) -> None:
        """Start the schedule at time 0."""
        self.begin = schedule.begin
        self.ended = schedule.ended

    def stop(self, now_ns: int) -> bool:  # noqa: ARG002 - a schedule ends by itself
        """Return False."""
        return False


def random_dues(draws: Draws, n: int) -> list[Due]:
    """Return a schedule of lone requests and of turns that wait for earlier ones."""
    dues: list[Due] = []
    free: list[int] = []
    at_ms = 0
    for at in range(n):
        at_ms += draws.below(20)
        after = free.pop(draws.below(len(free))) if free and draws.chance(0.4) else None
        dues.append(Due(at_ms * MS, after, draws.below(30) * MS))
        free.append(at)
    return dues


def busy_at(played: Played, takes: dict[str, int], now_ns: int) -> int:
    """Return how many requests were in flight just before a time."""
    return sum(sent < now_ns <= sent + takes[o.id] for sent, o in played.sent)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("bound", [1, 2, 7, 100])
def test_requests_are_late_only_where_the_bound_was_full(seed: int, bound: int) -> None:
    """Each request leaves once, at its time, unless as many as allowed were in flight then."""
    draws = Draws("schedule", seed)
    dues = random_dues(draws, 60)
    takes = {f"c/1/{at}": (1 + draws.below(80)) * MS + at for at in range(60)}
    schedule = Schedule(dues, outgoing, bound)
    played = play(Scheduled(schedule), lambda _, o: takes[o.id])
    ended = {o.id: sent + takes[o.id] for sent, o in played.sent}
    assert sorted(played.ids) == sorted(takes)
    assert played.most_in_flight <= bound
    late = 0
    for sent_ns, request in played.sent:
        due = dues[int(request.id.rpartition("/")[2])]
        waited_ns = 0 if due.after is None else ended[f"c/1/{due.after}"] + due.delay_ns
        assert request.due_ns == max(due.offset_ns, waited_ns)
        assert sent_ns >= request.due_ns
        if sent_ns > request.due_ns:
            late += 1
            assert busy_at(played, takes, request.due_ns + 1) == bound
            assert busy_at(played, takes, sent_ns) == bound
    assert schedule.n_held_back == late
