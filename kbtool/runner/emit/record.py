"""A finished run as records: one benchmark, one source, nothing to be edited by hand.

A pure function of the sealed run: equal runs give equal records. What could not be observed is a typed gap with
the reason and the remedy; a measured run has no field that its source left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from kbtool.errors import RecordError
from kbtool.runner.emit.figures import results_of, rounded
from kbtool.runner.emit.gaps import gaps_of
from kbtool.runner.emit.headline import headline_of
from kbtool.runner.emit.links import Linked, LinkTarget, links_of
from kbtool.runner.emit.setup import Setup, setup_of
from kbtool.runner.results import Run
from kbtool.schema import Benchmark, Source
from kbtool.schema.benchmark import (
    Artifact,
    Client,
    ClientError,
    Cliff,
    Deployment,
    EngineSetup,
    Measured,
    ModelSetup,
    Reproducible,
    Result,
    Serving,
    SetupEvidence,
    Speculation,
    System,
)
from kbtool.schema.common import Change, Evidence, SourceUse
from kbtool.vocab.terms import Reproducibility

__all__ = ["Emitted", "RecordGiven", "records_of"]

SHORT: Final = 600


@dataclass(frozen=True, slots=True)
class RecordGiven:
    """What the run itself does not know."""

    today: date
    record_id: str
    source_id: str
    ledger_sha256: str
    """SHA-256 of the run's manifest: what the source's bytes are."""
    artifacts: tuple[Artifact, ...] = ()
    """Raw files that are kept beside the record."""
    targets: Mapping[str, LinkTarget] | None = None
    """The results that the plan replicates, by reference."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """The records of a run."""

    benchmark: Benchmark
    source: Source
    not_linked: tuple[str, ...] = ()
    """Results that the plan replicates and the record is not linked to, each with the reason."""


def records_of(run: Run, given: RecordGiven) -> Emitted:
    """Return the records of a run.

    Raises:
        RecordError: the run is not complete, or it is not known which accelerator it ran on.
    """
    if not run.finished:
        raise RecordError(
            f"run {run.run_id} is not complete: go on with `kbtool bench resume`, then make its record"
        )
    setup = setup_of(run)
    if "system.accelerator" not in setup.fields:
        raise RecordError(
            f"run {run.run_id}: no accelerator record is known by the name that the driver gives, "
            f"{_card_names(run)}; expected one: name it in the plan as `subject.accelerator`, or add the record"
        )
    ref = f"sources/{given.source_id}"
    day = date.fromisoformat(run.facts["started"][:10])
    results = results_of(run.cells, run.plan, ref)
    if not results:
        raise RecordError(f"run {run.run_id}: no cell has a figure to publish: see `kbtool bench report`")
    linked = links_of(run, given.targets or {}, results, ref)
    benchmark = _benchmark(run, given, setup, results, linked)
    return Emitted(benchmark, _source(run, given, day), linked.remarks)


def _benchmark(
    run: Run, given: RecordGiven, setup: Setup, results: tuple[Result, ...], linked: Linked
) -> Benchmark:
    ref = f"sources/{given.source_id}"
    made = Benchmark(
        schema_version=1,
        id=given.record_id,
        title=_title(run, setup),
        status="draft",
        updated=given.today,
        sources=(SourceUse(source=ref, role="primary", group=given.source_id),),
        measured=Measured(
            by=run.plan.subject.measured_by,
            day=date.fromisoformat(run.facts["started"][:10]),
            tool=run.facts["runner_version"],
            method=_method(run),
            client=_client(run),
        ),
        reproducible=Reproducible(
            assessed=_assessed(setup),
            artifacts=("plan.yaml", "the run folder with all raw times"),
            artifacts_found=True,
        ),
        system=System(**setup.part("system")),
        engine=EngineSetup(
            **setup.part("engine"),
            arguments=setup.arguments,
            environment=setup.environment,
            arguments_basis="in_force" if setup.read_from_engine else "as_launched",
        ),
        deployment=Deployment(**setup.part("deployment")),
        model=ModelSetup(**setup.part("model")),
        serving=Serving(**setup.part("serving")),
        speculation=Speculation(**setup.part("speculation")),
        setup_evidence=tuple(_setup_evidence(setup, ref)),
        headline=headline_of(run.cells, results, run.plan),
        results=(*results, *linked.more),
        cliffs=tuple(
            Cliff(
                metric="output_tok_s",
                last_good=each.cliff.last_good,
                first_bad=each.cliff.first_bad,
                ratio=rounded(each.cliff.ratio),
                suspected=_suspected(each.cliff.last_good, setup),
            )
            for each in run.cliffs
            if each.leg == "base"
        ),
        artifacts=given.artifacts,
        links=linked.links,
        changes=(
            Change(date=given.today, fields=(".",), why=f"Written from run {run.run_id} by the runner."),
        ),
        notes=run.plan.subject.notes,
    )
    return made.model_copy(update={"gaps": gaps_of(made, setup)})


def _title(run: Run, setup: Setup) -> str:
    count = setup.fields.get("system.accelerator_count")
    many = f"{count.value}x " if count is not None and count.value > 1 else ""
    accelerator = str(setup.fields["system.accelerator"].value).partition("/")[2]
    engine, model = (
        str(setup.fields[path].value).partition("/")[2] for path in ("engine.engine", "model.model")
    )
    return f"{run.plan.title} ({engine}, {model}, {many}{accelerator})"[:200]


def _method(run: Run) -> str:
    repeats = run.plan.repeats
    least, most = repeats.rounds, repeats.max_rounds
    rounds = f"{least}{f' to {most}' if most > least else ''} measured round{'s' * (most != 1)}"
    text = (
        f"Plan {run.plan.id}: {rounds} a cell after warm-up, "
        f"{repeats.sessions} start{'s' * (repeats.sessions != 1)} of the servers, order {repeats.order}, seed {repeats.seed}. Tokens by the server's "
        "usage; median over rounds, 95 % interval by the t distribution over rounds nested in starts. Prompts are made from the "
        "seed, and unique from the first token unless a prefix is shared."
    )
    return text[:SHORT]


def _client(run: Run) -> Client:
    """Return the measuring program with the error that was measured on this host."""
    found = run.environments.get("calibration")
    clocks = {
        each.note.health.clock.value
        for cell in run.cells
        for each in cell.rounds
        if each.note.health is not None
    }
    clock: Any = "kernel" if clocks == {"kernel"} else "user"
    if not found:
        return Client(name=run.facts["runner_version"], clock=clock)
    return Client(
        name=run.facts["runner_version"],
        clock=clock,
        calibrated=date.fromisoformat(found["date"][:10]),
        errors=tuple(
            ClientError(
                streams=level["streams"],
                chunks="-".join(map(str, level["pattern"])),
                ttft_error_ratio=rounded(level["ttft_mean_error_ratio"]),
                itl_error_ratio=rounded(level["itl_mean_error_ratio"]),
                step_gap_p99_error_ms=rounded(level["gap_p99_error_ms"]),
                throughput_ratio=rounded(1 + level["throughput_error_ratio"]),
                token_errors=level["token_errors"],
            )
            for level in found["levels"]
        ),
    )


def _assessed(setup: Setup) -> Reproducibility:
    """Return what a reader can repeat: the plan is public; the engine's version decides."""
    versioned = any(
        path in setup.fields for path in ("engine.version", "engine.commit", "engine.image_digest")
    )
    return "full" if versioned and "model.revision" in setup.fields else "partial"


