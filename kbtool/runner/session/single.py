"""One request at a time outside the rounds: a token for readiness, probes of prompt length, repeated prompts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final

from kbtool.errors import UsageError
from kbtool.runner.client import (
    Endpoint,
    Interrupt,
    Limits,
    Outgoing,
    Recorded,
    Send,
    build_request,
    exchange,
    parse,
)
from kbtool.runner.engines import RequestOptions as EngineOptions
from kbtool.runner.load import Api
from kbtool.runner.prompts import (
    LengthError,
    LengthModel,
    Prompt,
    PromptClass,
    PromptSpec,
    calibrate_ratio,
    count_pieces,
    make_prompt,
)
from kbtool.runner.session.interrupts import StoppedError
from kbtool.runner.trace import Outcome, RequestTrace

__all__ = ["Asker", "Lengths", "calibrated_lengths"]

_PROBE_TOK: Final = 256
"""Length of the first probe of a class, by the general rule: a strange vocabulary may make it four times as long."""
_SHORTEST_PROBE_TOK: Final = 128
_AGENT_PROBE_TOK: Final = 1100
"""Of conversations, whose tools and rules alone have some hundred tokens."""
_LONGEST_PROBE_TOK: Final = 8192
_FILLED: Final = 0.75
"""Of the context, by the longest probe: it is made by a guess, and has to fit all the same."""
_APART: Final = 2.0
_PROBED_TOK: Final = 16_384
"""Of the probes of one length together: a short prompt is off by some percent either way, a long one by less, so that
equal sums of tokens tell equally well, and two runs of one plan get prompts of one length."""
_FEWEST, _MOST = 2, 24
"""Probes of one length."""
MOST_TEMPLATE_TOK: Final = 64


class _OneShot:
    """Driver of one request."""

    def __init__(self, outgoing: Outgoing) -> None:
        self._outgoing = outgoing

    def begin(self, now_ns: int) -> Iterable[Send]:
        return (Send(now_ns, self._outgoing),)

    def ended(self, recorded: Recorded, now_ns: int) -> Iterable[Send]:
        del recorded, now_ns
        return ()

    def stop(self, now_ns: int) -> bool:
        del now_ns
        return False


@dataclass(frozen=True, slots=True)
class Asker:
    """Sends single requests to the system under test."""

    api: Api
    options: EngineOptions
    limits: Limits
    interrupt: Callable[[], Interrupt | None]
    """What the operator wants: any wish for an end breaks a single request off."""
    _numbers: "count[int]"

    @classmethod
    def make(
        cls,
        api: Api,
        options: EngineOptions,
        limits: Limits,
        interrupt: Callable[[], Interrupt | None] = lambda: None,
    ) -> "Asker":
        """Return an asker that numbers its requests from 0."""
        return cls(api, options, limits, interrupt, count())

    def ask(
        self,
        endpoint: Endpoint,
        model: str,
        prompt: Prompt,
        *,
        output_tok: int,
        extra: Mapping[str, Any] | None = None,
    ) -> RequestTrace:
        """Send one greedy request and return what came of it, whatever that is.

        Raises:
            StoppedError: the operator asked for an end.
        """
        said: dict[str, Any] = (
            {"messages": [{"role": each.role, "content": each.content} for each in prompt.messages]}
            if self.api is Api.CHAT
            else {"prompt": prompt.text}
        )
        body = {
            "model": model,
            "max_tokens": output_tok,
            "stream": True,
            "temperature": 0,
            **said,
            **self.options.usage,
            **(extra or {}),
        }
        outgoing = Outgoing(
            id=f"single/0/{next(self._numbers)}",
            endpoint=endpoint,
            asked_model=model,
            asked_output_tok=output_tok,
            payload=build_request(endpoint, self.api.path, body),
            prompt_class=prompt.prompt_class,
            prompt_salt=prompt.salt,
        )
        done = exchange(_OneShot(outgoing), limits=self.limits, interrupt=self._at_once)
        if self.interrupt() is not None:
            raise StoppedError
        (recorded,) = done.recorded
        return parse(recorded)

    def _at_once(self) -> Interrupt | None:
        """Nothing is lost with a single request: the first wish for an end is enough."""
        return None if self.interrupt() is None else Interrupt.NOW

    def one_token(self, endpoint: Endpoint, model: str | None, timeout_s: float) -> str | None:
        """Return None where the model generated a token, else what was found instead.

        Raises:
            StoppedError: the operator asked for an end.
            UsageError: the server asks for a key: no patience helps.
        """
        if model is None:
            return "it is not known which model to ask"
        prompt = make_prompt(PromptSpec("prose", 64, 0, f"ready/{next(self._numbers)}"))
        limits = Limits(connect_s=timeout_s, first_byte_s=timeout_s, progress_s=timeout_s, total_s=timeout_s)
        trace = replace(self, limits=limits).ask(endpoint, model, prompt, output_tok=1)
        if trace.outcome in {Outcome.OK, Outcome.NO_USAGE} or _spoke(trace):
            return None  # what does not count its tokens is up all the same, and is refused when lengths are measured
        if trace.outcome is Outcome.UNAUTHORIZED:
            raise UsageError(
                f"{endpoint.name}: it answers {trace.status}: the API key is missing or wrong; expected one that it takes: "
                "name its environment variable in `target.api_key_env`"
            )
        return f"{trace.outcome}: {trace.detail}" if trace.detail else str(trace.outcome)


def _spoke(trace: RequestTrace) -> bool:
    """Return whether a token was generated that leaves no text: the first one of some models is empty."""
    return trace.outcome is Outcome.EMPTY and trace.usage is not None and trace.usage.completion_tok >= 1


@dataclass(frozen=True, slots=True)
class Lengths:
    """What the server's own counts say of our prompts."""

    by_class: Mapping[PromptClass, LengthModel]
    template_tok: int
    """Tokens that prompts have in common before their own text begins, as far as the server reuses them."""


