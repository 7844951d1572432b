"""llama.cpp's server: `/props`, `/slots` and `/metrics`, with `timings` in each answer.

Its counters leave cached prompt tokens out of `prompt_tokens_total`; here they are added back, so that totals can
be held against `usage`.
"""

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

import orjson

from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.engines.asking import ask, ask_json, models, samples, text_at, whole_at
from kbtool.runner.engines.base import (
    Counters,
    Identity,
    Observed,
    RequestOptions,
    ResetOutcome,
    Setting,
    Trust,
)
from kbtool.runner.engines.command_line import engine_arguments, given
from kbtool.runner.engines.openai import listed
from kbtool.runner.engines.records import PROGRAM_OF
from kbtool.runner.engines.rules import (
    Rule,
    as_count,
    as_dtype,
    as_flag,
    as_line,
    observe,
    observe_environment,
)
from kbtool.runner.plan.target import EngineKind
from kbtool.vocab.terms import Dtype, members

__all__ = ["LlamaCpp", "weight_dtype"]

_COUNTERS: Final = (
    "llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total", "llamacpp:tokens_predicted_total",
    "llamacpp:requests_processing", "llamacpp:requests_deferred", "llamacpp:kv_cache_usage_ratio",
    "llamacpp:spec_decode_num_drafts_total", "llamacpp:spec_decode_num_draft_tokens_total",
    "llamacpp:spec_decode_num_accepted_tokens_total", "llamacpp:spec_decode_num_accepted_tokens_per_pos_total",
    "llamacpp:n_decode_total",
)  # fmt: skip
_BUILD: Final = re.compile(r"(b[1-9][0-9]{0,6})-([0-9a-f]{7,40})")
_METHODS: Final[Mapping[str, str]] = {
    "none": "none", "draft": "draft_model", "draft-simple": "draft_model", "eagle3": "eagle3", "draft-eagle3": "eagle3",
    "mtp": "mtp", "draft-mtp": "mtp", "dspark": "dspark", "draft-dspark": "dspark", "dflash": "dflash",
    "draft-dflash": "dflash", "ngram-simple": "ngram", "ngram-map-k": "ngram", "ngram-map-k4v": "ngram",
    "ngram-mod": "ngram", "ngram-cache": "ngram",
}  # fmt: skip
_WEIGHTS: Final[Mapping[str, str]] = {
    "F32": "fp32",
    "F16": "fp16",
    "BF16": "bf16",
    "MXFP4": "mxfp4",
    "NVFP4": "nvfp4",
}


def weight_dtype(published: object) -> str | None:
    """Return the data type behind llama.cpp's name of a file type, such as `Q4_K - Medium` or `all F32`."""
    words = re.findall(r"[A-Z0-9_]+", str(published).removeprefix("all ").upper())
    for word in words[:1]:
        if word in _WEIGHTS:
            return _WEIGHTS[word]
        bits = re.match(r"I?Q([1-8])(_|$)", word)
        found = f"gguf_q{bits.group(1)}" if bits else ""
        return found if found in members(Dtype) else None
    return None


def _method(raw: object) -> str | None:
    return _METHODS.get(str(raw).lower()) if raw is not True else None