def _setup_evidence(setup: Setup, ref: str) -> Iterator[SetupEvidence]:
    """Yield the fields that were read in one place together."""
    by_place: dict[str, list[str]] = {}
    for path, known in setup.fields.items():
        by_place.setdefault(known.where, []).append(path)
    for name, where in setup.arguments_where.items():
        by_place.setdefault(where, []).append(f"engine.arguments.{name}")
    for where, paths in sorted(by_place.items()):
        yield SetupEvidence(fields=tuple(sorted(paths)), evidence=Evidence(source=ref, locator=where[:300]))


def _suspected(last_good: int, setup: Setup) -> str | None:
    """Return the setting whose value lies just at the cliff."""
    rows = setup.fields.get("speculation.draft_tok")
    a_request = 1 if rows is None else int(rows.value) + 1
    for path, each in (("serving.cuda_graph_max_batch", a_request), ("serving.max_running_requests", 1)):
        known = setup.fields.get(path)
        if known is not None and last_good * each <= int(known.value) < (last_good + 1) * each:
            return path
    return None


def _source(run: Run, given: RecordGiven, day: date) -> Source:
    subject = run.plan.subject
    return Source(
        schema_version=1,
        id=given.source_id,
        title=f"Run {run.run_id}: {run.plan.title}"[:200],
        status="draft",
        updated=given.today,
        source_kind="measured_run",
        publisher=subject.publisher,
        interest=subject.interest,
        published=None,
        accessed=day,
        read_via="the run folder itself",
        content_sha256=given.ledger_sha256,
        group=given.source_id,
        changes=(
            Change(date=given.today, fields=(".",), why=f"Written from run {run.run_id} by the runner."),
        ),
        notes=_source_notes(run),
    )


def _source_notes(run: Run) -> str | None:
    failed = [f"{key}: {reason}" for key, reason in run.failed]
    if not failed:
        return None
    return f"Cells that came to nothing and are in no figure: {'; '.join(failed)}"[:2000]


def _card_names(run: Run) -> str:
    cards = run.environments.get("host", {}).get("accelerators", {}).get("cards", ())
    return ", ".join(sorted({str(card["name"]) for card in cards})) or "and no driver answers"
