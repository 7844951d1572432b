"""Specs to finished requests: prompt, body, affinity, and the bytes of the whole."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from kbtool.runner.client.outgoing import Outgoing, build_request
from kbtool.runner.load.lengths import draw_length
from kbtool.runner.load.work import Api, WorkSpec
from kbtool.runner.prompts import (
    Draws,
    Prompt,
    PromptClass,
    PromptSpec,
    SharedPrefix,
    make_prompt,
    salt_text,
)
from kbtool.runner.prompts.draws import key_of

__all__ = ["Built", "RequestMaker", "Who", "resalted"]


@dataclass(frozen=True, slots=True)
class Who:
    """Which request it is."""

    number: int
    """In the round, from 0."""
    stream: int = 0
    turn: int = 1
    session: int = 0


@dataclass(frozen=True, slots=True)
class Built:
    """A finished request and what is known about its prompt."""

    outgoing: Outgoing
    expected_tok: int
    """Tokens that the prompt should have; `usage` is checked against it."""
    n_pieces: int
    """Pieces of the prompt: what lengths are calibrated with."""
    unique_salt: str
    """The salt of this prompt alone; with a shared prefix another one than in the trace."""


class RequestMaker:
    """Makes the requests of one round; equal specs make equal requests."""

    __slots__ = ("_work",)

    def __init__(self, work: WorkSpec) -> None:
        """Make requests of this round."""
        self._work = work

    def drawn(self, at: int) -> tuple[PromptClass, int, int]:
        """Return class, input and output length in tokens of the prompt at a place, from 0."""
        content = self._work.content
        draws = Draws(self._work.seed, "lengths", self._work.salt, at)
        input_tok = draw_length(content.input_tok, draws)
        return content.classes[at % len(content.classes)], input_tok, draw_length(content.output_tok, draws)

    def request(self, at: int, who: Who) -> Built:
        """Return the request with the prompt at a place of the round's series, from 0."""
        work = self._work
        prompt_class, input_tok, output_tok = self.drawn(at)
        shared_tok = work.content.shared_prefix_tok
        salt = f"{work.salt}/{at}"
        lengths = work.length_model(prompt_class)
        prompt = make_prompt(
            PromptSpec(
                prompt_class,
                input_tok,
                work.seed,
                salt,
                lengths.tok_per_piece,
                lengths.fixed_tok,
                SharedPrefix(f"{work.salt}/shared", shared_tok) if shared_tok else None,
            )
        )
        return self.with_prompt(prompt, output_tok, who, unique_salt=salt)

    def with_prompt(self, prompt: Prompt, output_tok: int, who: Who, unique_salt: str) -> Built:
        """Return the request for a finished prompt."""
        chat = self._work.api is Api.CHAT
        said: dict[str, Any] = (
            {"messages": [{"role": m.role, "content": m.content} for m in prompt.messages]}
            if chat
            else {"prompt": prompt.text}
        )
        if self._work.options.ask_schema and (form := prompt.response_format()) is not None:
            said["response_format"] = form
        outgoing = self.outgoing(said, output_tok, who, prompt.prompt_class, prompt.salt)
        return Built(outgoing, prompt.expected_tok, prompt.n_pieces, unique_salt)

    def outgoing(
        self, said: Mapping[str, Any], output_tok: int, who: Who, prompt_class: str, prompt_salt: str
    ) -> Outgoing:
        """Return the request for a body that holds the prompt."""
        work = self._work
        endpoint = work.endpoint_for(who.number, who.session)
        affinity = work.affinity
        key = key_of(work.seed, work.salt, "session", who.session).hex()
        body = {**self._fields(output_tok), **said}
        if affinity is not None and affinity.field is not None:
            body[affinity.field] = key
        sender = endpoint
        if affinity is not None and affinity.header is not None:
            sender = replace(endpoint, headers=(*endpoint.headers, (affinity.header, key)))
        return Outgoing(
            id=self.id_of(who.number),
            # Connections are kept by endpoint: with the session's header in it each session would be one.
            endpoint=endpoint,
            asked_model=work.model,
            asked_output_tok=output_tok,
            payload=build_request(sender, work.api.path, body | dict(work.options.extra)),
            stream=who.stream,
            turn=who.turn,
            output_tok_fixed=work.options.output_tok_fixed,
            prompt_class=prompt_class,
            prompt_salt=prompt_salt,
        )

    def id_of(self, number: int) -> str:
        """Return the id of a request of the round."""
        return f"{self._work.cell}/{self._work.round}/{number}"

    def salt_of(self, at: int) -> str:
        """Return a salt beyond those of the series that `request` makes."""
        return f"{self._work.salt}/again/{at}"

    def _fields(self, output_tok: int) -> dict[str, Any]:
        options = self._work.options
        fields: dict[str, Any] = {
            "model": self._work.model,
            options.max_tokens_field: output_tok,
            "stream": True,
            "temperature": options.temperature,
        }
        if options.include_usage or options.continuous_usage:
            fields["stream_options"] = {"include_usage": True}
        if options.continuous_usage:
            fields["stream_options"]["continuous_usage_stats"] = True
        if options.seed is not None:
            fields["seed"] = options.seed
        if options.ignore_eos:
            fields["ignore_eos"] = True
        if options.min_tokens:
            fields["min_tokens"] = output_tok
        return fields


def resalted(built: Built, salt: str, request_id: str) -> Built:
    """Return the same request with another salt in its place: unique again, for the price of a copy.

    All salts have one length and nothing that JSON escapes, so that head, body and Content-Length stay right.
    """
    outgoing = built.outgoing
    old, new = (orjson.dumps(salt_text(each))[1:-1] for each in (built.unique_salt, salt))
    assert outgoing.payload.count(old) == 1, "the salt stands in the prompt once"
    shared = outgoing.prompt_salt != built.unique_salt
    return Built(
        replace(
            outgoing,
            id=request_id,
            payload=outgoing.payload.replace(old, new, 1),
            prompt_salt=outgoing.prompt_salt if shared else salt,
        ),
        built.expected_tok,
        built.n_pieces,
        salt,
    )
