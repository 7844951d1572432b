"""What the doctor says of servers: each behaviour of the scripted engine is named, and the remedy with it."""

from typing import Any

import pytest

from kbtool.errors import UsageError
from kbtool.runner.client.outgoing import Limits
from kbtool.runner.doctor import Access, Severity, Shown
from kbtool.runner.plan.target import EngineKind
from kbtool.runner.trace import ClockSource
from tests.fakes.engine import Script, running
from tests.runner.doctor.examining import diagnosis_of, field, only_server, plan_for, said

IMPATIENT = Limits(connect_s=5, first_byte_s=0.2, progress_s=0.2, total_s=0.6)
CARD = "accelerators/scripted"
KINDS: tuple[EngineKind, ...] = ("vllm", "sglang", "llama_cpp", "ds4", "openai")


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_server_can_be_measured(kind: EngineKind) -> None:
    """Nothing is wrong with an honest server of any kind, and four requests show it."""
    with running(Script(kind=kind, natural_tok=5)) as engine:
        found = diagnosis_of(engine.url)
        generations = len(engine.truth())
    report = only_server(found)
    assert found.usable
    assert (report.access, report.kind) == (Access.OPEN, kind)
    assert report.probes.usage.shown is Shown.ON
    assert report.probes.cached_tokens.shown is Shown.ON
    assert report.probes.prefix_cache.shown is Shown.ON
    assert report.probes.fixed_length.shown is Shown.ON
    assert report.probes.repeatable.shown is Shown.ON
    assert found.requests == generations == 4
    assert report.clock is ClockSource.KERNEL


def test_it_only_reads_and_generates() -> None:
    """No cache is reset, nothing is set: only GET, and POST to the measured path."""
    with running(Script()) as engine:
        diagnosis_of(engine.url)
        asked = {(method, path) for method, path, _ in engine.state.heads}
    assert {path for method, path in asked if method != "GET"} == {"/v1/chat/completions"}


def test_probes_are_tiny() -> None:
    """No answer is longer than sixteen tokens, no prompt a quarter of the context."""
    with running(Script(context_tok=2048)) as engine:
        diagnosis_of(engine.url)
        truth = engine.truth()
    assert max(each.output_tok for each in truth) <= 16
    assert max(each.prompt_tok for each in truth) < 1024


def test_each_examination_uses_new_prompts() -> None:
    """The first probe of a second examination hits nothing: its salt is another."""
    with running(Script()) as engine:
        for _ in range(2):
            diagnosis_of(engine.url)
        first, _, _, _, second, *_ = engine.truth()
    assert first.cached_tok == second.cached_tok == 0


def test_a_missing_key_means_up() -> None:
    """401 is not down; the way to give the key is named, and the key is used where it is given."""
    script = Script(api_key="k-0123456789")
    with running(script) as engine:
        found = diagnosis_of(engine.url)
        assert only_server(found).access is Access.KEY_MISSING
        assert only_server(found).kind == "vllm"
        remark = said(found, "up and wants a key", Severity.PROBLEM)
        assert remark is not None
        assert "api_key_env" in remark.remedy
        plan = plan_for({"endpoints": [{"url": engine.url}], "api_key_env": "SERVER_KEY"}, accelerator=CARD)
        with_key = diagnosis_of(plan, environment={"SERVER_KEY": "k-0123456789"})
        assert with_key.usable
        assert "k-0123456789" not in repr(with_key)
        with pytest.raises(UsageError, match="SERVER_KEY"):
            diagnosis_of(plan)


def test_a_dead_port_is_said() -> None:
    """Nobody listens: nothing can be measured, and every field is accounted for."""
    with running(Script()) as engine:
        url = engine.url
    found = diagnosis_of(url)
    assert only_server(found).access is Access.UNREACHABLE
    assert not found.usable
    assert found.requests == 0
    assert all(each.filled or each.reason for each in found.fields)


