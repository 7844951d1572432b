"""Argument lists as they are found in /proc, in containers and in plans."""

import pytest

from kbtool.runner.engines import Trust, adapter_for
from kbtool.runner.engines.command_line import engine_arguments, given
from kbtool.runner.plan.target import EngineKind


def read(kind: EngineKind, line: str, **environment: str) -> dict[str, object]:
    """Return the settings of a command line, its words apart."""
    found = adapter_for(kind).from_command_line(tuple(line.split()), environment)
    assert all(each.trust is Trust.PROCESS for each in found)
    return {each.field: each.value for each in found}


def test_vllm_serve_is_read() -> None:
    """The model stands for itself, JSON tables are taken apart, sizes may have units."""
    found = read(
        "vllm",
        "/usr/bin/python3 /usr/local/bin/vllm serve models/glm --max-model-len 128K -tp 4 --enable-expert-parallel "
        "--kv-cache-dtype fp8_e4m3 --max-num-seqs=64 --no-enable-prefix-caching --enforce-eager --port 8000 "
        '--speculative-config {"method":"eagle3","num_speculative_tokens":5} --gpu-memory-utilization 0.95',
    )
    assert found["model.checkpoint"] == "models/glm"
    assert found["serving.context_tok"] == 128 * 1024
    assert (found["deployment.tp"], found["deployment.ep"]) == (4, 4)
    assert found["serving.kv_cache_dtype"] == "fp8_e4m3"
    assert found["serving.max_running_requests"] == 64
    assert found["serving.prefix_caching"] is False
    assert found["serving.cuda_graph_decode"] is False
    assert str(found["serving.memory_fraction"]) == "0.95"
    assert (
        found["speculation.method"],
        found["speculation.draft_tok"],
        found["speculation.verify_rows"],
    ) == ("eagle3", 5, 6)
    assert not [field for field in found if "port" in field]


def test_vllm_image_arguments_have_no_program() -> None:
    """The image holds the program, so that the list begins with an option or the model."""
    assert read("vllm", "--model models/glm --tensor-parallel-size 2")["model.checkpoint"] == "models/glm"
    assert read("vllm", "models/glm --tensor-parallel-size 2")["deployment.tp"] == 2


def test_vllm_module_form_is_read() -> None:
    """The module may be started without the program."""
    found = read(
        "vllm",
        "python -m vllm.entrypoints.openai.api_server --model models/glm --max-num-batched-tokens 8192",
    )
    assert found["model.checkpoint"] == "models/glm"
    assert found["serving.max_batched_tok"] == found["serving.chunked_prefill_size_tok"] == 8192


def test_sglang_launch_is_read() -> None:
    """Several values after one name stay together; the chunk is that of one rank."""
    found = read(
        "sglang",
        "numactl --cpunodebind=0 python3 -m sglang.launch_server --model-path models/ds --tp 8 --dp 4 --enable-dp-attention "
        "--chunked-prefill-size 8192 --cuda-graph-bs 1 2 4 8 --disable-radix-cache --context-length 131072 --host 0.0.0.0",
    )
    assert found["model.checkpoint"] == "models/ds"
    assert (found["deployment.tp"], found["deployment.dp"], found["deployment.attn_dp"]) == (8, 1, 4)
    assert found["serving.chunked_prefill_size_tok"] == 2048
    assert found["serving.prefix_caching"] is False
    assert found["engine.arguments.cuda_graph_bs"] == "1 2 4 8"
    assert "engine.arguments.host" not in found


def test_sglang_block_drafter_is_read() -> None:
    """DSpark counts its block, which is no number of draft tokens."""
    found = read("sglang", "--model-path m --speculative-algorithm DSPARK --speculative-dspark-block-size 6")
    assert (found["speculation.method"], found["speculation.block_size"]) == ("dspark", 6)
    assert "speculation.draft_tok" not in found
    assert (
        found["speculation.as_published"] == "speculative_algorithm DSPARK, speculative_dspark_block_size 6"
    )


