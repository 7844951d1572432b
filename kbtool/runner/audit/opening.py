"""A server to audit: one that runs already, by its address or a plan, or one that a plan launches."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kbtool.errors import UsageError
from kbtool.runner.audit.asking import Asker, Question
from kbtool.runner.audit.model import AuditSpec
from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.engines import EngineAdapter, Identity, adapter_for, detect
from kbtool.runner.load import Api
from kbtool.runner.plan.model import Deadlines, Plan
from kbtool.runner.plan.target import EndpointPlan, Target
from kbtool.runner.prompts import PromptSpec, make_prompt
from kbtool.runner.target.attach import attach, authorization
from kbtool.runner.target.ready import ready
from kbtool.runner.target.running import Running
from kbtool.runner.target.secrets import Secrets
from kbtool.runner.target.start import start
from kbtool.runner.trace import Outcome

__all__ = ["Opened", "opened"]

_READY_TOK: Final = 64


@dataclass(frozen=True, slots=True)
class Opened:
    """A server that is ready to be audited."""

    running: Running
    adapter: EngineAdapter
    api: Api


@contextmanager
def opened(
    target: Plan | str,
    *,
    model: str | None = None,
    own: Mapping[str, str] | None = None,
    log_dir: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Opened]:
    """Attach to a server, or start those of a plan and end them when the block is left.

    Args:
        target: A plan, of whose settings none is varied; or the address of a server, with `/v1` or without.
        model: Served model name, where the plan gives none and the server lists several.
        own: Environment to take from; None for ours.
        log_dir: Where logs of launched servers are kept; None to keep none.
        tell: Told what is waited for.

    Raises:
        UsageError: the address is none, or the server lists several models and none is named.
        TargetError: the servers do not come up.
        ControlError: the server cannot be asked who it is.
    """
    environment = os.environ if own is None else own
    with tempfile.TemporaryDirectory(prefix="kbtool-audit-") as scratch:
        if isinstance(target, Plan):
            what, deadlines = target.target, target.deadlines
            logs = log_dir or Path(scratch)
            running = start(target, run_id=f"audit-{os.urandom(4).hex()}", log_dir=logs, own=environment)
        else:
            what, deadlines = _target_of(target), Deadlines()
            running = _attached(what, environment)
        with running:
            running.model = running.model or model
            yield _ready(running, what, deadlines, tell)


def _target_of(url: str) -> Target:
    try:
        endpoint = EndpointPlan(name="server", url=url)
    except ValueError as error:
        raise UsageError(f"{url!r}: {error}") from None
    return Target(endpoints=(endpoint,), allow_hosts=() if endpoint.is_loopback else (endpoint.host,))


def _attached(what: Target, environment: Mapping[str, str]) -> Running:
    headers, held = authorization(what, environment)
    secrets = Secrets.from_environment(environment).with_values(held)
    parts, _ = attach(what, headers, secrets)
    return Running(parts, parts[0].endpoint, what.model, stop_s=0.0, secrets=secrets)


def _ready(running: Running, what: Target, deadlines: Deadlines, tell: Callable[[str], None]) -> Opened:
    """Wait for a token through the measured path, and note who answers."""
    api = Api(what.api)
    known = None if what.engine == "auto" else adapter_for(what.engine)
    if what.launch is None:
        known = known or adapter_for(detect(running.endpoints[0]).kind)
        running.model = running.model or _only_model(known.identity(running.endpoints[0]).served_models)
    adapter = known

    def ask(endpoint: Endpoint) -> Identity:
        nonlocal adapter
        adapter = adapter or adapter_for(detect(endpoint).kind)
        return adapter.identity(endpoint)

    def one_token(endpoint: Endpoint, model: str | None, timeout_s: float) -> str | None:
        return _one_token(endpoint, model, api, known or adapter_for("openai"), timeout_s)

    ready(running, deadlines, one_token, ask=ask, progress=tell, now_s=time.monotonic)
    assert adapter is not None
    return Opened(running, adapter, api)


def _only_model(served: tuple[str, ...]) -> str:
    if len(served) != 1:
        listed = ", ".join(f"{each[:100]!a}" for each in served[:8]) or "none"
        raise UsageError(
            f"the server lists the models {listed}; expected one: name it with --model, or in the plan"
        )
    return served[0]


def _one_token(
    endpoint: Endpoint, model: str | None, api: Api, adapter: EngineAdapter, timeout_s: float
) -> str | None:
    """Return None where the model generated a token, else what was found instead."""
    if model is None:
        return "it is not known which model to ask"
    plain = AuditSpec(api=api)
    limits = replace(
        plain.limits, connect_s=timeout_s, first_byte_s=timeout_s, progress_s=timeout_s, total_s=timeout_s
    )
    asker = Asker(endpoint, model, adapter.options(), replace(plain, limits=limits))
    prompt = make_prompt(PromptSpec("prose", _READY_TOK, 0, f"ready/{os.urandom(8).hex()}"))
    (answer,) = asker.ask([Question(prompt, 1)])
    trace = answer.trace
    # The first token of some models leaves no text.
    if trace.outcome is Outcome.OK or (trace.outcome is Outcome.EMPTY and trace.usage is not None):
        return None
    return f"{trace.outcome}: {trace.detail}"
