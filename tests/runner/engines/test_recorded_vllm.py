"""What a real vLLM with n-gram drafts answered once: identity, counters, and one stream with several tokens a chunk."""

from kbtool.runner.engines import adapter_for, detect
from kbtool.runner.metrics import request
from kbtool.runner.trace import ChunkKind, Outcome
from tests.fakes.replay import FIXTURES, answers_of, replaying
from tests.runner.client.replies import in_chunks

FOLDER = "vllm-0.32.0-cpu"


def test_who_it_is_and_what_its_cache_holds() -> None:
    """A released version has no commit in its name; blocks of 128 tokens make up the cache."""
    with replaying(answers_of(f"{FOLDER}/answers")) as endpoint:
        assert detect(endpoint).kind == "vllm"
        found = adapter_for("vllm").identity(endpoint)
    assert (found.version, found.commit, found.served_models) == ("0.32.0", None, ("tiny",))
    assert (found.context_tok, found.kv_cache_tok) == (8192, 1_048_576)


def test_drafts_are_counted_by_position() -> None:
    """Twenty drafts of up to four tokens, of which 34 were kept."""
    with replaying(answers_of(f"{FOLDER}/answers")) as endpoint:
        found = adapter_for("vllm").counters(endpoint)
    assert found is not None
    assert (found.prompt_tok, found.generation_tok, found.requests_finished) == (27, 64, 1)
    assert (found.drafts, found.draft_tok, found.accepted_draft_tok) == (20, 71, 34)
    assert found.accepted_per_position == (15, 11, 6, 2)


def test_its_stream_is_read_token_by_token() -> None:
    """34 chunks hold 64 tokens; the running counts say how many came with each, and usage tells cached tokens."""
    content = (FIXTURES / FOLDER / "stream.txt").read_bytes().replace(b'"model":"tiny"', b'"model":"m"')
    trace = in_chunks(*[event + b"\n\n" for event in content.split(b"\n\n") if event])
    assert trace.outcome is Outcome.OK, trace.detail
    assert trace.usage is not None
    assert (trace.usage.prompt_tok, trace.usage.completion_tok, trace.usage.cached_tok) == (27, 64, 0)
    assert trace.finish_reason == "length"
    counts = [
        tok
        for kind, tok in zip(trace.chunks.kind, trace.chunks.cumulative_tok, strict=True)
        if kind is ChunkKind.CONTENT
    ]
    assert len(counts) == 34
    assert counts[-1] == 64
    assert len(request.itl_ms(trace)) == 63
