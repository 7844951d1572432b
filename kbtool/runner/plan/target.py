"""The part of a plan that says what is measured: a server that runs, or one to launch."""

from ipaddress import ip_address
from typing import Annotated, Final, Literal, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from kbtool.runner.plan.published import loads_programs, looks_secret, refuse_secrets
from kbtool.schema.base import Line, PositiveNumber, Seq, Slug, StrictModel, has_default, need, opt, seq
from kbtool.vocab.terms import MeasuringPath

__all__ = [
    "Affinity",
    "Argument",
    "Container",
    "EndpointPlan",
    "EngineKind",
    "EnvName",
    "Instance",
    "Launch",
    "Mount",
    "RouterKind",
    "RouterPlan",
    "Target",
]

EngineKind = Literal["vllm", "sglang", "llama_cpp", "ds4", "openai"]
RouterKind = Literal["sglang_router", "vllm_router", "haproxy", "caddy", "nginx", "attached"]

_RESERVED_HEADERS: Final = frozenset(
    [
        "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "cookie", "expect",
        "host", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
    ]
)  # fmt: skip
"""Headers that every request of ours has or must not have."""
_RESERVED_FIELDS: Final = frozenset(
    [
        "cache_prompt", "ignore_eos", "max_completion_tokens", "max_tokens", "messages", "min_tokens", "model", "n",
        "n_predict", "prompt", "response_format", "seed", "stop", "stream", "stream_options", "temperature", "tools",
    ]
)  # fmt: skip
"""Fields of a request that say what is measured."""


def _safe_name(name: str) -> str:
    if loads_programs(name):
        raise ValueError(
            f"{name} changes what a program loads or runs before the engine starts; expected a setting of the "
            "engine: leave it out, or set it inside the image"
        )
    return name


def _no_secret(name: str) -> str:
    if looks_secret(name):
        raise ValueError(
            f"{name} looks like a secret, and a plan is published; expected its name alone: list it in `env_from`"
        )
    return _safe_name(name)


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("an argument cannot hold a NUL character: remove it")
    return text


EnvName = Annotated[str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]{0,99}$"), AfterValidator(_safe_name)]
"""Name of an environment variable whose value is never written anywhere."""
PublicEnvName = Annotated[
    str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]{0,99}$"), AfterValidator(_no_secret)
]
Argument = Annotated[str, StringConstraints(max_length=8192), AfterValidator(_no_nul)]
"""One element of an argument list: handed over as it is, never to a shell."""
Port = Annotated[int, Field(ge=1024, le=65535)]
Image = Annotated[
    str,
    StringConstraints(
        max_length=300,
        pattern=r"^[a-z0-9][a-z0-9._-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$",
    ),
]
HostPath = Annotated[str, StringConstraints(max_length=500, pattern=r"^/[^\x00\n:,]*$")]


class Affinity(StrictModel):
    """How a session is recognised, so that its next turn reaches the instance that holds its cache."""

    header: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,63}$")] | None = opt(
        "Request header that carries the session's key."
    )
    field: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")] | None = opt(
        "Field of the request's body that carries it."
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.header is None) == (self.field is None):
            raise ValueError("expected one of `header` and `field`: name what the router looks at")
        if self.header is not None and self.header.lower() in _RESERVED_HEADERS:
            raise ValueError(
                f"the header {self.header} belongs to the request; expected one of the router's own"
            )
        if self.field in _RESERVED_FIELDS:
            raise ValueError(
                f"the field {self.field} says what is measured; expected one of the router's own"
            )
        return self


