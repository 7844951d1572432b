"""What the requests of one round are, apart from when they are sent: plain specs that a plan maps to."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal

from kbtool.errors import UsageError
from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.load.lengths import FixedLength, Length
from kbtool.runner.prompts import DEFAULT_LENGTHS, LengthModel, PromptClass

__all__ = ["Affinity", "Api", "Content", "EndpointChoice", "RequestOptions", "WorkSpec"]

NS_PER_S: Final = 1_000_000_000


class Api(StrEnum):
    """Which of the two streaming interfaces is asked."""

    CHAT = "chat"
    COMPLETIONS = "completions"

    @property
    def path(self) -> str:
        """Return the path below the root of the API."""
        return "/v1/chat/completions" if self is Api.CHAT else "/v1/completions"


class EndpointChoice(StrEnum):
    """Which of several endpoints a request goes to."""

    ROUND_ROBIN = "round_robin"
    STICKY = "sticky"
    """All requests of one session go to one endpoint. A session is a user, an agent's conversation, or a session of
    a replayed trace."""


@dataclass(frozen=True, slots=True)
class Affinity:
    """How a router in front of the engines is told which requests belong together."""

    header: str | None = None
    """Name of the header that carries the session's key."""
    field: str | None = None
    """Name of the field of the body that carries it."""


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Fields of the body beside model and prompt."""

    temperature: float = 0.0
    seed: int | None = None
    """Of the sampler; None leaves the field out."""
    ignore_eos: bool = False
    """Fixes the length of the answer in vLLM, SGLang and llama.cpp; other servers may refuse the field."""
    min_tokens: bool = False
    """Send `min_tokens` equal to the length asked for: fixes the length too."""
    include_usage: bool = True
    continuous_usage: bool = False
    """Token counts with every event, in vLLM and SGLang."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    ask_schema: bool = True
    """Send `response_format` with prompts of class `structured`."""
    extra: tuple[tuple[str, Any], ...] = ()
    """Further fields, JSON values; they replace ours of the same name."""

    @property
    def output_tok_fixed(self) -> bool:
        """Return whether the engine is told to generate exactly as many tokens as asked for."""
        return self.ignore_eos or self.min_tokens


@dataclass(frozen=True, slots=True)
class Content:
    """What the prompts are."""

    classes: tuple[PromptClass, ...] = ("prose",)
    """Taken by turns: what the machine does over a round then falls on all of them alike."""
    input_tok: Length = field(default_factory=lambda: FixedLength(1024))
    output_tok: Length = field(default_factory=lambda: FixedLength(256))
    shared_prefix_tok: int = 0
    """Tokens that all prompts of the round begin with."""


@dataclass(frozen=True, slots=True)
class WorkSpec:
    """One round of requests."""

    cell: str
    round: int
    seed: int
    salt: str
    """Goes into every prompt's salt. Equal seeds and salts give equal prompts: that is how a warm cell repeats the
    prompts of its cold one. Otherwise it has to differ between rounds and runs."""
    model: str
    endpoints: tuple[Endpoint, ...]
    api: Api = Api.CHAT
    choice: EndpointChoice = EndpointChoice.ROUND_ROBIN
    affinity: Affinity | None = None
    content: Content = field(default_factory=Content)
    options: RequestOptions = field(default_factory=RequestOptions)
    lengths: tuple[tuple[PromptClass, LengthModel], ...] = ()
    """Calibrated lengths by class; a class that is not here gets the default, which may be a tenth off."""

    def __post_init__(self) -> None:
        """Refuse what cannot be sent.

        Raises:
            UsageError: There is no endpoint or no prompt class.
        """
        if not self.endpoints or not self.content.classes:
            raise UsageError(
                f"cell {self.cell!r}: no endpoint or no prompt class; expected at least one of each"
            )

    def length_model(self, prompt_class: PromptClass) -> LengthModel:
        """Return the length model of a class."""
        return dict(self.lengths).get(prompt_class, DEFAULT_LENGTHS)

    def endpoint_for(self, number: int, session: int) -> Endpoint:
        """Return where a request goes, by its number or by its session."""
        at = session if self.choice is EndpointChoice.STICKY else number
        return self.endpoints[at % len(self.endpoints)]
