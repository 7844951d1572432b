"""Which kind of server answers: asked in an order that is cheap and changes nothing there."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kbtool.runner.client.control import ControlError
from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.engines.asking import ask_json, models, samples, text_at
from kbtool.runner.engines.base import EngineAdapter
from kbtool.runner.engines.ds4 import Ds4
from kbtool.runner.engines.llama_cpp import LlamaCpp
from kbtool.runner.engines.openai import OpenAi
from kbtool.runner.engines.sglang import Sglang
from kbtool.runner.engines.vllm import Vllm
from kbtool.runner.plan.target import EngineKind

__all__ = ["Detected", "adapter_for", "detect", "hinted"]

_OWNERS: Final[dict[str, EngineKind]] = {
    "vllm": "vllm",
    "sglang": "sglang",
    "llamacpp": "llama_cpp",
    "ds4.c": "ds4",
}


@dataclass(frozen=True, slots=True)
class Detected:
    """The kind of server and what showed it."""

    kind: EngineKind
    evidence: tuple[str, ...]


def adapter_for(kind: EngineKind) -> EngineAdapter:
    """Return the adapter of a kind of server."""
    match kind:
        case "vllm":
            return Vllm()
        case "sglang":
            return Sglang()
        case "llama_cpp":
            return LlamaCpp()
        case "ds4":
            return Ds4()
        case "openai":
            return OpenAi()


def detect(endpoint: Endpoint) -> Detected:
    """Ask what kind of server answers.

    The owner in the list of models is a word that anybody can write: it decides only where no other sign speaks
    against it.  At most seven requests, all GET.

    Raises:
        ControlError: The list of models cannot be asked for; without a key it is refused.
    """
    entries = models(endpoint) or ()
    owner = text_at(entries[0], "owned_by") if entries else None
    said = _OWNERS.get(owner or "")
    evidence = [f"GET /v1/models says owned_by {owner}"] if owner else []
    for kind, sign in _signs(endpoint, owner):
        return Detected(kind, (*evidence, sign))
    if said is not None:
        return Detected(said, tuple(evidence))
    return Detected("openai", (*evidence, "no sign of a known engine"))


def hinted(endpoint: Endpoint) -> Detected | None:
    """Return the kind that paths which are open to everybody show, where a key is missing; None where none does."""
    kind = _metrics_kind(endpoint)
    return None if kind is None else Detected(kind, (f"GET /metrics has names of {kind}",))


def _signs(endpoint: Endpoint, owner: str | None) -> Iterator[tuple[EngineKind, str]]:
    """Yield kinds that a path of their own shows, most telling first; a refusal of one path is no sign."""
    version = text_at(_quietly(endpoint, "/version"), "version")
    # Other servers and proxies have such a path too: alone it shows nothing.
    if version is not None and (owner == "vllm" or _metrics_kind(endpoint) == "vllm"):
        yield "vllm", f"GET /version answered {version}"
    props = _quietly(endpoint, "/props")
    if props is not None and "build_info" in props and "total_slots" in props:
        yield "llama_cpp", "GET /props has build_info and total_slots"
    for path in ("/server_info", "/get_server_info"):
        info = _quietly(endpoint, path)
        if info is not None and "tp_size" in info and "version" in info:
            yield "sglang", f"GET {path} has tp_size and version"
    kind = _metrics_kind(endpoint)
    if kind is not None:
        yield kind, f"GET /metrics has names of {kind}"


def _quietly(endpoint: Endpoint, path: str) -> dict[str, object] | None:
    try:
        return ask_json(endpoint, path)
    except ControlError:
        return None


def _metrics_kind(endpoint: Endpoint) -> EngineKind | None:
    names: dict[str, EngineKind] = {
        "vllm:generation_tokens_total": "vllm",
        "vllm:num_requests_running": "vllm",
        "sglang:num_running_reqs": "sglang",
        "sglang:generation_tokens_total": "sglang",
        "llamacpp:tokens_predicted_total": "llama_cpp",
    }
    try:
        found = samples(endpoint, tuple(names))
    except ControlError:
        return None
    return next((kind for name, kind in names.items() if found is not None and name in found.values), None)
