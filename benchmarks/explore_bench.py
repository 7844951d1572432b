"""What a reader of the explorer waits for: the first chart, its bytes, and a click on a facet, in a real Chromium.

Bars on two cores: with 60,000 results the first chart within 1 s and 500 kB, a click within 100 ms; with a million within
3 s and 20 MB, a click within 300 ms. Bytes are those of all files that the page has asked for by the time of the chart, as
a host that compresses sends them. A click is timed from the event to the second frame after it, in which what it changed
is on the screen: facets with their counts, chart and table. Wall times grow with whatever else runs; the CPU time of the page's
main thread does so far less, and is what a quiet machine would take at least.

Usage: CHROMIUM=/path/to/chromium python -m benchmarks.explore_bench [RECORDS ...]
"""

import statistics
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Page, Response, sync_playwright

from benchmarks.browser_bench import FLAGS, chromium, sent_bytes, served
from benchmarks.explore_table import made_up
from benchmarks.site_bench import ROOT
from kbtool.site.explore.data import explorer_file, part_path
from kbtool.site.explore.describe import PARTS, metric_order
from kbtool.site.explore.plain import MetricRow
from kbtool.site.explore.products import PAGE, explorer_page
from kbtool.site.shell import build_shell

__all__ = ["Figures", "lay_out", "measure"]

LOADS = 5
CLICKS = 12
_CLICK = """async (at) => {
  const boxes = Array.from(document.querySelectorAll(".kb-x__facet[open] .kb-x__values input[type=checkbox]"));
  const box = boxes[at % boxes.length];
  const started = performance.now();
  box.click();
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  const elapsed = performance.now() - started;
  box.isConnected && document.querySelector(`.kb-x__values input[value="${box.value}"]:checked`)?.click();
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  return elapsed;
}"""


class Figures(NamedTuple):
    """What one load of the page took."""

    chart_ms: float
    """From the start of the navigation to the first chart."""
    table_ms: float
    chart_bytes: int
    """Everything that the page had to have for it."""
    all_bytes: int
    """With the names of the records, for the table."""
    clicks_ms: tuple[float, ...]
    table_cpu_ms: float
    """CPU time of the page's main thread until the table, the chart included."""
    click_cpu_ms: float
    """The same, a click."""


def lay_out(folder: Path, records: int) -> None:
    """Write the page and its files for so many records."""
    columns = made_up(records)
    order = metric_order([str(each) for each in columns["metric"]], [None] * len(columns["metric"]))
    metrics = tuple(MetricRow(metric, metric, "", count, records, "explore.html") for metric, count in order)
    shell = build_shell(ROOT, folder.parent / "shell")
    titles = dict(zip(columns["ref"], columns["title"], strict=True))
    files = {
        part_path(part): explorer_file(part, columns.__getitem__, lambda ref: str(titles.get(ref, ref)), "")
        for part in PARTS
    }
    for path, data in {**shell.files, PAGE: explorer_page(shell, metrics), **files}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def measure(browser: Browser, address: str) -> Figures:
    """Load the page once, in a browser that has nothing of it, and click."""
    page, responses = _opened(browser)
    thread = _MainThread(page)
    page.goto(address + PAGE, wait_until="commit")
    page.locator("#kb-explore[aria-busy=false]").wait_for(timeout=120_000)
    page.wait_for_load_state("networkidle")
    marks = page.evaluate(
        "['kb-chart', 'kb-table'].map((name) => performance.getEntriesByName(name)[0].startTime)"
    )
    loaded_ms = thread.cpu_ms()
    everything = sent_bytes(responses)
    later = sent_bytes([each for each in responses if "names.bin" in each.url or "rest.bin" in each.url])
    before_ms = thread.cpu_ms()
    clicks = tuple(page.evaluate(_CLICK, at) for at in range(CLICKS))
    # Each click is undone by another one.
    click_ms = (thread.cpu_ms() - before_ms) / (2 * CLICKS)
    page.context.close()
    return Figures(marks[0], marks[1], everything - later, everything, clicks, loaded_ms, click_ms)


class _MainThread:
    """Asks the browser what CPU time the main thread of a page has taken."""

    def __init__(self, page: Page) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def cpu_ms(self) -> float:
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return next(float(each["value"]) for each in metrics if each["name"] == "TaskDuration") * 1000


def _opened(browser: Browser) -> tuple[Page, list[Response]]:
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    responses: list[Response] = []
    page.on("response", lambda response: responses.append(response))  # noqa: PLW0108 - it keeps notes on its handler
    return page, responses


def main() -> None:
    """Print the figures."""
    numbers = [int(each) for each in sys.argv[1:]] or [10_000, 170_000]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        for records in numbers:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name, "site")
                lay_out(folder, records)
                with served(folder) as address:
                    found = [measure(browser, address) for _ in range(LOADS)]
            _report(records, found)
        browser.close()


def _report(records: int, found: list[Figures]) -> None:
    clicks = [each for figures in found for each in figures.clicks_ms]
    print(f"{records:,} records")
    print(
        f"  first chart             {_middle(found, 0):9.0f} ms (slowest {max(each.chart_ms for each in found):.0f})"
    )
    print(f"  first table             {_middle(found, 1):9.0f} ms")
    print(f"  bytes until the chart   {_middle(found, 2) / 1000:9.1f} kB")
    print(f"  bytes with the names    {_middle(found, 3) / 1000:9.1f} kB")
    print(f"  CPU until the table     {_middle(found, 5):9.0f} ms")
    print(f"  CPU a click             {_middle(found, 6):9.0f} ms")
    print(f"  click on a facet        {statistics.median(clicks):9.0f} ms (slowest {max(clicks):.0f})")


def _middle(found: list[Figures], place: int) -> float:
    return statistics.median(float(figures[place]) for figures in found)  # type: ignore[arg-type]  # numbers all


if __name__ == "__main__":
    main()
