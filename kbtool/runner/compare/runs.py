"""Two runs compared: cells of equal load, paired by session where the sessions alternated."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from kbtool.errors import RecordError
from kbtool.runner.compare.conditions import Condition, between_cells, between_runs, spoiled, worth_saying
from kbtool.runner.compare.figures import (
    Figure,
    SessionValue,
    figures_of,
    log_mean,
    rounds_of,
    session_values,
    shared_statistic,
)
from kbtool.runner.compare.model import Compared, Comparison, Differs, Refusal
from kbtool.runner.compare.ratios import DRAWS, Made, claimed, order_of, paired, pairs_of, unpaired_ratio
from kbtool.runner.results import CellResult, Run
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.warnings import WARNINGS

__all__ = ["compare_runs"]

MAX_DIFFERS: Final = 200
"""An engine lists some 450 settings; two engines would differ in all of them."""
_NOT_COMPARED: Final = frozenset({"engine.arguments.served_model_name", "engine.arguments.port"})


@dataclass(frozen=True, slots=True)
class Group:
    """What one ratio is made of."""

    name: str
    figure: Figure
    a: Sequence[float]
    """Logarithms of the values of A: of sessions, or of rounds."""
    b: Sequence[float]
    made: Made
    caveats: tuple[str, ...]
    setting: str | None = None
    value: Any = None
    drift_ratio: float | None = None


def compare_runs(a: Run, b: Run, *, noise_ratio: float = 0.0, draws: int = DRAWS) -> Comparison:
    """Return what may be said of B against A.

    Args:
        a: One run.
        b: Another one.
        noise_ratio: Largest difference that the same machine showed between equal runs; 0 where not known.
        draws: Of the bootstrap.

    Raises:
        RecordError: both are one run.
    """
    if a.run_id == b.run_id:
        raise RecordError(
            f"run {a.run_id} is given twice; expected two runs: give the other one, or compare the legs of this one"
        )
    whole = tuple(between_runs(a, b))
    if whole:
        refused = tuple(_refusal("all", each) for each in whole)
        return Comparison(a.run_id, b.run_id, "", (), refused, tuple(_differs(a, b)), noise_ratio)
    matched, refusals = _matched(a, b)
    wall = not _same_boot(a, b)
    groups: list[Group] = []
    order = ""
    for one, two in matched:
        for metric in figures_of(one.cell.kind, one.cell.cache):
            found = _group(one, two, metric, wall=wall, draws=draws)
            if isinstance(found, Refusal):
                refusals.append(found)
            elif found is not None:
                groups.append(found)
                order = order or _order(one, two, found.figure, wall=wall)
    return Comparison(
        a.run_id,
        b.run_id,
        order,
        judged(groups, noise_ratio),
        tuple(refusals),
        tuple(_differs(a, b)),
        noise_ratio,
    )


def judged(groups: Sequence[Group], noise_ratio: float) -> tuple[Compared, ...]:
    """Return ratios with their claims, corrected over all of them."""
    verdicts = claimed([each.made for each in groups], noise_ratio)
    return tuple(_compared(each, *verdict) for each, verdict in zip(groups, verdicts, strict=True))


def _compared(group: Group, claim: Any, reason: str, p_holm: float) -> Compared:
    metric, statistic = group.figure
    ratio = group.made.ratio
    bounded = ratio.low > 0 and ratio.high < float("inf")
    return Compared(
        cell=group.name,
        metric=metric,
        statistic=statistic,
        unit=METRICS[metric].unit,
        a=log_mean(group.a),
        b=log_mean(group.b),
        ratio=ratio.ratio,
        low=ratio.low if bounded else None,
        high=ratio.high if bounded else None,
        claim=claim,
        reason=reason,
        p_holm=p_holm,
        strength=group.made.strength,
        n_a=len(group.a),
        n_b=len(group.b),
        setting=group.setting,
        value=group.value,
        drift_ratio=group.drift_ratio,
        caveats=group.caveats,
    )


def _matched(a: Run, b: Run) -> tuple[list[tuple[CellResult, CellResult]], list[Refusal]]:
    """Return cells of equal load, and why others have no partner; equal loads first, whatever they are called."""
    left, alone = list(b.cells), []
    matched: list[tuple[CellResult, CellResult]] = []
    refusals: list[Refusal] = []
    for one in a.cells:
        alike = [
            each for each in left if _same_setting(one, each) and not any(between_cells(a, one, b, each))
        ]
        partner = next((each for each in alike if each.name == one.name), alike[0] if alike else None)
        if partner is None:
            alone.append(one)
            continue
        left.remove(partner)
        spoilt = tuple(refused_for_warnings(one.name, one, partner))
        refusals += spoilt
        if not spoilt:
            matched.append((one, partner))
    missing = "measure the same loads in both"
    for one in alone:
        named = next((each for each in left if each.name == one.name and _same_setting(one, each)), None)
        if named is None:
            refusals.append(Refusal(one.name, "load", "measured", "not measured", missing))
        else:
            left.remove(named)
            refusals += [_refusal(one.name, each) for each in between_cells(a, one, b, named)]
    refusals += [Refusal(each.name, "load", "not measured", "measured", missing) for each in left]
    return matched, refusals


def refused_for_warnings(name: str, a: CellResult, b: CellResult) -> Iterator[Refusal]:
    """Yield the warnings of either side that leave nothing to compare."""
    codes = dict.fromkeys([*spoiled(a), *spoiled(b)])
    for code in codes:
        sides = ["set" if code in spoiled(each) else "not set" for each in (a, b)]
        yield Refusal(name, f"warning {code.value}", sides[0], sides[1], WARNINGS[code].remedy)


def _same_setting(a: CellResult, b: CellResult) -> bool:
    return (a.setting, a.value) == (b.setting, b.value)


def _refusal(name: str, condition: Condition) -> Refusal:
    return Refusal(name, condition.name, condition.a, condition.b, condition.remedy)


def _group(a: CellResult, b: CellResult, metric: str, *, wall: bool, draws: int) -> Group | Refusal | None:
    statistic = shared_statistic(metric, a, b)
    if statistic is None:
        has = ["given" if shared_statistic(metric, each) else "not given" for each in (a, b)]
        if has == ["not given", "not given"]:
            return None
        remedy = "see in the reports why one side has no such figure"
        return Refusal(a.name, "metric", has[0], has[1], remedy, metric)
    figure = metric, statistic
    sessions = session_values(a, figure, wall=wall), session_values(b, figure, wall=wall)
    if not sessions[0] or not sessions[1]:
        sides = ["above 0" if each else "0" for each in sessions]
        return Refusal(a.name, "metric", sides[0], sides[1], "0 has no ratio", metric)
    made, values = _ratio(a, b, figure, sessions, draws=draws)
    return Group(a.name, figure, *values, made, tuple(worth_saying(a, b)))


def _ratio(
    a: CellResult,
    b: CellResult,
    figure: Figure,
    sessions: tuple[Sequence[SessionValue], Sequence[SessionValue]],
    *,
    draws: int,
) -> tuple[Made, tuple[Sequence[float], Sequence[float]]]:
    """Return the strongest ratio that the sessions allow, and the values that it was made from."""
    one, two = sessions
    logs = [each.log for each in one], [each.log for each in two]
    pairs = pairs_of(one, two)
    if pairs:
        return Made(figure[0], paired(pairs, draws=draws), "paired"), logs
    if min(len(one), len(two)) > 1:
        return Made(figure[0], unpaired_ratio(*logs, draws=draws), "unpaired"), logs
    rounds = rounds_of(a.visits, figure), rounds_of(b.visits, figure)
    return Made(figure[0], unpaired_ratio(*rounds, draws=draws), "these_starts"), rounds


def _order(a: CellResult, b: CellResult, figure: Figure, *, wall: bool) -> str:
    return order_of(session_values(a, figure, wall=wall), session_values(b, figure, wall=wall))


def _same_boot(a: Run, b: Run) -> bool:
    """Return whether the monotonic clock of both is the same one."""
    boots = [each.environments.get("host", {}).get("host", {}).get("boot_id") for each in (a, b)]
    return boots[0] is not None and boots[0] == boots[1]


def _differs(a: Run, b: Run) -> Iterator[Differs]:
    """Yield the settings and facts in which the runs differ, as far as they were read."""
    one, two = _facts(a), _facts(b)
    different = (
        field
        for field in sorted({*one, *two})
        if field not in _NOT_COMPARED and one.get(field) != two.get(field)
    )
    for field in islice(different, MAX_DIFFERS):
        yield Differs(field, one.get(field, "not said"), two.get(field, "not said"))


def _facts(run: Run) -> dict[str, str]:
    """Return settings in force in the base leg, and what the machine is."""
    found: dict[str, str] = {}
    base = next((cell for cell in run.cells if cell.setting is None), None)
    if base is not None:
        leg = run.environments.get(base.visits[0].note.environment, {})
        found["server"] = str(leg.get("kind", "not said"))
        for each in leg.get("settings", ()):
            found[str(each.get("field"))] = str(each.get("value"))
    host = run.environments.get("host", {})
    machine, cards = host.get("host", {}), host.get("accelerators", {})
    for name in ("cpu_model", "kernel", "boot_id"):
        if machine.get(name) is not None:
            found[f"host.{name}"] = str(machine[name])
    if cards.get("driver_version") is not None:
        found["system.driver"] = str(cards["driver_version"])
    for card in cards.get("cards", ()):
        for name in ("name", "uuid", "power_enforced_w"):
            found[f"accelerator {card.get('index')} {name}"] = str(card.get(name))
    return found
