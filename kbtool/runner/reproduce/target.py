"""The target of a plan: an engine to launch as the record's was, or one that runs already."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from kbtool.runner.plan.target import (
    Affinity,
    Container,
    EndpointPlan,
    EngineKind,
    Image,
    Instance,
    Launch,
    Mount,
    PublicEnvName,
    RouterPlan,
    Target,
)
from kbtool.runner.reproduce.arguments import LAUNCHABLE, arguments_for, text_of
from kbtool.runner.reproduce.model import OpenPoint, Required
from kbtool.runner.reproduce.setup import topology_of
from kbtool.schema.base import Scalar
from kbtool.schema.benchmark import Benchmark, Result

__all__ = ["MadeTarget", "engine_of", "environment_of", "make_target"]

FIRST_PORT: Final = 8101
ROUTER_PORT: Final = 8100
DEFAULT_URL: Final = "http://127.0.0.1:8000"
WEIGHTS: Final = "/srv/models"
_ENGINES: Final[dict[str, EngineKind]] = {
    "vllm": "vllm", "sglang": "sglang", "llama-cpp": "llama_cpp", "llamacpp": "llama_cpp", "ds4": "ds4",
}  # fmt: skip
_PROGRAMS: Final[dict[EngineKind, tuple[str, ...]]] = {
    "vllm": ("vllm", "serve"),
    "sglang": ("python3", "-m", "sglang.launch_server", "--model-path"),
    "llama_cpp": ("llama-server", "--model"),
}
_TELLING: Final[dict[EngineKind, tuple[str, ...]]] = {
    "vllm": ("--enable-prompt-tokens-details",),
    "sglang": ("--enable-metrics", "--enable-cache-report"),
    "llama_cpp": ("--metrics",),
}
"""Arguments that make an engine tell what a record needs, and change nothing in what is measured."""
_NAMES: Final[dict[EngineKind, str]] = {
    "vllm": "--served-model-name", "sglang": "--served-model-name", "llama_cpp": "--alias",
}  # fmt: skip
_OURS: Final = frozenset(
    {
        "--served-model-name", "--alias", "--host", "--port", "--model", "--model-path", "--api-key",
        "--enable-prompt-tokens-details", "--enable-metrics", "--enable-cache-report", "--metrics",
    }
)  # fmt: skip
"""Arguments that the skeleton sets, or that name what is of no matter."""
_DESCRIBED: Final = frozenset(
    {"deployment.instances", "deployment.proxy", "deployment.device_order", "serving.advertised_context_tok",
     "model.checkpoint"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MadeTarget:
    """A target, what was chosen for it, and what it does not bring about."""

    target: Target
    points: tuple[OpenPoint, ...]
    required: tuple[Required, ...]
    instances: int


def engine_of(record: Benchmark) -> EngineKind:
    """Return the kind of server of a record; `openai` for one that has no adapter of its own."""
    return _ENGINES.get(record.engine.engine.partition("/")[2], "openai")


def environment_of(settings: Mapping[str, Scalar]) -> dict[str, str]:
    """Return the variables that a plan may publish."""
    found = {}
    for path, value in settings.items():
        name = path.removeprefix("engine.environment.")
        if name != path and value is not None and _is(name, PublicEnvName):
            found[name] = text_of(value)
    return found


def make_target(
    record: Benchmark, base: Result, settings: Mapping[str, Scalar], url: str | None
) -> MadeTarget:
    """Return the target for the settings of a result.

    Args:
        record: The record.
        base: Result whose layout is brought about.
        settings: Its settings.
        url: Server that runs already; None to launch one, where the engine's arguments are known.
    """
    engine = engine_of(record)
    if url is not None or engine not in LAUNCHABLE:
        return _attached(record, base, settings, url)
    return _launched(record, base, settings, engine)


def _attached(record: Benchmark, base: Result, settings: Mapping[str, Scalar], url: str | None) -> MadeTarget:
    instances, _ = topology_of(record, base)
    endpoint = EndpointPlan(url=url or DEFAULT_URL)
    points = []
    if url is None:
        name = record.engine.engine.partition("/")[2]
        points.append(
            OpenPoint(
                "engine.arguments",
                f"how {name} is started is not known here",
                f"a server that runs at {DEFAULT_URL}: correct the address",
            )
        )
    kind = engine_of(record)
    others = () if endpoint.is_loopback else (endpoint.host,)
    target = Target(engine="auto" if kind == "openai" else kind, endpoints=(endpoint,), allow_hosts=others)
    required = [Required(path, value) for path, value in settings.items() if path != "deployment.instances"]
    return MadeTarget(target, tuple(points), tuple(required), instances)


@dataclass(frozen=True, slots=True)
class _Skeleton:
    """What all instances of a launch share."""

    engine: EngineKind
    given: Mapping[str, tuple[str, ...]]
    """Arguments by name."""
    weights: str
    image: str | None
    environment: dict[str, str]
    accelerators: int | None
    """Of each instance."""

    def instance(self, number: int, *, name: str) -> Instance:
        """Return one instance."""
        where = (_NAMES[self.engine], "{model_name}", "--host", "127.0.0.1", "--port", "{port}")
        given = (word for each in self.given.values() for word in each)
        words = (*_PROGRAMS[self.engine], self.weights, *where, *given, *_TELLING[self.engine])
        each = self.accelerators or 0
        cards, port = tuple(range(number * each, (number + 1) * each)), FIRST_PORT + number
        if self.image is None:
            return Instance(
                name=name, port=port, arguments=words, environment=self.environment, accelerators=cards
            )
        container = Container(
            runtime="docker",
            image=self.image,
            entrypoint=words[0],
            arguments=words[1:],
            mounts=(Mount(source=WEIGHTS, target=WEIGHTS),),
            host_ipc=True,
        )
        return Instance(
            name=name, port=port, container=container, environment=self.environment, accelerators=cards
        )


def _launched(
    record: Benchmark, base: Result, settings: Mapping[str, Scalar], engine: EngineKind
) -> MadeTarget:
    instances, accelerators = topology_of(record, base)
    given, left = _given(engine, settings)
    skeleton = _Skeleton(
        engine,
        given,
        f"{WEIGHTS}/{_weights_name(record)}",
        _image(settings),
        environment_of(settings),
        None if accelerators is None or record.deployment.tp is None else accelerators // instances,
    )
    names = ("server",) if instances == 1 else tuple(f"node{number}" for number in range(instances))
    points = [
        OpenPoint(
            "model.checkpoint",
            f"where the weights lie here; the record has {record.model.checkpoint or 'no checkpoint'}",
            f"{skeleton.weights}: correct it",
        ),
        *_layout_points(record, instances),
        *_image_points(settings, skeleton.image),
    ]
    several = instances > 1
    target = Target(
        engine=engine,
        launch=Launch(
            instances=tuple(skeleton.instance(number, name=name) for number, name in enumerate(names))
        ),
        router=RouterPlan(kind="haproxy", port=ROUTER_PORT) if several else None,
        affinity=Affinity(header="X-Session-Id") if several else None,
    )
    return MadeTarget(target, tuple(points), tuple(left), instances)


def _given(
    engine: EngineKind, settings: Mapping[str, Scalar]
) -> tuple[dict[str, tuple[str, ...]], list[Required]]:
    """Return arguments by name, and the settings that none is known for."""
    given: dict[str, tuple[str, ...]] = {}
    left = []
    public = environment_of(settings)
    for path, value in settings.items():
        if path in _DESCRIBED or path.startswith("engine.image") or value is None:
            continue
        if path.removeprefix("engine.environment.") in public:
            continue
        literal = path.startswith("engine.arguments.")
        made = _as_written(path, value) if literal else arguments_for(engine, path, settings)
        if made is None:
            left.append(Required(path, value))
        elif made and (literal or made[0] not in given):
            # What the record writes as an argument is nearer to the launch than what a field of it means.
            given[made[0]] = made
    return given, left


def _as_written(path: str, value: Scalar) -> tuple[str, ...] | None:
    """Return an argument of the record where it is written as an engine takes it."""
    name = path.removeprefix("engine.arguments.")
    if name in _OURS:
        return ()
    if not name.startswith("--") or any(char.isspace() for char in name) or value is False:
        return None
    return (name,) if value is True else (name, text_of(value))


def _image(settings: Mapping[str, Scalar]) -> str | None:
    named = settings.get("engine.image")
    return str(named) if named is not None and _is(str(named), Image) else None


def _image_points(settings: Mapping[str, Scalar], image: str | None) -> Iterator[OpenPoint]:
    if image is None:
        if settings.get("engine.image") is None:
            yield OpenPoint("engine.image", "not given", "the engine as it is installed here")
        return
    digest = settings.get("engine.image_digest")
    if digest is None:
        yield OpenPoint("engine.image_digest", "a tag alone, which can have moved", f"{image}")
    else:
        yield OpenPoint(
            "engine.image_digest",
            f"{str(digest)[:30]}..., of the repository or of the local image",
            f"{image} by its tag: hold the digest that the run reads back against it",
        )


def _layout_points(record: Benchmark, instances: int) -> Iterator[OpenPoint]:
    layout = record.deployment
    if layout.device_order:
        yield OpenPoint(
            "deployment.device_order", f"`{layout.device_order[:200]}`", "accelerators in order of index"
        )
    if instances > 1:
        router = layout.router
        said = "not given" if router is None else f"{router.name}, {router.policy or 'policy not given'}"
        yield OpenPoint("deployment.router", said[:300], "HAProxy, sticky by a session header: correct it")


def _weights_name(record: Benchmark) -> str:
    name = (record.model.checkpoint or record.model.model).rstrip("/").rsplit("/", 1)[-1]
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in name)
    return kept.lstrip(".-") or "model"


def _is(text: str, kind: Any) -> bool:
    """Return whether a text may stand in a plan as this kind."""
    try:
        TypeAdapter(kind).validate_python(text)
    except ValidationError:
        return False
    return True
