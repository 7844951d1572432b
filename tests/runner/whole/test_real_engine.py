"""The whole way with a real engine: plan, run, report, record, lint."""

import json
from pathlib import Path

from kbtool.errors import ExitCode
from tests.runner.session.driving import attached
from tests.runner.whole.program import Program, make_project, plan_text, run_folder
from tests.support.llama_server import running_llama


def test_a_real_llama_cpp_gives_a_record_that_passes_as_it_is(tmp_path: Path) -> None:
    """Single stream and several users: version, context and slots are read from the server, lint has nothing to say."""
    project = make_project(tmp_path)
    with running_llama() as server:
        plan = json.loads(plan_text(attached(server.url), "users", rounds=3))
        plan["workloads"][0] |= {"levels": [2], "output_tok": 16}
        plan["sanity"] = {"greedy_repeats": 2}
        (project / "plan.yaml").write_text(json.dumps(plan))
        done = Program.start(project, "bench", "run", "plan.yaml").end()
        assert done.code == ExitCode.CLEAN, done.err
    root = run_folder(project)
    made = Program.start(project, "bench", "record", str(root)).end()
    assert made.code == ExitCode.CLEAN, made.out + made.err
    (path,) = (project / "records" / "benchmarks").glob("ev-*.yaml")
    text = path.read_text()
    assert "omitted_by_source" not in text
    assert "prefix_cache: cold" in text
    assert Program.start(project, "lint").end().code == ExitCode.CLEAN
