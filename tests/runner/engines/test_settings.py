"""What each adapter makes of an engine's answers: fields of the record, strictly typed, without secrets."""

from collections.abc import Iterator
from decimal import Decimal

import pytest

from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.engines import Observed, Trust, adapter_for, in_force
from kbtool.runner.plan.target import EngineKind
from kbtool.schema.base import StrictModel
from kbtool.schema.benchmark import Deployment, EngineSetup, ModelSetup, Serving, Speculation
from tests.fakes.replay import Answers, answers_of, replaying

KINDS: tuple[EngineKind, ...] = ("vllm", "sglang", "llama_cpp", "ds4")
SECRETS = ("sk-very-secret-value", "another-secret", "hf_abcdefghijklmnopqrstuvwxyz012345")


def settings_of(kind: EngineKind, answers: Answers | None = None) -> dict[str, Observed]:
    """Return the settings in force by field."""
    with replaying(answers or answers_of(kind)) as endpoint:
        return in_force(adapter_for(kind).settings(endpoint))


def values_of(kind: EngineKind, answers: Answers | None = None) -> dict[str, object]:
    """Return the values by field."""
    return {field: each.value for field, each in settings_of(kind, answers).items()}


@pytest.fixture
def vllm() -> Iterator[Endpoint]:
    """Serve vLLM's answers."""
    with replaying(answers_of("vllm")) as endpoint:
        yield endpoint


def test_vllm_configuration_becomes_fields_of_the_record() -> None:
    """Each section of `/server_info` gives the fields that it stands for."""
    found = values_of("vllm")
    expected: dict[str, object] = {
        "model.checkpoint": "models/glm",
        "model.revision": "0123456789abcdef0123456789abcdef01234567",
        "model.quantization_as_published": "modelopt_fp4",
        "engine.version": "0.32.1.dev5+g0a1b2c3d4",
        "engine.commit": "0a1b2c3d4",
        "serving.kv_cache_dtype": "fp8_e4m3",
        "serving.page_size_tok": 64,
        "serving.memory_fraction": Decimal("0.92"),
        "serving.prefix_caching": True,
        "serving.max_running_requests": 64,
        "serving.max_batched_tok": 8192,
        "serving.chunked_prefill_size_tok": 8192,
        "serving.attention_backend": "FLASHINFER_MLA",
        "serving.cuda_graph_decode": True,
        "serving.cuda_graph_prefill": True,
        "serving.cuda_graph_max_batch": 128,
        "deployment.tp": 4,
        "deployment.pp": 1,
        "deployment.dp": 2,
        "deployment.ep": 8,
        "speculation.method": "mtp",
        "speculation.draft_tok": 3,
        "speculation.verify_rows": 4,
        "engine.arguments.scheduler_config.async_scheduling": True,
        "engine.environment.VLLM_USE_V1": "True",
    }
    assert {field: found.get(field) for field in expected} == expected
    assert "serving.moe_backend" not in found, "`auto` does not say which kernels were chosen"
    assert "model.weight_dtype" not in found, "quantised weights are not of the type that is computed in"


def test_vllm_context_is_the_one_that_the_list_of_models_gives() -> None:
    """Of two answers of the running engine the list of models, which the request is checked against, comes first."""
    assert settings_of("vllm")["serving.context_tok"].where == "GET /v1/models, data[0].max_model_len"


def test_vllm_without_development_mode_tells_what_its_metrics_label() -> None:
    """The labels of `cache_config_info` are read where `/server_info` does not exist."""
    answers = answers_of("vllm")
    del answers.by_path["GET /server_info"]
    label = 'vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="True",gpu_memory_utilization="0.9",num_gpu_blocks="512"} 1.0\n'
    answers.by_path["GET /metrics"] = (200, label)
    found = values_of("vllm", answers)
    assert found["serving.prefix_caching"] is True
    assert found["serving.page_size_tok"] == 16
    assert found["serving.memory_fraction"] == Decimal("0.9")
    assert "deployment.tp" not in found


def test_sglang_arguments_become_fields_of_the_record() -> None:
    """Every argument in force is a field, or is kept word for word."""
    found = values_of("sglang")
    expected: dict[str, object] = {
        "model.checkpoint": "models/deepseek",
        "engine.version": "0.5.23",
        "serving.context_tok": 1_048_576,
        "serving.kv_cache_dtype": "fp8_e4m3",
        "serving.memory_fraction": Decimal("0.72"),
        "serving.max_running_requests": 16,
        "serving.chunked_prefill_size_tok": 2048,
        "serving.page_size_tok": 64,
        "serving.attention_backend": "dsv4",
        "serving.moe_backend": "flashinfer_mxfp4",
        "serving.prefix_caching": True,
        "serving.cuda_graph_decode": True,
        "serving.cuda_graph_prefill": False,
        "serving.kv_persistence": "hierarchical cache, ratio 1.0",
        "deployment.tp": 8,
        "deployment.ep": 8,
        "engine.arguments.schedule_policy": "fcfs",
        "engine.arguments.speculative_num_steps": 3,
    }
    assert {field: found.get(field) for field in expected} == expected


def test_sglang_attention_ranks_own_no_accelerators() -> None:
    """Under attention data parallelism the ranks lie inside the tensor-parallel group."""
    found = values_of("sglang")
    assert (found["deployment.attn_dp"], found["deployment.dp"]) == (4, 1)


def test_sglang_draft_tokens_count_the_verify_row() -> None:
    """Four `draft tokens` are four rows, of which three are drafted; captured batches are counted in rows too."""
    found = values_of("sglang")
    assert (found["speculation.draft_tok"], found["speculation.verify_rows"]) == (3, 4)
    assert found["serving.cuda_graph_max_batch"] == 8 * 4


