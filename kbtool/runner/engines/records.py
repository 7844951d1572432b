"""Which kind of server an engine record stands for: a plan names both, and they must not contradict each other."""

from collections.abc import Mapping
from typing import Final

from kbtool.runner.plan.target import EngineKind

__all__ = ["KIND_OF_RECORD", "PROGRAM_OF", "kind_of_record"]

KIND_OF_RECORD: Final[Mapping[str, EngineKind]] = {
    "engines/vllm": "vllm",
    "engines/vllm-gaudi": "vllm",
    "engines/vllm-tpu": "vllm",
    "engines/sglang": "sglang",
    "engines/llama-cpp": "llama_cpp",
    "engines/ik-llama-cpp": "llama_cpp",
    "engines/ds4": "ds4",
}
"""Engine records whose servers show themselves as one kind. Others, such as forks, may show themselves as any."""

PROGRAM_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "llama_cpp": ("llama-server", "llama_server", "llama"),
    "ds4": ("ds4-server", "ds4_server"),
}
"""Programs of the kinds that have their own; the first is the usual one. The others run in an interpreter."""


def kind_of_record(ref: str) -> EngineKind | None:
    """Return the kind of server that an engine record stands for; None where it may be any."""
    return KIND_OF_RECORD.get(ref)
