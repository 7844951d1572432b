"""Data files say what records say, digit for digit."""

import json
from pathlib import Path

import pytest

from tests.site.samples import the_build


def test_pages_link_to_the_record_as_written_and_as_data(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The YAML is the file, byte for byte; the JSON holds the derived status."""
    the_build(project, monkeypatch)
    for path in (project / "records").glob("*s/*.yaml"):
        folder = path.parent.name
        if folder in {"reviews", "withdrawn"}:
            continue
        data = project / "out/data/records" / folder
        assert (data / path.name).read_bytes() == path.read_bytes()
        record = json.loads((data / path.name).with_suffix(".json").read_text(encoding="utf-8"))
        assert (record["format"], record["ref"]) == (1, f"{folder}/{path.stem}")
    reviewed = json.loads(
        (project / "out/data/records/benchmarks/ev-fastserve-demo-8xa1-p2p.json").read_text(encoding="utf-8")
    )
    assert (reviewed["status"], reviewed["record"]["status"]) == ("reviewed", "draft")
    index = json.loads((project / "out/data/index.json").read_text(encoding="utf-8"))
    assert len(index["records"]) == 11
    for each in index["records"]:
        assert (project / "out" / each["page"]).is_file()
        assert (project / "out" / each["json"]).is_file()
