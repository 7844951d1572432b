"""What comes out of measuring: figures of one round, and the numbers of a cell with interval and warnings.

A *cell* is one workload under one setting; a *round* repeats it; rounds lie in *sessions*, each a fresh start
of the server.  Metric and statistic are words of `kbtool.vocab`.
"""

from array import array
from dataclasses import dataclass
from typing import Literal

from kbtool.runner.metrics.speculation import SpeculationVerdict
from kbtool.runner.trace import Outcome
from kbtool.vocab.terms import CacheProof, CacheState, PromptClass, Statistic
from kbtool.vocab.warnings import WarningCode

__all__ = [
    "CacheVerdict",
    "CacheVerdictState",
    "CellSummary",
    "IntervalMethod",
    "Measurement",
    "Pool",
    "RoundContext",
    "RoundFigures",
    "Sample",
    "Slo",
    "TokenTotals",
    "Window",
]

CacheVerdictState = Literal["proven_cold", "unproven", "contaminated", "warm", "restart_warm", "off"]
IntervalMethod = Literal["t_sessions", "t_rounds"]


@dataclass(frozen=True, slots=True)
class Slo:
    """A limit that a request must meet to count for goodput."""

    metric: str
    """Id of a metric of scope request or user."""
    limit: float
    """In the metric's unit; met by a value that is as good or better."""


@dataclass(frozen=True, slots=True)
class CacheVerdict:
    """What the answers show about the prefix cache."""

    state: CacheVerdictState
    proofs: tuple[CacheProof, ...] = ()

    @property
    def record_state(self) -> CacheState:
        """The word of a record's `prefix_cache`."""
        return "cold" if self.state == "proven_cold" else self.state


@dataclass(frozen=True, slots=True)
class RoundContext:
    """Under what conditions a round ran: what the traces themselves do not say."""

    session: str = "1"
    """Which start of the server; rounds of one session are not independent."""
    round: int = 1
    """Number in the session, from 1."""
    concurrency: int | None = None
    """Users of a closed loop; None in an open one."""
    request_rate_req_s: float | None = None
    """Offered rate of an open loop."""
    prompt_class: PromptClass | None = None
    input_tok: int | None = None
    """Input length asked for."""
    output_tok: int | None = None
    """Output length asked for."""
    running_limit: int | None = None
    """Requests that the server decodes at once over all instances, where known."""
    cache_expected: Literal["cold", "warm", "off"] | None = None
    prompts_unique: bool = False
    """Whether no prompt shares its first token's block with any earlier one of this server session."""
    cache_reset_checked: bool = False
    """Whether the cache was emptied before, and the effect was seen."""
    template_tok: int = 0
    """Tokens of the chat template's opening, which all prompts share: as few cached ones show nothing."""
    server_restarted: bool = False
    """Whether the server was started again since these prompts were last sent."""
    slos: tuple[Slo, ...] = ()
    """Limits of the goodput; none, no goodput."""
    window_ns: tuple[int, int] | None = None
    """Window to count in, for an open loop with a ramp; None: from the traces."""
    accelerators: int | None = None
    """Accelerators that serve, prefill and decode both."""
    energy_j: float | None = None
    """Energy of all accelerators over the round."""
    speculation: SpeculationVerdict | None = None
    """From the server's counters before and after the round; None where nobody read them."""
    observed: tuple[WarningCode, ...] = ()
    """Warnings from client health, telemetry and the target, which the traces cannot show."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One figure of one round."""

    metric: str
    statistic: Statistic
    """Over the requests, tokens or gaps of the round; `single` for a figure of the round as a whole."""
    value: float
    """In the metric's unit."""
    n: int
    """Requests, tokens or gaps behind it."""


@dataclass(frozen=True, slots=True)
class Pool:
    """All values of one metric in one round, ascending: what percentiles of the whole cell are taken from."""

    metric: str
    values: "array[float]"


@dataclass(frozen=True, slots=True)
class Window:
    """The time at full concurrency; see `kbtool.runner.metrics.occupancy`."""

    start_ns: int
    end_ns: int
    mean_in_flight: float
    share_ratio: float
    """Length as a share of the round's wall time."""

    @property
    def length_s(self) -> float:
        """Length in seconds."""
        return (self.end_ns - self.start_ns) / 1e9


@dataclass(frozen=True, slots=True)
class TokenTotals:
    """Token counts of the successful requests, by the server's usage."""

    input_tok: int
    output_tok: int
    cached_tok: int | None
    """None unless reported for every request."""
    reasoning_tok: int | None
    """None unless reported for every request."""


@dataclass(frozen=True, slots=True)
class RoundFigures:
    """Every figure of one round."""

    context: RoundContext
    samples: tuple[Sample, ...]
    pools: tuple[Pool, ...]
    outcomes: tuple[tuple[Outcome, int], ...]
    """Requests by outcome, in the order of `Outcome`; those without any left out."""
    retries: int
    started_ns: int | None
    """First successful request sent."""
    wall_s: float | None
    """First successful request sent to last byte of the last one."""
    window: Window | None
    totals: TokenTotals
    cache: CacheVerdict
    warnings: tuple[WarningCode, ...]

    @property
    def n_requests(self) -> int:
        """Requests of the round, failed ones included."""
        return sum([count for _, count in self.outcomes])

    @property
    def n_ok(self) -> int:
        """Successful requests."""
        return dict(self.outcomes).get(Outcome.OK, 0)

    def sample(self, metric: str, statistic: Statistic) -> Sample | None:
        """Return one figure, or None where the round has none."""
        return next(
            (each for each in self.samples if each.metric == metric and each.statistic == statistic), None
        )


@dataclass(frozen=True, slots=True)
class Measurement:
    """One number of a cell, ready to be published."""

    metric: str
    statistic: Statistic
    """As in the rounds; `single` of a round becomes `median` over rounds."""
    value: float
    low: float | None
    """Lower end of the interval; None where there is no interval."""
    high: float | None
    interval: Literal["ci95"] | None
    method: IntervalMethod | None
    """How the interval was made; see `kbtool.runner.stats.intervals`."""
    n_rounds: int
    n_sessions: int
    n_samples: int
    """Requests, tokens or gaps over all rounds."""
    spread_stdev: float | None
    """Sample standard deviation over rounds, in the metric's unit; None below 2 rounds."""
    warnings: tuple[WarningCode, ...]


@dataclass(frozen=True, slots=True)
class CellSummary:
    """Every number of a cell."""

    measurements: tuple[Measurement, ...]
    """In the order of the vocabulary."""
    warnings: tuple[WarningCode, ...]
    """Those of the rounds and of the cell's main figures; what concerns one number alone stands with it."""
    outcomes: tuple[tuple[Outcome, int], ...]
    cache: CacheVerdict
    n_rounds: int
    n_sessions: int

    def measurement(self, metric: str, statistic: Statistic) -> Measurement | None:
        """Return one number, or None where the cell has none."""
        return next(
            (each for each in self.measurements if each.metric == metric and each.statistic == statistic),
            None,
        )
