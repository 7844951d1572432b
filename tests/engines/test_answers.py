"""What a real vLLM tells, and what the adapter and the client make of it."""

from kbtool.runner.engines import adapter_for, detect, in_force
from kbtool.runner.engines.base import ResetOutcome, Trust
from kbtool.runner.metrics import request
from kbtool.runner.metrics.speculation import SpeculationCounters, speculation_verdict
from kbtool.runner.target.procfs import arguments_of, environment_of
from kbtool.runner.trace import ChunkKind, Outcome, RequestTrace
from tests.engines.vllm_server import CONTEXT_TOK, DRAFT_TOK, MODEL, RUNNING_LIMIT, VllmServer
from tests.fakes.asking import ask_once

ADAPTER = adapter_for("vllm")
REPEATED = "the river and the bridge and the river and the bridge and the river and the bridge"


def ask(vllm: VllmServer, prompt: str, output_tok: int = 64) -> RequestTrace:
    """Send one request with the options of the kind."""
    options = ADAPTER.options()
    return ask_once(
        vllm.endpoint, model=MODEL, prompt=prompt, output_tok=output_tok, extra={**options.fixed_length, **options.usage}
    )[0]  # fmt: skip


def test_it_is_detected_and_names_itself(vllm: VllmServer) -> None:
    """Kind, version, model, context and start come from its own answers."""
    assert detect(vllm.endpoint).kind == "vllm"
    identity = ADAPTER.identity(vllm.endpoint)
    assert identity.served_models == (MODEL,)
    assert identity.version is not None
    assert identity.version.startswith("0.32")
    assert identity.context_tok == CONTEXT_TOK
    assert identity.started_s is not None
    assert identity.kv_cache_tok is not None
    assert identity.kv_cache_tok > CONTEXT_TOK


def test_its_process_tells_what_its_answers_do_not(vllm: VllmServer) -> None:
    """Without development mode the running limit and the drafts are in the arguments alone."""
    said = ADAPTER.settings(vllm.endpoint)
    process = ADAPTER.from_command_line(arguments_of(vllm.pid) or (), environment_of(vllm.pid) or {})
    found = in_force(said, process)
    assert (found["serving.context_tok"].value, found["serving.context_tok"].trust) == (
        CONTEXT_TOK,
        Trust.ENGINE,
    )
    assert found["serving.prefix_caching"].value is True
    assert found["serving.max_running_requests"].value == RUNNING_LIMIT
    assert found["serving.max_running_requests"].trust is Trust.PROCESS
    assert found["serving.cuda_graph_decode"].value is False
    assert found["speculation.method"].value == "ngram"
    assert found["speculation.draft_tok"].value == DRAFT_TOK
    assert found["speculation.verify_rows"].value == DRAFT_TOK + 1


def test_several_tokens_come_in_a_chunk_and_each_chunk_says_how_many(vllm: VllmServer) -> None:
    """Fewer chunks than tokens, running counts that end at usage, and a mean time per token all the same."""
    trace = ask(vllm, REPEATED)
    assert trace.outcome is Outcome.OK
    assert trace.usage is not None
    assert (trace.usage.completion_tok, trace.finish_reason) == (64, "length")
    chunks = [
        tok for kind, tok in zip(trace.chunks.kind, trace.chunks.cumulative_tok, strict=True)
        if kind is ChunkKind.CONTENT
    ]  # fmt: skip
    assert len(chunks) < 64
    assert None not in chunks
    assert chunks[-1] == 64
    assert len(request.itl_ms(trace)) > len(request.step_gap_ms(trace))


def test_cached_tokens_are_told_with_prompt_token_details(vllm: VllmServer) -> None:
    """A new prompt has none; the same again has most of it, in whole blocks of its cache."""
    prompt = "a garden of winter letters and a bridge over the river in the morning " * 30
    first, second = ask(vllm, prompt, 4).usage, ask(vllm, prompt, 4).usage
    assert first is not None
    assert second is not None
    assert first.cached_tok == 0
    assert second.cached_tok is not None
    assert second.cached_tok > second.prompt_tok / 2


def test_its_totals_are_what_usage_says_and_drafts_are_counted(vllm: VllmServer) -> None:
    """Differences of the counters agree with the answers; speculation is seen to work."""
    before = ADAPTER.counters(vllm.endpoint)
    usages = [ask(vllm, f"{number} {REPEATED}").usage for number in range(3)]
    after = ADAPTER.counters(vllm.endpoint)
    assert before is not None
    assert after is not None
    told = [usage for usage in usages if usage is not None]
    assert (after.prompt_tok or 0) - (before.prompt_tok or 0) == sum(usage.prompt_tok for usage in told)
    assert (after.generation_tok or 0) - (before.generation_tok or 0) == 3 * 64
    assert (after.requests_finished or 0) - (before.requests_finished or 0) == 3
    assert len(after.accepted_per_position) == DRAFT_TOK
    assert sum(after.accepted_per_position) == after.accepted_draft_tok
    verdict = speculation_verdict(*(
        SpeculationCounters(each.drafts, each.draft_tok, each.accepted_draft_tok, each.accepted_per_position)
        for each in (before, after)
    ), speculates=True, foreign_traffic=False)  # fmt: skip
    assert verdict.state == "enabled"


def test_prompts_over_its_context_are_refused(vllm: VllmServer) -> None:
    """Its words for a prompt that is too long are known."""
    assert ask(vllm, "word " * 9000).outcome is Outcome.OVER_CONTEXT


def test_its_cache_cannot_be_reset_without_development_mode(vllm: VllmServer) -> None:
    """The route is missing: that is said, and nothing else."""
    assert ADAPTER.reset_prefix_cache(vllm.endpoint) is ResetOutcome.UNSUPPORTED


def test_more_users_than_its_limit_are_all_answered(vllm: VllmServer) -> None:
    """Those over the limit wait, and are answered in full."""
    options = ADAPTER.options()
    traces = ask_once(
        vllm.endpoint, model=MODEL, output_tok=16, n=2 * RUNNING_LIMIT, extra={**options.fixed_length, **options.usage}
    )  # fmt: skip
    assert [trace.outcome for trace in traces] == [Outcome.OK] * 2 * RUNNING_LIMIT
