"""Measure the runner's client beside other load tools, against a server whose true send times are known.

In each repetition all tools meet the same server process with the same script, one after the other, in an order that
turns.  What a tool reports is held against the server's log; CPU time and memory are those of the tool's whole process
tree.

Usage: python -m benchmarks.runner_bench [--peers FOLDER] [--repeats N] [--minutes N] [--realtime] [--only NAME,...]
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.runner_measure import CELLS, SERVER_PRIORITY, Cell, Preloaded, Row, Setting, measure
from benchmarks.runner_peers import PEERS, Peer, missing
from benchmarks.runner_table import line, table
from kbtool.runner.truth import Spec, TruthServer

__all__ = ["main"]

ROOT: Final = Path(__file__).resolve().parent.parent
UNREADABLE: Final = (RuntimeError, OSError, KeyError, ValueError)


@dataclass(slots=True)
class Comparison:
    """Tools, loads, and what came of them so far."""

    tools: Sequence[Peer]
    cells: Sequence[Cell]
    setting: Setting
    preloaded: Mapping[str, Preloaded]
    until_s: float
    """When nothing more is started, on the monotonic clock."""
    rows: list[Row] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def repeat(self, number: int) -> None:
        """Measure every tool in every cell once."""
        priority = SERVER_PRIORITY if self.setting.realtime else 0
        for at, cell in enumerate(self.cells):
            with TruthServer(default=cell.spec, realtime_priority=priority) as server:
                for one in _order(self.tools, number * len(self.cells) + at):
                    self._try(one, cell, server, number)

    def _try(self, one: Peer, cell: Cell, server: TruthServer, number: int) -> None:
        try:
            if time.monotonic() > self.until_s:
                raise RuntimeError("no time left")
            row = measure(
                one, cell, server, self.setting, preloaded=self.preloaded.get(one.name), repeat=number
            )
        except UNREADABLE as error:
            self.failures.append(f"{one.name}, {cell.name}, repeat {number + 1}: {error}")
            print(self.failures[-1], file=sys.stderr, flush=True)
            return
        self.rows.append(row)
        print(line(row), file=sys.stderr, flush=True)


def _order(tools: Sequence[Peer], turn: int) -> list[Peer]:
    """Return the tools in another order each time: turned on by one, and every second time backwards."""
    at = turn % len(tools)
    turned = [*tools[at:], *tools[:at]]
    return turned[::-1] if turn % 2 else turned


def _cold_starts(tools: Sequence[Peer], peers: Path) -> Iterator[str]:
    """Yield one row a tool: CPU time from its start to its first request, imports included, and memory."""
    cell = Cell("start", 1, 1, Spec(tokens=8, ttft_ms=50, step_ms=10))
    yield "| tool | CPU s to the first request | wall s, whole | RSS MB |"
    yield "|---|---|---|---|"
    with TruthServer(default=cell.spec) as server:
        for one in tools:
            try:
                row = measure(one, cell, server, Setting(peers), preloaded=None, repeat=0)
            except UNREADABLE as error:
                yield f"| {one.name} | {error!s:.200} | | |"
                continue
            yield f"| {one.name} | {row.start_cpu_s:.2f} | {row.wall_s:.1f} | {row.peak_rss_mb:.0f} |"


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runner_bench")
    parser.add_argument(
        "--peers", type=Path, default=ROOT / "build" / "peers", help="see benchmarks/README.md"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--realtime", action="store_true", help="server and tools before ordinary processes")
    parser.add_argument("--only", default="", help="names of tools, joined by commas")
    parser.add_argument("--cells", default="", help="names of cells, joined by semicolons")
    parser.add_argument("--no-starts", action="store_true", help="leave the cold starts out")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "runner.json")
    return parser.parse_args(arguments)


def _installed(options: argparse.Namespace) -> Iterator[Peer]:
    for one in PEERS:
        if options.only and one.name not in options.only.split(","):
            continue
        reason = missing(one, options.peers)
        if reason is None:
            yield one
        else:
            print(f"{one.name}: left out: {reason}")


def main(arguments: Sequence[str] = ()) -> None:
    """Measure all that is installed, and print the tables."""
    options = _options(arguments)
    tools = list(_installed(options))
    with ExitStack() as stack:
        preloaded = {
            one.name: stack.enter_context(Preloaded(one, options.peers))
            for one in tools
            if one.entry is not None
        }
        comparison = Comparison(
            tools=tools,
            cells=[cell for cell in CELLS if not options.cells or cell.name in options.cells.split(";")],
            setting=Setting(options.peers, options.realtime),
            preloaded=preloaded,
            until_s=time.monotonic() + options.minutes * 60,
        )
        for number in range(options.repeats):
            comparison.repeat(number)
    print("\n".join(table(comparison.rows)))
    loads = [row.load_average for row in comparison.rows] or [os.getloadavg()[0]]
    print(f"load of the host meanwhile: {min(loads):.1f} to {max(loads):.1f}")
    for failure in comparison.failures:
        print(f"left out: {failure}")
    if not options.no_starts:
        print("\n".join(_cold_starts(tools, options.peers)))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    value = {"rows": [asdict(row) for row in comparison.rows], "failures": comparison.failures}
    options.out.write_text(json.dumps(value))


if __name__ == "__main__":
    main(sys.argv[1:])
