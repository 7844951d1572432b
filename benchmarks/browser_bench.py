"""What a reader waits for: bytes of a first view, bytes and time of the first search result, in a real Chromium.

Bars at 10,000 records: a record page has at most 80 kB to transfer at first view and works before any script; quick
search needs at most 350 kB and 500 ms to its first result. Bytes are counted as a host that compresses sends them.

Usage: CHROMIUM=/path/to/chromium python -m benchmarks.browser_bench [RECORDS]
"""

import gzip
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page, Response, sync_playwright

from benchmarks.site_bench import ROOT, generated
from kbtool.site import Builder

__all__ = ["FLAGS", "Quiet", "chromium", "first_result", "first_view", "sent_bytes", "served"]

FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
)
QUERY: Final = "run 4711"
LOADS: Final = 5


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and keeps no log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""


@contextmanager
def served(
    folder: Path,
    *,
    server_type: type[ThreadingHTTPServer] = ThreadingHTTPServer,
    handler: type[Quiet] = Quiet,
) -> Iterator[str]:
    """Serve a folder on loopback and give its address."""
    server = server_type(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def sent_bytes(responses: list[Response]) -> int:
    """Return what a host that compresses would send; what is compressed already is sent as it is."""
    bodies = [response.body() for response in responses]
    return sum(len(body if body[:2] == b"\x1f\x8b" else gzip.compress(body, 6, mtime=0)) for body in bodies)


def _opened(browser: Browser) -> tuple[Page, list[Response]]:
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    responses: list[Response] = []
    page.on("response", lambda response: responses.append(response))  # noqa: PLW0108 - it keeps notes on its handler
    return page, responses


def first_view(browser: Browser, address: str) -> int:
    """Return the bytes of a page with everything that it loads by itself."""
    page, responses = _opened(browser)
    page.goto(address, wait_until="networkidle")
    try:
        return sent_bytes(responses)
    finally:
        page.context.close()


def first_result(browser: Browser, address: str) -> tuple[float, int]:
    """Return seconds from the key that opens the search to the first result, and the bytes of the index.

    The page is there and idle; nothing of the search is loaded before the key is pressed.
    """
    page, responses = _opened(browser)
    page.goto(address, wait_until="networkidle")
    started = time.perf_counter()
    page.keyboard.press("/")
    page.get_by_role("combobox", name="Search records and pages").fill(QUERY)
    page.get_by_role("option").first.wait_for()
    elapsed_s = time.perf_counter() - started
    try:
        return elapsed_s, sent_bytes([each for each in responses if "/search/" in each.url])
    finally:
        page.context.close()


def chromium() -> str:
    """Return the browser to run: what `CHROMIUM` names, else one that is installed."""
    given = os.environ.get("CHROMIUM")
    found = given or subprocess.check_output([ROOT / "scripts" / "ensure_chromium.sh", "--find"], text=True)
    return found.strip()


def main() -> None:
    """Print the figures."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with generated(records) as (root, out), sync_playwright() as playwright:
        Builder(root, out).build()
        record = next((out / "benchmarks").glob("ev-*.html")).relative_to(out).as_posix()
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        with served(out) as address:
            view = first_view(browser, address + record)
            searches = [first_result(browser, address + record) for _ in range(LOADS)]
        browser.close()
        print(f"first view of a record page    {view / 1000:7.1f} kB")
        print(
            f"search, first result           {statistics.median(each for each, _ in searches) * 1000:7.0f} ms"
        )
        print(f"search, index loaded by then      {max(each for _, each in searches) / 1000:7.1f} kB")


if __name__ == "__main__":
    main()
