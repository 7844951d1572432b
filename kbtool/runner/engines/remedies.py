"""How to fill a field that would be a gap: a flag of the engine, a setting of the plan, or another place to stand."""

from collections.abc import Mapping
from typing import Final

from kbtool.runner.engines.records import PROGRAM_OF

__all__ = ["SUBJECT_FIELDS", "remedy_for"]

SUBJECT_FIELDS: Final[Mapping[str, str]] = {
    "system.accelerator": "accelerator",
    "system.accelerator_count": "accelerator_count",
    "system.power_limit_w": "power_limit_w",
    "system.host_cpu": "host_cpu",
    "system.interconnects": "interconnects",
    "engine.version": "engine_version",
    "engine.commit": "engine_commit",
    "engine.image_digest": "image_digest",
    "deployment.instances": "instances",
    "deployment.tp": "tp",
    "deployment.pp": "pp",
    "deployment.dp": "dp",
    "deployment.ep": "ep",
    "model.revision": "revision",
    "model.weight_dtype": "weight_dtype",
    "speculation.method": "speculation",
}
"""Field of the record -> field of the plan's `subject` that gives it where no machine does."""

_READ_THERE: Final = "run this on the server's machine, where its arguments can be read"
_TELLS_ALL: Final[Mapping[str, str]] = {
    "vllm": "start the server with VLLM_SERVER_DEV_MODE=1, or run this on its machine, where its arguments can be read",
    "sglang": "give the key that /server_info asks for",
    "llama_cpp": _READ_THERE,
    "ds4": _READ_THERE,
    "openai": "run this on the server's machine, or name the engine in `target.engine`",
}
_CACHED: Final[Mapping[str, str]] = {
    "vllm": "start the server with --enable-prompt-tokens-details",
    "sglang": "start the server with --enable-cache-report",
    "llama_cpp": "ask the server itself, not a proxy that takes `prompt_tokens_details` out",
    "ds4": "ask the server itself, not a proxy that takes `prompt_tokens_details` out",
    "openai": "have the server report `prompt_tokens_details.cached_tokens`, or turn its prefix cache off",
}
_ACCEPTANCE: Final[Mapping[str, str]] = {
    "vllm": "leave out --disable-log-stats, so that /metrics counts drafts",
    "sglang": "restart the server before the run: it counts no drafts but in single answers",
    "llama_cpp": "start the server with --metrics",
    "ds4": "it counts no drafts",
    "openai": "it counts no drafts",
}
_HERE: Final = "run this on the server's machine"
_OTHERS: Final[Mapping[str, str]] = {
    "system.host_memory_gib": _HERE,
    "system.numa_nodes": _HERE,
    "system.driver": f"{_HERE}, with the NVIDIA driver loaded",
    "engine.image_digest": "launch the container from the plan, or give `subject.image_digest`",
    "results.at.input_tok": "have the server send usage (`stream_options.include_usage`)",
    "results.at.output_tok": "have the server send usage (`stream_options.include_usage`)",
}


def remedy_for(path: str, kind: str, *, wrapper: str = "") -> str:
    """Return what fills a field with this kind of server.

    Args:
        path: The field.
        kind: Kind of server.
        wrapper: The process that serves on this machine, such as `pid 7 (python3.11)`, where it is not the server's
            own program; empty where it is, or where none is known.
    """
    if path == "results.at.prefix_cache":
        return _CACHED[kind]
    if path == "speculation.acceptance_length":
        return _ACCEPTANCE[kind]
    if path in _OTHERS:
        return _OTHERS[path]
    by_hand = f"give `subject.{SUBJECT_FIELDS[path]}`" if path in SUBJECT_FIELDS else ""
    if path.startswith(("serving.", "deployment.", "speculation.", "engine.arguments")):
        if wrapper and kind in PROGRAM_OF:
            program = PROGRAM_OF[kind][0]
            found = f"{wrapper} is no {program}: start {program} itself"
            return f"{found}, or {by_hand}" if by_hand else found
        return f"{_TELLS_ALL[kind]}{'; or ' + by_hand if by_hand else ''}"
    return by_hand
