"""Calibrating: levels and checks against a truth server of our own."""

import os
import platform
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, Self

from kbtool.runner.calibrate.checks import CASES, run_check
from kbtool.runner.calibrate.compare import compare
from kbtool.runner.calibrate.drive import Script, Seen, play
from kbtool.runner.calibrate.model import Calibration, Host, LevelError
from kbtool.runner.truth import Spec, TruthServer

__all__ = ["DEFAULT_STREAMS", "calibrate", "level_script", "this_host"]

DEFAULT_STREAMS: Final = (1, 16, 64, 256, 1024)
MIXED: Final = (1, 3, 5, 2, 4)
"""Tokens a chunk as speculative decoding makes them."""
_MIXED_STREAMS: Final = 16
_TTFT_MS: Final = 200.0
_TOKENS: Final = 64
_CPU_NAME: Final = re.compile(r"^model name\s*:\s*(.+)$", re.MULTILINE)


def calibrate(
    streams: Sequence[int] = DEFAULT_STREAMS,
    *,
    checks: bool = True,
    requests: int | None = None,
    realtime: bool = False,
    on_step: Callable[[str], None] = lambda _: None,
) -> Calibration:
    """Measure the client's own error on this host; takes about a minute for the default levels.

    Args:
        streams: Levels, in streams at once.
        checks: Whether the hostile streams are tried too.
        requests: Of each stream, one after the other; None: as many as give a steady mean.
        realtime: Run client and server before ordinary processes, if allowed: shows the error of the program
            rather than that of a busy host.
        on_step: Told what comes next.
    """
    load_average = os.getloadavg()[0]
    with TruthServer(realtime_priority=20 if realtime else 0) as server, _Priority(realtime) as priority:
        levels = []
        for script in level_scripts(streams, requests):
            on_step(f"{script.streams} streams, tokens a chunk {'-'.join(map(str, script.spec.pattern))}")
            levels.append(_level(script, play(script, server)))
        found = []
        for case in CASES if checks else ():
            on_step(case.name)
            found.append(run_check(case, server))
        return Calibration(
            host=this_host(),
            client_version=version("kbtool"),
            date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            realtime=server.realtime and priority.got,
            load_average=load_average,
            levels=tuple(levels),
            checks=tuple(found),
        )


def level_scripts(streams: Sequence[int], requests: int | None = None) -> list[Script]:
    """Return one script for each level, and one with several tokens a chunk."""
    scripts = [level_script(n) for n in streams]
    if max(streams, default=0) >= _MIXED_STREAMS:
        scripts.append(level_script(_MIXED_STREAMS, MIXED))
    return scripts if requests is None else [replace(script, requests=requests) for script in scripts]


def level_script(streams: int, pattern: tuple[int, ...] = (1,)) -> Script:
    """Return the closed loop of one level: steps of a length that an engine has at that many streams."""
    step_ms = 16.0 if streams < 16 else 20.0 if streams <= 64 else 40.0 if streams <= 256 else 100.0
    requests = 8 if streams < 16 else 4 if streams <= 64 else 3
    spec = Spec(
        tokens=_TOKENS * round(sum(pattern) / len(pattern)),
        pattern=pattern,
        ttft_ms=_TTFT_MS,
        step_ms=step_ms,
    )
    name = f"c{streams}-{'-'.join(map(str, pattern))}"
    return Script(name, streams, requests, spec, each=len(pattern) > 1)


def _level(script: Script, seen: Seen) -> LevelError:
    found, health = compare(seen.traces, seen.truth), seen.health
    events = max(1, health.events)
    return LevelError(
        streams=script.streams,
        pattern=script.spec.pattern,
        step_ms=script.spec.step_ms,
        requests=len(seen.traces),
        events=health.events,
        ttft_true_ms=found.ttft_true_ms,
        ttft_mean_error_ratio=found.ttft_error_ratio,
        ttft_from_parsed_error_ratio=found.ttft_from_parsed_error_ratio,
        itl_true_ms=found.itl_true_ms,
        itl_mean_error_ratio=found.itl_error_ratio,
        gap_p99_true_ms=found.gap_p99_true_ms,
        gap_p99_error_ms=found.gap_p99_error_ms,
        gap_error_p99_ms=found.gap_error_p99_ms,
        throughput_error_ratio=found.throughput_error_ratio,
        load_ratio=_load_ratio(script, seen),
        token_errors=found.token_errors,
        failures=found.failures,
        cpu_us_per_event=health.cpu_s / events * 1e6,
        parse_us_per_event=seen.parse_s / events * 1e6,
        cpu_share_ratio=health.cpu_share_ratio,
        loop_lag_p50_ms=health.loop_lag_p50_ns / 1e6,
        loop_lag_p99_ms=health.loop_lag_p99_ns / 1e6,
        send_late_p99_ms=health.send_late_p99_ns / 1e6,
        server_late_max_ms=seen.server_late_ns / 1e6,
        clock=health.clock.value,
    )


def _load_ratio(script: Script, seen: Seen) -> float:
    """Return delivered over ideal: the ideal client asks again at the very instant at which an answer ends.

    On the step clock its first token then comes with the first step after the time to first token, counted from
    the step that ended the answer before.
    """
    truth = list(seen.truth.values())
    if not truth:
        return 0.0
    spec = script.spec
    begin = min(request.parsed_ns for request in truth)
    first = min(request.token_sends[0][0] for request in truth)
    end = max(request.token_sends[-1][0] for request in truth)
    steps = len(truth[0].token_sends) - 1
    wait = int(spec.ttft_ms // spec.step_ms) + 1
    cycle_ns = (steps + wait) * spec.step_ms * 1e6
    ideal_ns = (first - begin) + steps * spec.step_ms * 1e6 + (script.requests - 1) * cycle_ns
    return ideal_ns / (end - begin)


def this_host() -> Host:
    """Return what this host is, as far as it matters for the client's error."""
    info = Path("/proc/cpuinfo")
    match = _CPU_NAME.search(info.read_text("utf-8", "replace")) if info.exists() else None
    return Host(
        cpu=match[1].strip() if match else platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        kernel=platform.release(),
        python=platform.python_version(),
    )


class _Priority:
    """This process before all ordinary ones, for the time of a `with` block, if that is wanted and allowed."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self.got = False

    def __enter__(self) -> Self:
        if self._wanted:
            try:
                os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))
                self.got = True
            except PermissionError:
                self.got = False
        return self

    def __exit__(self, *_: object) -> None:
        if self.got:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
