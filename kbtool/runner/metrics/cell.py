"""The numbers of a cell: its rounds put together, with spread, interval and the warnings that travel along.

What the value of each statistic is:

========================  ==================================================================================
in the rounds             in the cell
========================  ==================================================================================
single                    `median` over rounds; stays `single` for one round
mean                      `mean`: median over rounds of the rounds' means
p50, p90, p95, p99        the percentile of the requests, tokens or gaps of all rounds together
min, max                  smallest, largest of all rounds
error_ratio               failed / sent of all rounds together: a median would hide the one bad round
========================  ==================================================================================

Spread is the standard deviation over rounds, the interval that of `kbtool.runner.stats.intervals`, over rounds
nested in sessions.  Percentiles have both only where each round has enough samples for its own; extremes and the
error ratio have none.  An interval that would leave out its own value is widened to hold it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import Final

from kbtool.runner.metrics.distributions import PERCENTILES
from kbtool.runner.metrics.figures import CacheVerdict, CellSummary, Measurement, RoundFigures, Sample
from kbtool.runner.metrics.sanity import Sanity
from kbtool.runner.metrics.throughput import error_ratio
from kbtool.runner.stats.checks import drift, outliers
from kbtool.runner.stats.intervals import Interval, mean_interval
from kbtool.runner.stats.samples import median, percentile_of_sorted, stdev
from kbtool.runner.trace import Outcome
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.terms import CacheProof, Statistic, members
from kbtool.vocab.warnings import WarningCode, in_order

__all__ = ["summarize"]

_LEAST_ROUNDS: Final = 3
_MAIN: Final = frozenset({"ttft_ms", "tpot_ms", "tok_s_per_user", "output_tok_s", "prefill_tok_s"})
"""Metrics whose own warnings are also the cell's."""
_PERCENT_OF: Final = dict(PERCENTILES)
_METRIC_ORDER: Final = {metric: index for index, metric in enumerate(METRICS)}
_STATISTIC_ORDER: Final = {word: index for index, word in enumerate(members(Statistic))}
_Found = Sequence[tuple[RoundFigures, Sample]]


