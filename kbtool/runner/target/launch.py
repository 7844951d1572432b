"""Start the engines of a plan: each as a process or in a container, on a port that was free, with our marks."""

import os
import secrets as randomness
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kbtool.errors import UsageError
from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.plan.target import Container, Instance, Launch
from kbtool.runner.target.container import LABEL_START, Labels, Runtime, run_arguments
from kbtool.runner.target.environment import engine_environment
from kbtool.runner.target.errors import StartError
from kbtool.runner.target.instances import Containment, Launched
from kbtool.runner.target.leg import LegSettings, with_arguments
from kbtool.runner.target.owner import Owner
from kbtool.runner.target.process import Kept, StartOrder
from kbtool.runner.target.procfs import MARKER
from kbtool.runner.target.secrets import Secrets

__all__ = ["OWNER_VARIABLE", "Setting", "launch", "model_name", "new_marker"]

OWNER_VARIABLE = "KBTOOL_OWNER"
"""Environment variable that names the runner which started a process, so that a later one can tell if it lives."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all engines of one start have in common."""

    run_id: str
    log_dir: Path
    model: str | None
    headers: tuple[tuple[str, str], ...]
    own: Mapping[str, str]
    """Our own environment."""
    secrets: Secrets
    owner: Owner


def model_name(planned: Launch, target_model: str | None) -> str | None:
    """Return the name under which the model is to be served: a random word, where the plan wants a proof.

    Raises:
        UsageError: The plan wants the proof and gives the engine no way to learn the name, or the other way round.
    """
    texts = [
        argument
        for each in planned.instances
        for argument in (each.container.arguments if each.container is not None else each.arguments)
    ]
    is_used = any("{model_name}" in each for each in texts)
    if planned.nonce:
        if not is_used:
            raise UsageError(
                "target.launch: `nonce` is on, and no argument holds {model_name}; expected such as "
                "`--served-model-name {model_name}`, which proves that the server is ours: add it, or set `nonce: false`"
            )
        return f"kb-{randomness.token_hex(4)}"
    if is_used and target_model is None:
        raise UsageError("target.launch: an argument holds {model_name}; expected its name in `target.model`")
    return target_model


def new_marker(run_id: str) -> str:
    """Return what marks all processes of one start."""
    return f"{run_id}.{randomness.token_hex(8)}"


def launch(instance: Instance, leg: LegSettings, setting: Setting) -> Launched:
    """Start one engine.

    Raises:
        StartError: Program, image or container runtime are missing.
    """
    engine = instance.container.arguments if instance.container is not None else instance.arguments
    arguments = tuple(_filled(each, instance.port, setting.model) for each in with_arguments(engine, leg))
    public = {**instance.environment, **leg.environment}
    own = _known(setting, instance)
    place = f"target.launch: {instance.name}"
    environment = engine_environment(
        setting.own, public, instance.env_from, instance.accelerators, place=place
    )
    if instance.container is None:
        kept, containment = _start_process(instance, arguments, environment, own), None
    else:
        kept, containment = _start_container(
            instance, instance.container, arguments, environment=environment, public=public, own=own
        )
    endpoint = Endpoint(instance.name, "127.0.0.1", instance.port, headers=setting.headers)
    return Launched(kept, endpoint, own.secrets, arguments, public, containment)


@dataclass(frozen=True, slots=True)
class _Own:
    """What one start has of its own."""

    setting: Setting
    secrets: Secrets
    marker: str


def _known(setting: Setting, instance: Instance) -> _Own:
    taken = {name: setting.own[name] for name in instance.env_from if name in setting.own}
    return _Own(setting, setting.secrets.with_values(taken), new_marker(setting.run_id))


def _filled(argument: str, port: int, model: str | None) -> str:
    filled = argument.replace("{port}", str(port))
    return filled if model is None else filled.replace("{model_name}", model)


def _start_process(
    instance: Instance, arguments: tuple[str, ...], environment: dict[str, str], own: _Own
) -> Kept:
    environment[OWNER_VARIABLE] = own.setting.owner.text
    return Kept.start(
        StartOrder(
            instance.name,
            arguments,
            environment,
            own.setting.log_dir / f"{instance.name}.log",
            own.marker,
            own.secrets,
            folder=Path.cwd(),
        )
    )


def _start_container(
    instance: Instance,
    container: Container,
    arguments: tuple[str, ...],
    *,
    environment: dict[str, str],
    public: Mapping[str, str],
    own: _Own,
) -> tuple[Kept, Containment]:
    program = shutil.which(container.runtime, path=environment["PATH"])
    if program is None:
        raise StartError(
            f"{instance.name}: {container.runtime} is not installed: install it, or launch a process"
        )
    runtime = Runtime(program, environment)
    image = runtime.image(container.image)
    cid_file = own.setting.log_dir / f"{instance.name}.cid"
    # A runtime refuses to start over an old one.
    cid_file.unlink(missing_ok=True)
    ours = {MARKER: own.marker, OWNER_VARIABLE: own.setting.owner.text}
    started = run_arguments(
        container,
        program=program,
        cid_file=cid_file,
        labels=Labels(own.setting.run_id, own.marker, own.setting.owner),
        arguments=arguments,
        public={**public, **ours},
        secret_names=instance.env_from,
        accelerators=instance.accelerators,
    )
    label = f"{LABEL_START}={own.marker}"
    order = StartOrder(
        instance.name,
        started,
        environment,
        own.setting.log_dir / f"{instance.name}.log",
        own.marker,
        own.secrets,
        folder=Path(os.sep),
        runtime=program,
        container_label=label,
    )
    return Kept.start(order), Containment(runtime, label, image, cid_file)
