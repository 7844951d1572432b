"""The doctor on a real engine, and its tables against what they must cover."""

from dataclasses import replace

from kbtool.runner.doctor import Access, Severity, Shown
from kbtool.runner.doctor.traps import TRAPS, trap_remarks
from kbtool.runner.engines.remedies import SUBJECT_FIELDS, remedy_for
from kbtool.runner.plan import Subject
from kbtool.runner.plan.check import remarks as plan_remarks
from kbtool.runner.plan.target import EngineKind
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS
from kbtool.vocab.terms import GapReason, members
from tests.fakes.engine import Script, running
from tests.runner.doctor.examining import diagnosis_of, field, only_server, plan_for, said
from tests.support.llama_server import MODEL, LlamaServer

KINDS: tuple[EngineKind, ...] = ("vllm", "sglang", "llama_cpp", "ds4", "openai")


def test_a_real_llama_cpp_server_is_examined(llama: LlamaServer) -> None:
    """Kind, limits, cache, drafts and counters of a real server are found with four requests."""
    found = diagnosis_of(llama.url)
    report = only_server(found)
    assert found.usable
    assert (report.access, report.kind, report.requests) == (Access.OPEN, "llama_cpp", 4)
    assert report.identity is not None
    assert report.identity.served_models == (MODEL,)
    assert [holder.pid for holder in report.holders] == [llama.pid]
    shown = report.probes
    assert {
        shown.usage.shown,
        shown.continuous_usage.shown,
        shown.cached_tokens.shown,
        shown.prefix_cache.shown,
    } == {Shown.ON}
    assert report.metrics.shown is Shown.ON
    assert report.drafts_counted
    assert field(found, "speculation.method").value == "ngram"
    assert field(found, "serving.prefix_caching").value == "yes"
    assert field(found, "engine.version").reason == "unknown_dev_build"
    assert found.known.context_tok == report.identity.context_tok


def test_the_table_has_every_disclosure_field_once_and_in_order() -> None:
    """Each field is filled from somewhere, or is a gap with a reason of the vocabulary."""
    with running(Script()) as engine:
        found = diagnosis_of(engine.url)
    assert [each.path for each in found.fields] == [each.path for each in DISCLOSURE_FIELDS]
    for each in found.fields:
        if each.filled:
            assert each.value
            assert each.source
        else:
            assert each.reason in members(GapReason)
            assert each.remedy or each.reason == "not_applicable"


def test_every_field_that_can_be_a_gap_has_a_remedy_for_each_kind() -> None:
    """Nobody is left with a gap and no way to fill it."""
    given_by_the_run = {
        "measured.day", "results.at.concurrency", "results.at.prompt_class", "results.at.measuring_path", "results.repeats"
    }  # fmt: skip
    for each in DISCLOSURE_FIELDS:
        if each.path not in given_by_the_run:
            assert all(remedy_for(each.path, kind) for kind in KINDS), each.path


def test_the_fields_of_the_plan_exist() -> None:
    """A remedy names a field of `subject` that there is."""
    assert set(SUBJECT_FIELDS.values()) <= set(Subject.model_fields)
    assert set(SUBJECT_FIELDS) <= {each.path for each in DISCLOSURE_FIELDS}


def test_no_trap_fires_on_an_unknown_server_that_was_not_asked() -> None:
    """A trap needs a sign: what was not tried is no sign."""
    with running(Script(kind="openai")) as engine:
        report = only_server(diagnosis_of(engine.url))
    empty = replace(report, probes=type(report.probes)(), settings=())
    assert list(trap_remarks(empty)) == []


def test_traps_say_what_was_found() -> None:
    """Each is a finding; where something can be done about it, it says what."""
    assert all(trap.found for trap in TRAPS)
    assert all(trap.remedy for trap in TRAPS if trap.severity is not Severity.NOTE)


def test_remarks_come_worst_first() -> None:
    """A problem is read before a note."""
    with running(Script(usage="none")) as engine:
        found = diagnosis_of(engine.url)
    order = [list(Severity)[::-1].index(each.severity) for each in found.remarks]
    assert order == sorted(order)


def test_what_was_found_is_what_a_plan_is_checked_against() -> None:
    """A cell over the context that the doctor found is refused."""
    with running(Script(context_tok=2048, max_running=2)) as engine:
        plan = plan_for({"endpoints": [{"url": engine.url}]})
        known = diagnosis_of(plan).known
    refused = [each for each in plan_remarks(plan, known) if each.severity == "refused"]
    assert not refused
    tight = replace(known, context_tok=1024)
    assert [each for each in plan_remarks(plan, tight) if each.severity == "refused"]


def test_intentions_that_the_server_does_not_follow_are_said(llama: LlamaServer) -> None:
    """A real server whose arguments say otherwise would show; this one agrees with itself."""
    assert said(diagnosis_of(llama.url), "was asked for") is None
