"""Raw files on the site: copied where they are what their record says, and never from outside `raw/`."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from kbtool.schema.benchmark import Artifact
from kbtool.site.cards import Card, RawFile, card_of
from kbtool.site.raw_files import published_files, raw_products
from kbtool.site.views.benchmark import benchmark_view
from tests.site.samples import RICH, context_of, records, rich

DATA = b"one line a request\n"


def _card(*files: RawFile) -> Card:
    return replace(card_of(RICH, records()[RICH], "draft", ()), raw_files=files)


def _file(path: str, size: int = len(DATA), data: bytes = DATA) -> RawFile:
    return RawFile(path, sha256(data).hexdigest(), size)


def test_what_is_there_is_published(tmp_path: Path) -> None:
    """Under the path of the record, byte for byte; a card keeps it through its cache."""
    place = tmp_path / "raw" / "run" / "requests.jsonl"
    place.parent.mkdir(parents=True)
    place.write_bytes(DATA)
    card = _card(
        _file("raw/run/requests.jsonl"), _file("raw/run/absent.tar"), _file("raw/run/requests.jsonl", 3)
    )
    assert Card.from_row(card.to_row()) == card
    (product,) = raw_products(tmp_path, card)
    assert (product.path, product.make()) == ("raw/run/requests.jsonl", DATA)


def test_another_file_of_the_same_size_is_not_published(tmp_path: Path) -> None:
    """Figures that were taken from one file do not stand beside another one under its name."""
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "requests.jsonl").write_bytes(DATA)
    assert published_files(tmp_path, _card(_file("raw/requests.jsonl"))) != ()
    (tmp_path / "raw" / "requests.jsonl").write_bytes(DATA.replace(b"one", b"two"))
    assert published_files(tmp_path, _card(_file("raw/requests.jsonl"))) == ()


@pytest.mark.parametrize("path", ["raw/../secret.json", "secret.json", "/secret.json", "raw/link.json"])
def test_nothing_outside_the_folder_is_published(tmp_path: Path, path: str) -> None:
    """Neither by two dots nor through a link."""
    (tmp_path / "raw").mkdir()
    (tmp_path / "secret.json").write_bytes(DATA)
    (tmp_path / "raw" / "link.json").symlink_to(tmp_path / "secret.json")
    assert published_files(tmp_path, _card(_file(path))) == ()


def test_a_raw_file_is_linked_where_the_site_has_it() -> None:
    """With its size; one that is not there is named alone."""
    kept = Artifact(path="raw/run/requests.jsonl", sha256="0" * 64, size_bytes=19, holds="Requests.")
    record = rich(artifacts=(kept, kept.model_copy(update={"path": "raw/run/run.tar"})))
    context = replace(context_of(record), raw_files=frozenset({"raw/run/requests.jsonl"}))
    (group,) = [each for each in benchmark_view(record, context).setup if each.title == "Raw files"]
    here, absent = group.items
    assert here.link is not None
    assert (here.link.text, here.link.href) == ("Download requests.jsonl", "../raw/run/requests.jsonl")
    assert absent.link is None
    assert here.notes[0] == "19 bytes"
