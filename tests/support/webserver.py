"""A file server on loopback that behaves like a static host: a path below the root, a 404 page."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

__all__ = ["PREFIX", "serving"]

PREFIX = "/kb/"
"""Sites of projects are published below the root of a host."""


class _Handler(SimpleHTTPRequestHandler):
    """Files below `PREFIX`, and the site's own page for everything that is missing."""

    protocol_version = "HTTP/1.1"

    def translate_path(self, path: str) -> str:
        """Return the file of an address; outside `PREFIX` there is none."""
        plain = urlsplit(path).path
        inside = plain.removeprefix(PREFIX) if plain.startswith(PREFIX) else "no/such/file"
        return super().translate_path("/" + inside)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer with the site's 404 page where it has one."""
        page = Path(self.directory, "404.html")
        if code != 404 or not page.is_file():
            super().send_error(code, message, explain)
            return
        content = page.read_bytes()
        self.send_response(404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Keep quiet: the tests look at what the browser saw."""


class _Server(ThreadingHTTPServer):
    """A server that does not report browsers that hang up."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that is left while it loads breaks its connections; that is no fault."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder until the block ends; gives the address of the site, slash included."""
    with _Server(("127.0.0.1", 0), lambda *arguments: _Handler(*arguments, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{PREFIX}"
        finally:
            server.shutdown()
            thread.join()
