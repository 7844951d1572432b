"""Questions of an audit as requests, and the driver that sends a list of them, some at once."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from kbtool.runner.audit.model import AuditSpec
from kbtool.runner.client import (
    Endpoint,
    Outgoing,
    Recorded,
    Send,
    build_request,
    exchange,
    parse,
)
from kbtool.runner.engines import RequestOptions
from kbtool.runner.load import Api
from kbtool.runner.load.patience import Patience
from kbtool.runner.prompts import Message, Prompt
from kbtool.runner.trace import Outcome, RequestTrace

__all__ = ["Answer", "Asker", "Question", "with_messages"]


@dataclass(frozen=True, slots=True)
class Question:
    """One request that is to be sent."""

    prompt: Prompt
    output_tok: int
    fixed: bool = False
    """Whether the answer is to have exactly that many tokens."""
    schema: bool = False
    """Whether the answer has to follow the prompt's schema."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A question and what came of it."""

    question: Question
    trace: RequestTrace

    @property
    def usable(self) -> bool:
        """Return whether it counts as a success."""
        return self.trace.outcome is Outcome.OK

    @property
    def said(self) -> str:
        """Return all text that was generated, reasoning first."""
        return self.trace.reasoning_text + self.trace.text

    @property
    def asked(self) -> str:
        """Return the text of the prompt."""
        return self.question.prompt.text


class _Queue:
    """Driver that keeps so many requests in flight until a list is through."""

    def __init__(self, requests: Sequence[Outgoing], users: int) -> None:
        self._left = deque(requests)
        self._users = users
        self._patience = Patience(users)

    def begin(self, now_ns: int) -> Iterable[Send]:
        """Send the first ones together."""
        return [self._take(user, now_ns) for user in range(min(self._users, len(self._left)))]

    def ended(self, recorded: Recorded, now_ns: int) -> Iterable[Send]:
        """Send the next one; none once the operator has ended one."""
        pause_ns = self._patience.pause_ns(recorded)
        if not self._left or self._patience.gone or recorded.failure is Outcome.CANCELLED:
            return ()
        return (self._take(recorded.outgoing.stream, now_ns + pause_ns),)

    def stop(self, now_ns: int) -> bool:
        """Return whether nothing has worked for too long."""
        del now_ns
        return self._patience.gone

    def _take(self, user: int, at_ns: int) -> Send:
        return Send(at_ns, replace(self._left.popleft(), stream=user))


class Asker:
    """Sends questions to one server and keeps the answers."""

    def __init__(self, endpoint: Endpoint, model: str, options: RequestOptions, spec: AuditSpec) -> None:
        """Ask this server for this model."""
        self._endpoint = replace(endpoint, spare_connections=0) if options.thread_a_connection else endpoint
        self._model = model
        self._options = options
        self._spec = spec
        self._numbers = count()
        self.answers: list[Answer] = []
        """All answers so far."""

    def ask(self, questions: Sequence[Question], *, users: int = 1) -> tuple[Answer, ...]:
        """Send the questions, so many at once, and return the answers in the order of the questions.

        Those that were not sent, because nothing worked any more, have no answer.
        """
        requests = {
            each.id: (question, each) for question in questions for each in (self._outgoing(question),)
        }
        queue = _Queue([each for _, each in requests.values()], users)
        done = exchange(queue, limits=self._spec.limits, interrupt=self._spec.interrupt)
        traces = {trace.id: trace for trace in map(parse, done.recorded)}
        answers = tuple(
            [Answer(question, traces[name]) for name, (question, _) in requests.items() if name in traces]
        )
        self.answers += answers
        return answers

    def _outgoing(self, question: Question) -> Outgoing:
        prompt = question.prompt
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": question.output_tok,
            "temperature": 0,
            "stream": True,
            **_said(self._spec.api, prompt),
            **self._options.usage,
            **(self._options.fixed_length if question.fixed else {}),
        }
        if question.schema:
            body["response_format"] = prompt.response_format()
        return Outgoing(
            id=f"audit/0/{next(self._numbers)}",
            endpoint=self._endpoint,
            asked_model=self._model,
            asked_output_tok=question.output_tok,
            output_tok_fixed=question.fixed and bool(self._options.fixed_length),
            prompt_class=prompt.prompt_class,
            prompt_salt=prompt.salt,
            payload=build_request(self._endpoint, self._spec.api.path, body),
        )


def _said(api: Api, prompt: Prompt) -> Mapping[str, Any]:
    if api is Api.CHAT:
        return {"messages": [{"role": each.role, "content": each.content} for each in prompt.messages]}
    return {"prompt": prompt.text}


def with_messages(prompt: Prompt, *messages: Message) -> Prompt:
    """Return the same prompt with other messages."""
    return replace(prompt, messages=messages)
