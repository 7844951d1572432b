"""Plans around the launchable server, and the questions that tests ask of it."""

import http.client
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.engines.base import Identity
from kbtool.runner.plan.model import Deadlines, Plan
from kbtool.runner.target.running import Running

__all__ = [
    "ROOT",
    "SERVER",
    "SOON",
    "ask",
    "environment",
    "free_port",
    "get",
    "install_runtime",
    "instance",
    "one_token",
    "plan",
    "post",
    "serving",
    "until",
]

ROOT: Final = Path(__file__).resolve().parents[3]
SERVER: Final = ROOT / "tests" / "fakes" / "launchable.py"
RUNTIME: Final = ROOT / "tests" / "fakes" / "container_runtime.py"
WAIT_S: Final = 30.0
"""Ends a test that waits for ever; no test depends on how long one takes."""
SOON: Final = Deadlines.model_validate({"ready_s": 30, "stop_s": 5})


def free_port() -> int:
    """Return a port that nobody holds, above those that the kernel gives out by itself."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def serving(port: int, *options: str, model: str = "{model_name}") -> list[str]:
    """Return the argument list of a launchable server."""
    name = ["--served-model-name", model] if model else []
    return [sys.executable, str(SERVER), "--port", str(port), *name, *options]


def instance(port: int, *options: str, model: str = "{model_name}", **more: Any) -> dict[str, Any]:
    """Return an instance of a plan that launches the server."""
    return {"port": port, "arguments": serving(port, *options, model=model), **more}


def plan(*instances: Mapping[str, Any], stop_s: float = 5, **target: Any) -> Plan:
    """Return a plan that launches these instances, or what `target` says."""
    launch = {"launch": {"instances": list(instances), **target.pop("launch", {})}} if instances else {}
    return Plan.model_validate(
        {
            "plan_version": 1,
            "id": "test",
            "title": "A plan of the tests",
            "subject": {"engine": "engines/fake", "model": "models/fake"},
            "target": {**launch, **target},
            "workloads": [{"id": "single", "kind": "single_stream"}],
            "deadlines": {"stop_s": str(stop_s), "ready_s": 30},
        }
    )


def environment(**more: str) -> dict[str, str]:
    """Return an environment to take from, with a PATH."""
    return {"PATH": os.environ["PATH"], "HOME": "/nowhere", "UNRELATED": "not for engines", **more}


def until(condition: Callable[[], Any]) -> None:
    """Wait until something is true."""
    end_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end_s, "it did not come true"
        time.sleep(0.01)


def _exchange(
    endpoint: Endpoint, method: str, path: str, body: object, **headers: str
) -> tuple[int, str, Any]:
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=WAIT_S)
    try:
        data = None if body is None else json.dumps(body)
        sent = {**dict(endpoint.headers), **headers, "Content-Type": "application/json"}
        connection.request(method, endpoint.base_path + path, data, sent)
        answer = connection.getresponse()
        return answer.status, answer.getheader("X-Fake-Port", ""), json.loads(answer.read() or b"null")
    finally:
        connection.close()


def get(endpoint: Endpoint, path: str) -> Any:
    """Return what a server answers."""
    return _exchange(endpoint, "GET", path, None)[2]


def post(endpoint: Endpoint, path: str) -> None:
    """Steer a server."""
    _exchange(endpoint, "POST", path, None)


def generate(endpoint: Endpoint, model: str | None, **headers: str) -> tuple[int, str, Any]:
    """Ask for one token; return status, the port of the server that answered, and the answer."""
    body = {"model": model, "max_tokens": 1, "messages": [{"role": "user", "content": "a"}]}
    return _exchange(endpoint, "POST", "/v1/chat/completions", body, **headers)


def one_token(endpoint: Endpoint, model: str | None, timeout_s: float) -> str | None:  # noqa: ARG001
    """Ask for one token, and believe it only from the model that was asked."""
    try:
        status, _, answer = generate(endpoint, model)
    except (OSError, http.client.HTTPException) as error:
        return str(error)
    if status != 200:
        return f"status {status}"
    return None if model in {None, answer["model"]} else f"the model {answer['model']} answered"


def ask(endpoint: Endpoint) -> Identity:
    """Ask a server who it is."""
    models = tuple(each["id"] for each in get(endpoint, "/v1/models")["data"])
    return Identity("openai", models)


def log_of(running: Running, folder: Path) -> str:
    """Return everything that was written into the folder of a run."""
    del running
    return "".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())


def install_runtime(folder: Path, image: str, *, digests: tuple[str, ...] = ()) -> dict[str, str]:
    """Make the fake container runtime the `docker` of an environment; return what the environment needs."""
    programs, state = folder / "bin", folder / "state"
    programs.mkdir()
    (state / "containers").mkdir(parents=True)
    for name in ("docker", "podman"):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{RUNTIME}" "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    images = {image: {"Id": "sha256:" + "1" * 64, "RepoDigests": list(digests)}}
    (state / "images.json").write_text(json.dumps(images), encoding="utf-8")
    return {"PATH": f"{programs}:{os.environ['PATH']}", "DOCKER_CONFIG": str(state)}
