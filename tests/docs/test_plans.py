"""Plans that readers are given work: those of `plans/`, and those that stand on the pages."""

from pathlib import Path
from typing import Final

import pytest

from kbtool.cli.bench.reading import read_plan
from kbtool.runner.plan import Plan
from kbtool.runner.plan.check import Known, remarks
from kbtool.store import load
from kbtool.store.yamlio import parse
from tests.docs.pages import SITE, blocks

ROOT: Final = SITE.parent
PLANS: Final = sorted((ROOT / "plans").glob("*.yaml"))
PAGES: Final = [
    *(SITE / name for name in ("measure.md", "plan-file.md", "run-folder.md")),
    *sorted((SITE / "measuring-engines").glob("*.md")),
]
EXAMPLES: Final = [
    (f"{path.stem}-{number}", text)
    for path in PAGES
    for number, text in enumerate(blocks(path.read_text(encoding="utf-8"), "yaml"), start=1)
]


@pytest.mark.parametrize("path", PLANS, ids=[each.stem for each in PLANS])
def test_ready_plan_is_valid(path: Path) -> None:
    """Each plan in `plans/` is read, is named as its file, and nothing in it is refused."""
    plan = read_plan(path).plan
    assert plan.id == path.stem
    assert [each for each in remarks(plan, Known()) if each.severity == "refused"] == []


@pytest.mark.parametrize("text", [text for _, text in EXAMPLES], ids=[name for name, _ in EXAMPLES])
def test_example_plan_is_valid(text: str) -> None:
    """Each plan on a page is one."""
    Plan.model_validate(parse(text.encode()))


def test_plans_name_records_that_exist() -> None:
    """Engine, model and accelerator of every plan are records of this knowledge base."""
    known = load(ROOT).records.keys()
    plans = [read_plan(path).plan for path in PLANS]
    plans += [Plan.model_validate(parse(text.encode())) for _, text in EXAMPLES]
    named = {
        ref
        for plan in plans
        for ref in (plan.subject.engine, plan.subject.model, plan.subject.accelerator)
        if ref is not None
    }
    assert sorted(named - known) == []
