"""One request at a time: a single stream by class, and prefill of long prompts, cold and warm."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kbtool.errors import UsageError
from kbtool.runner.client.outgoing import Send
from kbtool.runner.client.recorded import Recorded
from kbtool.runner.load.build import Built, RequestMaker, Who
from kbtool.runner.load.lengths import FixedLength
from kbtool.runner.load.patience import Patience
from kbtool.runner.load.work import NS_PER_S, EndpointChoice, WorkSpec
from kbtool.runner.prompts import PromptClass
from kbtool.runner.trace import Outcome

__all__ = ["PrefillSpec", "Sequential", "SingleStreamSpec", "length_probes", "prefill", "single_stream"]


@dataclass(frozen=True, slots=True)
class SingleStreamSpec:
    """Requests of one user, one after another; the classes of the content by turns."""

    requests: int
    gap_s: float = 0.0
    """Pause between the end of one and the start of the next."""


@dataclass(frozen=True, slots=True)
class PrefillSpec:
    """Long prompts, one at a time."""

    lengths_tok: tuple[int, ...]
    prompts: int
    """Different prompts of each length."""
    caches: Literal["cold", "warm", "cold_then_warm"] = "cold_then_warm"
    """`cold`: each prompt once. `cold_then_warm`: each again right after its first time, as turn 2 and later, where
    the cache holds it. `warm`: each once, as turn 2: the same prompts as in a cold round of equal seed and salt."""
    warm_repeats: int = 1
    gap_s: float = 0.0


class Sequential:
    """Driver that sends a list of requests, each when the one before it has ended."""

    def __init__(self, requests: Sequence[Built], gap_s: float = 0.0) -> None:
        """Send these, with a pause in between."""
        self._requests = requests
        self._gap_ns = round(gap_s * NS_PER_S)
        self._next = 0
        self._patience = Patience(users=1)
        self.expected_tok: Mapping[str, int] = {b.outgoing.id: b.expected_tok for b in requests}
        """Prompt tokens that each request should have, by id."""
        self.n_pieces: Mapping[str, int] = {b.outgoing.id: b.n_pieces for b in requests}
        """Pieces of each prompt, by id: with the server's counts, what `calibrate_ratio` takes."""

    def begin(self, now_ns: int) -> Iterable[Send]:
        """Return the first request."""
        return self._after(now_ns)

    def ended(self, recorded: Recorded, now_ns: int) -> Iterable[Send]:
        """Return the next request; none once the operator has ended one."""
        if recorded.failure is Outcome.CANCELLED:
            return ()
        pause_ns = self._patience.pause_ns(recorded)
        return self._after(now_ns + max(self._gap_ns, pause_ns))

    def stop(self, now_ns: int) -> bool:  # noqa: ARG002 - the number of requests ends it, not the time
        """Return whether nothing has worked for too long."""
        return self._patience.gone

    def _after(self, at_ns: int) -> tuple[Send, ...]:
        if self._next >= len(self._requests) or self._patience.gone:
            return ()
        self._next += 1
        return (Send(at_ns, self._requests[self._next - 1].outgoing),)


def single_stream(work: WorkSpec, spec: SingleStreamSpec) -> Sequential:
    """Return a driver for one user."""
    maker = RequestMaker(work)
    return Sequential([maker.request(at, Who(number=at)) for at in range(spec.requests)], spec.gap_s)


def prefill(work: WorkSpec, spec: PrefillSpec) -> Sequential:
    """Return a driver for long prompts; lengths grow, and each has all its prompts before the next."""
    if not spec.lengths_tok or spec.prompts < 1 or spec.warm_repeats < 1:
        raise UsageError(
            f"cell {work.cell!r}: prefill without lengths, prompts or repeats; expected 1 or more of each"
        )
    turns = {"cold": (1,), "warm": (2,), "cold_then_warm": tuple(range(1, 2 + spec.warm_repeats))}[
        spec.caches
    ]
    # Equal prompts have to reach one instance, whose cache holds them: a prompt is a session.
    work = replace(work, choice=EndpointChoice.STICKY)
    found: list[Built] = []
    for length in spec.lengths_tok:
        content = replace(work.content, input_tok=FixedLength(length))
        maker = RequestMaker(replace(work, content=content, salt=f"{work.salt}/{length}"))
        for at in range(spec.prompts):
            found += [
                maker.request(at, Who(len(found) + n, turn=turn, session=at)) for n, turn in enumerate(turns)
            ]
    return Sequential(found, spec.gap_s)


def length_probes(
    work: WorkSpec, prompt_class: PromptClass, lengths_tok: tuple[int, ...], each: int = 4
) -> Sequential:
    """Return a driver for probes of one class: their answers say how long its prompts come out.

    Two lengths that enclose those that will be asked for, and four prompts of each, are enough for 2 %.  Answers are
    a few tokens long, by the spec's output length.
    """
    built: list[Built] = []
    for length in lengths_tok:
        content = replace(
            work.content, classes=(prompt_class,), input_tok=FixedLength(length), shared_prefix_tok=0
        )
        maker = RequestMaker(replace(work, content=content, salt=f"{work.salt}/probe/{length}"))
        built += [maker.request(at, Who(number=len(built) + at)) for at in range(each)]
    return Sequential(built)
