"""The scripted engine does what its script says; other tests lean on that."""

import subprocess
import sys

import pytest

from kbtool.runner.client.control import RefusedConnectionError, get
from kbtool.runner.engines import Counters, adapter_for
from kbtool.runner.plan.target import EngineKind
from kbtool.runner.trace import ChunkKind, Outcome
from tests.fakes.asking import ask_once
from tests.fakes.engine import Engine, Script, running
from tests.fakes.script import count_tokens

LONG = "tell me about the river and the bridge over it " * 30


def counters(engine: Engine, kind: EngineKind = "vllm") -> Counters:
    """Return the engine's counters as its adapter reads them."""
    found = adapter_for(kind).counters(engine.endpoint)
    assert found is not None
    return found


@pytest.mark.parametrize("chunk_tok", [(1,), (8,), (1, 3, 5, 2, 4)])
@pytest.mark.parametrize("kind", ["vllm", "sglang", "llama_cpp", "ds4", "openai"])
def test_tokens_are_exact_however_they_are_chunked(kind: EngineKind, chunk_tok: tuple[int, ...]) -> None:
    """Usage, the engine's truth and its counters agree for every number of tokens a chunk."""
    with running(Script(kind=kind, chunk_tok=chunk_tok)) as engine:
        (trace,) = ask_once(engine.endpoint, output_tok=20)
        (truth,) = engine.truth()
    assert trace.outcome is Outcome.OK
    assert trace.usage is not None
    assert (trace.usage.completion_tok, trace.usage.prompt_tok) == (truth.output_tok, truth.prompt_tok)
    assert truth.output_tok == sum(truth.chunk_tok) == 20
    text = [kind for kind in trace.chunks.kind if kind is ChunkKind.CONTENT]
    assert len(text) == len(truth.chunk_tok)


def test_tokens_leave_on_schedule() -> None:
    """No chunk leaves before its time, and the client sees each after it left."""
    schedule = (5.0, 20.0, 21.0, 60.0)
    with running(Script(schedule_ms=schedule)) as engine:
        (trace,) = ask_once(engine.endpoint, output_tok=4)
        (truth,) = engine.truth()
    offsets = [(t_ns - truth.read_ns) / 1e6 for t_ns in truth.chunk_ns]
    assert all(real >= due for real, due in zip(offsets, schedule, strict=True))
    came = [
        t_ns
        for t_ns, kind in zip(trace.chunks.t_ns, trace.chunks.kind, strict=True)
        if kind is ChunkKind.CONTENT
    ]
    # The kernel's stamp is taken on the clock of the wall and converted: it may be off by some microseconds.
    assert all(seen > left - 1_000_000 for seen, left in zip(came, truth.chunk_ns, strict=True))


def test_usage_and_cached_tokens_can_be_hidden() -> None:
    """What a server does not report is missing in the trace, and no zero."""
    with running(Script(usage="none")) as engine:
        (trace,) = ask_once(engine.endpoint)
    assert (trace.outcome, trace.usage) == (Outcome.NO_USAGE, None)
    with running(Script(cached_tokens=False)) as engine:
        (trace,) = ask_once(engine.endpoint)
    assert trace.usage is not None
    assert trace.usage.cached_tok is None


def test_running_counts_come_only_where_they_are_given() -> None:
    """Each chunk of the `each` script says how many tokens came so far."""
    with running(Script(chunk_tok=(1, 3), usage="each")) as engine:
        (trace,) = ask_once(engine.endpoint, output_tok=8)
        assert [tok for tok in trace.chunks.cumulative_tok if tok] == [1, 4, 5, 8, 8]
        engine.script = Script(chunk_tok=(1, 3), usage="end")
        (trace,) = ask_once(engine.endpoint, output_tok=8)
        assert [tok for tok in trace.chunks.cumulative_tok if tok] == [8]


def test_reasoning_is_counted_apart() -> None:
    """Reasoning tokens come as reasoning and are part of the output."""
    with running(Script(reasoning_tok=5)) as engine:
        (trace,) = ask_once(engine.endpoint, output_tok=12)
    assert trace.usage is not None
    assert (trace.usage.reasoning_tok, trace.usage.completion_tok) == (5, 12)
    assert trace.reasoning_text
    assert trace.text


