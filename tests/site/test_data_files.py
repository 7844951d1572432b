"""Data files say what records say, digit for digit."""

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from kbtool.site.data_files import exact_json
from tests.site.samples import the_build


def test_decimals_keep_their_digits() -> None:
    """`93.90` stays `93.90`, and is a number."""
    text = exact_json(
        {"a": Decimal("93.90"), "b": Decimal(6853), "c": [True, None, 3], "d": date(2026, 10, 4)}
    )
    assert text == '{"a":93.90,"b":6853,"c":[true,null,3],"d":"2026-10-04"}\n'
    assert json.loads(text, parse_float=Decimal)["a"] == Decimal("93.90")


def test_text_cannot_become_a_number() -> None:
    """The marks around decimals are no part of any record; a text that looks like one stays text."""
    hostile = {"x": "\\u00001\\u0000", "y": '"0"'}
    assert json.loads(exact_json(hostile)) == hostile


def test_what_json_does_not_have_is_refused() -> None:
    """A float has no digits of its own."""
    with pytest.raises(TypeError):
        exact_json({"x": {1, 2}})


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
