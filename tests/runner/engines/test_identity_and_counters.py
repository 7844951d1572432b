"""Who answers, what it has counted, and whether it forgets its cache."""

from dataclasses import replace

import pytest

from kbtool.runner.client.control import ControlError, TooLargeError, UnauthorizedError
from kbtool.runner.engines import ResetOutcome, adapter_for, detect, hinted
from kbtool.runner.plan.target import EngineKind
from tests.fakes.engine import Script, running
from tests.fakes.replay import Answers, answers_of, replaying

KINDS: tuple[EngineKind, ...] = ("vllm", "sglang", "llama_cpp", "ds4")


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_detected_and_says_what_showed_it(kind: EngineKind) -> None:
    """The kind is found from the answers, with the evidence."""
    with replaying(answers_of(kind)) as endpoint:
        found = detect(endpoint)
    assert found.kind == kind
    assert found.evidence


def test_detection_only_reads() -> None:
    """Nothing but GET is sent, and not more than seven times."""
    answers = answers_of("ds4")
    with replaying(answers) as endpoint:
        detect(endpoint)
    assert all(each.startswith("GET ") for each in answers.asked)
    assert len(answers.asked) <= 7


def test_owner_alone_does_not_outweigh_a_path_of_another_engine() -> None:
    """A list of models that claims to be vLLM's is not believed where `/props` is llama.cpp's."""
    answers = answers_of("llama_cpp")
    answers.by_path["GET /v1/models"][1]["data"][0]["owned_by"] = "vllm"  # type: ignore[index]
    with replaying(answers) as endpoint:
        assert detect(endpoint).kind == "llama_cpp"


def test_a_version_alone_shows_no_engine() -> None:
    """Proxies have a `/version` too."""
    models: dict[str, object] = {"data": [{"id": "m", "owned_by": "gateway"}]}
    answers = Answers({"GET /v1/models": (200, models), "GET /version": (200, {"version": "1.2.3"})})
    with replaying(answers) as endpoint:
        assert detect(endpoint).kind == "openai"


def test_a_page_for_every_path_shows_no_engine() -> None:
    """A proxy that answers everything with its front page is no engine."""
    page = (200, "<html>Welcome</html>")
    answers = Answers(
        {f"GET {path}": page for path in ("/v1/models", "/version", "/props", "/server_info", "/metrics")}
    )
    with replaying(answers) as endpoint:
        assert detect(endpoint).kind == "openai"


@pytest.mark.parametrize("kind", ["vllm", "sglang"])
def test_a_missing_key_is_said_and_open_paths_still_hint_at_the_kind(kind: EngineKind) -> None:
    """401 means up, key missing; the metrics, which need no key, show what it is."""
    with running(Script(kind=kind, api_key="k-0123456789")) as engine:
        keyless = replace(engine.endpoint, headers=())
        with pytest.raises(UnauthorizedError):
            detect(keyless)
        hint = hinted(keyless)
        assert hint is not None
        assert hint.kind == kind
        assert detect(engine.endpoint).kind == kind


def test_paths_that_a_proxy_closes_are_absent_and_no_failure() -> None:
    """403 on `/server_info` leaves the rest to be told."""
    answers = answers_of("vllm")
    answers.by_path["GET /server_info"] = (403, {"error": "no"})
    with replaying(answers) as endpoint:
        found = {each.field for each in adapter_for("vllm").settings(endpoint)}
    assert "engine.version" in found
    assert "deployment.tp" not in found


def test_a_failing_server_is_not_taken_for_one_without_the_path() -> None:
    """502 of a proxy means that the engine behind it is gone: that is raised."""
    answers = answers_of("vllm")
    answers.by_path["GET /version"] = (502, "bad gateway")
    with replaying(answers) as endpoint, pytest.raises(ControlError, match="502"):
        adapter_for("vllm").identity(endpoint)


def test_giant_answers_are_refused() -> None:
    """An answer over the limit is an error, not memory."""
    answers = Answers({"GET /v1/models": (200, "x" * 5_000_000)})
    with replaying(answers) as endpoint, pytest.raises(TooLargeError):
        detect(endpoint)


def test_deep_json_is_no_answer() -> None:
    """An answer nested without end is passed over."""
    answers = Answers({"GET /v1/models": (200, '{"data":' + "[" * 300 + "]" * 300 + "}")})
    with replaying(answers) as endpoint:
        assert adapter_for("openai").identity(endpoint).served_models == ()


def test_vllm_identity_has_version_commit_and_start() -> None:
    """Version and commit from `/version`, the start of the process from `/metrics`."""
    with replaying(answers_of("vllm")) as endpoint:
        found = adapter_for("vllm").identity(endpoint)
    assert (found.version, found.commit) == ("0.32.1.dev5+g0a1b2c3d4", "0a1b2c3d4")
    assert found.started_s == 1795982606.6
    assert (found.served_models, found.context_tok, found.model_root) == (("tiny",), 8192, "models/tiny")


