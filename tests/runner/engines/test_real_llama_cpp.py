"""A real llama.cpp server: the adapter and the client against what an engine really answers."""

from kbtool.runner.engines import Observed, adapter_for, detect, in_force
from kbtool.runner.trace import ChunkKind, Outcome, RequestTrace
from tests.fakes.asking import ask_once
from tests.support.llama_server import CONTEXT_TOK, MODEL, SLOTS, LlamaServer, running_llama

ADAPTER = adapter_for("llama_cpp")
REPEATED = "the river and the bridge and the river and the bridge and the river and the bridge"


def ask(llama: LlamaServer, prompt: str, output_tok: int = 48, **extra: object) -> RequestTrace:
    """Send one request with the options of the kind."""
    options = ADAPTER.options()
    return ask_once(
        llama.endpoint, model=MODEL, prompt=prompt, output_tok=output_tok, extra={**options.fixed_length, **options.usage, **extra}
    )[0]  # fmt: skip


def settings(llama: LlamaServer) -> dict[str, Observed]:
    """Return the settings that the server gives."""
    return in_force(ADAPTER.settings(llama.endpoint))


def test_it_is_detected(llama: LlamaServer) -> None:
    """Owner and properties show the kind."""
    found = detect(llama.endpoint)
    assert found.kind == "llama_cpp"
    assert "GET /props has build_info and total_slots" in found.evidence


def test_identity_and_limits_are_its_own(llama: LlamaServer) -> None:
    """Model, context and slots are what it was started with."""
    identity = ADAPTER.identity(llama.endpoint)
    assert identity.served_models == (MODEL,)
    assert identity.context_tok == CONTEXT_TOK
    assert identity.kv_cache_tok == SLOTS * CONTEXT_TOK
    assert identity.incarnation
    assert settings(llama)["serving.max_running_requests"].value == SLOTS


def test_an_answer_counts_with_usage_and_timings(llama: LlamaServer) -> None:
    """A request is a success, of the fixed length, with cached tokens, running counts and the server's own times."""
    trace = ask(llama, "a question about the window")
    assert trace.outcome is Outcome.OK
    assert trace.usage is not None
    assert (trace.usage.completion_tok, trace.finish_reason) == (48, "length")
    assert trace.usage.cached_tok is not None
    assert dict(trace.server_timings)["predicted_n"] == 48
    tokens = [kind for kind in trace.chunks.kind if kind is ChunkKind.CONTENT]
    assert len(tokens) <= 48
    running_counts = [tok for tok in trace.chunks.cumulative_tok if tok]
    assert running_counts == sorted(running_counts)
    assert running_counts[-1] == 48


def test_totals_agree_with_usage_and_drafts_are_counted(llama: LlamaServer) -> None:
    """Differences of its counters are what usage says, cached prompts and n-gram drafts included."""
    before = ADAPTER.counters(llama.endpoint)
    usages = [ask(llama, REPEATED, 96).usage for _ in range(2)]
    after = ADAPTER.counters(llama.endpoint)
    assert before is not None
    assert after is not None
    told = [usage for usage in usages if usage is not None]

    def grew(name: str) -> int:
        return int(getattr(after, name) - (getattr(before, name) or 0))

    assert grew("prompt_tok") == sum(usage.prompt_tok for usage in told)
    assert grew("generation_tok") == sum(usage.completion_tok for usage in told) == 192
    assert grew("cached_tok") == sum(usage.cached_tok or 0 for usage in told)
    assert grew("draft_tok") == sum(usage.draft_tok or 0 for usage in told) > 0
    assert grew("accepted_draft_tok") == sum(usage.accepted_draft_tok or 0 for usage in told) > 0
    accepted = after.accepted_per_position
    assert accepted
    assert sum(accepted) == after.accepted_draft_tok
    assert list(accepted) == sorted(accepted, reverse=True)


def test_how_it_drafts_shows_once_it_has_worked(llama: LlamaServer) -> None:
    """A slot names its kind of drafts after its first answer."""
    ask(llama, "one more question")
    assert settings(llama)["speculation.method"].value == "ngram"


def test_cache_is_used_by_default_and_kept_out_on_request(llama: LlamaServer) -> None:
    """A repeated prompt hits the cache; with `cache_prompt: false` it does not."""
    no_cache = ADAPTER.options().no_cache
    usages = [
        ask(llama, "a garden of winter letters " * 20, 4, **extra).usage for extra in ({}, {}, no_cache)
    ]
    cached = [usage.cached_tok or 0 for usage in usages if usage is not None]
    assert cached[1] > 40
    assert cached[2] == 0


def test_prompts_over_its_context_are_refused(llama: LlamaServer) -> None:
    """Its words for a prompt that is too long are known."""
    assert ask(llama, "word " * 6000).outcome is Outcome.OVER_CONTEXT


def test_greedy_answers_repeat(llama: LlamaServer) -> None:
    """The same prompt has the same answer, drafts or not."""
    texts = {ask(llama, "the morning light", cache_prompt=False).text for _ in range(3)}
    assert len(texts) == 1


def test_several_users_are_served_side_by_side(llama: LlamaServer) -> None:
    """More users than slots: all are answered."""
    options = ADAPTER.options()
    traces = ask_once(
        llama.endpoint, model=MODEL, output_tok=16, n=2 * SLOTS, extra={**options.fixed_length, **options.usage}
    )  # fmt: skip
    assert [trace.outcome for trace in traces] == [Outcome.OK] * 2 * SLOTS


def test_a_server_without_drafts_and_counters_says_so() -> None:
    """No drafts is a setting, no counters is None; each start has another mark."""
    marks = set()
    for _ in range(2):
        with running_llama(drafts=False, metrics=False) as server:
            assert settings(server)["speculation.method"].value == "none"
            assert ADAPTER.counters(server.endpoint) is None
            marks.add(ADAPTER.identity(server.endpoint).incarnation)
    assert len(marks) == 2
