"""Nothing that a record says is lost on the way to its pages."""

import json
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kbtool.schema import KINDS, MODELS
from tests.site.samples import text_of, the_build
from tests.support.hostile import Payload, _Filler


class _Telltale(_Filler):
    """Fills every free text of a model with a word of its own."""

    def __init__(self, record_id: str) -> None:
        super().__init__(Payload("telltale", "", ""), record_id)
        self._words = count(1)

    def _text(self, constraints: Sequence[Any]) -> str:
        return super()._text(constraints) or f"telltale{next(self._words)}"


def telltales(value: object, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield each word with the place where it stands."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from telltales(key, f"{place}/{key}")
            yield from telltales(inner, f"{place}/{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from telltales(inner, f"{place}/{index}")
    elif isinstance(value, str) and value.startswith("telltale") and value != "telltale-1":
        yield place, value


@pytest.mark.parametrize("kind", KINDS)
def test_every_text_of_a_record_is_on_its_pages(
    kind: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each field is given a word of its own, a new field the day it is added, and each word is found."""
    record = _Telltale("telltale-1").model(MODELS[kind])
    record["exceptions"] = []  # they are lint's business: only their number is shown
    for each in record.get("setup_evidence", []):
        each["fields"] = [
            "serving"
        ]  # a path that has no row has no place; its evidence is listed all the same
    path = project / "records" / f"{kind}s" / "telltale-1.yaml"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    report = the_build(project, monkeypatch)
    assert report.findings == ()
    pages = (project / "out" / f"{kind}s").glob("telltale-1*.html")
    shown = " ".join(text_of(page.read_text(encoding="utf-8")) for page in pages)
    placed = dict(telltales(record))
    assert len(placed) > 3
    assert [place for place, word in placed.items() if word not in shown] == []