def test_a_server_that_lists_models_and_generates_nothing_is_not_ready() -> None:
    """The list of models shows no readiness, nor does `/health`."""
    with running(Script(ready_after=100)) as engine:
        assert only_server(diagnosis_of(engine.url)).access is Access.NOT_READY
        engine.script = Script(mode="never_answers")
        assert only_server(diagnosis_of(engine.url, limits=IMPATIENT)).access is Access.NOT_READY


@pytest.mark.parametrize(
    "mode", ["other_model", "empty_content", "error_event", "gzip", "no_end_mark", "stall"]
)
def test_a_first_request_that_fails_is_a_problem_and_the_last(mode: str) -> None:
    """After a failed probe nothing more is sent, and what failed is named."""
    with running(Script(mode=mode)) as engine:
        found = diagnosis_of(engine.url, limits=IMPATIENT)
    if mode == "empty_content":
        assert only_server(found).probes.usage.shown is Shown.ON
        return
    assert not found.usable
    assert found.requests == 1


def test_usage_that_is_not_sent_is_a_problem() -> None:
    """Without token counts nothing can be measured."""
    with running(Script(usage="none")) as engine:
        found = diagnosis_of(engine.url)
    assert only_server(found).probes.usage.shown is Shown.OFF
    assert said(found, "without token counts", Severity.PROBLEM)
    assert field(found, "results.at.input_tok").remedy


@pytest.mark.parametrize(
    ("kind", "flag"), [("vllm", "--enable-prompt-tokens-details"), ("sglang", "--enable-cache-report")]
)
def test_hidden_cached_tokens_name_the_flag_that_shows_them(kind: EngineKind, flag: str) -> None:
    """A cache that works in silence leaves every cold prompt unproven."""
    with running(Script(kind=kind, cached_tokens=False)) as engine:
        found = diagnosis_of(engine.url)
    report = only_server(found)
    assert report.probes.cached_tokens.shown is Shown.OFF
    assert report.probes.prefix_cache.shown is Shown.ON, "the counters show it"
    gap = field(found, "results.at.prefix_cache")
    assert not gap.filled
    assert flag in gap.remedy


def test_zero_cached_tokens_are_not_believed_against_the_counters() -> None:
    """Some servers say 0 where they do not count: the counters grew all the same."""
    with running(Script()) as engine:
        original = engine.state.begin

        def lying(*arguments: Any, **options: Any) -> None:
            original(*arguments, **options)
            arguments[0].cached_tok = 0

        engine.state.begin = lying  # type: ignore[method-assign]
        found = diagnosis_of(engine.url)
    probe = only_server(found).probes.cached_tokens
    assert probe.shown is Shown.OFF
    assert "not true" in probe.why


def test_a_prefix_cache_that_is_off_is_shown_by_a_repeated_prompt() -> None:
    """Without a setting to read, the repeated prompt decides; then no cell needs to prove that it is cold."""
    with running(Script(kind="llama_cpp", prefix_cache=False)) as engine:
        found = diagnosis_of(engine.url)
    assert only_server(found).probes.prefix_cache.shown is Shown.OFF
    assert field(found, "serving.prefix_caching").value == "no"
    assert field(found, "results.at.prefix_cache").filled


def test_lengths_that_cannot_be_fixed_are_said() -> None:
    """A server that ignores `ignore_eos` gives answers of any length."""
    with running(Script(natural_tok=5, fixed_length=False)) as engine:
        found = diagnosis_of(engine.url)
    assert only_server(found).probes.fixed_length.shown is Shown.OFF
    assert said(found, "`ignore_eos` is not honoured", Severity.WARNING)


def test_a_model_that_never_stops_shows_nothing_about_fixed_lengths() -> None:
    """Both answers went to the limit: honoured or not cannot be told apart."""
    with running(Script(natural_tok=1000)) as engine:
        assert only_server(diagnosis_of(engine.url)).probes.fixed_length.shown is Shown.UNKNOWN


def test_missing_metrics_name_the_flag() -> None:
    """Without totals foreign traffic cannot be seen."""
    kinds: tuple[tuple[EngineKind, str], ...] = (("sglang", "--enable-metrics"), ("llama_cpp", "--metrics"))
    for kind, flag in kinds:
        with running(Script(kind=kind, metrics=False)) as engine:
            found = diagnosis_of(engine.url)
        remark = said(found, "it gives no totals: foreign traffic cannot be seen", Severity.WARNING)
        assert remark is not None
        assert flag in remark.remedy
        assert only_server(found).foreign is None


