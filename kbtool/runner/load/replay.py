"""Replay: requests at the times and lengths of a recorded trace, faster or slower."""

from dataclasses import dataclass
from time import perf_counter_ns
from typing import Final

from kbtool.errors import UsageError
from kbtool.runner.client.outgoing import Outgoing
from kbtool.runner.load.build import Built, RequestMaker, Who
from kbtool.runner.load.schedule import Due, Schedule, Scheduled
from kbtool.runner.load.work import WorkSpec
from kbtool.runner.prompts import RecordedRequest, RecordedTrace, ReplayText, replay_prompt

__all__ = ["Replay", "ReplaySpec"]

_NS_PER_MS: Final = 1_000_000
_PREBUILT_BYTES: Final = 1 << 29


@dataclass(frozen=True, slots=True)
class ReplaySpec:
    """A trace and how it is played."""

    trace: RecordedTrace
    speed: float = 1.0
    """2 halves the gaps between requests; pauses within a session are halved too."""
    max_in_flight: int = 1024
    prebuilt_bytes: int = _PREBUILT_BYTES
    """Requests beyond are built when they are handed out: a long trace is gigabytes."""


class Replay(Scheduled):
    """Driver that plays a trace."""

    def __init__(self, work: WorkSpec, spec: ReplaySpec) -> None:
        """Build requests up to the limit of bytes.

        Raises:
            UsageError: The speed is not above 0.
        """
        if not spec.speed > 0:
            raise UsageError(f"cell {work.cell!r}: replay at speed {spec.speed}; expected a number above 0")
        self._maker = RequestMaker(work)
        self._how = ReplayText(work.seed, work.salt, work.length_model("synthetic"), spec.trace.block_tok)
        self._requests = spec.trace.requests
        self._turns = _turns(self._requests)
        self._built: dict[int, Built] = {}
        self.expected_tok: dict[str, int] = {}
        """Prompt tokens that each request handed out should have, by id."""
        self.n_built_late = 0
        self.slowest_ns = 0
        """The longest that building one late took, in ns: the loop stood still meanwhile."""
        dues = _dues(self._requests, self._turns, spec.speed)
        super().__init__(Schedule(dues, self._request, spec.max_in_flight))
        n_bytes = 0
        for at in range(len(self._requests)):
            if n_bytes > spec.prebuilt_bytes:
                break
            self._built[at] = self._build(at)
            n_bytes += len(self._built[at].outgoing.payload)

    def _request(self, at: int) -> Outgoing:
        built = self._built.pop(at, None)
        if built is None:
            start_ns = perf_counter_ns()
            built = self._build(at)
            self.n_built_late += 1
            self.slowest_ns = max(self.slowest_ns, perf_counter_ns() - start_ns)
        self.expected_tok[built.outgoing.id] = built.expected_tok
        return built.outgoing

    def _build(self, at: int) -> Built:
        request = self._requests[at]
        turn, session, _ = self._turns[at]
        prompt = replay_prompt(request, self._how)
        who = Who(number=at, turn=turn, session=session)
        return self._maker.with_prompt(prompt, request.output_tok, who, unique_salt=prompt.salt)


def _turns(requests: tuple[RecordedRequest, ...]) -> list[tuple[int, int, int | None]]:
    """Return turn, number of the session and place of the turn before, for each request."""
    numbers: dict[str, int] = {}
    latest: dict[str, tuple[int, int]] = {}
    found: list[tuple[int, int, int | None]] = []
    n_alone = 0
    for at, request in enumerate(requests):
        if request.session is None:
            found.append((1, len(requests) + n_alone, None))
            n_alone += 1
            continue
        session = numbers.setdefault(request.session, len(numbers))
        turn, before = latest.get(request.session, (0, None))
        latest[request.session] = (turn + 1, at)
        found.append((turn + 1, session, before))
    return found


def _dues(
    requests: tuple[RecordedRequest, ...], turns: list[tuple[int, int, int | None]], speed: float
) -> list[Due]:
    return [
        Due(
            round((request.at_ms or 0.0) * _NS_PER_MS / speed),
            before,
            round(request.delay_ms * _NS_PER_MS / speed),
        )
        for request, (_, _, before) in zip(requests, turns, strict=True)
    ]
