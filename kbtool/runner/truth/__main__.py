"""`python -m kbtool.runner.truth`: serve, and log what was true."""

import argparse
import json
import os
import resource
import sys
from dataclasses import asdict

from kbtool.runner.truth.server import Server
from kbtool.runner.truth.spec import Spec, SpecError, read_spec

_HELP = """A server that answers like an OpenAI-compatible engine, on an exact schedule, and knows what it did.

POST /v1/chat/completions, /v1/completions   answered as --spec says, over it the field "kb_truth" of the body
GET  /v1/models, /health                     for clients that ask first
GET  /truth/log                              JSON: for each request id, arrived_ns (kernel), parsed_ns, sends_ns
                                             (just before each send), sends_tok (tokens that each made whole)
POST /truth/clear                            empties the log

All times are CLOCK_MONOTONIC in ns, which every process of this host shares.  Says its port on stdout as JSON.
True TTFT is the first send with tokens minus parsed_ns, or minus arrived_ns to count the server's own intake."""


def main() -> int:
    """Serve until told to end; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m kbtool.runner.truth",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Members of --spec and kb_truth, with their defaults: " + json.dumps(_defaults()),
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=0, help="port; 0 takes a free one (default)")
    parser.add_argument("--model", default="truth", help="name of the model (default: %(default)s)")
    parser.add_argument("--spec", default="{}", help="JSON object: the script of every answer")
    parser.add_argument(
        "--priority", type=int, default=0, help="SCHED_RR priority, if allowed; 0: none (default)"
    )
    parser.add_argument("--until-stdin-closes", action="store_true", help="end when stdin does")
    options = parser.parse_args()
    try:
        default = read_spec(json.loads(options.spec), Spec())
    except (SpecError, json.JSONDecodeError) as error:
        parser.error(f"--spec: {error}")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    server = Server(options.host, options.port, default, options.model)
    sys.stdout.write(json.dumps({"port": server.port, "realtime": _prioritise(options.priority)}) + "\n")
    sys.stdout.flush()
    try:
        server.run(sys.stdin.fileno() if options.until_stdin_closes else None)
    except KeyboardInterrupt:
        return 130
    return 0


def _defaults() -> dict[str, object]:
    return asdict(Spec())


def _prioritise(priority: int) -> bool:
    """Return whether the process now runs before all ordinary ones."""
    if not priority:
        return False
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(priority))
    except PermissionError:
        return False
    return True


if __name__ == "__main__":
    raise SystemExit(main())
