"""What goes wrong below the stream: connections, silence, framing and sizes."""
# ruff: noqa: D103 - the table in `tests.fakes.hostile` says what each of them does

import gzip
import time
from collections.abc import Iterator
from typing import Final

from tests.fakes.turn import PATIENCE_S, Turn
from tests.fakes.wire import event

KIB: Final = 1024
MIB: Final = 1024 * KIB


def close_without_answer(turn: Turn) -> None:
    turn.pause(0.0)


def reset_without_answer(turn: Turn) -> None:
    turn.wire.reset()


def half_a_head(turn: Turn) -> None:
    turn.wire.raw(b"HTTP/1.1 200 OK\r\nContent-Ty")


def reset_mid_stream(turn: Turn) -> None:
    first_half(turn)
    turn.pause(0.02)  # A reset at once would take the bytes before it away.
    turn.wire.reset()


def close_mid_stream(turn: Turn) -> None:
    first_half(turn)


def close_mid_chunk(turn: Turn) -> None:
    first_half(turn)
    turn.wire.raw(b"4000\r\ndata: {")


def close_mid_event_eof(turn: Turn) -> None:
    turn.wire.head(framing="close")
    for piece in turn.pieces()[:3]:
        turn.wire.send(piece)
    turn.wire.send(b'data: {"choices":[{"delta":{"con')


def first_half(turn: Turn) -> None:
    turn.wire.head()
    for piece in turn.pieces()[:4]:
        turn.wire.send(piece)


def never_answers(turn: Turn) -> None:
    turn.hang()


def head_then_silence(turn: Turn) -> None:
    turn.wire.head()
    turn.hang()


def stall(turn: Turn) -> None:
    first_half(turn)
    turn.hang()


def comments_only(turn: Turn) -> None:
    turn.wire.head()
    for _ in until_too_long():
        turn.wire.send(b": keep-alive\n\n")
        turn.pause(0.01)


def role_only(turn: Turn) -> None:
    turn.wire.head()
    for _ in until_too_long():
        turn.wire.send(event(turn.generation.chunk({"role": "assistant", "content": ""}, 0)))
        turn.pause(0.01)


def slow_head(turn: Turn) -> None:
    for letter in forever(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"):
        turn.wire.raw(letter)
        turn.pause(0.01)


def slow_body(turn: Turn) -> None:
    turn.wire.head()
    for letter in forever(b'data: {"choices": [{"delta": {"role": "', b" "):
        turn.wire.send(letter)
        turn.pause(0.01)


def never_ends(turn: Turn) -> None:
    turn.wire.head()
    for _ in until_too_long():
        turn.wire.send(event(turn.text()))
        turn.pause(0.005)


def stalls_before_end_mark(turn: Turn) -> None:
    turn.wire.head()
    for piece in turn.pieces()[:-1]:
        turn.wire.send(piece)
    turn.hang()


def until_too_long() -> Iterator[None]:
    end_ns = time.monotonic_ns() + int(PATIENCE_S * 1e9)
    while time.monotonic_ns() < end_ns:
        yield


def forever(first: bytes, then: bytes) -> Iterator[bytes]:
    for at in range(len(first)):
        yield first[at : at + 1]
    for _ in until_too_long():
        yield then


def not_http(turn: Turn) -> None:
    turn.wire.raw(b"SSH-2.0-OpenSSH_9.7\r\n")


def body_without_head(turn: Turn) -> None:
    turn.wire.raw(b"".join(turn.pieces()))


def content_length_too_long(turn: Turn) -> None:
    body = b"".join(turn.pieces())
    turn.wire.head(framing=str(len(body) + 100))
    turn.wire.raw(body)


def content_length_too_short(turn: Turn) -> None:
    body = b"".join(turn.pieces())
    turn.wire.head(framing=str(len(body) - 60))
    turn.wire.raw(body)


def content_length_no_number(turn: Turn) -> None:
    turn.wire.head(framing="many")
    turn.wire.raw(b"".join(turn.pieces()))


def content_length_negative(turn: Turn) -> None:
    turn.wire.head(framing="-1")
    turn.wire.raw(b"".join(turn.pieces()))


def content_length_twice(turn: Turn) -> None:
    turn.wire.head(framing="10", more="Content-Length: 20\r\n")
    turn.wire.raw(b"".join(turn.pieces()))


def length_and_chunks(turn: Turn) -> None:
    turn.wire.head(more="Content-Length: 30\r\n")
    turn.stream(*turn.pieces(), head=False)


def chunk_size_garbage(turn: Turn) -> None:
    first_half(turn)
    turn.wire.raw(b"zz\r\nabc\r\n")


def chunk_size_huge(turn: Turn) -> None:
    first_half(turn)
    turn.wire.raw(b"ffffffffffffffff\r\n" + event(turn.text()))


def chunk_size_negative(turn: Turn) -> None:
    first_half(turn)
    turn.wire.raw(b"-5\r\nhello\r\n")


def chunk_without_end(turn: Turn) -> None:
    first_half(turn)
    turn.wire.raw(b"5\r\nhelloXX5\r\nhello\r\n")


def endless_chunk_size(turn: Turn) -> None:
    first_half(turn)
    for _ in range(64):
        turn.wire.raw(b"0" * 64 * KIB)


def header_bomb(turn: Turn) -> None:
    turn.wire.raw(b"HTTP/1.1 200 OK\r\n")
    for at in range(20_000):
        turn.wire.raw(b"X-Filler-%d: %s\r\n" % (at, b"x" * 200))
    turn.wire.raw(b"\r\n")


def endless_header(turn: Turn) -> None:
    turn.wire.raw(b"HTTP/1.1 200 OK\r\nX-Long: ")
    for _ in range(256):
        turn.wire.raw(b"x" * 64 * KIB)


def interim_bomb(turn: Turn) -> None:
    turn.wire.raw(b"HTTP/1.1 102 Processing\r\n\r\n" * 1000)


def switches_protocol(turn: Turn) -> None:
    turn.wire.raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")


def bytes_behind_the_end(turn: Turn) -> None:
    turn.wire.head()
    body = b"".join(turn.pieces())
    turn.wire.raw(b"%x\r\n%b\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" % (len(body), body))


def gzip_body(turn: Turn) -> None:
    body = gzip.compress(b"".join(turn.pieces()))
    turn.wire.head(framing=str(len(body)), more="Content-Encoding: gzip\r\n")
    turn.wire.raw(body)


def gzip_bomb(turn: Turn) -> None:
    body = gzip.compress(bytes(32 * MIB))
    turn.wire.head(framing=str(len(body)), more="Content-Encoding: gzip\r\n")
    turn.wire.raw(body)


def endless_line(turn: Turn) -> None:
    turn.wire.head()
    turn.wire.send(b'data: {"choices": [{"delta": {"content": "')
    for _ in range(4096):
        turn.wire.send(b"word " * 13_000)


def giant_line(turn: Turn) -> None:
    turn.stream(event(turn.text(" word" * 60_000)), *turn.pieces())


def giant_comment(turn: Turn) -> None:
    turn.stream(b": " + b"x" * 300 * KIB + b"\n\n", *turn.pieces())


def endless_events(turn: Turn) -> None:
    turn.wire.head()
    filler = event(turn.text()) * 200
    for _ in range(20_000):
        turn.wire.send(filler)
