"""Servers that run already: their addresses and keys. Nothing of them is started, changed or ended."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from kbtool.errors import UsageError
from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.plan.target import EndpointPlan, Target
from kbtool.runner.target.instances import Attached
from kbtool.runner.target.secrets import Secrets

__all__ = ["attach", "authorization", "endpoint_of"]


def endpoint_of(planned: EndpointPlan, headers: tuple[tuple[str, str], ...] = ()) -> Endpoint:
    """Return the endpoint of an address; a `/v1` at its end is part of every path, not of the address."""
    parts = urlsplit(planned.url)
    tls = parts.scheme == "https"
    base = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return Endpoint(
        name=planned.name,
        host=planned.host,
        port=parts.port or (443 if tls else 80),
        tls=tls,
        base_path=base,
        headers=headers,
    )


def authorization(
    target: Target, own: Mapping[str, str]
) -> tuple[tuple[tuple[str, str], ...], dict[str, str]]:
    """Return the headers that carry the API key, and the secrets that they hold, by name.

    Raises:
        UsageError: The variable that should hold the key is not set.
    """
    name = target.api_key_env
    if name is None:
        return (), {}
    key = own.get(name, "").strip()
    if not key:
        raise UsageError(
            f"target.api_key_env: the environment variable {name} is not set; expected the server's API key there: "
            f"export it, or take `api_key_env` out of the plan"
        )
    return (("Authorization", f"Bearer {key}"),), {name: key}


def attach(
    target: Target, headers: tuple[tuple[str, str], ...], secrets: Secrets
) -> tuple[tuple[Attached, ...], Attached | None]:
    """Return the servers of a plan that run already, and the router, where it runs already."""
    parts = tuple(
        Attached(endpoint_of(each, headers), each.is_loopback, secrets) for each in target.endpoints
    )
    router = target.router
    if router is None or router.url is None:
        return parts, None
    planned = EndpointPlan(name="router", url=router.url)
    return parts, Attached(endpoint_of(planned, headers), planned.is_loopback, secrets)