def test_llama_server_is_read() -> None:
    """Short names are known, the context is that of one slot, keys and values share a data type or are mixed."""
    found = read(
        "llama_cpp",
        "/opt/llama-server -m m.gguf -c 32768 -np 4 -ctk q8_0 -ctv q8_0 -b 2048 -ngl 99 --metrics -fa on",
    )
    assert found["model.checkpoint"] == "m.gguf"
    assert (found["serving.context_tok"], found["serving.max_running_requests"]) == (8192, 4)
    assert found["serving.kv_cache_dtype"] == "gguf_q8"
    assert found["serving.max_batched_tok"] == 2048
    assert found["engine.arguments.n_gpu_layers"] == "99"
    assert found["engine.arguments.metrics"] is True
    assert read("llama_cpp", "-ctk f16 -ctv q4_0")["serving.kv_cache_dtype"] == "mixed"
    assert read("llama_cpp", "-m m.gguf -c 32768 -np 4 --kv-unified")["serving.context_tok"] == 32_768


def test_llama_server_drafts_are_read() -> None:
    """A draft model drafts even where no kind of draft is named."""
    assert read("llama_cpp", "-m m.gguf -md d.gguf --draft-max 8")["speculation.method"] == "draft_model"
    found = read("llama_cpp", "-m m.gguf --spec-type ngram-simple --draft-max 8")
    assert (found["speculation.method"], found["speculation.draft_tok"]) == ("ngram", 8)


def test_ds4_server_is_read() -> None:
    """Without a draft file it makes no drafts."""
    found = read("ds4", "./ds4-server -m flash.gguf --ctx 100000 --kv-disk-dir /var/kv --cuda --port 8000")
    assert found["model.checkpoint"] == "flash.gguf"
    assert found["serving.context_tok"] == 100_000
    assert found["serving.kv_persistence"] == "/var/kv"
    assert found["speculation.method"] == "none"
    found = read("ds4", "./ds4-server -m flash.gguf --mtp mtp.gguf --mtp-draft 2")
    assert (found["speculation.method"], found["speculation.draft_tok"]) == ("mtp", 2)


def test_shell_wrappers_are_looked_through() -> None:
    """`bash -c` with a script gives the words of its last line."""
    script = "export X=1\nexec vllm serve models/glm \\\n  --max-num-seqs 8  # few"
    found = adapter_for("vllm").from_command_line(("bash", "-lc", script), {})
    assert {each.field: each.value for each in found}["serving.max_running_requests"] == 8


def test_a_script_of_python_is_no_model() -> None:
    """Of an unknown program its own name is not taken for an argument of the engine."""
    assert engine_arguments(("python3", "-u", "serve.py", "--model", "m"), frozenset({"vllm"})) == (
        "--model",
        "m",
    )
    assert read("llama_cpp", "python3 -m my.server words here") == {}
    assert read("vllm", "python3 -m my.server words here") == {}


def test_secrets_of_arguments_and_environment_are_left_out() -> None:
    """Keys are recognised by name and by form, wherever they stand."""
    found = adapter_for("vllm").from_command_line(
        ("vllm", "serve", "m", "--api-key", "sk-0123456789abcdef", "--middleware", "Bearer abcdefgh12345", "--hf-token=hf_0123456789abcdef"),
        {"VLLM_API_KEY": "sk-0123456789abcdef", "HF_TOKEN": "x", "NCCL_P2P_DISABLE": "1", "VLLM_X": "http://u:p@h/", "HOME": "/root"},
    )  # fmt: skip
    assert [each.field for each in found] == ["model.checkpoint", "engine.environment.NCCL_P2P_DISABLE"]


@pytest.mark.parametrize(
    "name",
    ["max_num_batched_tokens", "tokenizer_mode", "skip_tokenizer_init", "num_speculative_tokens", "monkey"],
)
def test_names_that_only_resemble_secrets_are_kept(name: str) -> None:
    """A count of tokens is no token."""
    assert read("vllm", f"m --{name.replace('_', '-')} 5")


def test_hostile_arguments_do_no_harm() -> None:
    """Broken JSON, control characters, endless values and endless lists are passed over or kept as they are."""
    assert dict(given(("--a", '{"b": '), aliases={})) == {"a": '{"b": '}
    assert read("vllm", "m --x-y \x1b[31m") == {"model.checkpoint": "m"}
    found = adapter_for("vllm").from_command_line(
        ("m", "--long", "x" * 10_000, *(f"--flag-{at}" for at in range(5000))), {}
    )
    assert 900 < len(found) <= 1000
    assert "engine.arguments.long" not in {each.field for each in found}
