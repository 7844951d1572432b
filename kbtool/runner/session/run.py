"""A plan carried out, from the first leg to the manifest."""

import contextlib
import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import count, groupby
from pathlib import Path
from typing import Any, Final

from kbtool.errors import KbtoolError
from kbtool.runner.folder import (
    Aborted,
    BoxLock,
    FolderOptions,
    Interrupted,
    LegStarted,
    RunFolder,
    Warned,
)
from kbtool.runner.folder.entries import plain
from kbtool.runner.plan import Plan
from kbtool.runner.plan.cells import Visit, cells_of, schedule, visit_key
from kbtool.runner.prompts import LengthModel
from kbtool.runner.results import VisitResult, load_visit
from kbtool.runner.results.notes import VisitNote
from kbtool.runner.session.box import cards_of
from kbtool.runner.session.cliffs import next_levels
from kbtool.runner.session.events import (
    LegBegan,
    LegEnded,
    Remark,
    RunBegan,
    RunEnded,
    Tell,
    VisitBegan,
    VisitFailed,
    VisitSealed,
)
from kbtool.runner.session.interrupts import Interrupts, StoppedError
from kbtool.runner.session.leg import LegRefusedError, LegUp, Machine, leg_up
from kbtool.runner.session.rounds import AcceleratorFailedError, RoundFailedError
from kbtool.runner.session.single import Lengths, calibrated_lengths
from kbtool.runner.session.visits import ROUND_FAILED, TARGET_LOST, TargetLostError, VisitRunner
from kbtool.runner.session.watch import Watch, watching
from kbtool.runner.session.work import Sender, asked_lengths, require_lengths
from kbtool.runner.target import TargetError
from kbtool.runner.target.errors import EngineDiedError
from kbtool.runner.telemetry import AcceleratorNames, Backend, HostFacts, Inventory

__all__ = ["CALIBRATION", "Given", "Session", "utc_now"]

LENGTHS: Final = "lengths"
REFUSED: Final = "refused"
"""Reason of a cell whose servers do not start with the value that its leg is about, or do not report it."""
CALIBRATION: Final = "calibration"
MOST_RELAUNCHES: Final = 2
COOLING_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class Given:
    """What a run is given from outside: clock, environment and knowledge stay at the edge."""

    runner_version: str
    command: str
    """What was asked for, without secrets."""
    backend: Backend
    accelerators: Sequence[AcceleratorNames] = ()
    """Accelerator records that a card may be."""
    calibration: Mapping[str, Any] | None = None
    """The client's own error on this host, as `bench calibrate` measured it."""
    options: FolderOptions | None = None