@pytest.mark.parametrize("script", [Script(foreign_tok=50), Script(foreign_running=3)])
def test_foreign_traffic_is_seen_while_we_are_silent(script: Script) -> None:
    """Totals that grow, or requests that run, while we send nothing are somebody else's."""
    with running(script) as engine:
        found = diagnosis_of(engine.url)
    foreign = only_server(found).foreign
    assert foreign is not None
    assert foreign.seen
    assert said(found, "somebody else uses it", Severity.WARNING)


def test_our_own_probes_are_no_foreign_traffic() -> None:
    """The counters are watched before the probes."""
    with running(Script()) as engine:
        found = diagnosis_of(engine.url)
    foreign = only_server(found).foreign
    assert foreign is not None
    assert not foreign.seen


def test_another_model_on_the_port_is_a_stale_server() -> None:
    """A server of an earlier run is recognised by its model, and is sent nothing."""
    with running(Script(model="old-model")) as engine:
        found = diagnosis_of(plan_for({"endpoints": [{"url": engine.url}], "model": "new-model"}))
    assert said(found, "it serves old-model, not new-model", Severity.PROBLEM)
    assert found.requests == 0


def test_who_serves_and_since_when_is_told() -> None:
    """On this machine the process behind the port is named."""
    with running(Script()) as engine:
        found = diagnosis_of(engine.url)
    assert only_server(found).holders
    assert said(found, "served by python", Severity.NOTE)


def test_a_taken_port_of_a_plan_that_launches_is_a_problem() -> None:
    """The server that holds the port would answer in place of ours."""
    with running(Script(model="somebody")) as engine:
        target = {
            "engine": "vllm",
            "launch": {"instances": [{"port": engine.port, "arguments": ["vllm", "serve", "m"]}]},
        }
        found = diagnosis_of(plan_for(target))
    remark = said(found, f"port {engine.port} is taken", Severity.PROBLEM)
    assert remark is not None
    assert "somebody" in remark.found


def test_a_plan_that_launches_is_examined_by_its_arguments() -> None:
    """Nothing runs yet: the settings are intentions, the cliff is seen, and what would be gaps too."""
    with running(Script()) as engine:
        port = engine.port
    line = "sglang serve --model-path m --tp 4 --max-running-requests 32 --cuda-graph-max-bs 8 --speculative-algorithm NEXTN --speculative-num-draft-tokens 4"
    target = {"engine": "sglang", "launch": {"instances": [{"port": port, "arguments": line.split()}]}}
    found = diagnosis_of(plan_for(target, accelerator=CARD))
    report = only_server(found)
    assert report.access is Access.NOT_STARTED
    assert found.usable
    assert found.known.max_running_requests == 32
    assert (found.known.graph_max_batch, found.known.verify_rows) == (32, 4)
    assert field(found, "deployment.tp").source == "the plan"
    assert field(found, "results.at.input_tok").filled
    assert "--enable-cache-report" in field(found, "results.at.prefix_cache").remedy
    assert said(found, "expect a cliff above 8 users", Severity.WARNING)


def test_graphs_are_counted_in_verify_rows() -> None:
    """Running requests times rows are held against the captured sizes."""
    with running(Script(max_running=64, draft_tok=3)) as engine:
        found = diagnosis_of(engine.url)
    assert said(found, "64 running requests of 4 rows are 256 rows", Severity.WARNING)
    with running(Script(max_running=64)) as engine:
        assert said(diagnosis_of(engine.url), "fit into the largest captured batch", Severity.NOTE)
    eager = {"compilation_config.cudagraph_mode": "NONE"}
    with running(Script(settings=eager)) as engine:
        assert said(diagnosis_of(engine.url), "without captured graphs", Severity.WARNING)


