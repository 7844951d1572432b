"""Any server that speaks OpenAI's API and tells no more: a list of models, and what its answers say."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.engines.asking import models, text_at, whole_at
from kbtool.runner.engines.base import Counters, Identity, Observed, RequestOptions, ResetOutcome, Trust
from kbtool.runner.engines.command_line import engine_arguments, given
from kbtool.runner.engines.rules import Rule, as_count, observe, observe_environment
from kbtool.runner.plan.target import EngineKind

__all__ = ["OpenAi", "context_observed", "context_of", "listed"]

_CONTEXT_NAMES: Final = ("max_model_len", "context_length", "context_window", "max_context_length")
_RULES: Final = {name: Rule("serving.context_tok", as_count) for name in _CONTEXT_NAMES}


def context_of(model: Mapping[str, object]) -> tuple[str, int] | None:
    """Return the name and value under which an entry of `/v1/models` gives its context length, tokens."""
    for name in _CONTEXT_NAMES:
        value = whole_at(model, name)
        if value is not None:
            return name, value
    meta = model.get("meta")
    value = whole_at(meta, "n_ctx") if isinstance(meta, dict) else None
    return None if value is None else ("meta.n_ctx", value)


def listed(found: tuple[dict[str, object], ...] | None, kind: EngineKind) -> Identity:
    """Return what `/v1/models` alone shows."""
    entries = found or ()
    context = context_of(entries[0]) if entries else None
    owner = text_at(entries[0], "owned_by") if entries else None
    return Identity(
        kind=kind,
        served_models=tuple(str(each["id"])[:300] for each in entries),
        model_root=text_at(entries[0], "root") if entries else None,
        context_tok=None if context is None else context[1],
        evidence=(f"GET /v1/models says owned_by {owner}",) if owner else (),
    )


def context_observed(found: tuple[dict[str, object], ...] | None) -> tuple[Observed, ...]:
    """Return the context limit that `/v1/models` gives."""
    context = context_of(found[0]) if found else None
    if context is None:
        return ()
    name, value = context
    return (
        Observed("serving.context_tok", value, str(value), Trust.ENGINE, f"GET /v1/models, data[0].{name}"),
    )


@dataclass(frozen=True, slots=True)
class OpenAi:
    """Adapter of an unknown server."""

    kind: EngineKind = "openai"

    def identity(self, endpoint: Endpoint) -> Identity:
        """Ask which models it lists."""
        return listed(models(endpoint), self.kind)

    def settings(self, endpoint: Endpoint) -> tuple[Observed, ...]:
        """Return the context limit, where the list of models has one."""
        return context_observed(models(endpoint))

    def counters(self, endpoint: Endpoint) -> Counters | None:  # noqa: ARG002 - such a server counts nothing
        """Return None: there is no agreed place for counters."""
        return None

    def reset_prefix_cache(self, endpoint: Endpoint) -> ResetOutcome:  # noqa: ARG002 - it cannot be asked
        """Return that it cannot be asked."""
        return ResetOutcome.UNSUPPORTED

    def options(self) -> RequestOptions:
        """Return the one option that is OpenAI's own."""
        return RequestOptions(usage={"stream_options": {"include_usage": True}})

    def from_command_line(
        self, arguments: tuple[str, ...], environment: Mapping[str, str]
    ) -> tuple[Observed, ...]:
        """Keep every argument word for word; what they mean is not known."""
        said = given(engine_arguments(arguments, frozenset()), aliases={})
        return observe(said, _RULES, trust=Trust.PROCESS, where="arguments") + observe_environment(
            environment, trust=Trust.PROCESS, where="environment"
        )