@dataclass(slots=True)
class Session:
    """A run that is carried out. Make one with `kbtool.runner.session.opening`; call `run`."""

    plan: Plan
    plan_bytes: bytes
    plan_folder: Path
    folder: RunFolder
    given: Given
    host: HostFacts
    inventory: Inventory
    lock: BoxLock
    resources: frozenset[str]
    """What it uses of the box, by name."""
    interrupts: Interrupts
    tell: Tell
    _extra: list[Visit] = field(default_factory=list)
    _given_up: set[str] = field(default_factory=set)
    """Cells that failed since this process began: each has one try, and another one when the run is resumed."""

    @property
    def visits(self) -> tuple[Visit, ...]:
        """Every visit of the schedule, those that bisect a cliff last."""
        return (*schedule(self.plan), *self._extra)

    def key(self, visit: Visit) -> str:
        """Return the name under which a visit is kept."""
        return visit_key(visit, hashlib.sha256(self.plan_bytes).hexdigest(), self.given.runner_version)

    def run(self) -> bool:
        """Measure all that is not measured yet; return whether the run is complete.

        Raises:
            KbtoolError: the servers do not come up, differ from before, or the disk failed; what was measured is kept.
        """
        try:
            return self.run_session(None) and self.finish()
        finally:
            self.close()

    def run_session(self, number: int | None) -> bool:
        """Measure what is left of one session, or of all; return whether the operator let it.

        Raises:
            KbtoolError: as `run` does.
        """
        done = [visit for visit in self.visits if self.key(visit) in self.folder.sealed]
        self.tell(RunBegan(self.folder.run_id, self.folder.root, len(self.visits), len(done)))
        try:
            return self._measure(number)
        except KbtoolError as error:
            with contextlib.suppress(
                KbtoolError
            ):  # the first error is the one to tell; the ledger may be its cause
                self.folder.append(Aborted(type(error).__name__, str(error)[:2000]))
            raise

    def finish(self) -> bool:
        """Seal the run as a whole.

        Raises:
            KbtoolError: a cell is neither sealed nor noted as failed.
        """
        known = {*self.folder.sealed, *(each.key for each in self.folder.state.failed)}
        missing = [visit.cell.name for visit in self.visits if self.key(visit) not in known]
        if missing:
            raise KbtoolError(
                f"{self.folder.root}: {len(missing)} cells were not measured, {', '.join(missing[:5])} first; expected "
                f"all: go on with `kbtool bench resume {self.folder.root}`"
            )
        self.folder.finish({"ended": utc_now()})
        self.tell(RunEnded(self.folder.root, finished=True, why=""))
        return True

    def close(self) -> None:
        """Give folder and locks back; a second call does nothing."""
        self.folder.close()
        self.lock.release()

    def _measure(self, session: int | None) -> bool:
        telemetry = self.plan.telemetry
        cards = cards_of(self.plan, self.inventory)
        self.folder.check()
        self.folder.logs.mkdir(exist_ok=True)
        with watching(
            telemetry, self.inventory, cards, self.folder.logs, host_pids=self.host.host_pids
        ) as watch:
            machine = Machine(
                plan=self.plan,
                folder=self.folder,
                run_id=self.folder.run_id,
                inventory=self.inventory,
                watch=watch,
                calibrated=self.given.calibration is not None,
                interrupt=self.interrupts,
                tell=lambda text: self.tell(Remark(text)),
                seen=_fingerprints(self.folder),
            )
            wanted = [each for each in schedule(self.plan) if session is None or each.session == session]
            try:
                for number, visits in groupby(wanted, key=lambda each: each.leg_number):
                    self._leg(machine, number, tuple(visits))
            except StoppedError:
                return self._stopped()
            except AcceleratorFailedError as error:
                raise KbtoolError(
                    f"an accelerator failed: {error}; expected it to stay: nothing was reset; look at the kernel log, and "
                    f"resume with `kbtool bench resume {self.folder.root}` when the card is back"
                ) from error
        return True

    def _stopped(self) -> bool:
        self.folder.record(Interrupted(self.interrupts.name, "the operator asked for an end"), durably=True)
        why = f"stopped by {self.interrupts.name}: go on with `kbtool bench resume {self.folder.root}`"
        self.tell(RunEnded(self.folder.root, finished=False, why=why))
        return False

    def _leg(self, machine: Machine, number: int, visits: tuple[Visit, ...]) -> None:
        """Measure what is left of one leg; start its servers again where they die, but not for ever."""
        for start in range(MOST_RELAUNCHES + 1):
            if not self._left(visits):
                return
            if self.interrupts() is not None:
                raise StoppedError
            leg = visits[0].leg
            self.folder.append(LegStarted(leg.name, {"number": number, "start": start}))
            self.tell(
                LegBegan(leg.name, number, "starting servers" if self.plan.target.launch else "attaching")
            )
            try:
                with leg_up(machine, leg, number=number, after_restart=start > 0) as up:
                    self._visits(machine, up, visits)
            except TargetLostError as error:
                self._lost(error, start)
            except (LegRefusedError, EngineDiedError) as error:
                if leg.role == "base":
                    raise
                self._refuse(str(error), visits)
                return
            else:
                return
            finally:
                self.tell(LegEnded(leg.name, number))
        raise TargetError(
            f"leg {visits[0].leg.name}: the servers were lost {MOST_RELAUNCHES + 1} times; expected them to last: read the "
            f"logs in {self.folder.logs}"
        )

    def _lost(self, error: TargetLostError, start: int) -> None:
        """Decide whether to start the servers again.

        Raises:
            TargetError: they are not ours to start.
        """
        self.folder.append(Warned("target_lost", str(error)[:2000]))
        if self.plan.target.launch is None:
            raise TargetError(
                f"the server was lost: {error}; expected the one that the run began with: bring it back as it was, and "
                f"`kbtool bench resume {self.folder.root}`, or start a new run"
            ) from error
        self.tell(Remark(f"the servers were lost ({error}); start {start + 2} of {MOST_RELAUNCHES + 1}"))

    def _refuse(self, why: str, visits: Sequence[Visit]) -> None:
        """Note that a leg's cells cannot be measured under its value; the other legs can."""
        self.tell(Remark(why))
        for visit in self._left(visits):
            key = self.key(visit)
            self.folder.begin_cell(key, {"visit": plain(VisitNote.of(visit))}).fail(REFUSED, why[:2000])
            self._given_up.add(key)
            self.tell(VisitFailed(visit, REFUSED, why))

    def _left(self, visits: Sequence[Visit]) -> list[Visit]:
        """Return the visits that are neither sealed nor known to fail."""
        ended = self._ended()
        return [visit for visit in (*visits, *self._cliff_visits(visits)) if self.key(visit) not in ended]

    def _ended(self) -> set[str]:
        """Return the keys of visits that are not made again now."""
        return {*self.folder.sealed, *self._given_up}

    def _visits(self, machine: Machine, up: LegUp, visits: tuple[Visit, ...]) -> None:
        runner = self._visit_runner(up)
        for at in count():
            left = self._left(visits)
            if not left:
                return
            if self.interrupts() is not None:
                raise StoppedError
            visit = left[0]
            self._cool(machine.watch)
            self.tell(VisitBegan(visit, len(self.visits)))
            try:
                result = runner.run(visit, first_of_leg=at == 0)
            except TargetLostError as error:
                # One that had not begun yet is none the worse for it, and is measured after the next start.
                if any(each.key == self.key(visit) for each in self.folder.state.failed):
                    self._given_up.add(self.key(visit))
                    self.tell(VisitFailed(visit, TARGET_LOST, str(error)))
                raise
            except RoundFailedError as error:
                self._given_up.add(self.key(visit))
                self.tell(VisitFailed(visit, ROUND_FAILED, str(error)))
                if isinstance(error, AcceleratorFailedError):
                    raise
                continue
            self.tell(VisitSealed(visit, result))
            self.folder.check()

    def _visit_runner(self, up: LegUp) -> VisitRunner:
        lengths = self._lengths(up)
        sender = Sender(
            self.plan,
            self.plan_folder,
            self.folder.run_id,
            up.model,
            up.adapter.options(),
            lengths.by_class,
        )
        return VisitRunner(
            plan=self.plan,
            folder=self.folder,
            running=up.running,
            rounds=replace(up.rounds, template_tok=lengths.template_tok),
            sender=sender,
            asker=up.asker,
            ask=up.ask,
            environment=up.environment,
            plan_sha256=hashlib.sha256(self.plan_bytes).hexdigest(),
            client_version=self.given.runner_version,
            tell=self.tell,
        )

    def _lengths(self, up: LegUp) -> Lengths:
        """Return how long prompts have to be: measured once a run, so that equal rounds have equal prompts."""
        known = self.folder.read_environment().get(LENGTHS)
        if known is None:
            found = calibrated_lengths(
                up.asker,
                up.running.measured,
                up.model,
                asked_lengths(cells_of(self.plan)),
                salt=self.folder.run_id,
                most_tok=up.context_tok,
            )
            require_lengths(self.plan, found.by_class)
            known = {
                "template_tok": found.template_tok,
                "by_class": {name: asdict(each) for name, each in found.by_class.items()},
            }
            self.folder.write_environment(LENGTHS, known)
        return Lengths(
            {name: LengthModel(**said) for name, said in known["by_class"].items()}, known["template_tok"]
        )

    def _cool(self, watch: Watch | None) -> None:
        """Wait until the cards are as cool as the plan asks, for ten minutes at most."""
        limit_c = self.plan.telemetry.cool_to_c
        if limit_c is None or watch is None:
            return
        deadline = time.monotonic() + COOLING_S
        while (hottest := watch.hottest_c()) is not None and hottest > limit_c:
            if self.interrupts() is not None:
                raise StoppedError
            if time.monotonic() > deadline:
                text = (
                    f"the cards are at {hottest} C after {COOLING_S:.0f} s, above the {limit_c} C asked for"
                )
                self.folder.append(Warned("not_cooled", text))
                self.tell(Remark(text))
                return
            time.sleep(0.5)

    def _cliff_visits(self, visits: Sequence[Visit]) -> Iterator[Visit]:
        """Yield the visits that narrow a cliff down, once all planned ones of the leg have ended.

        They follow from what is sealed, one after the other: a run that is resumed finds those it had made again.
        """
        first, ended = visits[0], self._ended()
        while True:
            known = [visit for visit in self._extra if visit.leg_number == first.leg_number]
            if any(self.key(visit) not in ended for visit in (*visits, *known)):
                yield from known
                return
            levels = {(visit.cell.workload, visit.cell.streams) for visit in known}
            cells = [
                cell
                for cell in next_levels(self.plan, self._measured((*visits, *known)))
                if (cell.workload, cell.streams) not in levels
            ]
            if not cells:
                yield from known
                return
            for cell in cells:
                self._extra.append(Visit(len(self.visits), first.session, first.leg, first.leg_number, cell))

    def _measured(self, visits: Sequence[Visit]) -> list[VisitResult]:
        """Return the sealed ones of a leg in which a cliff may lie."""
        sealed = set(self.folder.sealed)
        return [
            load_visit(self.folder.cell(key))
            for visit in visits
            if visit.cell.kind == "concurrency" and (key := self.key(visit)) in sealed
        ]


def _fingerprints(folder: RunFolder) -> dict[str, Mapping[str, Any]]:
    """Return the fingerprint of each leg's servers at their first start, where the run was begun before."""
    found: dict[str, Mapping[str, Any]] = {}
    for facts in folder.read_environment().values():
        if "leg" in facts and "fingerprint" in facts:
            found.setdefault(facts["leg"], facts["fingerprint"])
    return found


def utc_now() -> str:
    """Return the wall clock as a label."""
    return datetime.now(UTC).isoformat(timespec="seconds")
