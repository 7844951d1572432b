"""What Lighthouse says of the built site, by page and category, as a phone and as a desktop.

The bar is 95 in each category for the home page, a record and the explorer; the other pages are held to it too. The site
is served as a host would: compressed, with an ETag and leave to keep files for ten minutes. Lighthouse slows network and CPU down by
calculation, from what it saw on this machine: a busy one lowers the figure for performance, so that each is a median.

Lighthouse is no part of the project: `npm install lighthouse` in a folder of its own, then name its executable.

Usage: CHROMIUM=/path/to/chromium python -m benchmarks.lighthouse_bench LIGHTHOUSE [--site FOLDER] [--runs 3] [--why] [PAGE ...]
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.browser_bench import FLAGS, Quiet, chromium, served
from benchmarks.site_bench import ROOT

__all__ = ["CATEGORIES", "PAGES", "PRESETS", "Scores", "scores"]

CATEGORIES: Final = ("performance", "accessibility", "best-practices", "seo")
PRESETS: Final = ("mobile", "desktop")
BAR: Final = 95
PAGES: Final = (
    "index.html",
    "benchmarks/ev-sglang-dsv41-production-decode-tok-s-per-user.html",
    "benchmarks/ev-sglang-dsv41-production-128k-prefill-tps.html",
    "accelerators/nvidia-rtx-pro-6000-blackwell-max-q.html",
    "engines/sglang.html",
    "explore.html",
    "compare.html",
    "benchmarks/index.html",
    "limits.html",
    "cost.html",
    "coverage.html",
    "conflicts.html",
    "gaps.html",
    "metrics.html",
    "rules.html",
    "changes.html",
    "data.html",
    "quality.html",
)
"""One of each kind; of the benchmarks one with a chart and one with a sweep."""
_COMPRESSED: Final = frozenset(
    {".html", ".css", ".js", ".json", ".svg", ".txt", ".xml", ".atom", ".csv", ".cff"}
)
_KEPT_S: Final = 600
"""For how long the commonest host of static sites lets a browser keep a file."""
_PATIENCE_S: Final = 180


class Scores(NamedTuple):
    """What one run says of one page."""

    points: dict[str, float]
    """By category, 0 to 100."""
    lost: tuple[str, ...]
    """Each audit that cost points, with what it found."""


class _Host(Quiet):
    """A static host: HTTP/1.1, compressed texts, an ETag, and leave to keep what was sent."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # noqa: N802 - the base class names it so
        """Answer with the file, compressed where it is a text, or with the site's page for what is missing."""
        file = Path(self.translate_path(self.path))
        file = file / "index.html" if file.is_dir() else file
        if file.is_file():
            self._answer(file, HTTPStatus.OK)
        else:
            self._answer(Path(self.directory, "404.html"), HTTPStatus.NOT_FOUND)

    def _answer(self, file: Path, status: HTTPStatus) -> None:
        body = file.read_bytes()
        tag = f'"{sha256(body).hexdigest()[:16]}"'
        if status is HTTPStatus.OK and self.headers.get("If-None-Match") == tag:
            self.send_response(HTTPStatus.NOT_MODIFIED)
            self.send_header("ETag", tag)
            self.end_headers()
            return
        self.send_response(status)
        if file.suffix in _COMPRESSED and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body, 6, mtime=0)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Vary", "Accept-Encoding")
        self.send_header("Content-Type", self._type_of(file))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", f"max-age={_KEPT_S}")
        self.send_header("ETag", tag)
        self.end_headers()
        self.wfile.write(body)

    def _type_of(self, file: Path) -> str:
        kind = self.guess_type(str(file))
        return f"{kind}; charset=utf-8" if file.suffix in _COMPRESSED else kind


class _Server(ThreadingHTTPServer):
    """A server that does not report browsers that hang up."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Lighthouse closes its browser in the middle of what it does not need; that is no fault."""


