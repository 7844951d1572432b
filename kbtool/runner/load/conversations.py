"""Conversations: agents that talk in turns, each turn beginning with everything said before.

The engine's own answers are put back into the next turn, as an agent's would be: what the prefix cache holds is then
what the engine really generated.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, Final

import orjson

from kbtool.errors import UsageError
from kbtool.runner.client.outgoing import Outgoing, Send
from kbtool.runner.client.parse import parse
from kbtool.runner.client.recorded import Recorded
from kbtool.runner.load.build import RequestMaker, Who
from kbtool.runner.load.lengths import Length, draw_length
from kbtool.runner.load.patience import Patience
from kbtool.runner.load.work import NS_PER_S, Api, WorkSpec
from kbtool.runner.prompts import (
    ConversationSpec,
    Draws,
    Message,
    count_pieces,
    first_messages,
    turn_message,
)
from kbtool.runner.trace import Outcome, RequestTrace

__all__ = ["Conversations", "ConversationsSpec"]

_MOST_CHARS_A_TOK: Final = 64
"""No answer is longer, unless its server ignores the length asked for."""
_PREBUILT_BYTES: Final = 1 << 28


@dataclass(frozen=True, slots=True)
class ConversationsSpec:
    """What the agents do."""

    agents: int
    turns: int
    system_tok: int
    """Tokens of the system prompt with its tools."""
    turn_tok: Length
    """Tokens that the user or a tool adds a turn."""
    each: int = 1
    """Conversations of each agent, one after another."""
    shared_system: bool = True
    """Whether all conversations of the round have one system prompt."""
    think_s: float = 0.0
    """Mean pause between an answer and the next turn; exponentially distributed."""
    think_fixed: bool = False
    """Every pause is exactly the mean."""
    ramp_s: float = 0.0
    """Time over which the agents begin, evenly spread."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One message as it stands in the body: what was said once is not turned into JSON again."""

    json: bytes
    pieces: int


def _part(message: Message, *, chat: bool, first: bool = False) -> _Part:
    pieces = count_pieces(message.content)
    if chat:
        return _Part(orjson.dumps({"role": message.role, "content": message.content}), pieces)
    head = "" if first else f"\n\n{message.role.capitalize()}: "
    return _Part(orjson.dumps(head + message.content)[1:-1], pieces)


class _Talk:
    """One conversation under way: its messages so far, as the text that goes into the body."""

    __slots__ = ("_chat", "_parts", "agent", "number", "pieces", "spec", "turn")

    def __init__(self, spec: ConversationSpec, number: int, agent: int, *, chat: bool) -> None:
        self.spec = spec
        self.number = number
        self.agent = agent
        self.turn = 1
        self.pieces = 0
        self._chat = chat
        self._parts: list[bytes] = []

    def add(self, part: "_Part") -> None:
        """Put a message behind the others."""
        self.pieces += part.pieces
        self._parts.append(part.json)

    def said(self) -> dict[str, Any]:
        """Return the field of the body that holds the conversation."""
        if self._chat:
            return {"messages": orjson.Fragment(b"[" + b",".join(self._parts) + b"]")}
        return {"prompt": orjson.Fragment(b'"' + b"".join(self._parts) + b'\\n\\nAssistant:"')}


def _put_back(trace: RequestTrace) -> str:
    """Return the answer as the next turn has it: hostile text, so valid Unicode and of bounded length."""
    most = trace.asked_output_tok * _MOST_CHARS_A_TOK
    return (trace.text or trace.reasoning_text)[:most].encode("utf-8", "replace").decode()


