"""Open loop: requests arrive at a rate, at random or evenly, whatever the server does."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kbtool.errors import UsageError
from kbtool.runner.load.build import RequestMaker
from kbtool.runner.load.schedule import Due, Schedule, Scheduled
from kbtool.runner.load.supply import Supply
from kbtool.runner.load.work import NS_PER_S, WorkSpec
from kbtool.runner.prompts import Draws

__all__ = ["OpenLoop", "OpenLoopSpec", "arrivals_ns"]

_MOST_REQUESTS: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class OpenLoopSpec:
    """Arrivals of one round."""

    rate_req_s: float
    duration_s: float
    burstiness: float | None = 1.0
    """Shape of the gamma distribution of the gaps: 1 is Poisson, below 1 burstier, above 1 steadier. None: evenly
    spaced."""
    max_in_flight: int = 1024


def arrivals_ns(spec: OpenLoopSpec, draws: Draws) -> tuple[int, ...]:
    """Return the times of arrival within the duration, in ns from its start.

    Raises:
        UsageError: A rate, duration or burstiness of nothing, or more requests than a round can hold.
    """
    even = spec.burstiness is None
    if not (spec.rate_req_s > 0 and spec.duration_s > 0 and (even or (spec.burstiness or 0) > 0)):
        raise UsageError(
            f"open loop: rate {spec.rate_req_s}/s, duration {spec.duration_s} s, burstiness {spec.burstiness}; expected "
            "each above 0"
        )
    if spec.rate_req_s * spec.duration_s > _MOST_REQUESTS:
        raise UsageError(
            f"open loop: {spec.rate_req_s}/s over {spec.duration_s} s; expected at most {_MOST_REQUESTS} requests a "
            "round: shorten it"
        )
    found: list[int] = []
    at_s = 0.0
    while True:
        if even:
            at_s = len(found) / spec.rate_req_s
        else:
            gap = draws.exponential() if spec.burstiness == 1 else draws.gamma(spec.burstiness or 1.0)
            at_s += gap / spec.rate_req_s
        if at_s >= spec.duration_s:
            return tuple(found)
        found.append(round(at_s * NS_PER_S))


class OpenLoop(Scheduled):
    """Driver that sends each request when it is due."""

    def __init__(self, work: WorkSpec, spec: OpenLoopSpec) -> None:
        """Draw the arrivals and build the requests."""
        arrivals = arrivals_ns(spec, Draws(work.seed, "arrivals", work.salt))
        self._supply = Supply(RequestMaker(work), n=len(arrivals))
        dues = [Due(offset_ns) for offset_ns in arrivals]
        super().__init__(Schedule(dues, lambda _: self._supply.take(0), spec.max_in_flight))

    @property
    def supply(self) -> Supply:
        """Return where the requests come from: expected lengths, and what making them anew took."""
        return self._supply

    @property
    def expected_tok(self) -> Mapping[str, int]:
        """Return the prompt tokens that each request handed out should have, by id."""
        return self._supply.expected_tok
