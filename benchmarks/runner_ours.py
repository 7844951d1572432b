"""The runner's client as a program of its own, so that it can be watched as the other load tools are.

Usage: python -m benchmarks.runner_ours HOST PORT STREAMS REQUESTS_A_STREAM OUTPUT_TOK RESULT_FILE
"""

import json
import sys
from pathlib import Path
from statistics import fmean
from time import thread_time
from typing import Any

from kbtool.runner.calibrate.drive import Streams
from kbtool.runner.client import Endpoint, Limits, Outgoing, build_request, exchange, parse
from kbtool.runner.metrics.distributions import pools_of
from kbtool.runner.metrics.figures import Pool
from kbtool.runner.stats.samples import percentile_of_sorted
from kbtool.runner.trace import Outcome

__all__ = ["main"]

PROMPT = "Count from one on. " * 12


def main() -> None:
    """Measure, and write what the runner would publish."""
    host, port, streams, requests, output_tok, result = sys.argv[1:]
    endpoint = Endpoint("truth", host, int(port))
    waiting = {
        stream: [_request(endpoint, stream, turn, int(output_tok)) for turn in range(int(requests))]
        for stream in range(int(streams))
    }
    exchanged = exchange(Streams(waiting), limits=Limits())
    before_s = thread_time()
    traces = [parse(recorded) for recorded in exchanged.recorded]
    parse_s = thread_time() - before_s
    ok = [trace for trace in traces if trace.outcome is Outcome.OK]
    pools = {pool.metric: pool for pool in pools_of(ok, prefill=False)}
    health = exchanged.health
    value: dict[str, Any] = {
        "ttft_ms": _mean(pools, "ttft_ms"),
        "itl_ms": _mean(pools, "itl_ms"),
        "gap_p99_ms": percentile_of_sorted(pools["step_gap_ms"].values, 99),
        "gap_max_ms": pools["step_gap_ms"].values[-1],
        "output_tok": sum(trace.usage.completion_tok for trace in ok if trace.usage is not None),
        "failures": len(traces) - len(ok),
        "parse_s": parse_s,
        "loop_cpu_s": health.cpu_s,
        "lag_p99_ms": health.loop_lag_p99_ns / 1e6,
        "clock": health.clock.value,
    }
    Path(result).write_text(json.dumps(value))


def _mean(pools: dict[str, Pool], metric: str) -> float:
    return fmean(pools[metric].values)


def _request(endpoint: Endpoint, stream: int, turn: int, output_tok: int) -> Outgoing:
    body = {
        "model": "truth",
        "messages": [{"role": "user", "content": PROMPT}],
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        "max_tokens": output_tok,
        "ignore_eos": True,
    }
    return Outgoing(
        id=f"{stream}/{turn}",
        endpoint=endpoint,
        asked_model="truth",
        asked_output_tok=output_tok,
        payload=build_request(endpoint, "/v1/chat/completions", body),
        stream=stream,
        turn=turn,
    )


if __name__ == "__main__":
    main()
