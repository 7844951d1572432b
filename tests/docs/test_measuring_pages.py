"""The pages on measuring list what the code has: verbs, fields, outcomes, warnings, states and metrics, no more and no less."""

import re
from pathlib import Path
from typing import Final, get_args

import pytest
from pydantic import BaseModel

from kbtool.cli.bench.app import app
from kbtool.errors import ExitCode
from kbtool.runner.metrics.speculation import SpeculationState
from kbtool.runner.plan import Plan, Repeats, Replicates, Subject, Sweep, Target
from kbtool.runner.plan.model import Deadlines, Sanity, SweepValue, TelemetryPlan
from kbtool.runner.plan.target import Affinity, Container, EndpointPlan, Instance, Launch, Mount, RouterPlan
from kbtool.runner.plan.workloads import (
    Concurrency,
    Conversation,
    LongDecode,
    PlannedSlo,
    Prefill,
    Rate,
    Replay,
    SingleStream,
)
from kbtool.runner.stats import checks, cliffs, intervals, samples
from kbtool.runner.trace import Outcome
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.warnings import WARNINGS
from tests.docs.pages import SITE, codes, field_rows, page, table_after

RUNNER: Final = SITE.parent / "kbtool" / "runner"
PLAN_TABLES: Final[tuple[tuple[str, type[BaseModel]], ...]] = (
    ("## The plan", Plan),
    ("## `subject`", Subject),
    ("## `target`", Target),
    ("### `endpoints`", EndpointPlan),
    ("### `launch`", Launch),
    ("### `launch.instances`", Instance),
    ("### `container`", Container),
    ("### `mounts`", Mount),
    ("### `router`", RouterPlan),
    ("### `affinity`", Affinity),
    ("### `single_stream`", SingleStream),
    ("### `concurrency`", Concurrency),
    ("### `rate`", Rate),
    ("### `slo`", PlannedSlo),
    ("### `prefill`", Prefill),
    ("### `conversation`", Conversation),
    ("### `long_decode`", LongDecode),
    ("### `replay`", Replay),
    ("## `sweeps`", Sweep),
    ("### `values`", SweepValue),
    ("## `repeats`", Repeats),
    ("## `deadlines`", Deadlines),
    ("## `telemetry`", TelemetryPlan),
    ("## `sanity`", Sanity),
    ("## `replicates`", Replicates),
)


