"""One request through the real client, from its bytes to its trace."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kbtool.runner.client.loop import exchange
from kbtool.runner.client.outgoing import Endpoint, Limits, Outgoing, Send, build_request
from kbtool.runner.client.parse import parse
from kbtool.runner.client.recorded import Recorded
from kbtool.runner.trace import RequestTrace

__all__ = ["PATIENT", "ask_once"]

PATIENT: Final = Limits(connect_s=10, first_byte_s=30, progress_s=30, total_s=60)


@dataclass(slots=True)
class _Once:
    """Sends what it was given at once."""

    outgoing: tuple[Outgoing, ...]
    ended_: list[Recorded] = field(default_factory=list)

    def begin(self, now_ns: int) -> Iterable[Send]:
        return [Send(now_ns, each) for each in self.outgoing]

    def ended(self, recorded: Recorded, now_ns: int) -> Iterable[Send]:  # noqa: ARG002 - nothing follows
        self.ended_.append(recorded)
        return ()

    def stop(self, now_ns: int) -> bool:  # noqa: ARG002 - it never stops early
        return False


def ask_once(
    endpoint: Endpoint,
    *,
    model: str = "scripted",
    prompt: str = "Say something short.",
    output_tok: int = 8,
    extra: Mapping[str, object] | None = None,
    limits: Limits = PATIENT,
    n: int = 1,
) -> tuple[RequestTrace, ...]:
    """Send one chat request, or `n` at once, and return the traces in order of their end."""
    body = {
        "model": model, "messages": [{"role": "user", "content": prompt}], "max_tokens": output_tok, "stream": True,
        "temperature": 0, "ignore_eos": True, "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        **(extra or {}),
    }  # fmt: skip
    payload = build_request(endpoint, "/v1/chat/completions", body)
    sends = tuple(
        Outgoing(
            id=f"test/0/{at}",
            endpoint=endpoint,
            asked_model=model,
            asked_output_tok=output_tok,
            payload=payload,
            stream=at,
        )
        for at in range(n)
    )
    done = exchange(_Once(sends), limits=limits)
    return tuple(parse(recorded) for recorded in done.recorded)
