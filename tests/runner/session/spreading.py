"""A small router: it hands each connection to one of some servers, in turn or by what a header says."""

import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count

__all__ = ["spreading"]

_MOST_BYTES = 1 << 16


@contextmanager
def spreading(ports: Sequence[int], *, header: str | None = None) -> Iterator[int]:
    """Spread connections over ports of this machine until the block ends; yield the router's own port.

    Args:
        ports: The servers.
        header: Name of the header whose value decides; None to take turns, one connection each.
    """
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    turns, threads, places = count(), list[threading.Thread](), dict[bytes, int]()

    def serve(client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            head = client.recv(_MOST_BYTES)
            if not head:
                return
            key = b"" if header is None else _value(head, header)
            at = places.setdefault(key, len(places)) if key else next(turns)
            with socket.create_connection(("127.0.0.1", ports[at % len(ports)])) as server:
                server.sendall(head)
                up = threading.Thread(target=_pump, args=(client, server))
                up.start()
                _pump(server, client)
                with contextlib.suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)
                up.join()

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                thread = threading.Thread(target=serve, args=(listener.accept()[0],))
                threads.append(thread)
                thread.start()

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join()
        for each in threads:
            each.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_MOST_BYTES):
            sink.sendall(data)


def _value(head: bytes, header: str) -> bytes:
    name = header.lower().encode() + b":"
    lines = head.partition(b"\r\n\r\n")[0].split(b"\r\n")
    return next((each[len(name) :].strip() for each in lines if each.lower().startswith(name)), b"")
