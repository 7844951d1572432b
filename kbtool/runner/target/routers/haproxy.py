"""HAProxy, as it comes with the system.

Keywords: docs.haproxy.org/2.6/configuration.html, sections 3, 4.2 and 5.2; tried with 2.6.  A health check only opens
a connection: it costs the engine nothing, and an engine that is down gets no requests.
"""

from typing import Final

from kbtool.errors import UsageError
from kbtool.runner.target.routers.base import RouterRequest, RouterSetup, refuse_policy, server_addresses

__all__ = ["configure"]

_POLICIES: Final = ("roundrobin", "leastconn", "random", "hdr")
_TEXT: Final = """\
defaults
    mode http
    option http-no-delay
    option http-server-close
    timeout connect 10s
    timeout client {answer_s}s
    timeout server {answer_s}s
    timeout http-request 600s
    timeout http-keep-alive {answer_s}s
    retries 0
frontend requests
    bind 127.0.0.1:{port} backlog 4096
    default_backend engines
backend engines
    balance {balance}
{hash_type}{servers}"""


def configure(request: RouterRequest) -> RouterSetup:
    """Return how HAProxy is started; without policy and affinity it takes the engines in turn.

    Raises:
        UsageError: It cannot recognise sessions in the way that the plan says.
    """
    header = _header(request)
    policy = request.policy or ("hdr" if header is not None else "roundrobin")
    if policy not in _POLICIES or (policy == "hdr") != (header is not None):
        raise refuse_policy("HAProxy", policy, _POLICIES)
    balance = f"hdr({header})" if header is not None else policy
    servers = "".join(
        f"    server {name} {address} check inter 2s fall 3 rise 1\n"
        for name, address in server_addresses(request)
    )
    text = _TEXT.format(
        port=request.port,
        answer_s=request.answer_s,
        balance=balance,
        hash_type="    hash-type consistent\n" if header is not None else "",
        servers=servers,
    )
    return RouterSetup(
        name="HAProxy",
        programs=("haproxy",),
        arguments=("-db", "-f", "haproxy.cfg", *request.arguments),
        policy=f"{balance}, hash-type consistent" if header is not None else balance,
        affinity=header,
        file=("haproxy.cfg", text),
        install="apt-get install haproxy",
    )


def _header(request: RouterRequest) -> str | None:
    if request.affinity is None:
        return None
    if request.affinity.header is None:
        raise UsageError(
            "target.affinity: HAProxy sees only the beginning of a body, and prompts are long: name a `header`"
        )
    return request.affinity.header
