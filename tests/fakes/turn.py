"""One request that is about to be answered, and the means to answer it badly."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.fakes.generation import Generation
from tests.fakes.state import State
from tests.fakes.wire import Wire

__all__ = ["PATIENCE_S", "Turn"]

PATIENCE_S: Final = 20.0
"""The longest that a server which never ends goes on; every client has left long before."""
Send = Callable[[Wire, Generation, State, threading.Event], None]


@dataclass(frozen=True, slots=True)
class Turn:
    """One request that is about to be answered."""

    wire: Wire
    generation: Generation
    state: State
    closing: threading.Event
    send: Send
    """The honest answer."""

    def honest(self, generation: Generation | None = None) -> None:
        """Answer as asked."""
        self.send(self.wire, generation or self.generation, self.state, self.closing)

    def pause(self, seconds: float) -> None:
        """Wait, unless the engine is stopped."""
        if self.closing.wait(seconds):
            raise ConnectionAbortedError

    def hang(self) -> None:
        """Say nothing more until the client leaves or the engine is stopped."""
        self.pause(PATIENCE_S)

    def pieces(self) -> list[bytes]:
        """Return the events of an honest stream, end mark last."""
        keeper = _Keeper()
        self.send(keeper, self.generation, self.state, self.closing)
        return keeper.pieces

    def objects(self) -> list[dict[str, object]]:
        """Return the JSON of an honest stream's events, without the end mark."""
        texts = b"".join(self.pieces()).split(b"\n\n")
        return [json.loads(text.removeprefix(b"data: ")) for text in texts if text.startswith(b"data: {")]

    def stream(self, *pieces: bytes, head: bool = True) -> None:
        """Send pieces as a stream that ends properly."""
        if head:
            self.wire.head()
        for piece in pieces:
            self.wire.send(piece)
        self.wire.finish()

    def text(self, words: str = " word") -> dict[str, object]:
        """Return an event with one token of text."""
        return self.generation.chunk({"content": words}, 1)


class _Keeper(Wire):
    """Keeps what an answer would send."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.chunked = False

    def head(self, status: int = 200, kind: str = "", *, framing: str = "", more: str = "") -> None:
        """Keep no head."""

    def send(self, data: bytes) -> None:
        """Keep a piece of the body."""
        self.pieces.append(data)

    def finish(self) -> None:
        """Nothing is left to say."""
