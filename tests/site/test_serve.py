"""The server shows the site on this machine alone and tells open pages what changed."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection, HTTPResponse
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from kbtool.errors import UsageError
from kbtool.site.builder import Builder
from kbtool.site.serve import Changes, _Handler, serve
from tests.site.samples import plain_shell


@contextmanager
def server(folder: Path, changes: Changes) -> Iterator[int]:
    """Serve a folder; give the port."""
    builder = Builder(folder, folder)
    builder.shell = plain_shell()
    handler = partial(_Handler, builder=builder, changes=changes, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as found:
        found.daemon_threads = True
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield found.server_address[1]
        finally:
            found.shutdown()
            thread.join()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a small site."""
    (tmp_path / "site/benchmarks").mkdir(parents=True)
    (tmp_path / "site/index.html").write_text("<html><head></head><body>home</body></html>", encoding="utf-8")
    (tmp_path / "site/benchmarks/b.html").write_text("<html><head></head>b</html>", encoding="utf-8")
    (tmp_path / "site/data.json").write_text("{}", encoding="utf-8")
    (tmp_path / "secret.html").write_text("<html><head></head>secret</html>", encoding="utf-8")
    return tmp_path / "site"


def get(port: int, path: str) -> tuple[int, bytes, HTTPResponse]:
    """Return status, body and response."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, body, response


def test_pages_listen_for_changes_and_files_stay_as_they_are(folder: Path) -> None:
    """The listening script is added on the way out; the folder holds what is published."""
    before = (folder / "index.html").read_bytes()
    with server(folder, Changes()) as port:
        for path in ("/", "/index.html", "/benchmarks/b.html?x=1"):
            status, body, response = get(port, path)
            assert status == 200
            assert b'<script type="module" src="/__kbtool/reload.js"></script>\n</head>' in body
            assert response.getheader("Cache-Control") == "no-store"
        assert get(port, "/data.json")[1] == b"{}"
        script = get(port, "/__kbtool/reload.js")
        assert (script[0], b"EventSource" in script[1]) == (200, True)
    assert (folder / "index.html").read_bytes() == before


@pytest.mark.parametrize(
    "path",
    [
        "/nothing.html",
        "/benchmarks/",
        "/../secret.html",
        "/%2e%2e/secret.html",
        "/..%2fsecret.html",
        "//etc/passwd",
    ],
)
def test_what_is_not_in_the_folder_is_not_served(path: str, folder: Path) -> None:
    """Neither files beside it nor lists of its folders."""
    with server(folder, Changes()) as port:
        status, body, _ = get(port, path)
    assert status == 404
    assert b"secret" not in body


def test_open_pages_are_told_what_changed(folder: Path) -> None:
    """A page gets the version it may compare with later, then each change as it happens."""
    changes = Changes()
    with server(folder, changes) as port:
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/__kbtool/events")
        stream = connection.getresponse()
        assert [stream.readline() for _ in range(3)] == [b"event: hello\n", b"data: 0\n", b"\n"]
        changes.tell(["benchmarks/b.html"])
        assert stream.readline() == b"event: changed\n"
        message = json.loads(stream.readline().removeprefix(b"data: "))
        assert message == {"version": "1", "paths": ["benchmarks/b.html"]}
        stream.close()
        connection.close()
        changes.tell(["index.html"])
        changes.tell(["index.html"])


def test_only_this_machine_is_served(tmp_path: Path) -> None:
    """An address that others can reach is refused before anything is built."""
    with pytest.raises(UsageError, match="this machine"):
        serve(tmp_path, tmp_path / "out", host="0.0.0.0", port=0, say=print)  # noqa: S104 - it is refused
