"""What is written down about host, accelerators and servers, and what of it must be the same on resuming."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import orjson

from kbtool.runner.client import Endpoint
from kbtool.runner.client.control import ControlError
from kbtool.runner.engines import EngineAdapter, Observed, in_force
from kbtool.runner.target import Running
from kbtool.runner.telemetry import HostFacts, Inventory

__all__ = ["answered_settings", "fingerprint_of", "host_facts", "leg_facts", "leg_fingerprint", "settings_of"]

_VOLATILE: Final = frozenset(
    {
        "temperature_c",
        "load_1m",
        "pcie_generation",
        "pcie_width",
        "clock_synchronised",
        "gaps",
        "cpus_allowed",
    }
)
"""What changes by itself from minute to minute."""
_TELLING: Final = (
    "CUDA_", "DS4_", "FLASHINFER_", "GGML_", "HF_", "LLAMA_", "MKL_", "NCCL_", "NVIDIA_", "OMP_", "SGLANG_", "SGL_",
    "TORCH", "TRITON_", "VLLM_",
)  # fmt: skip
"""Beginnings of the names of variables that change what an engine does."""
_NOT_COMPARED: Final = (
    "port",
    "served_model_name",
    "served-model-name",
    "alias",
    "model_name",
    "random_seed",
    "seed",
)


def host_facts(host: HostFacts, inventory: Inventory) -> dict[str, Any]:
    """Return what is known of the machine, as plain data."""
    return {"taken": _now(), "host": _plain(asdict(host)), "accelerators": _plain(asdict(inventory))}


def fingerprint_of(
    host: HostFacts, inventory: Inventory, *, runner_version: str, plan: bytes
) -> dict[str, Any]:
    """Return what of the machine must be the same for a run to go on."""
    cards = [
        {key: value for key, value in _plain(asdict(card)).items() if key not in _VOLATILE}
        for card in inventory.cards
    ]
    return {
        "runner_version": runner_version,
        "plan_sha256": hashlib.sha256(plan).hexdigest(),
        "kernel": host.kernel,
        "cpu_model": host.cpu_model,
        "memory_bytes": host.memory_bytes,
        "driver_version": inventory.driver_version,
        "cards": cards,
    }


def answered_settings(
    adapter: EngineAdapter, endpoints: Sequence[Endpoint]
) -> tuple[tuple[Observed, ...], ...]:
    """Return what each engine itself says of its settings.

    Raises:
        ControlError: an engine that answered before does not answer now.
    """
    return tuple(adapter.settings(each) for each in endpoints)


def settings_of(
    running: Running, adapter: EngineAdapter, asked: Sequence[tuple[Observed, ...]]
) -> tuple[Observed, ...]:
    """Return the settings in force: of the running engines first, then of processes and containers."""
    return tuple(in_force(*asked, running.observed(adapter)).values())


def leg_facts(running: Running, adapter: EngineAdapter, settings: tuple[Observed, ...]) -> dict[str, Any]:
    """Return what is known of the servers of a leg, as plain data without secrets."""
    counters: dict[str, bool] = {}
    for endpoint in running.endpoints:
        try:
            counters[endpoint.name] = adapter.counters(endpoint) is not None
        except ControlError:
            counters[endpoint.name] = False
    found = {
        "taken": _now(),
        "kind": adapter.kind,
        "model": running.model,
        "endpoints": [
            {"name": each.name, "host": each.host, "port": each.port, "tls": each.tls}
            for each in running.endpoints
        ],
        "measured": running.measured.name,
        "identities": {name: _plain(asdict(each)) for name, each in running.identities().items()},
        "settings": [{**_plain(asdict(each)), "trust": each.trust.name.lower()} for each in settings],
        "processes": [_process(asdict(each)) for each in running.processes()],
        "router": None if running.router is None else _plain(asdict(running.router)),
        "has_counters": counters,
    }
    redacted: dict[str, Any] = orjson.loads(running.secrets.redact(orjson.dumps(found).decode()))
    return redacted


def _process(facts: dict[str, Any]) -> dict[str, Any]:
    """Return a process without the names of variables that are nobody's business and change nothing."""
    names = [name for name in facts["environment_names"] if name.startswith(_TELLING)]
    return {**_plain(facts), "environment_names": names}


def leg_fingerprint(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of the servers must be the same each time a leg is started."""
    identities = [
        {key: each.get(key) for key in ("kind", "version", "commit", "build", "context_tok")}
        for _, each in sorted(facts["identities"].items())
    ]
    settings = {
        each["field"]: each["as_published"]
        for each in facts["settings"]
        if not each["field"].removeprefix("engine.arguments.").replace("-", "_").endswith(_NOT_COMPARED)
    }
    return {"kind": facts["kind"], "identities": identities, "settings": settings}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _plain(value: Any) -> Any:
    """Return dataclass data as JSON can say it; decimals keep their digits as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, Decimal):
        return format(value, "f")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return str(value)
