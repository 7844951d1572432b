"""Whatever a server says of itself: adapters raise nothing but `ControlError`, and what they return fits a record."""

import json
from decimal import Decimal
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from kbtool.runner.client import control
from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.engines import adapter_for, detect
from kbtool.runner.engines.redaction import is_secret, is_secret_name
from kbtool.runner.engines.sglang_rules import RULES as SGLANG
from kbtool.runner.engines.vllm_rules import ARGUMENTS, CONFIG
from kbtool.runner.plan.target import EngineKind
from kbtool.schema.benchmark import EngineSetup, Serving
from tests.fakes.replay import answers_of

ENDPOINT = Endpoint("server", "127.0.0.1", 1)
KINDS: tuple[EngineKind, ...] = ("vllm", "sglang", "llama_cpp", "ds4", "openai")
NAMES = sorted(
    {part for name in (*SGLANG, *ARGUMENTS, *CONFIG) for part in name.split(".")}
    | {"vllm_config", "vllm_env", "data", "id", "owned_by", "version", "default_generation_settings", "total_slots", "meta", "n_ctx"}
    | {"dp_size", "enable_dp_attention", "speculative_algorithm", "api_key", "build_info", "tp_size", "params", "speculative"}
)  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20) | st.sampled_from(["auto", "None", "-1", "sk-0123456789abcdef", "x" * 400, "torch.bfloat16", "\x1b[2J", "1e5"])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=8), max_leaves=30
)  # fmt: skip


@settings(max_examples=150)
@given(kind=st.sampled_from(KINDS), value=VALUES, metrics=st.text(max_size=60))
def test_any_answer_is_read_or_passed_over(kind: EngineKind, value: object, metrics: str) -> None:
    """The same odd value on every path harms nothing, and no secret comes through."""

    def answer(_: Endpoint, path: str, **__: object) -> control.Answer:
        body = metrics.encode() if path == "/metrics" else json.dumps(value).encode()
        return control.Answer(path, 200, (), body, 0)

    with mock.patch.object(control, "get", answer):
        detect(ENDPOINT)
        adapter = adapter_for(kind)
        identity, found = adapter.identity(ENDPOINT), adapter.settings(ENDPOINT)
        adapter.counters(ENDPOINT)
    assert len(identity.served_models) <= 100
    assert len(found) <= 2100
    for each in found:
        assert isinstance(each.value, str | bool | int | Decimal)
        assert len(str(each.value)) <= 300
        assert "sk-0123456789" not in repr(each)
    serving = {each.field.split(".")[1]: each.value for each in found if each.field.startswith("serving.")}
    Serving.model_validate(serving)
    arguments = {e.field.split(".", 2)[2]: e.value for e in found if e.field.startswith("engine.arguments.")}
    EngineSetup.model_validate({"engine": "engines/x", "arguments": arguments})


@given(
    words=st.lists(
        st.text(max_size=12) | st.sampled_from(["--model", "--tp", "-c", "bash", "-c", "serve", "python3"]),
        max_size=12,
    )
)
def test_any_argument_list_is_read(words: list[str]) -> None:
    """Argument lists of other programs, or none, harm nothing."""
    for kind in KINDS:
        adapter_for(kind).from_command_line(tuple(words), {"VLLM_X": "1", "NCCL_Y": "\n"})


def test_secret_names_are_known_by_whole_words() -> None:
    """Keys and tokens that open something are secret; counts of tokens and tokenizers are not."""
    secret = [
        "api_key",
        "admin-api-key",
        "OPENAI_API_KEY",
        "hf_token",
        "HF_TOKEN",
        "token",
        "ssl_keyfile_password",
        "auth",
        "apiKey",
    ]
    plain = [
        "max_num_batched_tokens",
        "pad_token",
        "keyboard",
        "tokenizer",
        "author",
        "num_key_value_heads_x",
        "max_total_tokens",
    ]
    assert [name for name in secret if not is_secret_name(name)] == []
    assert [name for name in plain if is_secret_name(name) and "key" not in name.split("_")] == []


def test_secret_values_are_known_by_their_form() -> None:
    """A key is a key under any name."""
    for value in (
        "http://user:pass@host/",
        "Bearer abcdefgh",
        "hf_abcdefghijkl",
        "--api-key=abc",
        "eyJhbGciOi12.eyJzdWIi12.x",
        "AKIAABCDEFGHIJKLMNOP",
    ):
        assert is_secret("middleware", value), value
    for value in (
        "models/glm-5",
        "fp8_e4m3",
        "0.95",
        "https://example.org/a",
        "flashinfer_mxfp4",
        "task-scheduling-long-name",
    ):
        assert not is_secret("middleware", value), value


def test_recorded_answers_of_one_engine_do_not_break_the_adapter_of_another() -> None:
    """A wrong kind in the plan gives little, and no error."""
    answers = answers_of("llama_cpp").by_path

    def answer(_: Endpoint, path: str, **__: object) -> control.Answer:
        status, body = answers.get(f"GET {path.partition('?')[0]}", (404, {}))
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        return control.Answer(path, status, (), data, 0)

    with mock.patch.object(control, "get", answer):
        for kind in KINDS:
            adapter_for(kind).settings(ENDPOINT)
            adapter_for(kind).counters(ENDPOINT)
