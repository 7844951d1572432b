"""SGLang's router, also called SGLang Model Gateway (SMG).

Flags and headers: `--help` of `sglang-router` 0.3.2, docs/advanced_features/sgl_model_gateway.md of
sgl-project/sglang, and docs/reference/configuration.md of lightseekorg/smg, where it is developed now.  The policies
`manual` and, in later versions, `consistent_hashing` look at the header `X-SMG-Routing-Key`, and at no other.

Health checks are off: SGLang's `/health` generates a token by default, which would be traffic that no plan names.
At the start the router looks at each engine all the same.
"""

from typing import Final

from kbtool.errors import UsageError
from kbtool.runner.target.routers.base import RouterRequest, RouterSetup, refuse_policy, worker_urls

__all__ = ["KEY_HEADER", "configure"]

KEY_HEADER: Final = "X-SMG-Routing-Key"
_BY_KEY: Final = ("manual", "consistent_hashing")


def configure(request: RouterRequest) -> RouterSetup:
    """Return how the router is started; without policy and affinity it does what it does by default.

    Raises:
        UsageError: It cannot recognise sessions in the way that the plan says.
    """
    affinity = request.affinity
    if affinity is not None and (affinity.header or "").lower() != KEY_HEADER.lower():
        raise UsageError(
            f"target.affinity: SGLang's router looks at the header {KEY_HEADER} alone: name that header, or choose "
            "the policy `cache_aware` without `affinity`"
        )
    policy = request.policy or ("manual" if affinity is not None else "cache_aware")
    if affinity is not None and policy not in _BY_KEY:
        raise refuse_policy("SGLang's router", policy, _BY_KEY)
    return RouterSetup(
        name="SGLang router",
        programs=("sglang-router", "smg"),
        arguments=(
            "launch",
            "--host", "127.0.0.1", "--port", str(request.port),
            "--worker-urls", *worker_urls(request),
            "--policy", policy,
            "--disable-health-check", "--disable-retries", "--disable-circuit-breaker",
            "--request-timeout-secs", str(request.answer_s),
            "--worker-startup-timeout-secs", str(request.ready_s), "--worker-startup-check-interval", "1",
            "--prometheus-host", "127.0.0.1", "--prometheus-port", str(request.metrics_port),
            "--log-level", "warn",
            *request.arguments,
        ),
        policy=policy,
        affinity=KEY_HEADER if policy in _BY_KEY else None,
        install="pip install sglang-router",
    )  # fmt: skip
