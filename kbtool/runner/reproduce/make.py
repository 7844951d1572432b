"""A plan from a benchmark record: the headline, or results that were asked for, measured again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from kbtool.errors import RecordError, UsageError
from kbtool.runner.plan.model import Plan, Repeats, Replicates, Subject, Sweep
from kbtool.runner.plan.target import EngineKind
from kbtool.runner.reproduce.loads import Load, Reading, read
from kbtool.runner.reproduce.model import Covered, OpenPoint, Reproduction
from kbtool.runner.reproduce.setup import differing, missing_fields, settings_of, topology_of
from kbtool.runner.reproduce.sweeps import Change, change_of, sweep_id, sweep_of
from kbtool.runner.reproduce.target import MadeTarget, engine_of, make_target
from kbtool.runner.reproduce.workloads import Made, workloads_of
from kbtool.schema.base import Scalar
from kbtool.schema.benchmark import At, Benchmark, Result

__all__ = ["plan_from", "target_value"]

SESSIONS: Final = 3
"""Starts of a launched server: an interval then holds for the next start too."""
MAX_LOADS: Final = 64
MAX_SWEEPS: Final = 8


def plan_from(
    record: Benchmark, *, results: Sequence[str] | None = None, url: str | None = None
) -> Reproduction:
    """Return a plan that measures results of a record again.

    Args:
        record: The record.
        results: Ids of results, the first of which sets layout and settings; None for the headline and whatever was
            measured under its load, with its settings or others.
        url: Server that runs already; None to launch one where the engine's arguments are known.

    Raises:
        UsageError: the record has no result of that id, or the address is none.
        RecordError: no plan can measure any of them; the message says why.
    """
    if record.comparison_class:
        raise RecordError(
            f"benchmarks/{record.id} is of the class {record.comparison_class}, whose results compare only with one "
            "another; expected one whose figures a plan may be held against: choose another record"
        )
    maker = _Maker(record, engine_of(record))
    maker.choose(results)
    return maker.made(url)


def target_value(result: Result) -> Decimal | None:
    """Return the value that a link compares with: the figure, or the middle of its range."""
    if result.value is not None:
        return result.value
    if result.low is None or result.high is None:
        return None
    return (result.low + result.high) / 2


@dataclass(slots=True)
class _Maker:
    """Holds what was decided so far while a plan is made."""

    record: Benchmark
    engine: EngineKind
    readings: list[Reading] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    not_asked: list[str] = field(default_factory=list)

    def choose(self, wanted: Sequence[str] | None) -> None:
        """Read the results that were asked for; the first that can be measured sets the conditions."""
        by_id = {each.id: each for each in self.record.results}
        unknown = [name for name in wanted or () if name not in by_id]
        if unknown:
            raise UsageError(
                f"benchmarks/{self.record.id} has no result {', '.join(unknown)}; expected one of {', '.join(by_id)}"
            )
        first = list(dict.fromkeys(wanted if wanted is not None else [self.record.headline]))
        for name in first:
            self._take(by_id[name])
        if not any(each.load is not None for each in self.readings):
            raise RecordError(self._nothing())
        if wanted is None:
            for each in self.record.results:
                if each.id not in first:
                    self._take_where_alike(each)

    def _take(self, result: Result) -> None:
        found = read(result, self.record, self.engine)
        if isinstance(found, str):
            self.refused.append((result.id, found))
        elif reason := self._elsewhere(result):
            self.refused.append((result.id, reason))
        else:
            self.readings.append(found)

    def _elsewhere(self, result: Result) -> str:
        """Return why a result does not belong to the layout of the first one."""
        base = self._base()
        if base is None:
            return ""
        ours, theirs = topology_of(self.record, base), topology_of(self.record, result)
        if ours[0] != theirs[0]:
            return f"it is of {theirs[0]} instance(s) and the plan of {ours[0]}: ask for it alone"
        used, whole = result.at.accelerators, theirs[1]
        if used is not None and whole is not None and used < whole:
            return f"it is of {used} of {whole} accelerators, and the runner's figure is of all of them"
        return ""

    def _take_where_alike(self, result: Result) -> None:
        """Take a result that shares the conditions of the headline; refuse it where only its figure stands in the way."""
        base = self.readings[0]
        if not _alike(base.result.at, result.at):
            self.not_asked.append(result.id)
            return
        found = read(result, self.record, self.engine)
        if not isinstance(found, str) and found.load is not None and found.load != base.load:
            self.not_asked.append(result.id)
            return
        self._take(result)

    def _base(self) -> Result | None:
        return next((each.result for each in self.readings if each.load is not None), None)

    def _nothing(self) -> str:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in self.refused) or "none states its load"
        return (
            f"benchmarks/{self.record.id}: no plan can measure what was asked for: {reasons}; "
            "ask for other results of the record by their ids"
        )

    def made(self, url: str | None) -> Reproduction:
        """Return the plan for what was chosen."""
        base = self._base()
        assert base is not None
        settings = settings_of(self.record, base)
        target = make_target(self.record, base, settings, url)
        plain, changes = self._sorted_by_settings(settings, launched=target.target.launch is not None)
        loads = workloads_of([*plain, *(each for each, _ in changes)])
        self._drop_beyond(loads)
        plain = [each for each in plain if self._workload(each, loads) is not None]
        sweeps, swept = self._sweeps(changes, loads, settings)
        points = _points([*plain, *(each for each, _ in changes)], loads)
        setup = tuple(self._setup_points(base, target))
        missing = tuple(self._missing_points(settings, launched=target.target.launch is not None))
        plan = Plan(
            plan_version=1,
            id=f"repro-{self.record.id}"[:100].rstrip("-"),
            title=f"Reproduce: {self.record.title}"[:200],
            subject=self._subject(target),
            target=target.target,
            workloads=tuple(made.workload for made in loads.values())[:MAX_LOADS],
            sweeps=sweeps,
            repeats=Repeats(sessions=1 if target.target.launch is None else SESSIONS),
            # A straight cell beside the router's would be taken for the figure that is linked.
            control_cell=False,
            replicates=tuple(self._replicates(plain, loads, (*setup, *_in_one(missing)))),
        )
        covered = [Covered(each.result.id, self._workload(each, loads) or "") for each in plain]
        return Reproduction(
            record=f"benchmarks/{self.record.id}",
            plan=plan,
            open_points=(*points, *setup, *missing),
            refused=tuple(self.refused),
            covered=(*covered, *swept),
            required=target.required,
            not_asked=tuple(self.not_asked),
            accelerator=self.record.system.accelerator,
            loads={made.workload.id: made.words for made in loads.values()},
        )

    def _sorted_by_settings(
        self, settings: Mapping[str, Scalar], *, launched: bool
    ) -> tuple[list[Reading], list[tuple[Reading, Change]]]:
        """Return what is measured under the plan's own settings, and what under one that a sweep changes."""
        plain: list[Reading] = []
        changes: list[tuple[Reading, Change]] = []
        for each in self.readings:
            changed = differing(settings, settings_of(self.record, each.result))
            if not changed:
                plain.append(each)
                continue
            found = change_of(changed, settings, self.engine, launched=launched)
            if isinstance(found, str):
                self.refused.append((each.result.id, found))
            elif (
                found.field not in {change.field for _, change in changes} and _fields(changes) >= MAX_SWEEPS
            ):
                self.refused.append(
                    (each.result.id, f"the plan has {MAX_SWEEPS} sweeps already: ask for it alone")
                )
            else:
                changes.append((each, found))
        return plain, changes

    def _drop_beyond(self, loads: Mapping[Load, Made]) -> None:
        for each in self.readings:
            if each.load in list(loads)[MAX_LOADS:]:
                self.refused.append(
                    (each.result.id, f"the plan has {MAX_LOADS} loads already: ask for it alone")
                )

    def _workload(self, reading: Reading, loads: Mapping[Load, Made]) -> str | None:
        """Return the workload that measures a result; what names no load belongs to the first one that fits."""
        within = dict(list(loads.items())[:MAX_LOADS])
        if reading.load is not None:
            made = within.get(reading.load)
            return None if made is None else made.workload.id
        users = reading.result.at.concurrency
        fitting = [made for load, made in within.items() if users is None or users == load.concurrency]
        return fitting[0].workload.id if fitting else next(iter(within.values())).workload.id

    def _sweeps(
        self,
        changes: Sequence[tuple[Reading, Change]],
        loads: Mapping[Load, Made],
        settings: Mapping[str, Scalar],
    ) -> tuple[tuple[Sweep, ...], list[Covered]]:
        by_field: dict[str, list[tuple[Reading, Change, str]]] = {}
        for reading, change in changes:
            workload = self._workload(reading, loads)
            if workload is not None:
                by_field.setdefault(change.field, []).append((reading, change, workload))
        sweeps: list[Sweep] = []
        covered = []
        taken = {made.workload.id for made in loads.values()}
        for path, several in by_field.items():
            name = sweep_id(path, taken)
            taken.add(name)
            sweeps.append(
                sweep_of(
                    name,
                    [each for _, each, _ in several],
                    settings,
                    self.engine,
                    [each for *_, each in several],
                )
            )
            covered += [
                Covered(one.result.id, workload, name, change.value) for one, change, workload in several
            ]
        return tuple(sweeps), covered

    def _subject(self, target: MadeTarget) -> Subject:
        """Return what no machine can read out; what the record's system was is not said of this one."""
        attached = target.target.launch is None
        return Subject(
            engine=self.record.engine.engine,
            model=self.record.model.model,
            instances=target.instances if attached and target.instances > 1 else None,
        )

    def _missing_points(self, settings: Mapping[str, Scalar], *, launched: bool) -> Iterator[OpenPoint]:
        """Yield what the record does not state about its setup."""
        for path, title, why in missing_fields(self.record, settings):
            said = f"{title} not given ({why[:1].lower()}{why[1:].rstrip('.')})"
            yield OpenPoint(path, said, _chosen(path, launched))

    def _setup_points(self, base: Result, target: MadeTarget) -> Iterator[OpenPoint]:
        launched = target.target.launch is not None
        yield from target.points
        path = base.at.measuring_path
        ours = "through the router" if target.target.router is not None else "at the server's own address"
        if path is None:
            yield OpenPoint("results.at.measuring_path", "not said", ours)
        elif path not in {"on_host", "through_proxy"} or (path == "through_proxy") != (
            target.target.router is not None
        ):
            yield OpenPoint(
                "results.at.measuring_path", f"`{path}`", f"{ours}: a tunnel or proxy may batch chunks"
            )
        if target.instances > 1 and not launched:
            yield OpenPoint(
                "deployment.router",
                f"{target.instances} instances served together",
                "the one address that was given, taken for the entrance to all of them",
            )

    def _replicates(
        self, plain: Sequence[Reading], loads: Mapping[Load, Made], setup: Sequence[OpenPoint]
    ) -> Iterator[Replicates]:
        for each in plain:
            workload = self._workload(each, loads)
            assert workload is not None
            own = [*each.points, *(loads[each.load].points if each.load is not None else ())]
            points = dict.fromkeys(str(point) for point in (*own, *setup))
            yield Replicates(
                target=f"benchmarks/{self.record.id}#{each.result.id}",
                workload=workload,
                metric=each.result.metric,
                open_points=tuple(points),
            )


