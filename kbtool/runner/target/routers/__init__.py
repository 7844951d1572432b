"""Routers that the runner sets up: one module a program, each a pure function from a request to a setup."""

from kbtool.runner.plan.target import RouterKind
from kbtool.runner.target.routers import caddy, haproxy, nginx, sglang_router, vllm_router
from kbtool.runner.target.routers.base import RouterRequest, RouterSetup

__all__ = ["RouterRequest", "RouterSetup", "configure"]


def configure(kind: RouterKind, request: RouterRequest) -> RouterSetup:
    """Return how a router of this kind is started.

    Raises:
        UsageError: It cannot do what is asked.
    """
    match kind:
        case "sglang_router":
            return sglang_router.configure(request)
        case "vllm_router":
            return vllm_router.configure(request)
        case "haproxy":
            return haproxy.configure(request)
        case "caddy":
            return caddy.configure(request)
        case "nginx":
            return nginx.configure(request)
        case "attached":
            raise AssertionError("an attached router is not set up here")
