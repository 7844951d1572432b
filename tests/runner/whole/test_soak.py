"""A long run: memory and descriptors of the program stay where they are.

Collected only where `KBTOOL_SOAK_S` is set to the seconds that it should take: 600, or 7200 before a release.  Ten minutes show a slope of 1 MB/h only within their noise; what they do show is a leak in every round.
"""

import json
import os
import time
from pathlib import Path

import psutil

from kbtool.errors import ExitCode
from kbtool.runner.folder import Mode, RunFolder, verify
from kbtool.runner.stats import median
from tests.fakes.engine import Script, running
from tests.runner.session.driving import attached
from tests.runner.whole.program import Program, make_project, plan_text, run_folder

SOAK_S = int(os.environ.get("KBTOOL_SOAK_S", "600"))
MOST_SLOPE_MIB_H = 1.0
NOISE_MIB = 4.0
"""What the memory of a Python program moves by itself."""


def test_memory_and_descriptors_stay_where_they_are(tmp_path: Path) -> None:
    """From the end of the first fifth on, memory does not grow, and the number of descriptors is the same."""
    project = make_project(tmp_path)
    with running(Script(ttft_ms=2, step_ms=1)) as engine:
        plan = json.loads(plan_text(attached(engine.url), "soak"))
        plan["workloads"][0] |= {"levels": [16], "requests_per_stream": 20}
        plan["repeats"] |= {"rounds": 100, "max_rounds": 200, "interval_ratio": "0.000001"}
        plan["deadlines"] |= {"cell_s": SOAK_S}
        (project / "plan.yaml").write_text(json.dumps(plan))
        program = Program.start(project, "bench", "run", "plan.yaml")
        rss, descriptors = _watch(program)
        done = program.end()
    assert done.code == ExitCode.CLEAN, done.err
    settled = len(rss) // 5
    early, late = median(rss[settled : 2 * settled]), median(rss[-settled:])
    assert late - early <= NOISE_MIB + MOST_SLOPE_MIB_H * SOAK_S / 3600
    assert median(descriptors[-settled:]) <= median(descriptors[settled : 2 * settled])
    root = run_folder(project)
    assert verify(root) == ()
    numbers = [line.seq for line in RunFolder.open(root, Mode.READ).lines]
    assert numbers == list(range(1, len(numbers) + 1))


def _watch(program: Program) -> tuple[list[float], list[float]]:
    """Return memory in MiB and open descriptors of a program, once a second while it measures.

    What it needs to compute the figures of so many rounds at the end is another matter, and not looked at.
    """
    rss, descriptors = [], []
    watched = psutil.Process(program.process.pid)
    program.wait_for(" measured ")
    end_s = time.monotonic() + 0.9 * SOAK_S
    while program.process.poll() is None and time.monotonic() < end_s:
        try:
            rss.append(watched.memory_info().rss / 2**20)
            descriptors.append(float(watched.num_fds()))
        except psutil.Error:
            break
        time.sleep(1)
    return rss, descriptors
