"""DwarfStar (antirez/ds4): `/v1/models` and nothing else; no version, no counters, no cache reset, no key."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.engines.asking import models
from kbtool.runner.engines.base import Counters, Identity, Observed, RequestOptions, ResetOutcome, Trust
from kbtool.runner.engines.command_line import engine_arguments, given
from kbtool.runner.engines.openai import context_observed, listed
from kbtool.runner.engines.records import PROGRAM_OF
from kbtool.runner.engines.rules import Rule, as_count, as_line, observe, observe_environment
from kbtool.runner.plan.target import EngineKind

__all__ = ["Ds4"]

_RULES: Final[Mapping[str, Rule]] = {
    "model": Rule("model.checkpoint", as_line),
    "ctx": Rule("serving.context_tok", as_count),
    "speculation": Rule("speculation.method", as_line),
    "mtp_draft": Rule("speculation.draft_tok", as_count),
    "kv_disk_dir": Rule("serving.kv_persistence", as_line),
}
_ALIASES: Final[Mapping[str, str]] = {"m": "model", "c": "ctx", "n": "tokens", "t": "threads"}
_FLAGS: Final = frozenset(
    {
        "cors", "kv_cache_reject_different_quant", "disable_exact_dsml_tool_replay", "quality", "warm_weights",
        "metal", "cuda", "cpu",
    }
)  # fmt: skip
_PROGRAMS: Final = frozenset(PROGRAM_OF["ds4"])
_NOT_SETTINGS: Final = frozenset({"host", "port", "chdir", "trace", "cors"})


@dataclass(frozen=True, slots=True)
class Ds4:
    """Adapter of `ds4-server`."""

    kind: EngineKind = "ds4"

    def identity(self, endpoint: Endpoint) -> Identity:
        """Ask which models it lists."""
        return listed(models(endpoint), self.kind)

    def settings(self, endpoint: Endpoint) -> tuple[Observed, ...]:
        """Return the context limit."""
        return context_observed(models(endpoint))

    def counters(self, endpoint: Endpoint) -> Counters | None:  # noqa: ARG002 - it counts nothing
        """Return None: it counts nothing; cached tokens stand in each answer."""
        return None

    def reset_prefix_cache(self, endpoint: Endpoint) -> ResetOutcome:  # noqa: ARG002 - it cannot be asked
        """Return that it cannot be asked: stop it, clear its folder of saved prompts, start it again."""
        return ResetOutcome.UNSUPPORTED

    def options(self) -> RequestOptions:
        """Return what its parser of requests reads; it has no `ignore_eos`."""
        return RequestOptions(usage={"stream_options": {"include_usage": True}}, thread_a_connection=True)

    def from_command_line(
        self, arguments: tuple[str, ...], environment: Mapping[str, str]
    ) -> tuple[Observed, ...]:
        """Read the arguments of `ds4-server`."""
        said = dict(given(engine_arguments(arguments, _PROGRAMS), aliases=_ALIASES, flags=_FLAGS))
        if "model" in said:
            # Without a draft file there is nothing that could draft.
            said["speculation"] = "mtp" if "mtp" in said else "none"
        kept = ((name, value) for name, value in said.items() if name not in _NOT_SETTINGS)
        return observe(kept, _RULES, trust=Trust.PROCESS, where="arguments") + observe_environment(
            environment, trust=Trust.PROCESS, where="environment"
        )