def test_sglang_identity_has_the_size_of_its_cache() -> None:
    """The tokens that the KV cache holds are told by the running server."""
    with replaying(answers_of("sglang")) as endpoint:
        found = adapter_for("sglang").identity(endpoint)
    assert (found.version, found.kv_cache_tok, found.context_tok) == ("0.5.23", 3_145_728, 1_048_576)


def test_vllm_counters_are_read_from_a_recorded_answer() -> None:
    """One request of 8 + 8 tokens, as a real vLLM counted it."""
    with replaying(answers_of("vllm")) as endpoint:
        found = adapter_for("vllm").counters(endpoint)
    assert found is not None
    assert (found.prompt_tok, found.generation_tok, found.cached_tok, found.requests_finished) == (8, 8, 0, 1)
    assert (found.running, found.waiting, found.preemptions, found.kv_usage_ratio) == (0, 0, 0, 0.0)
    assert (found.drafts, found.draft_tok, found.accepted_per_position) == (None, None, ())


def test_sglang_counters_take_one_rank_of_a_group_and_all_sources() -> None:
    """Ranks of one group report the same requests; cached tokens are the sum over where they came from."""
    with replaying(answers_of("sglang")) as endpoint:
        found = adapter_for("sglang").counters(endpoint)
    assert found is not None
    assert (found.running, found.waiting, found.cached_tok) == (3, 2, 1536)
    assert (found.prompt_tok, found.generation_tok, found.requests_finished) == (81_920, 7_557_572, 40)
    assert found.draft_tok is None, "an acceptance length is a mean, not a counter"


def test_llama_cpp_prompt_tokens_include_cached_ones() -> None:
    """The engine counts cached tokens apart; totals are held against usage, which includes them."""
    answers = answers_of("llama_cpp")
    text = "llamacpp:prompt_tokens_total 31\nllamacpp:prompt_tokens_cached_total 29\nllamacpp:tokens_predicted_total 5\n"
    answers.by_path["GET /metrics"] = (200, text)
    with replaying(answers) as endpoint:
        found = adapter_for("llama_cpp").counters(endpoint)
    assert found is not None
    assert (found.prompt_tok, found.cached_tok, found.prefix_hit_tok) == (60, 29, 29)


def test_llama_cpp_accepted_drafts_are_kept_by_position() -> None:
    """How far drafts are accepted explains the speed."""
    with replaying(answers_of("llama_cpp")) as endpoint:
        found = adapter_for("llama_cpp").counters(endpoint)
    assert found is not None
    assert (found.drafts, found.draft_tok, found.accepted_draft_tok) == (5, 16, 3)
    assert found.accepted_per_position == (3, 0, 0, 0)


@pytest.mark.parametrize(
    ("kind", "metrics"), [("sglang", False), ("llama_cpp", False), ("ds4", True), ("openai", True)]
)
def test_servers_without_counters_say_so(kind: EngineKind, metrics: bool) -> None:
    """No counters is None, never zeros."""
    with running(Script(kind=kind, metrics=metrics)) as engine:
        assert adapter_for(kind).counters(engine.endpoint) is None


def test_resets_are_reported_as_the_server_tells_them() -> None:
    """Done, refused while requests run, and not there at all are three answers."""
    with running(Script(kind="vllm")) as engine:
        assert adapter_for("vllm").reset_prefix_cache(engine.endpoint) is ResetOutcome.DONE
    with running(Script(kind="vllm", development=False)) as engine:
        assert adapter_for("vllm").reset_prefix_cache(engine.endpoint) is ResetOutcome.UNSUPPORTED
    with replaying(answers_of("sglang")) as endpoint:
        assert adapter_for("sglang").reset_prefix_cache(endpoint) is ResetOutcome.REFUSED
    with running(Script(kind="sglang", api_key="k-0123456789")) as engine:
        keyless = replace(engine.endpoint, headers=())
        assert adapter_for("sglang").reset_prefix_cache(keyless) is ResetOutcome.REFUSED
    for kind in ("llama_cpp", "ds4", "openai"):
        with running(Script(kind=kind)) as engine:
            assert adapter_for(kind).reset_prefix_cache(engine.endpoint) is ResetOutcome.UNSUPPORTED


def test_v1_at_the_end_of_the_base_path_is_no_part_of_other_paths() -> None:
    """Metrics and version lie beside `/v1`, not below it."""
    with replaying(answers_of("vllm")) as endpoint:
        assert detect(replace(endpoint, base_path="/v1")).kind == "vllm"
