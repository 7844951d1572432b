"""Pages as they were reviewed: one of each kind, the overviews, and what is split off."""

from pathlib import Path

import pytest

from tests.site.samples import the_build

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "site"
PAGES = (
    "accelerators/acme-a1.html",
    "accelerators/index.html",
    "benchmarks/ev-fastserve-demo-8xa1-p2p.html",
    "benchmarks/ev-fastserve-demo-8xa1.html",
    "benchmarks/ev-fastserve-demo-old.html",
    "benchmarks/ev-gone.html",
    "benchmarks/index.html",
    "changes.html",
    "compare.html",
    "conflicts.html",
    "cost.html",
    "coverage.html",
    "engines/fastserve.html",
    "explore.html",
    "explore/tok-s-per-user.html",
    "gaps.html",
    "gotchas/graph-collapse.html",
    "index.html",
    "interconnects/pcie-gen5.html",
    "limits.html",
    "models/demo-moe.html",
    "quality.html",
    "sources/field-report.html",
    "withdrawn/ev-gone.html",
    "withdrawn/index.html",
    "changes.atom",
    "data/citations.bib",
    "data/index.json",
    "data/records/benchmarks/ev-fastserve-demo-8xa1-p2p.json",
    "data/results.csv",
    "llms.txt",
    "robots.txt",
)


def test_pages_are_as_reviewed(
    project: Path, monkeypatch: pytest.MonkeyPatch, *, update_golden: bool
) -> None:
    """Each page is the golden file, byte for byte; `pytest --update-golden` rewrites them."""
    the_build(project, monkeypatch)
    changed = []
    for page in PAGES:
        made = (project / "out" / page).read_bytes()
        golden = GOLDEN / page
        if update_golden:
            golden.parent.mkdir(parents=True, exist_ok=True)
            golden.write_bytes(made)
        elif not golden.is_file() or golden.read_bytes() != made:
            changed.append(page)
    assert changed == []
