"""Caddy, set up through its own JSON, which no name can break out of.

Fields: caddyserver.com/docs/json/apps/http/servers/routes/handle/reverse_proxy/; tried with 2.6.
"""

import json
from typing import Final

from kbtool.errors import UsageError
from kbtool.runner.target.routers.base import RouterRequest, RouterSetup, refuse_policy, server_addresses

__all__ = ["configure"]

_POLICIES: Final = ("round_robin", "least_conn", "random", "header")


def configure(request: RouterRequest) -> RouterSetup:
    """Return how Caddy is started; without policy and affinity it takes the engines in turn.

    Raises:
        UsageError: It cannot recognise sessions in the way that the plan says.
    """
    header = _header(request)
    policy = request.policy or ("header" if header is not None else "round_robin")
    if policy not in _POLICIES or (policy == "header") != (header is not None):
        raise refuse_policy("Caddy", policy, _POLICIES)
    selection = {"policy": policy} if header is None else {"policy": "header", "field": header}
    proxy = {
        "handler": "reverse_proxy",
        "flush_interval": -1,
        "load_balancing": {"selection_policy": selection},
        "transport": {
            "protocol": "http",
            "compression": False,
            "dial_timeout": "10s",
            "keep_alive": {"enabled": False},
            "versions": ["1.1"],
        },
        "upstreams": [{"dial": address} for _, address in server_addresses(request)],
    }
    server = {
        "listen": [f"127.0.0.1:{request.port}"],
        "automatic_https": {"disable": True},
        "idle_timeout": f"{request.answer_s}s",
        "routes": [{"handle": [proxy]}],
    }
    config = {
        "admin": {"disabled": True, "config": {"persist": False}},
        "logging": {"logs": {"default": {"level": "WARN"}}},
        "apps": {"http": {"servers": {"router": server}}},
    }
    return RouterSetup(
        name="Caddy",
        programs=("caddy",),
        arguments=("run", "--config", "caddy.json", *request.arguments),
        policy=policy if header is None else f"header {header}",
        affinity=header,
        file=("caddy.json", json.dumps(config, indent=2) + "\n"),
        environment={"XDG_DATA_HOME": "caddy-data", "XDG_CONFIG_HOME": "caddy-config"},
        install="apt-get install caddy",
    )


def _header(request: RouterRequest) -> str | None:
    if request.affinity is None:
        return None
    if request.affinity.header is None:
        raise UsageError("target.affinity: Caddy cannot look into the body: name a `header`")
    return request.affinity.header
