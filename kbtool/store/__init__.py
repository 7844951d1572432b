"""Files to models and back: strict YAML, positions, ids, links and edits.

Names are resolved on first use: a lint run in which nothing changed needs the store's files, but not the models.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbtool.store.corpus import Corpus, Reference, ReviewState, load
    from kbtool.store.places import Place, locate
    from kbtool.store.read import Loaded, read_file

__all__ = ["Corpus", "Loaded", "Place", "Reference", "ReviewState", "load", "locate", "read_file"]

_HOMES = {
    "Corpus": "kbtool.store.corpus",
    "Loaded": "kbtool.store.read",
    "Place": "kbtool.store.places",
    "Reference": "kbtool.store.corpus",
    "ReviewState": "kbtool.store.corpus",
    "load": "kbtool.store.corpus",
    "locate": "kbtool.store.places",
    "read_file": "kbtool.store.read",
}


def __getattr__(name: str) -> object:
    """Import a public name from its home on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'kbtool.store' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