def test_context_of_a_router_is_held_against_that_of_the_servers() -> None:
    """What a router advertises and what the server accepts are two limits."""
    with (
        running(Script(context_tok=8192)) as engine,
        running(Script(kind="openai", model="scripted")) as front,
    ):
        target = {
            "endpoints": [{"url": engine.url}],
            "router": {"kind": "attached", "url": front.url},
        }
        found = diagnosis_of(plan_for(target))
        assert found.router is not None
        assert found.known.context_tok == 8192
        assert found.known.proxy_context_tok is None
        front.script = Script(context_tok=8192, advertised_context_tok=131_072)
        found = diagnosis_of(plan_for(target))
    assert found.known.proxy_context_tok == 131_072
    assert said(found, "the router advertises a context of 131072, the servers accept 8192", Severity.WARNING)


def test_servers_of_different_limits_are_named() -> None:
    """Instances that should be alike are compared; the tightest limit counts."""
    with running(Script(context_tok=8192)) as one, running(Script(context_tok=4096)) as other:
        target = {"endpoints": [{"name": "a", "url": one.url}, {"name": "b", "url": other.url}]}
        found = diagnosis_of(plan_for(target))
    assert found.known.context_tok == 4096
    assert said(found, "different context limits", Severity.WARNING)
    assert not field(found, "serving.context_tok").filled
    assert found.requests == 8


def test_drafts_of_sglang_are_not_counted() -> None:
    """Its acceptance length is a mean since the start: the field is a gap, with the reason."""
    with running(Script(kind="sglang", draft_tok=5)) as engine:
        found = diagnosis_of(engine.url)
    assert said(found, "it counts no drafts")
    assert said(found, "five or more draft tokens", Severity.WARNING)
    assert not field(found, "speculation.acceptance_length").filled


def test_without_drafts_their_fields_do_not_apply() -> None:
    """A field without meaning is no omission."""
    with running(Script()) as engine:
        found = diagnosis_of(engine.url)
    assert field(found, "speculation.method").value == "none"
    assert field(found, "speculation.draft_tok").reason == "not_applicable"


def test_drafts_that_are_counted_fill_the_acceptance_length() -> None:
    """Differences of counters give the acceptance length of each cell."""
    with running(Script(draft_tok=3, chunk_tok=(1, 3))) as engine:
        found = diagnosis_of(engine.url)
    assert field(found, "speculation.acceptance_length").filled
    assert field(found, "speculation.draft_tok").value == "3"


def test_development_builds_have_a_reason_of_their_own() -> None:
    """A build that names no commit is not merely unobserved."""
    with running(Script(version="0.33.0.dev12")) as engine:
        found = diagnosis_of(engine.url)
    assert field(found, "engine.version").filled
    assert field(found, "engine.commit").reason == "unknown_dev_build"


def test_the_plan_fills_what_no_machine_tells() -> None:
    """What the subject gives is no gap, and says where it comes from."""
    with running(Script(kind="ds4")) as engine:
        plan = plan_for(
            {"endpoints": [{"url": engine.url}]}, engine_commit="0a1b2c3", tp=1, power_limit_w=450
        )
        found = diagnosis_of(plan)
    assert field(found, "engine.commit").source == "subject.engine_commit"
    assert field(found, "deployment.tp").value == "1"
    assert field(found, "system.power_limit_w").source == "subject.power_limit_w"


def test_a_wrong_address_is_a_usage_error() -> None:
    """An address with a password, or none at all, is refused before anything is asked."""
    for wrong in ("http://user:pass@127.0.0.1:1/v1", "ftp://127.0.0.1", "127.0.0.1:8000"):
        with pytest.raises(UsageError):
            diagnosis_of(wrong)


def test_a_repeated_prompt_fills_a_field_only_where_the_run_repeats_prompts() -> None:
    """The record can say no more of the prefix cache than what its own loads show."""
    with running(Script(kind="llama_cpp")) as engine:
        target = {"endpoints": [{"url": engine.url}]}
        found = diagnosis_of(plan_for(target, engine="engines/llama-cpp"))
    assert only_server(found).probes.prefix_cache.shown is Shown.ON
    planned = field(found, "serving.prefix_caching")
    assert not planned.filled
    assert "`warm`" in planned.remedy