def test_prefix_cache_hits_repeated_prompts_and_is_forgotten_on_request() -> None:
    """Whole blocks of a repeated prompt come from the cache, until it is reset; a lying reset changes nothing."""
    with running(Script()) as engine:
        hits = [ask_once(engine.endpoint, prompt=LONG)[0].usage for _ in range(2)]
        adapter_for("vllm").reset_prefix_cache(engine.endpoint)
        hits.append(ask_once(engine.endpoint, prompt=LONG)[0].usage)
        engine.script = Script(resets_lie=True)
        adapter_for("vllm").reset_prefix_cache(engine.endpoint)
        hits.append(ask_once(engine.endpoint, prompt=LONG)[0].usage)
    cached = [usage.cached_tok for usage in hits if usage is not None]
    whole = (count_tokens(f"<user> {LONG}\n<assistant>") - 1) // 16 * 16
    assert cached == [0, whole, 0, whole]


def test_llama_cpp_keeps_a_request_out_of_its_cache() -> None:
    """`cache_prompt: false` neither reads nor fills the cache."""
    with running(Script(kind="llama_cpp")) as engine:
        no_cache = adapter_for("llama_cpp").options().no_cache
        for _ in range(2):
            (trace,) = ask_once(engine.endpoint, prompt=LONG, extra=no_cache)
            assert trace.usage is not None
            assert trace.usage.cached_tok == 0


def test_models_are_listed_before_the_engine_generates() -> None:
    """A list of models shows no readiness."""
    with running(Script(ready_after=1)) as engine:
        assert adapter_for("vllm").identity(engine.endpoint).served_models == ("scripted",)
        outcomes = [ask_once(engine.endpoint)[0].outcome for _ in range(2)]
    assert outcomes == [Outcome.REFUSED, Outcome.OK]


@pytest.mark.parametrize("kind", ["vllm", "sglang", "llama_cpp", "ds4"])
def test_prompts_over_the_context_are_refused_in_the_engines_own_words(kind: EngineKind) -> None:
    """The client knows the refusals of each engine apart from other errors."""
    with running(Script(kind=kind, context_tok=64)) as engine:
        (trace,) = ask_once(engine.endpoint, prompt=LONG)
    assert trace.outcome is Outcome.OVER_CONTEXT


def test_answers_may_end_early_and_ignore_what_was_asked() -> None:
    """Without `ignore_eos` an answer ends by itself; a server may not honour it."""
    with running(Script(natural_tok=5)) as engine:
        (free,) = ask_once(engine.endpoint, output_tok=20, extra={"ignore_eos": False})
        (fixed,) = ask_once(engine.endpoint, output_tok=20)
        engine.script = Script(natural_tok=5, fixed_length=False)
        (ignored,) = ask_once(engine.endpoint, output_tok=20)
    ends = [(t.usage.completion_tok, t.finish_reason) for t in (free, fixed, ignored) if t.usage is not None]
    assert ends == [(5, "stop"), (20, "length"), (5, "stop")]


def test_settings_may_differ_from_what_was_intended() -> None:
    """A setting that the engine ignored shows in what it says of itself."""
    with running(Script(kind="sglang", settings={"chunked_prefill_size": 4096})) as engine:
        found = {each.field: each.value for each in adapter_for("sglang").settings(engine.endpoint)}
    assert found["serving.chunked_prefill_size_tok"] == 4096


@pytest.mark.parametrize("kind", ["vllm", "sglang", "llama_cpp"])
def test_counters_agree_with_the_truth(kind: EngineKind) -> None:
    """Totals grow by what was served, cached prompts included."""
    with running(Script(kind=kind)) as engine:
        before = counters(engine, kind)
        for _ in range(2):
            ask_once(engine.endpoint, prompt=LONG, output_tok=7)
        after = counters(engine, kind)
        truth = engine.truth()
    assert after.prompt_tok == (before.prompt_tok or 0) + sum(each.prompt_tok for each in truth)
    assert after.generation_tok == (before.generation_tok or 0) + 14
    assert after.cached_tok == sum(each.cached_tok for each in truth) > 0


