"""One connection: opening it, TLS, and reading with the kernel's stamp."""

import errno
import os
import select
import socket
import ssl
from collections.abc import Callable
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Final

from kbtool.runner.client.clock import SO_TIMESTAMPNS
from kbtool.runner.client.outgoing import Endpoint

if TYPE_CHECKING:
    from kbtool.runner.client.flight import Flight

__all__ = ["READ_BYTES", "STAMP_BYTES", "WATCHED", "Address", "Connection", "client_context", "resolve"]

READ_BYTES: Final = 65536
STAMP_BYTES: Final = 64
"""Room for the control message that carries a stamp."""

WATCHED: Final = select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLET
"""Registered once for the life of a connection: edges need no change of the set, and no second look at a socket."""

Address = tuple[socket.AddressFamily, Any]
Reader = Callable[[int, int], tuple[bytes, list[tuple[int, int, bytes]], int, Any]]


def resolve(endpoint: Endpoint, timeout_s: float) -> Address:
    """Return the address to use for the endpoint; of several, the first that lets itself be connected to.

    Raises:
        OSError: The name has no address.
    """
    found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    addresses: list[Address] = [(family, address) for family, _, _, _, address in found]
    if len(addresses) > 1:
        for family, address in addresses:
            with socket.socket(family, socket.SOCK_STREAM) as trial:
                trial.settimeout(timeout_s)
                if trial.connect_ex(address) == 0:
                    return family, address
    return addresses[0]


def client_context(endpoint: Endpoint) -> ssl.SSLContext:
    """Return the TLS settings for the endpoint: certificate and name are checked.

    Raises:
        OSError: The file with the signing certificate cannot be read.
    """
    context = ssl.create_default_context(cafile=endpoint.tls_ca_file)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


class Connection:
    """A non-blocking connection, with the request that is on it once it has one."""

    __slots__ = ("connect_start_ns", "connected_ns", "fd", "flight", "kernel", "read", "ready", "sock", "tls")

    def __init__(self, address: Address, *, tls: bool, kernel: bool) -> None:
        """Start to connect.

        Raises:
            OSError: The connection cannot even be started.
        """
        family, target = address
        self.tls = tls
        self.ready = False
        self.flight: Flight | None = None
        self.connected_ns: int | None = None
        self.connect_start_ns = monotonic_ns()
        self.sock: socket.socket = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self.fd = self.sock.fileno()
        self.kernel = kernel and not tls
        self.read: Reader = self.sock.recvmsg
        try:
            self._connect(target)
        except OSError:
            self.sock.close()
            raise

    def _connect(self, target: Any) -> None:
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.kernel:
            self.sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        status = self.sock.connect_ex(target)
        if status not in (0, errno.EINPROGRESS):
            raise OSError(status, os.strerror(status))

    def advance(self, context: ssl.SSLContext | None, host: str) -> bool:
        """Go on connecting after the socket has become ready for it; return whether requests may be sent.

        Raises:
            OSError: It failed; `ssl.SSLError` is one.
        """
        if self.ready:
            return True
        if context is not None and not isinstance(self.sock, ssl.SSLSocket):
            if not self._is_connected():
                return False
            self.sock = context.wrap_socket(self.sock, server_hostname=host, do_handshake_on_connect=False)
            self.read = self._read_tls
        if isinstance(self.sock, ssl.SSLSocket):
            try:
                self.sock.do_handshake()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return False
        elif not self._is_connected():
            return False
        self.connected_ns = monotonic_ns()
        self.ready = True
        return True

    def _is_connected(self) -> bool:
        status = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if status:
            raise OSError(status, os.strerror(status))
        try:
            self.sock.getpeername()
        except OSError:
            # An event of an earlier connection with this descriptor, left in the batch that ended it.
            return False
        return True

    def _read_tls(self, size: int, _stamp_bytes: int) -> tuple[bytes, list[tuple[int, int, bytes]], int, Any]:
        try:
            return self.sock.recv(size), [], 0, None
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def send(self, view: memoryview) -> int:
        """Hand bytes to the kernel; return how many it took.

        Raises:
            BlockingIOError: It takes none now.
            OSError: The connection is broken.
        """
        try:
            return self.sock.send(view)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def is_idle(self) -> bool:
        """Return whether it is open and the server has sent nothing: whether a request may go on it."""
        try:
            # TLS allows no look without taking; bytes on an idle connection spoil it anyway.
            if self.tls:
                self.sock.recv(1)
            else:
                self.sock.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """Give it up; the kernel takes it out of the epoll set."""
        self.sock.close()
