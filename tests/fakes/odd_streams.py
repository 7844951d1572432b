"""What looks odd and is allowed: a client that refuses it is wrong."""
# ruff: noqa: D103 - the table in `tests.fakes.hostile` says what each of them does

from dataclasses import replace

from tests.fakes.turn import Turn


def byte_by_byte(turn: Turn) -> None:
    turn.wire.head()
    for letter in b"".join(turn.pieces()):
        turn.wire.send(bytes([letter]))
    turn.wire.finish()


def one_segment(turn: Turn) -> None:
    turn.stream(b"".join(turn.pieces()))


def ends_at_close(turn: Turn) -> None:
    turn.wire.head(framing="close")
    for piece in turn.pieces():
        turn.wire.send(piece)


def known_length(turn: Turn) -> None:
    body = b"".join(turn.pieces())
    turn.wire.head(framing=str(len(body)))
    turn.wire.raw(body)


def comments_between(turn: Turn) -> None:
    turn.stream(*(piece for one in turn.pieces() for piece in (b": ping\n\n", one)))


def windows_lines(turn: Turn) -> None:
    turn.stream(*(piece.replace(b"\n", b"\r\n") for piece in turn.pieces()))


def event_names(turn: Turn) -> None:
    turn.stream(
        *(b"event: message\nid: 7\nretry: 1000\n" + piece for piece in turn.pieces()[:-1]), turn.pieces()[-1]
    )


def chunk_extension(turn: Turn) -> None:
    turn.wire.head()
    for piece in turn.pieces():
        turn.wire.raw(b"%x;name=value\r\n%b\r\n" % (len(piece), piece))
    turn.wire.raw(b"0\r\nX-Checksum: abc\r\n\r\n")


def interim_answer(turn: Turn) -> None:
    turn.wire.raw(b"HTTP/1.1 100 Continue\r\n\r\n")
    turn.honest()


def kept_open(turn: Turn) -> None:
    turn.honest()
    turn.hang()


def early_role(turn: Turn) -> None:
    pieces = turn.pieces()
    turn.wire.head()
    turn.wire.send(pieces[0])
    turn.pause(0.05)
    turn.stream(*pieces[1:], head=False)


def many_bytes(turn: Turn) -> None:
    word = "\N{GRINNING FACE}\N{COMBINING ACUTE ACCENT}"
    turn.honest(replace(turn.generation, text=(word,) * len(turn.generation.text)))