def _in_one(missing: Sequence[OpenPoint]) -> Iterator[OpenPoint]:
    """Yield one point for all that is missing: the record of the run has what was there."""
    if missing:
        yield OpenPoint(
            "setup", f"not given: {', '.join(each.field for each in missing)}", "what is found here"
        )


def _fields(changes: Sequence[tuple[Reading, Change]]) -> int:
    return len({change.field for _, change in changes})


def _alike(base: At, other: At) -> bool:
    """Return whether two results were measured alike, as far as both say; a figure of no stated load may belong to any."""
    for name in (
        "concurrency", "request_rate_req_s", "input_tok", "input_nominal", "output_tok", "depth_tok", "prompt_class", "temperature",
        "turn", "prefix_cache", "measuring_path", "accelerators", "instances",
    ):  # fmt: skip
        one, two = getattr(base, name), getattr(other, name)
        if two is not None and one != two:
            return False
    return True


def _points(readings: Sequence[Reading], loads: Mapping[Load, Made]) -> tuple[OpenPoint, ...]:
    """Return what is open about results and loads, each point once."""
    found = [point for each in readings for point in each.points]
    found += [point for made in loads.values() for point in made.points]
    return tuple(dict.fromkeys(found))


def _chosen(path: str, launched: bool) -> str:
    part = path.partition(".")[0]
    if part == "system":
        return "what this machine has; recorded as far as it can be read here"
    if part == "engine":
        return "what runs here; recorded as far as the server tells it"
    if part == "model":
        return "the weights at hand; what the server says is recorded"
    return (
        "the engine's default; what is in force is recorded as far as it can be read"
        if launched
        else "what the server has in force"
    )