def test_sglang_eagle_on_the_model_itself_is_its_own_prediction_head() -> None:
    """Without a draft model of its own EAGLE runs the model's multi-token prediction."""
    assert values_of("sglang")["speculation.method"] == "mtp"
    answers = answers_of("sglang")
    answers.by_path["GET /server_info"][1]["speculative_draft_model_path"] = "models/eagle"  # type: ignore[index]
    assert values_of("sglang", answers)["speculation.method"] == "eagle"


def test_sglang_without_an_algorithm_makes_no_drafts() -> None:
    """A null algorithm says that nothing is drafted; rows are then requests."""
    answers = answers_of("sglang")
    answers.by_path["GET /server_info"][1]["speculative_algorithm"] = None  # type: ignore[index]
    found = values_of("sglang", answers)
    assert found["speculation.method"] == "none"
    assert found["serving.cuda_graph_max_batch"] == 8


def test_sglang_old_path_is_asked_where_the_new_one_does_not_exist() -> None:
    """Older servers have `/get_server_info` alone."""
    answers = answers_of("sglang")
    answers.by_path["GET /get_server_info"] = answers.by_path.pop("GET /server_info")
    assert settings_of("sglang", answers)["deployment.tp"].where == "GET /get_server_info, tp_size"


@pytest.mark.parametrize(
    "name", ["random_seed", "port", "launch_command", "served_model_name", "max_total_num_tokens"]
)
def test_sglang_what_differs_from_start_to_start_is_no_setting(name: str) -> None:
    """A run must be able to go on after a restart, so what changes by itself is left out."""
    assert f"engine.arguments.{name}" not in settings_of("sglang")


def test_llama_cpp_tells_slots_context_and_weights() -> None:
    """`/props` gives the limits of a slot and the file type of the weights."""
    found = values_of("llama_cpp")
    assert found["serving.max_running_requests"] == 4
    assert found["serving.context_tok"] == 4096
    assert found["model.weight_dtype"] == "fp32"
    assert found["model.weights_gb"] == Decimal("0.000611072")
    assert found["speculation.method"] == "ngram"
    assert "engine.version" not in found, "b0-unknown is no version"


def test_llama_cpp_release_names_version_and_commit() -> None:
    """A released build names its number and commit."""
    answers = answers_of("llama_cpp")
    answers.by_path["GET /props"][1]["build_info"] = "b11434-0a1b2c3d"  # type: ignore[index]
    found = values_of("llama_cpp", answers)
    assert (found["engine.version"], found["engine.commit"]) == ("b11434", "0a1b2c3d")


@pytest.mark.parametrize(
    ("published", "dtype"),
    [("Q4_K - Medium", "gguf_q4"), ("Q8_0", "gguf_q8"), ("all F32", "fp32"), ("BF16", "bf16"), ("IQ2_XXS - 2.0625 bpw", "gguf_q2"),
     ("MXFP4 MoE", "mxfp4"), ("guessed", None)],
)  # fmt: skip
def test_llama_cpp_file_types_are_read_by_their_bits(published: str, dtype: str | None) -> None:
    """A file type names the bits of most weights; an unknown one is left open."""
    answers = answers_of("llama_cpp")
    answers.by_path["GET /props"][1]["model_ftype"] = published  # type: ignore[index]
    assert values_of("llama_cpp", answers).get("model.weight_dtype") == dtype


def test_ds4_tells_its_context_and_nothing_else() -> None:
    """There is nothing to ask but the list of models."""
    assert values_of("ds4") == {"serving.context_tok": 100_000}


@pytest.mark.parametrize("kind", KINDS)
def test_secrets_come_out_nowhere(kind: EngineKind) -> None:
    """No setting, identity or counter holds a key, whatever field it was put into."""
    with replaying(answers_of(kind)) as endpoint:
        adapter = adapter_for(kind)
        told = repr((adapter.identity(endpoint), adapter.settings(endpoint), adapter.counters(endpoint)))
    assert not [secret for secret in SECRETS if secret in told]


@pytest.mark.parametrize("kind", KINDS)
def test_every_value_fits_its_field(kind: EngineKind) -> None:
    """What is observed can stand in a record: the models of the record accept it as it is."""
    found = values_of(kind)
    models: dict[str, type[StrictModel]] = {
        "serving": Serving,
        "deployment": Deployment,
        "speculation": Speculation,
    }
    for name, model in models.items():
        part = {
            field.split(".", 1)[1]: value for field, value in found.items() if field.startswith(f"{name}.")
        }
        model.model_validate(part)
    engine = {
        field.split(".")[1]: v
        for field, v in found.items()
        if field.startswith("engine.") and field.count(".") == 1
    }
    arguments = {
        field.split(".", 2)[2]: v for field, v in found.items() if field.startswith("engine.arguments.")
    }
    EngineSetup.model_validate({"engine": "engines/x", "arguments": arguments, **engine})
    setup = {field.split(".")[1]: value for field, value in found.items() if field.startswith("model.")}
    ModelSetup.model_validate({"model": "models/x", **setup})


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_trusted_as_the_running_engine(kind: EngineKind) -> None:
    """What a server answers is nearest to what runs, and says where it was read."""
    for each in settings_of(kind).values():
        assert each.trust is Trust.ENGINE
        assert each.where.startswith("GET /")


def test_nearer_places_win_and_earlier_ones_among_equals() -> None:
    """The running engine is believed before its arguments, and those before the plan."""
    engine, process, plan = (
        Observed("serving.context_tok", value, str(value), trust, "")
        for value, trust in ((1, Trust.ENGINE), (2, Trust.PROCESS), (3, Trust.PLAN))
    )
    assert in_force((plan,), (process, engine))["serving.context_tok"] is engine
    assert in_force((plan,), (process,))["serving.context_tok"] is process