def calibrated_lengths(
    asker: Asker,
    endpoint: Endpoint,
    model: str,
    wanted: Mapping[PromptClass, Sequence[int]],
    *,
    salt: str,
    most_tok: int | None,
) -> Lengths:
    """Ask the server to count a few prompts of each class, and return how long ours have to be.

    The first prompts are made by a general rule and may be far off; those that decide are made by what they showed,
    at the lengths that the plan asks for.

    Args:
        asker: Sends the prompts.
        endpoint: Where to.
        model: Served model name.
        wanted: Class -> the lengths that will be asked for, tokens.
        salt: Makes the probes unique.
        most_tok: The server's context, where it is known.

    Raises:
        LengthError: the server counts no prompt tokens, or counts that no tokenizer gives.
    """
    found: dict[PromptClass, LengthModel] = {}
    reused = [0]
    for prompt_class, lengths in wanted.items():
        probes = _Probes(asker, endpoint, model, prompt_class, f"{salt}/length/{prompt_class}")
        first = _AGENT_PROBE_TOK if prompt_class == "agent" else _PROBE_TOK
        guess = calibrate_ratio([probes.count(first, None)])
        pairs = [
            probes.count(each, guess)
            for each in _targets(lengths, first, most_tok)
            for _ in range(_how_many(each))
        ]
        found[prompt_class] = calibrate_ratio(pairs)
        reused += probes.reused
    # More than a template's opening is something else: a cache that matches what is not equal, or a liar.
    return Lengths(found, max(reused) if max(reused) <= MOST_TEMPLATE_TOK else 0)


def _how_many(length_tok: int) -> int:
    """Return the number of probes of one length."""
    return min(_MOST, max(_FEWEST, round(_PROBED_TOK / length_tok)))


def _targets(lengths: Sequence[int], at_least: int, most_tok: int | None) -> tuple[int, ...]:
    """Return the lengths to probe: shortest and longest that are asked for, within what is cheap and fits."""
    most = _LONGEST_PROBE_TOK if most_tok is None else min(_LONGEST_PROBE_TOK, int(_FILLED * most_tok))
    least, longest = (min(max(each, at_least), most) for each in (min(lengths), max(lengths)))
    if longest >= _APART * least:
        return least, longest
    # Fixed part and slope of the line are told apart from two lengths that differ; the shorter one is the cheaper.
    half = round(longest / _APART)
    return (half, longest) if half >= at_least else (least, min(round(_APART * least), most))


@dataclass(slots=True)
class _Probes:
    """Prompts of one class that the server counts."""

    asker: Asker
    endpoint: Endpoint
    model: str
    prompt_class: PromptClass
    salt: str
    reused: list[int] = field(default_factory=list)
    _numbers: "count[int]" = field(default_factory=count)

    def count(self, target_tok: int, lengths: LengthModel | None) -> tuple[int, int]:
        """Return the pieces of a new prompt and the tokens that the server counted in it.

        Raises:
            LengthError: it gave no count.
        """
        ratio, fixed = (None, 0.0) if lengths is None else (lengths.tok_per_piece, lengths.fixed_tok)
        spec = PromptSpec(
            self.prompt_class, target_tok, 1, f"{self.salt}/{next(self._numbers)}", ratio, fixed
        )
        prompt = make_prompt(spec)
        trace = self.asker.ask(self.endpoint, self.model, prompt, output_tok=4)
        if trace.usage is None:
            raise LengthError(
                f"a probe of class {self.prompt_class} was answered with {trace.outcome}: {trace.detail}; expected an "
                "answer with a token count: run `kbtool bench doctor` on this server"
            )
        self.reused.append(trace.usage.cached_tok or 0)
        return sum(count_pieces(each.content) for each in prompt.messages), trace.usage.prompt_tok