def summarize(
    rounds: Sequence[RoundFigures],
    *,
    sanity: Sanity | None = None,
    asked_ratio: float = 0.05,
    extended: bool = False,
    observed: Iterable[WarningCode] = (),
) -> CellSummary:
    """Return the numbers of a cell.

    Args:
        rounds: Its measured rounds, in any order; warm-up rounds left out.
        sanity: What the checks of the outputs found; None, or nothing checked, makes it `speed_only`.
        asked_ratio: Half width of the interval, as a share of the mean, above which a number is `wide_spread`.
        extended: Whether rounds were added because the interval was too wide.
        observed: Warnings about the cell as a whole, such as a cliff.

    Raises:
        ValueError: there is no round, or two have the same session and number.
    """
    ordered = _in_order(rounds)
    sessions = len({each.context.session for each in ordered})
    common = {*observed, *(warning for each in ordered for warning in each.warnings)}
    common |= {WarningCode.SPEED_ONLY} if sanity is None else set(sanity.warnings)
    if sessions == 1:
        common.add(WarningCode.SINGLE_SESSION)
    make = _Maker(ordered, frozenset(common), asked_ratio, extended)
    keys = {(each.metric, each.statistic) for figures in ordered for each in figures.samples}
    keys |= {(pool.metric, word) for figures in ordered for pool in figures.pools for word in _PERCENT_OF}
    made = [make.measurement(*key) for key in sorted(keys, key=_place)]
    measurements = tuple([each for each in made if each is not None])
    main = {warning for each in measurements if each.metric in _MAIN for warning in each.warnings}
    return CellSummary(
        measurements=measurements,
        warnings=in_order(common | main),
        outcomes=_outcomes(ordered),
        cache=_worst_cache(ordered),
        n_rounds=len(ordered),
        n_sessions=sessions,
    )


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes one number after another from the same rounds."""

    rounds: Sequence[RoundFigures]
    common: frozenset[WarningCode]
    asked_ratio: float
    extended: bool

    def measurement(self, metric: str, statistic: Statistic) -> Measurement | None:
        """Return one number, or None where too few samples lie beyond a percentile."""
        found = [(each, sample) for each in self.rounds if (sample := each.sample(metric, statistic))]
        values = [sample.value for _, sample in found]
        if statistic in _PERCENT_OF:
            return self._percentile(metric, statistic, found)
        n_samples = sum([sample.n for _, sample in found])
        if metric == "error_ratio":
            whole = error_ratio(_outcomes(self.rounds))
            return None if whole is None else self._number(whole, len(found), ())
        if statistic in {"min", "max"}:
            value = min(values) if statistic == "min" else max(values)
            return self._number(Sample(metric, statistic, value, n_samples), len(found), ())
        word: Statistic = "median" if statistic == "single" and len(found) > 1 else statistic
        return self._number(Sample(metric, word, median(values), n_samples), len(found), found)

    def _percentile(self, metric: str, statistic: Statistic, own: _Found) -> Measurement | None:
        """Return the percentile of the values of all rounds; `own` are those rounds' that have one themselves."""
        pools = [pool.values for each in self.rounds for pool in each.pools if pool.metric == metric]
        values = list(merge(*pools))
        value = percentile_of_sorted(values, _PERCENT_OF[statistic])
        if value is None:
            return None
        whole = Sample(metric, statistic, value, len(values))
        return self._number(whole, len(pools), own if len(own) == len(pools) else ())

    def _number(self, whole: Sample, n_rounds: int, repeated: _Found) -> Measurement:
        """Return a number with the interval of its repeated values, or with none where nothing was repeated."""
        sessions = _by_session(repeated)
        interval = mean_interval(sessions, extended=self.extended) if sessions else None
        value = whole.value
        return Measurement(
            metric=whole.metric,
            statistic=whole.statistic,
            value=value,
            low=None if interval is None else min(interval.low, value),
            high=None if interval is None else max(interval.high, value),
            interval=None if interval is None else "ci95",
            method=None if interval is None else interval.method,
            n_rounds=n_rounds,
            n_sessions=len({each.context.session for each in self.rounds if _has(each, whole.metric)}),
            n_samples=whole.n,
            spread_stdev=stdev([sample.value for _, sample in repeated]),
            warnings=in_order({*self.common, *self._own_warnings(n_rounds, sessions, interval)}),
        )

    def _own_warnings(
        self, n_rounds: int, sessions: Sequence[Sequence[float]], interval: Interval | None
    ) -> Iterator[WarningCode]:
        if n_rounds < _LEAST_ROUNDS:
            yield WarningCode.FEW_SAMPLES
        if interval is not None and interval.half_width_ratio > self.asked_ratio:
            yield WarningCode.WIDE_SPREAD
        change = drift(sessions) if sessions else None
        if change is not None and change.alarm:
            yield WarningCode.DRIFT
        if outliers([value for each in sessions for value in each]):
            yield WarningCode.OUTLIERS


def _in_order(rounds: Sequence[RoundFigures]) -> list[RoundFigures]:
    """Return the rounds by session and number, so that the order given does not matter."""
    if not rounds:
        raise ValueError("no rounds to summarize; expected at least one")
    keys = [(each.context.session, each.context.round) for each in rounds]
    if len(set(keys)) < len(keys):
        raise ValueError(f"rounds {sorted(keys)}; expected each session and number once")
    return sorted(rounds, key=lambda each: (each.context.session, each.context.round))


def _by_session(found: _Found) -> list[list[float]]:
    sessions: dict[str, list[float]] = {}
    for figures, sample in found:
        sessions.setdefault(figures.context.session, []).append(sample.value)
    return list(sessions.values())


def _has(figures: RoundFigures, metric: str) -> bool:
    return any(each.metric == metric for each in figures.samples)


def _place(key: tuple[str, Statistic]) -> tuple[int, int]:
    """Return where a number stands: by the order of metrics and of statistics in the vocabulary."""
    return _METRIC_ORDER[key[0]], _STATISTIC_ORDER[key[1]]


def _outcomes(rounds: Sequence[RoundFigures]) -> tuple[tuple[Outcome, int], ...]:
    counts = Counter[Outcome]()
    for each in rounds:
        counts.update(dict(each.outcomes))
    return tuple([(each, counts[each]) for each in Outcome if counts[each]])


def _worst_cache(rounds: Sequence[RoundFigures]) -> CacheVerdict:
    """Return the verdict that holds for all rounds: theirs where they agree, else the worse of two kinds."""
    verdicts = {each.cache for each in rounds}
    if len(verdicts) == 1:
        return verdicts.pop()
    states = {each.state for each in verdicts}
    if len(states) == 1:
        proofs = [set(each.proofs) for each in verdicts]
        shared = set.intersection(*proofs)
        return CacheVerdict(states.pop(), tuple([each for each in members(CacheProof) if each in shared]))
    return CacheVerdict("contaminated" if "contaminated" in states else "unproven")