class Conversations:
    """Driver of n agents."""

    def __init__(
        self, work: WorkSpec, spec: ConversationsSpec, *, read: Callable[[Recorded], RequestTrace] = parse
    ) -> None:
        """Build everything that depends on no answer.

        Args:
            work: The round; its content's output length is that of an answer.
            spec: What the agents do.
            read: Makes a trace of what was recorded; replaced in tests.

        Raises:
            UsageError: There are no agents, turns or conversations.
        """
        if spec.agents < 1 or spec.turns < 1 or spec.each < 1:
            raise UsageError(
                f"cell {work.cell!r}: {spec.agents} agents, {spec.turns} turns, {spec.each} conversations each; expected "
                "1 or more of each"
            )
        self._work = work
        self._spec = spec
        self._read = read
        self._chat = work.api is Api.CHAT
        self._maker = RequestMaker(work)
        self._patience = Patience(spec.agents)
        self._number = 0
        self.expected_tok: dict[str, int] = {}
        """Prompt tokens that each request should have, by id; later turns count answers as their pieces say."""
        self.n_abandoned = 0
        """Conversations that a failed turn ended."""
        self.slowest_ns = 0
        """The longest that reading an answer and building the next turn took: the loop stood still meanwhile."""
        self._talks = {n: self._begun(n) for n in range(spec.agents * spec.each)}
        self._active: dict[int, _Talk] = {}
        self._prebuilt: dict[tuple[int, int], _Part] = {}
        self._prebuild()

    def begin(self, now_ns: int) -> Iterable[Send]:
        """Return the first turn of each agent's first conversation."""
        step_ns = self._spec.ramp_s * NS_PER_S / self._spec.agents
        return [
            Send(now_ns + round(agent * step_ns), self._next_talk(agent, 0))
            for agent in range(self._spec.agents)
        ]

    def ended(self, recorded: Recorded, now_ns: int) -> Iterable[Send]:
        """Return the next turn with the answer in it, or the first of the agent's next conversation."""
        start_ns = perf_counter_ns()
        pause_ns = self._patience.pause_ns(recorded)
        if self._patience.gone or recorded.failure is Outcome.CANCELLED:
            return ()
        talk = self._active.pop(recorded.outgoing.stream)
        trace = self._read(recorded)
        if trace.outcome is not Outcome.OK:
            self.n_abandoned += 1
            follower = self._after(talk)
        elif talk.turn >= self._spec.turns:
            follower = self._after(talk)
        else:
            pause_ns = max(pause_ns, self._think_ns(talk))
            follower = self._next_turn(talk, _put_back(trace))
        self.slowest_ns = max(self.slowest_ns, perf_counter_ns() - start_ns)
        return () if follower is None else (Send(now_ns + pause_ns, follower),)

    def stop(self, now_ns: int) -> bool:  # noqa: ARG002 - the number of turns ends it
        """Return whether nothing has worked for too long."""
        return self._patience.gone

    def _begun(self, number: int) -> _Talk:
        """Return a conversation whose first turn is ready; agents take turns, so that numbers go by rounds."""
        work, spec = self._work, self._spec
        salt = f"{work.salt}/{number}"
        described = ConversationSpec(
            work.seed,
            salt,
            f"{work.salt}/shared" if spec.shared_system else salt,
            spec.system_tok,
            self._turn_tok(number, 1),
            work.length_model("agent"),
        )
        talk = _Talk(described, number, number % spec.agents, chat=self._chat)
        system, task = first_messages(described)
        talk.add(_part(system, chat=self._chat, first=True))
        talk.add(_part(task, chat=self._chat))
        return talk

    def _prebuild(self) -> None:
        """Build what users and tools will say, turn by turn, as far as memory allows: it depends on no answer."""
        n_bytes = 0
        for turn in range(2, self._spec.turns + 1):
            for number, talk in self._talks.items():
                part = self._said_in(talk, turn)
                self._prebuilt[number, turn] = part
                n_bytes += len(part.json)
                if n_bytes > _PREBUILT_BYTES:
                    return

    def _said_in(self, talk: _Talk, turn: int) -> _Part:
        return _part(turn_message(talk.spec, turn, self._turn_tok(talk.number, turn)), chat=self._chat)

    def _turn_tok(self, number: int, turn: int) -> int:
        return draw_length(self._spec.turn_tok, Draws(self._work.seed, "turn", self._work.salt, number, turn))

    def _think_ns(self, talk: _Talk) -> int:
        mean_ns = self._spec.think_s * NS_PER_S
        if self._spec.think_fixed or mean_ns == 0:
            return round(mean_ns)
        draws = Draws(self._work.seed, "think", self._work.salt, talk.number, talk.turn)
        return round(mean_ns * draws.exponential())

    def _next_talk(self, agent: int, which: int) -> Outgoing:
        return self._request(self._talks.pop(agent + which * self._spec.agents))

    def _after(self, talk: _Talk) -> Outgoing | None:
        """Return the first turn of the agent's next conversation."""
        which = talk.number // self._spec.agents + 1
        return self._next_talk(talk.agent, which) if which < self._spec.each else None

    def _next_turn(self, talk: _Talk, answer: str) -> Outgoing:
        talk.turn += 1
        talk.add(_part(Message("assistant", answer), chat=self._chat))
        key = (talk.number, talk.turn)
        talk.add(self._prebuilt.pop(key) if key in self._prebuilt else self._said_in(talk, talk.turn))
        return self._request(talk)

    def _request(self, talk: _Talk) -> Outgoing:
        self._active[talk.agent] = talk
        output_tok = draw_length(
            self._work.content.output_tok,
            Draws(self._work.seed, "answer", self._work.salt, talk.number, talk.turn),
        )
        who = Who(self._number, talk.agent, talk.turn, talk.number)
        self._number += 1
        outgoing = self._maker.outgoing(talk.said(), output_tok, who, "agent", talk.spec.system_salt)
        self.expected_tok[outgoing.id] = talk.spec.lengths.expected_tok(talk.pieces)
        return outgoing
