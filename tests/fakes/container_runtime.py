"""A program that behaves like docker or podman as far as the runner uses them, without containers.

Each call is noted in `calls.jsonl` of the folder that DOCKER_CONFIG names.  `run` starts our launchable server as the
"container", detached from the client as a daemon's would be; `stop`, `rm`, `inspect`, `ps` and `logs` work on it.
Tests change what it says by editing `containers/<id>.json` and `images.json`.
"""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

STATE: Final = Path(os.environ["DOCKER_CONFIG"])
SERVER: Final = Path(__file__).resolve().with_name("launchable.py")
IMAGE_ID: Final = "sha256:" + "1" * 64
FLAGS: Final = frozenset({"--detach"})
"""Options of `run` without a value; every other one takes the next argument."""


def main(arguments: list[str]) -> int:
    """Carry out one command."""
    with (STATE / "calls.jsonl").open("a", encoding="utf-8") as calls:
        calls.write(json.dumps(arguments) + "\n")
    code = 0
    match arguments:
        case ["run", *rest]:
            code = run(rest)
        case ["image", "inspect", name]:
            code = say_json(read_json(STATE / "images.json").get(name))
        case ["container", "inspect", name]:
            code = say_json(described(name))
        case ["ps", "--all", "--quiet", "--no-trunc", "--filter", label]:
            list_with(label.removeprefix("label="))
        case ["stop", "--time", seconds, name]:
            code = stop(name, float(seconds))
        case ["rm", "--force", "--volumes", name]:
            stop(name, 0.0)
            path(name).unlink(missing_ok=True)
        case ["logs", "--tail", _, name]:
            sys.stdout.write(path(name).with_suffix(".log").read_text(encoding="utf-8"))
        case _:
            sys.stderr.write(f"unknown command: {arguments}\n")
            code = 125
    return code


def run(arguments: list[str]) -> int:
    """Start a "container" and stay until it ends, as a client in the foreground does."""
    options: list[tuple[str, str]] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        name = rest.pop(0)
        options.append((name, "" if name in FLAGS else rest.pop(0)))
    image, *inner = rest
    if image not in read_json(STATE / "images.json"):
        sys.stderr.write("Error: No such image\n")
        return 125
    container = secrets.token_hex(32)
    given = dict(each.partition("=")[::2] for name, each in options if name == "--env" and "=" in each)
    given |= {each: os.environ[each] for name, each in options if name == "--env" and "=" not in each}
    labels = dict(each.partition("=")[::2] for name, each in options if name == "--label")
    started = subprocess.Popen(
        [sys.executable, str(SERVER), *inner],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"PATH": os.environ["PATH"], **given},
        start_new_session=True,
    )
    facts = {
        "Id": container,
        "Image": read_json(STATE / "images.json")[image]["Id"],
        "RestartCount": 0,
        "Path": "serve",
        "Args": inner,
        "State": {"StartedAt": f"{time.time()}", "Pid": started.pid, "ExitCode": 0, "OOMKilled": False},
        "Config": {"Image": image, "Env": [f"{k}={v}" for k, v in given.items()], "Labels": labels},
        "HostConfig": {"RestartPolicy": {"Name": "no"}},
    }
    write_json(path(container), facts)
    Path(dict(options)["--cidfile"]).write_text(container, encoding="ascii")
    assert started.stdout is not None
    with path(container).with_suffix(".log").open("ab") as log:
        for line in started.stdout:
            log.write(line)
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
    code = started.wait()
    if path(container).exists():
        facts["State"]["ExitCode"] = code if code >= 0 else 128 - code
        write_json(path(container), facts)
    return code if code >= 0 else 128 - code


def described(name: str) -> dict[str, Any] | None:
    """Return a container with whether it runs now."""
    if not path(name).exists():
        return None
    facts = read_json(path(name))
    facts["State"]["Running"] = lives(facts["State"]["Pid"])
    facts["State"]["Pid"] = facts["State"]["Pid"] if facts["State"]["Running"] else 0
    return facts


def lives(pid: int) -> bool:
    """Return whether a process runs, and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def list_with(label: str) -> None:
    """Print the ids of the containers with a label."""
    name, equals, value = label.partition("=")
    for each in sorted((STATE / "containers").glob("*.json")):
        labels = read_json(each)["Config"]["Labels"]
        if name in labels and (not equals or labels[name] == value):
            sys.stdout.write(f"{each.stem}\n")


def stop(name: str, seconds: float) -> int:
    """Ask a container's process to end, then kill it."""
    facts = described(name)
    if facts is None:
        sys.stderr.write("no such container\n")
        return 1
    pid = facts["State"]["Pid"]
    until = time.monotonic() + seconds
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM if seconds else signal.SIGKILL)
            while lives(pid) and time.monotonic() < until:
                time.sleep(0.01)
            os.kill(pid, signal.SIGKILL)
    return 0


def say_json(found: dict[str, Any] | None) -> int:
    """Print what was found, in a list as the real programs do."""
    if found is None:
        sys.stderr.write("Error: no such object\n")
        return 1
    sys.stdout.write(json.dumps([found]))
    return 0


def path(name: str) -> Path:
    """Return the file that describes a container."""
    return STATE / "containers" / f"{name}.json"


def read_json(file: Path) -> dict[str, Any]:
    """Read a file of the state."""
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return data


def write_json(file: Path, data: object) -> None:
    """Write a file of the state, whole or not at all."""
    file.parent.mkdir(exist_ok=True)
    file.with_suffix(".new").write_text(json.dumps(data), encoding="utf-8")
    file.with_suffix(".new").replace(file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