def _written(rows: list[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(each.replace('|', chr(92) + '|') for each in row)} |\n" for row in rows)


def _rewrite(name: str, heading: str, rows: list[tuple[str, ...]]) -> None:
    """Put rows into the first table below a heading."""
    text = page(name)
    before, found, below = text.partition(f"\n{heading}\n")
    assert found, heading
    made = re.sub(
        r"(^\|[-|:]+\|\n)(?:^\|.*\n)*",
        lambda head: head[1] + _written(rows),
        below,
        count=1,
        flags=re.MULTILINE,
    )
    (SITE / name).write_text(before + found + made, encoding="utf-8")


@pytest.mark.parametrize(("heading", "model"), PLAN_TABLES, ids=[model.__name__ for _, model in PLAN_TABLES])
def test_plan_page_has_every_field(heading: str, model: type[BaseModel], *, update_golden: bool) -> None:
    """Name, default and meaning of each field stand in the plan page as the model has them."""
    expected = [tuple(row) for row in field_rows(model)]
    if update_golden:
        _rewrite("plan-file.md", heading, expected)
    assert table_after(page("plan-file.md"), heading) == expected


def test_verbs_are_those_of_the_command_line() -> None:
    """Each verb of `kbtool bench` stands in the table, in the order of its help."""
    registered = [each.name for each in app.registered_commands]
    listed = [codes(row[0])[0] for row in table_after(page("measure.md"), "## Verbs")]
    assert listed == registered


def test_outcomes_are_those_of_the_client() -> None:
    """Each class of success and failure stands in the table, in its order."""
    listed = [
        codes(row[0])[0] for row in table_after(page("measuring-method.md"), "### What counts as a success")
    ]
    assert listed == [each.value for each in Outcome]


def test_warnings_are_those_of_the_vocabulary() -> None:
    """Each warning stands in the table with its text, in its order."""
    rows = table_after(page("measuring-method.md"), "## Warnings")
    assert [(codes(row[0])[0], row[2]) for row in rows] == [
        (code.value, text.means) for code, text in WARNINGS.items()
    ]
    assert all(row[1] for row in rows)


def test_states_of_speculation_are_those_of_the_verdict() -> None:
    """Each state stands in the table, worst knowledge first."""
    listed = [codes(row[0])[0] for row in table_after(page("measuring-method.md"), "## Speculation")]
    assert listed == list(get_args(SpeculationState))


def _computed() -> set[str]:
    """Return the metrics whose ids stand in the code that computes and publishes figures."""
    places = [*(RUNNER / "metrics").glob("*.py"), *(RUNNER / "emit").glob("*.py")]
    found = {
        word for path in places for word in re.findall(r'"([a-z0-9_]+)"', path.read_text(encoding="utf-8"))
    }
    return found & METRICS.keys()


def test_metrics_are_those_that_are_computed(*, update_golden: bool) -> None:
    """Each metric that the runner gives stands in the table with unit, scope and formula of the vocabulary."""
    expected = [
        (f"`{each.id}`", each.unit, each.scope, each.formula)
        for each in METRICS.values()
        if each.id in _computed()
    ]
    if update_golden:
        _rewrite("measuring-method.md", "## Metrics", [tuple(row) for row in expected])
    assert table_after(page("measuring-method.md"), "## Metrics") == expected


def test_exit_codes_are_those_of_the_command_line() -> None:
    """Each exit code stands in the table of the run folder's page."""
    listed = [int(codes(row[0])[0]) for row in table_after(page("run-folder.md"), "## Exit codes")]
    assert listed == [each.value for each in ExitCode]


@pytest.mark.parametrize(
    "simulated", ["94 to 96 %", "91 to 95 %", "94 to 97 %", "73 to 97 %", "4,000 trials"]
)
def test_coverage_is_quoted_as_it_was_simulated(simulated: str) -> None:
    """The figures of coverage on the page are those of the method's own docstring."""
    assert simulated in page("measuring-method.md")
    assert simulated in str(intervals.__doc__)


def test_limits_are_those_of_the_code() -> None:
    """Limits that the method page states are the constants that the code decides by."""
    text = " ".join(page("measuring-method.md").split())
    stated = (
        f"at least {samples.BEYOND} samples lie beyond them",
        f"p of {checks.DRIFT_P} or less and a change of {checks.DRIFT_RATIO:.0%}".replace("%", " %"),
        f"further from the median than {checks.OUTLIER_RATIO:.0%}".replace("%", " %"),
    )
    assert [each for each in stated if each not in text] == []
    assert "98 % of sweeps" in str(cliffs.__doc__)
    assert "98 % of sweeps" in text


def test_files_of_a_run_are_those_of_the_layout() -> None:
    """Each place that the run folder's page names is one that the layout knows."""
    layout = (RUNNER / "folder" / "layout.py").read_text(encoding="utf-8")
    named = [codes(row[0])[0] for row in table_after(page("run-folder.md"), "## What lies where")]
    roots = {Path(each).parts[0] for each in named}
    assert [each for each in sorted(roots) if f'"{each}"' not in layout and each not in layout] == []


def _sources() -> str:
    """Return all of our source as one text in which a message stands in one piece, without its backticks."""
    text = "".join(
        path.read_text(encoding="utf-8") for path in sorted((SITE.parent / "kbtool").rglob("*.py"))
    )
    return re.sub(r'"\s*\n\s*f?"', "", text).replace("`", "")


def test_messages_that_are_explained_are_ours() -> None:
    """Each message of the table of troubles is one that the code has, with `...` for what differs."""
    source = _sources()
    rows = table_after(page("measure.md"), "## When something goes wrong")
    pieces = [piece.strip() for row in rows for code in codes(row[0]) for piece in code.split("...")]
    # Numbers stand for what the code fills in.
    fixed = [part for piece in pieces for part in re.split(r"[0-9][0-9,]*", piece) if len(part.strip()) > 1]
    assert [part for part in fixed if part.strip() not in source] == []
