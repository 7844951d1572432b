"""The scripted engine as a program to be launched: `served_engine.py PORT MODEL SCRIPT`, until it is told to end.

`SCRIPT` is JSON of `tests.fakes.script.Script`. Further arguments are `--set NAME VALUE`, laid over the settings that
the engine reports, as an engine's own flag would be; `--ignores` reports none of them; `--exits-at N FILE` exits with
137 at the Nth request that is measured, once: it makes the file; each
time, where the file is called `never`.
"""

import argparse
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.fakes.engine import Engine, Script
from tests.fakes.wire import Request, Wire

PROBES_TOK = 4
"""Requests for no more tokens than that are probes."""


class Mortal(Engine):
    """An engine that dies at one request, unless it did before."""

    def __init__(self, script: Script, *, port: int, deadly: int, mark: Path) -> None:
        self.deadly, self.mark, self.measured = deadly, mark, 0
        super().__init__(script, port=port)

    def _generate(self, request: Request, wire: Wire, script: Script) -> None:
        self.measured += json.loads(request.body)["max_tokens"] > PROBES_TOK
        if self.measured == self.deadly and not self.mark.exists():
            if self.mark.name != "never":
                self.mark.touch()
            sys.stderr.write("out of memory, as a test asked\n")
            sys.stderr.flush()
            os._exit(137)
        super()._generate(request, wire, script)


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("model")
    parser.add_argument("script", type=json.loads)
    parser.add_argument("--set", nargs=2, action="append", default=[])
    parser.add_argument("--max-num-seqs", type=int, default=None)
    parser.add_argument("--ignores", action="store_true")
    parser.add_argument("--exits-at", nargs=2, default=["0", "/nowhere"])
    said = parser.parse_args()
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in said.script.items()}
    settings = {name: json.loads(value) for name, value in said.set}
    if said.max_num_seqs is not None and not said.ignores:
        settings["scheduler_config.max_num_seqs"] = said.max_num_seqs
    script = replace(Script(), model=said.model, settings=settings, **values)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    engine = Mortal(script, port=said.port, deadly=int(said.exits_at[0]), mark=Path(said.exits_at[1]))
    try:
        signal.pause()
    except KeyboardInterrupt:
        engine.stop()


if __name__ == "__main__":
    main()
