"""nginx, as it comes with the system.

Directives: nginx.org/en/docs/http/ngx_http_proxy_module.html and ngx_http_upstream_module.html; tried with 1.22.
All paths are relative to the folder given with `-p`, so that no path stands in the configuration.
"""

from typing import Final

from kbtool.errors import UsageError
from kbtool.runner.target.routers.base import RouterRequest, RouterSetup, refuse_policy, server_addresses

__all__ = ["configure"]

_POLICIES: Final = ("round_robin", "least_conn", "hash")
_TEXT: Final = """\
daemon off;
worker_processes 4;
pid nginx.pid;
error_log stderr warn;
{user}events {{
    worker_connections 8192;
}}
http {{
    access_log off;
    client_body_temp_path temp/body;
    proxy_temp_path temp/proxy;
    fastcgi_temp_path temp/fastcgi;
    uwsgi_temp_path temp/uwsgi;
    scgi_temp_path temp/scgi;
    client_max_body_size 0;
    client_body_buffer_size 16m;
    keepalive_timeout {answer_s}s;
    tcp_nodelay on;
    gzip off;
    upstream engines {{
        zone engines 256k;
{policy}{servers}    }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{
            proxy_pass http://engines;
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header Connection close;
            proxy_buffering off;
            proxy_connect_timeout 10s;
            proxy_send_timeout {answer_s}s;
            proxy_read_timeout {answer_s}s;
            proxy_next_upstream off;
        }}
    }}
}}
"""


def configure(request: RouterRequest) -> RouterSetup:
    """Return how nginx is started; without policy and affinity it takes the engines in turn.

    Raises:
        UsageError: It cannot recognise sessions in the way that the plan says.
    """
    header = _header(request)
    policy = request.policy or ("hash" if header is not None else "round_robin")
    if policy not in _POLICIES or (policy == "hash") != (header is not None):
        raise refuse_policy("nginx", policy, _POLICIES)
    line = "" if policy == "round_robin" else f"        {policy};\n"
    said = policy
    if header is not None:
        said = f"hash $http_{header.lower().replace('-', '_')} consistent"
        line = f"        {said};\n"
    servers = "".join(f"        server {address} max_fails=0;\n" for _, address in server_addresses(request))
    text = _TEXT.format(
        user=f"user {request.user};\n" if request.user is not None else "",
        policy=line,
        servers=servers,
        port=request.port,
        answer_s=request.answer_s,
    )
    return RouterSetup(
        name="nginx",
        programs=("nginx",),
        arguments=("-e", "stderr", "-p", ".", "-c", "nginx.conf", *request.arguments),
        policy=said,
        affinity=header,
        file=("nginx.conf", text),
        install="apt-get install nginx-light",
    )


def _header(request: RouterRequest) -> str | None:
    if request.affinity is None:
        return None
    if request.affinity.header is None:
        raise UsageError("target.affinity: nginx cannot look into the body: name a `header`")
    return request.affinity.header
