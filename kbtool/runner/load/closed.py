"""Closed loop: n users, each of whom sends the next request when the last one has ended."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kbtool.errors import UsageError
from kbtool.runner.client.outgoing import Send
from kbtool.runner.client.recorded import Recorded
from kbtool.runner.load.build import RequestMaker
from kbtool.runner.load.patience import Patience
from kbtool.runner.load.supply import Supply
from kbtool.runner.load.work import NS_PER_S, EndpointChoice, WorkSpec
from kbtool.runner.trace import Outcome

__all__ = ["ClosedLoop", "ClosedLoopSpec", "Marks"]


@dataclass(frozen=True, slots=True)
class ClosedLoopSpec:
    """How many users, and for how long."""

    users: int
    requests: int = 0
    """Of all users together; 0 where time alone ends the round."""
    at_least_s: float | None = None
    """Users go on beyond `requests` until so much time has passed."""
    at_most_s: float | None = None
    """After this no user sends another request."""
    ramp_s: float = 0.0
    """Time over which the users begin, evenly spread; 0: all at once."""
    pause_s: float = 0.0
    """Between the end of a request and the user's next."""
    prebuilt: int | None = None
    """Requests to build beforehand; None: as many as `requests`, and four a user where time ends the round."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Where the steady part of a round lies, in ns; None where that was not reached.

    All users are busy from `full_ns` until `draining_ns`.
    """

    begun_ns: int | None
    full_ns: int | None
    """The last user's first request was sent."""
    draining_ns: int | None
    """A user's request ended and none followed."""


class ClosedLoop:
    """Driver of n users."""

    def __init__(self, work: WorkSpec, spec: ClosedLoopSpec) -> None:
        """Build the requests.

        Raises:
            UsageError: There is no user, or nothing that ends the round.
        """
        if spec.users < 1 or (spec.requests < 1 and spec.at_most_s is None):
            raise UsageError(
                f"cell {work.cell!r}: {spec.users} users, {spec.requests} requests and no time limit; expected at least "
                "one user, and `requests` or `at_most_s`"
            )
        self._spec = spec
        bound = work.affinity is not None or work.choice is EndpointChoice.STICKY
        n = spec.prebuilt if spec.prebuilt is not None else spec.requests or 4 * spec.users
        self._supply = Supply(RequestMaker(work), n=n, sessions=spec.users if bound else None)
        self._patience = Patience(spec.users)
        self._begun_ns: int | None = None
        self._first_sent_ns: dict[int, int] = {}
        self._draining_ns: int | None = None

    @property
    def supply(self) -> Supply:
        """Return where the requests come from: expected lengths, and what making them anew took."""
        return self._supply

    @property
    def expected_tok(self) -> Mapping[str, int]:
        """Return the prompt tokens that each request should have, by id."""
        return self._supply.expected_tok

    @property
    def marks(self) -> Marks:
        """Return where the steady part lay; complete when the exchange is over."""
        full = len(self._first_sent_ns) == self._spec.users
        return Marks(self._begun_ns, max(self._first_sent_ns.values()) if full else None, self._draining_ns)

    def begin(self, now_ns: int) -> Iterable[Send]:
        """Return each user's first request."""
        self._begun_ns = now_ns
        spec = self._spec
        users = min(spec.users, spec.requests) if spec.requests and not spec.at_least_s else spec.users
        step_ns = spec.ramp_s * NS_PER_S / spec.users
        return [Send(now_ns + round(user * step_ns), self._supply.take(user)) for user in range(users)]

    def ended(self, recorded: Recorded, now_ns: int) -> Iterable[Send]:
        """Return the same user's next request."""
        user = recorded.outgoing.stream
        if recorded.sent_ns is not None:
            self._first_sent_ns.setdefault(user, recorded.sent_ns)
        pause_ns = self._patience.pause_ns(recorded)
        at_ns = now_ns + max(round(self._spec.pause_s * NS_PER_S), pause_ns)
        over = self._patience.gone or recorded.failure is Outcome.CANCELLED
        if over or not self._goes_on(at_ns):
            if self._draining_ns is None:
                self._draining_ns = now_ns
            return ()
        return (Send(at_ns, self._supply.take(user)),)

    def stop(self, now_ns: int) -> bool:  # noqa: ARG002 - `ended` looks at the time
        """Return whether nothing has worked for too long."""
        return self._patience.gone

    def _goes_on(self, at_ns: int) -> bool:
        spec = self._spec
        assert self._begun_ns is not None
        gone_s = (at_ns - self._begun_ns) / NS_PER_S
        if spec.at_most_s is not None and gone_s >= spec.at_most_s:
            return False
        if spec.requests < 1 or self._supply.n_taken < spec.requests:
            return True
        return spec.at_least_s is not None and gone_s < spec.at_least_s