def test_drafts_are_counted_by_position() -> None:
    """Tokens of a chunk beyond the first were drafted and accepted."""
    with running(Script(draft_tok=3, chunk_tok=(1, 3, 2))) as engine:
        ask_once(engine.endpoint, output_tok=12)
        found = counters(engine)
    assert (found.drafts, found.draft_tok, found.accepted_draft_tok) == (6, 18, 6)
    assert found.accepted_per_position == (4, 2, 0)


def test_foreign_traffic_shows_in_the_counters() -> None:
    """Somebody else's tokens are in the totals and not in our usage."""
    with running(Script(foreign_tok=100, foreign_running=2)) as engine:
        first, second = counters(engine), counters(engine)
    assert (second.generation_tok or 0) - (first.generation_tok or 0) == 100
    assert second.running == 2


def test_counters_can_start_again() -> None:
    """After a reset totals are lower than before: a difference would be negative."""
    with running(Script(reset_counters_after=2)) as engine:
        ask_once(engine.endpoint)
        first = counters(engine)
        ask_once(engine.endpoint)
        second = counters(engine)
    assert first.generation_tok == 8
    assert second.generation_tok == 0


def test_heat_and_crowding_slow_every_step() -> None:
    """From a request on, or above a number of users, each step takes its factor longer."""

    def whole_ms(script: Script, n: int) -> float:
        with running(script) as engine:
            ask_once(engine.endpoint, output_tok=6, n=n)
            truth = engine.truth()
        return max(each.chunk_ns[-1] - each.read_ns for each in truth) / 1e6

    assert whole_ms(Script(step_ms=4, slow_after=0, slow_factor=3), 1) >= 5 * 12
    # All four run before the first step; the last step may come when others have ended.
    assert whole_ms(Script(ttft_ms=50, step_ms=4, cliff_above=2, cliff_factor=4), 4) >= 50 + 4 * 16 + 4


def test_requests_beyond_the_limit_wait() -> None:
    """With two slots four requests take twice as long as two."""
    with running(Script(max_running=2, ttft_ms=20, step_ms=0)) as engine:
        traces = ask_once(engine.endpoint, output_tok=2, n=4)
        starts = sorted(each.chunk_ns[0] for each in engine.truth())
        first = min(each.read_ns for each in engine.truth())
    assert {trace.outcome for trace in traces} == {Outcome.OK}
    assert starts[2] - first >= 40e6


def test_it_dies_and_comes_back_under_the_same_port() -> None:
    """After a restart port and model are the same; start, counters and cache are new."""
    with running(Script()) as engine:
        ask_once(engine.endpoint, prompt=LONG)
        before = counters(engine)
        port = engine.port
        engine.restart()
        after = counters(engine)
        (trace,) = ask_once(engine.endpoint, prompt=LONG)
        assert engine.port == port
        assert (before.generation_tok, after.generation_tok) == (8, 0)
        assert (after.started_s or 0) > (before.started_s or 0)
        assert trace.usage is not None
        assert trace.usage.cached_tok == 0
        endpoint = engine.endpoint
    with pytest.raises(RefusedConnectionError):
        get(endpoint, "/health")


def test_the_same_prompt_has_the_same_answer() -> None:
    """Greedy answers repeat, and differ between prompts."""
    with running(Script()) as engine:
        texts = [ask_once(engine.endpoint, prompt=prompt)[0].text for prompt in ("one", "one", "two")]
    assert texts[0] == texts[1] != texts[2]


def test_it_runs_as_a_process_of_its_own() -> None:
    """The program prints its port, serves, and ends with its standard input."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.engine", '{"kind": "sglang", "chunk_tok": [2, 3]}'],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdin is not None
        port = int(process.stdout.readline())
        with running(Script()) as other:
            endpoint = other.endpoint
        apart = type(endpoint)("server", "127.0.0.1", port)
        assert adapter_for("sglang").identity(apart).version == "0.32.0"
        process.stdin.close()
        assert process.wait(timeout=20) == 0