_RULES: Final[Mapping[str, Rule]] = {
    "total_slots": Rule("serving.max_running_requests", as_count),
    "n_ctx": Rule("serving.context_tok", as_count),
    "model_path": Rule("model.checkpoint", as_line),
    "weight_dtype": Rule("model.weight_dtype", weight_dtype, "model_ftype"),
    "model_ftype": Rule("model.quantization_as_published", as_line),
    "parallel": Rule("serving.max_running_requests", as_count),
    "model": Rule("model.checkpoint", as_line),
    "hf_repo": Rule("model.checkpoint", as_line),
    "batch_size": Rule("serving.max_batched_tok", as_count),
    "kv_dtype": Rule("serving.kv_cache_dtype", as_dtype, "cache_type_k, cache_type_v"),
    "cont_batching": Rule("serving.continuous_batching", as_flag),
    "cache_prompt": Rule("serving.prefix_caching", as_flag),
    "slot_save_path": Rule("serving.kv_persistence", as_line),
    "spec_type": Rule("speculation.method", _method),
    "draft_max": Rule("speculation.draft_tok", as_count),
    "version": Rule("engine.version", as_line, "build_info"),
    "commit": Rule("engine.commit", as_line, "build_info"),
}
_ALIASES: Final[Mapping[str, str]] = {
    "c": "ctx_size", "np": "parallel", "m": "model", "hf": "hf_repo", "hfr": "hf_repo", "b": "batch_size",
    "ub": "ubatch_size", "ctk": "cache_type_k", "ctv": "cache_type_v", "fa": "flash_attn", "ngl": "n_gpu_layers",
    "gpu_layers": "n_gpu_layers", "sm": "split_mode", "ts": "tensor_split", "mg": "main_gpu", "t": "threads",
    "tb": "threads_batch", "a": "alias", "cb": "cont_batching", "nocb": "no_cont_batching", "md": "model_draft",
    "ngld": "n_gpu_layers_draft", "draft": "draft_max", "draft_n": "draft_max", "spec_draft_n_max": "draft_max",
    "kvu": "kv_unified", "n": "predict", "n_predict": "predict", "ncmoe": "n_cpu_moe", "cmoe": "cpu_moe",
    "cram": "cache_ram", "fit": "fit",
}  # fmt: skip
_FLAGS: Final = frozenset(
    {
        "cont_batching", "kv_unified", "metrics", "slots", "props", "no_mmap", "mlock", "jinja", "no_webui", "cpu_moe",
        "no_cache_prompt", "no_cont_batching", "swa_full", "no_kv_offload", "no_warmup", "embeddings", "offline",
    }
)  # fmt: skip
_PROGRAMS: Final = frozenset(PROGRAM_OF["llama_cpp"])
_NOT_SETTINGS: Final = frozenset(
    {
        "host",
        "port",
        "alias",
        "api_key",
        "api_key_file",
        "log_file",
        "path",
        "chat_template",
        "ctx_size",
        "hf_token",
    }
)
"""Where it listens and what it is called changes nothing in what is measured."""


@dataclass(frozen=True, slots=True)
class LlamaCpp:
    """Adapter of llama.cpp's server."""

    kind: EngineKind = "llama_cpp"

    def identity(self, endpoint: Endpoint) -> Identity:
        """Ask `/v1/models` and `/props`."""
        props = ask_json(endpoint, "/props")
        found = listed(models(endpoint), self.kind)
        build = text_at(props, "build_info")
        known = _BUILD.fullmatch(build or "")
        context = whole_at(_defaults(props), "n_ctx") or found.context_tok
        slots = whole_at(props, "total_slots")
        return replace(
            found,
            version=known.group(1) if known else None,
            commit=known.group(2) if known else None,
            build=build,
            model_root=text_at(props, "model_path"),
            context_tok=context,
            incarnation=text_at(props, "media_marker"),
            kv_cache_tok=context * slots if context and slots else None,
            evidence=(*found.evidence, *((f"GET /props says build_info {build}",) if build else ())),
        )

    def settings(self, endpoint: Endpoint) -> tuple[Observed, ...]:
        """Ask `/props`, and `/slots` for whether and how drafts are made."""
        props = ask_json(endpoint, "/props") or {}
        entries = models(endpoint) or ()
        meta = entries[0].get("meta") if entries else None
        found = observe(_from_props(props), _RULES, trust=Trust.ENGINE, where="GET /props")
        return (*found, *_weights(meta), *_drafting(endpoint))

    def counters(self, endpoint: Endpoint) -> Counters | None:
        """Read `/metrics`; None where the server runs without `--metrics`."""
        t_ns = time.monotonic_ns()
        found = samples(endpoint, _COUNTERS)
        if found is None:
            return None
        cold = found.count("llamacpp:prompt_tokens_total")
        cached = found.count("llamacpp:prompt_tokens_cached_total")
        prompt = cold if cold is None or cached is None else cold + cached
        return Counters(
            t_ns=t_ns,
            prompt_tok=prompt,
            generation_tok=found.count("llamacpp:tokens_predicted_total"),
            cached_tok=cached,
            prefix_query_tok=None if cached is None else prompt,
            prefix_hit_tok=cached,
            running=found.count("llamacpp:requests_processing"),
            waiting=found.count("llamacpp:requests_deferred"),
            kv_usage_ratio=found.largest("llamacpp:kv_cache_usage_ratio"),
            drafts=found.count("llamacpp:spec_decode_num_drafts_total"),
            draft_tok=found.count("llamacpp:spec_decode_num_draft_tokens_total"),
            accepted_draft_tok=found.count("llamacpp:spec_decode_num_accepted_tokens_total"),
            accepted_per_position=found.by_position("llamacpp:spec_decode_num_accepted_tokens_per_pos_total"),
            raw=found.flat(),
        )

    def reset_prefix_cache(self, endpoint: Endpoint) -> ResetOutcome:  # noqa: ARG002 - it cannot be asked
        """Return that it cannot be asked.

        Slots can be erased, but prompts survive in the cache of the host's memory; `cache_prompt: false` in each
        request is what keeps the cache out.
        """
        return ResetOutcome.UNSUPPORTED

    def options(self) -> RequestOptions:
        """Return llama.cpp's own fields."""
        return RequestOptions(
            fixed_length={"ignore_eos": True},
            # The running count in `timings` is what others call continuous usage.
            usage={"stream_options": {"include_usage": True}, "timings_per_token": True},
            no_cache={"cache_prompt": False},
            thread_a_connection=True,
        )

    def from_command_line(
        self, arguments: tuple[str, ...], environment: Mapping[str, str]
    ) -> tuple[Observed, ...]:
        """Read the arguments of `llama-server`; `LLAMA_ARG_*` variables are kept as environment."""
        said = dict(given(engine_arguments(arguments, _PROGRAMS), aliases=_ALIASES, flags=_FLAGS))
        return observe(
            _from_arguments(said), _RULES, trust=Trust.PROCESS, where="arguments"
        ) + observe_environment(environment, trust=Trust.PROCESS, where="environment")