def _web_address(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ValueError(
            f"{url!r} is no web address ({error}); expected such as http://[::1]:8000/v1"
        ) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{url!r} is no web address; expected such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password:
        raise ValueError("the address holds a user or password, and a plan is published: use `api_key_env`")
    if parts.query or parts.fragment:
        raise ValueError("the address has a query or fragment; expected scheme, host, port and path alone")
    _require_port(parts)
    if not all("!" <= char <= "~" for char in url) or not set(url).isdisjoint('\\"<>^`{|}'):
        raise ValueError(f"{url!r} holds a character that no address has; expected them as %20 and the like")
    return url


def _require_port(parts: SplitResult) -> None:
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise ValueError(
            f"{parts.netloc!r} has no port that there is; expected one of 1 to 65535: correct it"
        )


class EndpointPlan(StrictModel):
    """A server that runs already."""

    name: Slug = has_default("server", "How results call it.")
    url: Annotated[str, StringConstraints(max_length=500), AfterValidator(_web_address)] = need(
        "Address of the API, with `/v1` or without."
    )

    @property
    def host(self) -> str:
        """Host name or address, without brackets."""
        return urlsplit(self.url).hostname or ""

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine by its own address."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


class Mount(StrictModel):
    """A folder of the host that a container sees."""

    source: HostPath = need("Folder or file of the host.")
    target: HostPath = need("Where the container sees it.")
    read_only: bool = has_default(True, "Whether the container may write there.")


class Container(StrictModel):
    """How an engine is launched in a container: by argument list, with our label, and never with `--restart`."""

    runtime: Literal["docker", "podman"] = need("Program that starts it.")
    image: Image = need("Image; with `@sha256:...` it cannot move, and its digest is read back in any case.")
    arguments: Seq[Argument] = seq("Arguments of the engine, after the image.")
    entrypoint: Argument | None = opt("Program to start in place of the image's own.")
    mounts: Seq[Mount] = seq("Folders that it sees.")
    shm_gib: PositiveNumber | None = opt("Size of /dev/shm, GiB.")
    host_ipc: bool = has_default(
        False, "Share the host's IPC namespace, which NCCL over shared memory needs."
    )
    pid_host: bool = has_default(
        True, "Share the host's process ids, so that the driver's lists can be read."
    )


class Instance(StrictModel):
    """One engine to launch: `arguments` or `container`."""

    name: Slug = has_default("server", "How results call it.")
    port: Port = need("Port it will listen on; must be free. `{port}` in an argument is replaced by it.")
    arguments: Seq[Argument] = seq(
        "Program and its arguments. `{port}` and `{model_name}` are replaced; nothing else is."
    )
    container: Container | None = opt("The container to start.")
    environment: dict[PublicEnvName, Argument] = has_default({}, "Environment variables; published.")
    env_from: Seq[EnvName] = seq(
        "Names of variables taken from our own environment; values are never written."
    )
    accelerators: Seq[Annotated[int, Field(ge=0, le=1023)]] = seq("Indices of the accelerators it may use.")

    @model_validator(mode="after")
    def _one_way_to_start(self) -> Self:
        if bool(self.arguments) == (self.container is not None):
            raise ValueError("expected one of `arguments` and `container`: say how the engine is started")
        if len(set(self.accelerators)) < len(self.accelerators):
            raise ValueError("an accelerator is named twice: name each once")
        engine = self.arguments if self.container is None else self.container.arguments
        refuse_secrets(engine)
        return self


class Launch(StrictModel):
    """Engines that the runner starts, and ends in any case."""

    instances: Seq[Instance] = need("The engines.", min_length=1, max_length=64)
    nonce: bool = has_default(
        True, "Put a random word into the served model name, `{model_name}`: proves that the server is ours."
    )

    @model_validator(mode="after")
    def _apart(self) -> Self:
        for what in ("name", "port"):
            values = [getattr(each, what) for each in self.instances]
            twice = next((value for value in values if values.count(value) > 1), None)
            if twice is not None:
                raise ValueError(f"two instances have the {what} {twice}: give each its own")
        return self


class RouterPlan(StrictModel):
    """What spreads requests over the instances; configured and started by us, or attached."""

    kind: RouterKind = need("The program; `attached` for one that runs already.")
    url: Annotated[str, AfterValidator(_web_address)] | None = opt("Its address, where it runs already.")
    port: Port | None = opt("Port it will listen on, where we start it.")
    program: Argument | None = opt("Program to start, where it is not found by its usual name.")
    policy: Line | None = opt("Policy in the router's own word, such as `cache_aware` or `consistent_hash`.")
    name: Line | None = opt("Name and version, where it runs already.")
    arguments: Seq[Argument] = seq("Further arguments for the router.")

    @model_validator(mode="after")
    def _where(self) -> Self:
        if (self.kind == "attached") != (self.url is not None) or (self.url is None) == (self.port is None):
            raise ValueError("expected `url` for an attached router, and `port` for one that we start")
        refuse_secrets(self.arguments)
        return self


class Target(StrictModel):
    """The system under test."""

    engine: EngineKind | Literal["auto"] = has_default("auto", "Kind of server; `auto` asks it.")
    api: Literal["chat", "completions"] = has_default("chat", "API that is measured.")
    model: Line | None = opt("Served model name; null for the only one that the server lists.")
    endpoints: Seq[EndpointPlan] = seq("Servers that run already.", max_length=64)
    launch: Launch | None = opt("Servers to start.")
    router: RouterPlan | None = opt("Router in front.")
    affinity: Affinity | None = opt("How a session is recognised.")
    api_key_env: EnvName | None = opt("Environment variable that holds the API key.")
    allow_hosts: Seq[Line] = seq("Hosts beyond this machine that may be sent load: exact names or addresses.")
    measuring_path: MeasuringPath | None = opt(
        "Between client and server; null for what the addresses show: this machine, or through the router."
    )

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if bool(self.endpoints) == (self.launch is not None):
            raise ValueError("expected one of `endpoints` and `launch`: attach to servers or start them")
        names = [each.name for each in self.endpoints]
        if len(set(names)) < len(names):
            raise ValueError("two endpoints have one name: give each its own")
        urls = list(self.endpoints)
        if self.router is not None and self.router.url is not None:
            urls.append(EndpointPlan(name="router", url=self.router.url))
        for each in urls:
            if not each.is_loopback and each.host not in self.allow_hosts:
                raise ValueError(
                    f"{each.host} is another machine; expected this one, or a host of `allow_hosts`: "
                    "list it there if it is yours to load"
                )
        return self