def scores(lighthouse: str, address: str, preset: str) -> Scores:
    """Return what one run says of the page at `address`.

    Raises:
        CalledProcessError: Lighthouse failed, or its browser did.
        TimeoutExpired: It took more than three minutes.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [
            lighthouse, address, "--quiet", "--output=json", f"--output-path={report}",
            f"--only-categories={','.join(CATEGORIES)}", f"--chrome-flags=--headless=new {' '.join(FLAGS)}",
        ]  # fmt: skip
        command += ["--preset=desktop"] if preset == "desktop" else []
        environment = {**os.environ, "CHROME_PATH": chromium()}
        subprocess.run(command, check=True, timeout=_PATIENCE_S, env=environment, stdout=subprocess.DEVNULL)
        return _read(json.loads(report.read_bytes()))


def _read(report: dict[str, Any]) -> Scores:
    if "runtimeError" in report:
        raise RuntimeError(f"{report['requestedUrl']}: {report['runtimeError']['message']}")
    points: dict[str, float] = {}
    lost: dict[str, str] = {}
    for name in CATEGORIES:
        category = report["categories"][name]
        points[name] = 100 * category["score"]
        for each in category["auditRefs"]:
            audit = report["audits"][each["id"]]
            if each["weight"] and audit["score"] is not None and audit["score"] < 1:
                lost[each["id"]] = f"{name}: {each['id']} {audit.get('displayValue', '')}{_found(audit)}"
    return Scores(points, tuple(lost.values()))


def _found(audit: dict[str, Any]) -> str:
    """Return the first elements or addresses that an audit names."""
    items = audit.get("details", {}).get("items", [])[:3]
    named = [
        each.get("node", {}).get("snippet") or each.get("description") or each.get("url") or ""
        for each in items
    ]
    return "".join(f"\n        {text[:300]}" for text in named if text)


def _table(measured: dict[str, dict[str, list[Scores]]]) -> None:
    print(f"| page | {' | '.join(f'{name}, {preset}' for name in CATEGORIES for preset in PRESETS)} |")
    print("|---" * (1 + len(CATEGORIES) * len(PRESETS)) + "|")
    for page, by_preset in measured.items():
        cells = [
            statistics.median(each.points[name] for each in by_preset[preset])
            for name in CATEGORIES
            for preset in PRESETS
        ]
        print(f"| {page} | {' | '.join(f'{cell:.0f}' for cell in cells)} |")


def main(given: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a median is below the bar."""
    parser = argparse.ArgumentParser(description="Run Lighthouse over the built site.")
    parser.add_argument("lighthouse", help="path of its executable: node_modules/.bin/lighthouse")
    parser.add_argument("pages", nargs="*", default=PAGES, help="paths from the root of the site")
    parser.add_argument(
        "--site", type=Path, default=ROOT / "build" / "site", help="what `kbtool build` wrote"
    )
    parser.add_argument("--runs", type=int, default=3, help="of which the median counts")
    parser.add_argument("--why", action="store_true", help="say which audits cost points")
    options = parser.parse_intermixed_args(given)
    measured: dict[str, dict[str, list[Scores]]] = {}
    with served(options.site, server_type=_Server, handler=_Host) as address:
        for page in options.pages:
            measured[page] = {
                preset: [scores(options.lighthouse, address + page, preset) for _ in range(options.runs)]
                for preset in PRESETS
            }
            if options.why:
                _explain(page, measured[page])
    _table(measured)
    medians = [
        statistics.median(each.points[name] for each in runs)
        for by_preset in measured.values()
        for runs in by_preset.values()
        for name in CATEGORIES
    ]
    return int(min(medians) < BAR)


def _explain(page: str, by_preset: dict[str, list[Scores]]) -> None:
    for preset, runs in by_preset.items():
        print(f"{page}, {preset}: {', '.join(f'{name} {runs[0].points[name]:.0f}' for name in CATEGORIES)}")
        for line in runs[0].lost:
            print(f"    {line}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