def _defaults(props: Mapping[str, object] | None) -> Mapping[str, object]:
    found = (props or {}).get("default_generation_settings")
    return found if isinstance(found, dict) else {}


def _from_props(props: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield what `/props` says about how the server was started; sampling defaults are the request's to set."""
    yield "n_ctx", _defaults(props).get("n_ctx")
    for name in ("total_slots", "model_path", "model_ftype"):
        yield name, props.get(name)
    if weight_dtype(props.get("model_ftype")):
        yield "weight_dtype", props.get("model_ftype")
    known = _BUILD.fullmatch(str(props.get("build_info")))
    if known:
        yield "version", known.group(1)
        yield "commit", known.group(2)


def _weights(meta: object) -> tuple[Observed, ...]:
    """Return the size of the weights from the entry of the model."""
    size = whole_at(meta, "size") if isinstance(meta, dict) else None
    value: Setting = Decimal(size or 0).scaleb(-9)
    if size is None:
        return ()
    return (
        Observed("model.weights_gb", value, str(size), Trust.ENGINE, "GET /v1/models, data[0].meta.size"),
    )


def _drafting(endpoint: Endpoint) -> tuple[Observed, ...]:
    """Return how drafts are made, from the slots.

    A slot says at once whether it drafts, and how only once it has worked: after the first answer.
    """
    answer = ask(endpoint, "/slots")
    try:
        slots = orjson.loads(answer.body) if answer is not None else None
    except orjson.JSONDecodeError:
        slots = None
    if not isinstance(slots, list) or not slots or not all(isinstance(each, dict) for each in slots):
        return ()
    drafts = {each.get("speculative") for each in slots}
    if drafts == {False}:
        return (Observed("speculation.method", "none", "false", Trust.ENGINE, "GET /slots, speculative"),)
    params = [each["params"] for each in slots if isinstance(each.get("params"), dict)]
    named = {text_at(each, "speculative.types") for each in params} - {None, "none"}
    if drafts != {True} or len(named) != 1:
        return ()
    published = named.pop() or ""
    method = _METHODS.get(published, "other")
    where = "GET /slots, params.speculative.types"
    return (
        Observed("speculation.method", method, published, Trust.ENGINE, where),
        Observed("speculation.as_published", published, published, Trust.ENGINE, where),
    )


def _from_arguments(said: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield arguments as the rules name them: the context of a slot, one data type for keys and values."""
    context, slots = as_count(said.get("ctx_size")), as_count(said.get("parallel"))
    if context and slots and not said.get("kv_unified"):
        yield "n_ctx", context // slots
    elif context and slots:
        yield "n_ctx", context
    elif context:
        yield "ctx_size", context
    types = {str(said[name]) for name in ("cache_type_k", "cache_type_v") if name in said}
    if {"cache_type_k", "cache_type_v"} <= said.keys():
        yield "kv_dtype", types.pop() if len(types) == 1 else "mixed"
    if "spec_type" not in said and "model_draft" in said:
        yield "spec_type", "draft"
    for name, value in said.items():
        if name not in _NOT_SETTINGS:
            yield name, value
