"""Raw files of measured runs: copied to the site under the path that their record gives."""

from functools import partial
from hashlib import file_digest
from pathlib import Path, PurePosixPath
from typing import Final

from kbtool.site.cards import Card, RawFile
from kbtool.site.products import Product

__all__ = ["published_files", "raw_products"]

_FOLDER: Final = "raw"


def published_files(root: Path, card: Card) -> tuple[RawFile, ...]:
    """Return the raw files of a record that the site publishes: those that are there, with the size and hash that are stated.

    Figures that were taken from one file must not stand beside another one under its name.

    A path that leads out of `raw/`, through a link too, is never opened.
    """
    return tuple([each for each in card.raw_files if _is_there(root, each)])


def raw_products(root: Path, card: Card) -> tuple[Product, ...]:
    """Return the copies that the site holds."""
    return tuple(
        [
            Product(each.path, each.sha256, partial((root / each.path).read_bytes))
            for each in published_files(root, card)
        ]
    )


def _is_there(root: Path, artifact: RawFile) -> bool:
    parts = PurePosixPath(artifact.path).parts
    if parts[:1] != (_FOLDER,) or ".." in parts:
        return False
    file = root / artifact.path
    try:
        inside = file.resolve(strict=True).is_relative_to((root / _FOLDER).resolve())
        if not inside or not file.is_file() or file.stat().st_size != artifact.size_bytes:
            return False
        with file.open("rb") as opened:
            return file_digest(opened, "sha256").hexdigest() == artifact.sha256
    except OSError:
        return False
