"""The vLLM router (vllm-project/router), a fork of SGLang's.

Flags: `--help` of `vllm-router` 0.1.17; what its policy `consistent_hash` looks at, in this order:
docs/load_balancing/README.md of vllm-project/router.  vLLM's `/health` generates nothing, so its health checks stay.
"""

from typing import Final

from kbtool.errors import UsageError
from kbtool.runner.target.routers.base import RouterRequest, RouterSetup, refuse_policy, worker_urls

__all__ = ["KEY_FIELDS", "KEY_HEADERS", "configure"]

KEY_HEADERS: Final = (
    "X-Session-ID", "X-User-ID", "X-Tenant-ID", "X-Request-ID", "X-Correlation-ID", "X-Trace-ID",
)  # fmt: skip
KEY_FIELDS: Final = ("user", "session_id", "user_id")
"""Fields of the body, looked at where none of the headers is there."""
_BY_KEY: Final = ("consistent_hash", "sticky_least_loaded")


def configure(request: RouterRequest) -> RouterSetup:
    """Return how the router is started; without policy and affinity it does what it does by default.

    Raises:
        UsageError: It cannot recognise sessions in the way that the plan says.
    """
    key = _key(request)
    policy = request.policy or ("consistent_hash" if key is not None else "cache_aware")
    if key is not None and policy not in _BY_KEY:
        raise refuse_policy("the vLLM router", policy, _BY_KEY)
    return RouterSetup(
        name="vLLM router",
        programs=("vllm-router",),
        arguments=(
            "--host", "127.0.0.1", "--port", str(request.port),
            "--worker-urls", *worker_urls(request),
            "--policy", policy,
            "--disable-retries", "--disable-circuit-breaker",
            "--request-timeout-secs", str(request.answer_s),
            "--worker-startup-timeout-secs", str(request.ready_s), "--worker-startup-check-interval", "1",
            "--health-success-threshold", "1",
            "--prometheus-host", "127.0.0.1", "--prometheus-port", str(request.metrics_port),
            "--log-level", "warning",
            *request.arguments,
        ),
        policy=policy,
        affinity=key,
        install="pip install vllm-router",
    )  # fmt: skip


def _key(request: RouterRequest) -> str | None:
    if request.affinity is None:
        return None
    name, known = (
        (request.affinity.header, KEY_HEADERS)
        if request.affinity.header is not None
        else (request.affinity.field, KEY_FIELDS)
    )
    found = next((each for each in known if each.lower() == (name or "").lower()), None)
    if found is None:
        raise UsageError(
            f"target.affinity: the vLLM router does not look at {name!a}; expected one of the headers "
            f"{', '.join(KEY_HEADERS)} or the fields {', '.join(KEY_FIELDS)}: name one of them"
        )
    return found
