"""The fields of a benchmark's setup: what each is called on a page, in the order of the page."""

from decimal import Decimal
from typing import Final, NamedTuple

from kbtool.site.views.text import counted, scalar_text, words
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS

__all__ = ["FIELDS", "GROUPS", "Field", "field_label", "setting_value"]


class Field(NamedTuple):
    """A field of the setup and how it is shown."""

    path: str
    label: str
    unit: str = ""
    published: str = ""
    """Path of the field that holds the source's own words for it."""
    code: bool = False


GROUPS: Final[tuple[tuple[str, tuple[Field, ...]], ...]] = (
    (
        "System",
        (
            Field("system.accelerator", "Accelerator", published="system.accelerator_as_published"),
            Field("system.accelerator_count", "Accelerators used"),
            Field("system.accelerators_present", "Accelerators present"),
            Field("system.nodes", "Hosts"),
            Field("system.power_limit_w", "Power limit in force", "W", "system.power_limit_as_published"),
            Field("system.clocks", "Clocks"),
            Field("system.interconnects", "Interconnect"),
            Field("system.peer_to_peer", "Direct copies between accelerators"),
            Field("system.host_cpu", "Host processor"),
            Field("system.host_sockets", "Processor sockets per node"),
            Field("system.host_memory_gib", "Host memory", "GiB", "system.host_memory_as_published"),
            Field("system.numa_nodes", "NUMA nodes"),
            Field("system.os", "Operating system"),
            Field("system.driver", "Driver", code=True),
            Field("system.cuda", "CUDA or ROCm", code=True),
        ),
    ),
    (
        "Engine",
        (
            Field("engine.engine", "Engine"),
            Field("engine.version", "Version", code=True),
            Field("engine.commit", "Commit", code=True),
            Field("engine.image", "Image", code=True),
            Field("engine.image_digest", "Image digest", code=True),
            Field("engine.build", "Build"),
            Field("engine.patches", "Patches"),
            Field("engine.arguments", "Arguments", code=True),
            Field("engine.environment", "Environment", code=True),
        ),
    ),
    (
        "Deployment",
        (
            Field("deployment.instances", "Instances"),
            Field("deployment.tp", "Tensor parallel (TP)"),
            Field("deployment.pp", "Pipeline parallel (PP)"),
            Field("deployment.dp", "Data parallel (DP)"),
            Field("deployment.ep", "Expert parallel (EP)"),
            Field("deployment.attn_dp", "Attention data parallel"),
            Field("deployment.dcp", "Decode context parallel (DCP)"),
            Field("deployment.prefill_accelerators", "Accelerators that only prefill"),
            Field("deployment.decode_accelerators", "Accelerators that only decode"),
            Field("deployment.layout_as_published", "Layout as published"),
            Field("deployment.device_order", "Device order", code=True),
            Field("deployment.router", "Router"),
            Field("deployment.proxy", "Reverse proxy"),
        ),
    ),
    (
        "Model",
        (
            Field("model.model", "Model", published="model.as_published"),
            Field("model.checkpoint", "Checkpoint", code=True),
            Field("model.revision", "Revision", code=True),
            Field("model.weight_dtype", "Weights", published="model.quantization_as_published", code=True),
            Field("model.expert_dtype", "Experts", code=True),
            Field("model.weights_gb", "Size of the weights", "GB", "model.weights_as_published"),
        ),
    ),
    (
        "Serving",
        (
            Field("serving.kv_cache_dtype", "KV cache", code=True),
            Field("serving.context_tok", "Context", "tok"),
            Field("serving.advertised_context_tok", "Context advertised", "tok"),
            Field("serving.max_running_requests", "Running requests at most"),
            Field("serving.max_batched_tok", "Tokens of one step at most", "tok"),
            Field("serving.chunked_prefill_size_tok", "Prefill chunk", "tok"),
            Field("serving.page_size_tok", "Cache page", "tok"),
            Field("serving.memory_fraction", "Share of memory used"),
            Field("serving.prefix_caching", "Prefix caching"),
            Field("serving.kv_persistence", "Cache beyond accelerator memory"),
            Field("serving.cuda_graph_decode", "CUDA graphs for decode"),
            Field("serving.cuda_graph_prefill", "CUDA graphs for prefill"),
            Field("serving.cuda_graph_max_batch", "Largest captured batch"),
            Field("serving.continuous_batching", "Continuous batching"),
            Field("serving.attention_backend", "Attention kernels", code=True),
            Field("serving.prefill_backend", "Prefill kernels", code=True),
            Field("serving.moe_backend", "Expert kernels", code=True),
            Field("serving.allreduce_backend", "All-reduce", code=True),
        ),
    ),
    (
        "Speculation",
        (
            Field("speculation.method", "Method", published="speculation.as_published", code=True),
            Field("speculation.draft_tok", "Draft tokens"),
            Field("speculation.block_size", "Block size"),
            Field("speculation.verify_rows", "Rows verified a step"),
            Field("speculation.acceptance_length", "Acceptance length", "tok/step"),
        ),
    ),
    (
        "Measurement",
        (
            Field("measured.day", "Measured on"),
            Field("measured.period", "Period"),
            Field("measured.valid_until", "System as described until"),
            Field("measured.tool", "Client"),
            Field("measured.method", "Method"),
        ),
    ),
)  # fmt: skip

FIELDS: Final[dict[str, Field]] = {each.path: each for _, fields in GROUPS for each in fields}
"""Path -> how it is shown."""
_TITLES: Final = {each.path: each.title for each in DISCLOSURE_FIELDS}
_GATHERED: Final = ("engine.arguments.", "engine.environment.")


def field_label(path: str) -> str:
    """Return what a field of the record is called on a page."""
    if path in FIELDS:
        return FIELDS[path].label
    for prefix in _GATHERED:
        if path.startswith(prefix):
            return path.removeprefix(prefix)
    return _TITLES.get(path) or words(path.rpartition(".")[2])


def setting_value(path: str, value: object) -> str:
    """Return a setting as it is shown beside its label."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | Decimal):
        field = FIELDS.get(path)
        return f"{counted(value)} {field.unit}" if field and field.unit else counted(value)
    return scalar_text(value)
