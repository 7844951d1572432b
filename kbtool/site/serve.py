"""Serving the site on this machine, with pages that reload when what they show changed.

One thread watches the sources and builds; the server answers from the folder that was built and tells open pages
which files changed. The script that listens is added to pages on their way out, so that the folder holds the
same bytes as one that is to be published.
"""

import json
import queue
import threading
from collections.abc import Callable, Iterable
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from watchfiles import DefaultFilter, watch

from kbtool.errors import KbtoolError, UsageError
from kbtool.escape import terminal
from kbtool.site.builder import Builder, BuildReport

__all__ = ["Changes", "serve"]

Say = Callable[[str], None]

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_EVENTS: Final = "/__kbtool/events"
_SCRIPT_PATH: Final = "/__kbtool/reload.js"
_SCRIPT: Final = b"""// Reloads this page when the server says that its file, or one that every page uses, changed.
const path = decodeURIComponent(location.pathname).replace(/^\\//, "").replace(/(^|\\/)$/, "$1index.html");
let version = null;
const events = new EventSource("/__kbtool/events");
events.addEventListener("hello", (event) => {
  if (version !== null && version !== event.data) location.reload();
  version = event.data;
});
events.addEventListener("changed", (event) => {
  const { version: latest, paths } = JSON.parse(event.data);
  version = latest;
  if (paths.includes(path) || paths.some((each) => each.startsWith("assets/"))) location.reload();
});
"""
_TAG: Final = f'<script type="module" src="{_SCRIPT_PATH}"></script>\n</head>'.encode()
_DEBOUNCE_MS: Final = 120
"""A save is often several events; this is how long they are gathered."""
_HEARTBEAT_S: Final = 15.0


class Changes:
    """Tells every open page which files changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: set[queue.SimpleQueue[str]] = set()
        self.version = 0

    def listen(self) -> "queue.SimpleQueue[str]":
        """Return a queue that gets a message for each change."""
        listener: queue.SimpleQueue[str] = queue.SimpleQueue()
        with self._lock:
            self._listeners.add(listener)
        return listener

    def leave(self, listener: "queue.SimpleQueue[str]") -> None:
        """Stop filling a queue."""
        with self._lock:
            self._listeners.discard(listener)

    def tell(self, paths: Iterable[str]) -> None:
        """Send the paths of changed files to everybody."""
        with self._lock:
            self.version += 1
            message = json.dumps({"version": str(self.version), "paths": list(paths)})
            for listener in self._listeners:
                listener.put(message)


def serve(root: Path, out: Path, *, host: str, port: int, say: Say) -> None:
    """Build, serve, and build again whenever a source changes, until Ctrl-C.

    Raises:
        UsageError: The address is not one of this machine, or the port is taken.
        KbtoolError: The first build fails.
    """
    if host not in _LOOPBACK:
        raise UsageError(
            f"{host} is not an address of this machine alone; expected 127.0.0.1: to publish, use `kbtool build`"
        )
    builder = Builder(root, out)
    _report(builder.build(), say)
    changes = Changes()
    stop = threading.Event()
    try:
        server = ThreadingHTTPServer(
            (host, port), partial(_Handler, builder=builder, changes=changes, directory=str(out))
        )
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}:{port}: {error.strerror}; name another port with --port"
        ) from None
    server.daemon_threads = True
    watcher = threading.Thread(target=_keep_current, args=(root, builder, changes, stop, say), daemon=True)
    watcher.start()
    say(f"Serving on http://{host}:{server.server_address[1]}/ (Ctrl-C ends it)")
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        say("")
    finally:
        stop.set()
        server.server_close()
        watcher.join(timeout=5)


def _keep_current(root: Path, builder: Builder, changes: Changes, stop: threading.Event, say: Say) -> None:
    """Build after every change of a source; a build that fails is said and the next one tried."""
    sources = [path for path in (root / "records", root / "site", root / "mkdocs.yml") if path.exists()]
    for _ in watch(*sources, watch_filter=DefaultFilter(), stop_event=stop, debounce=_DEBOUNCE_MS, step=20):
        try:
            report = builder.build(pages_ready=changes.tell)
        except KbtoolError as error:
            say(terminal(str(error)))
            continue
        _report(report, say)
        if report.removed:
            changes.tell(report.changed)


def _report(report: BuildReport, say: Say) -> None:
    say(report.summary())
    for each in report.findings:
        say(terminal(f"{each.path}:{each.line}:{each.column}: {each.severity} {each.code} {each.message}"))


class _Handler(SimpleHTTPRequestHandler):
    """Answers from the folder; adds the listening script to pages, and keeps nothing in caches."""

    def __init__(self, *args: Any, builder: Builder, changes: Changes, **keywords: Any) -> None:
        self._builder = builder
        self._changes = changes
        super().__init__(*args, **keywords)

    def do_GET(self) -> None:
        """Answer a request."""
        path = urlsplit(self.path).path
        if path == _EVENTS:
            self._stream()
        elif path == _SCRIPT_PATH:
            self._answer(_SCRIPT, "text/javascript; charset=utf-8")
        elif (file := self._page_file(path)) is not None:
            self._page(file.read_bytes())
        else:
            super().do_GET()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer with the site's own page for what is not there, its links from the root that we know."""
        shell = self._builder.shell
        if code == HTTPStatus.NOT_FOUND and shell is not None:
            self._page(shell.not_found("/"), HTTPStatus.NOT_FOUND)
        else:
            super().send_error(code, message, explain)

    def list_directory(self, path: Any) -> None:  # noqa: ARG002 - the signature is the library's
        """Refuse: a folder without an index is not part of the site."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        """Forbid caches to answer in our place."""
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        """Say nothing: what is built is reported instead."""

    def _page_file(self, path: str) -> Path | None:
        """Return the page at a path, if it is one inside the folder."""
        folder = Path(self.directory).resolve()
        name = unquote(path).lstrip("/")
        found = (folder / (f"{name}index.html" if not name or name.endswith("/") else name)).resolve()
        return found if found.suffix == ".html" and found.is_file() and found.is_relative_to(folder) else None

    def _page(self, html: bytes, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._answer(html.replace(b"</head>", _TAG, 1), "text/html; charset=utf-8", status)

    def _answer(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _stream(self) -> None:
        """Send events until the page goes away."""
        listener = self._changes.listen()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            self._event("hello", str(self._changes.version))
            while True:
                try:
                    self._event("changed", listener.get(timeout=_HEARTBEAT_S))
                except queue.Empty:
                    self._event("alive", "")
        except OSError:  # the page was closed
            return
        finally:
            self._changes.leave(listener)

    def _event(self, name: str, data: str) -> None:
        self.wfile.write(f"event: {name}\ndata: {data}\n\n".encode())
        self.wfile.flush()
