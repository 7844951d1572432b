"""kbtool: evidence on LLM inference performance, validated and cross-linked.

The public API is small::

    kbtool.load(path) -> Corpus         every record under a project root, valid or not
    kbtool.check(path) -> list[Finding] what the rules say about them
    kbtool.metric(id) -> Metric         one metric of the vocabulary

Names are resolved on first use, so that `import kbtool` costs a few milliseconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbtool.lint import check
    from kbtool.store import Corpus, load
    from kbtool.vocab import Metric, metric

__all__ = ["Corpus", "Metric", "check", "load", "metric"]
__version__ = "0.1.0"

_HOMES = {
    "Corpus": "kbtool.store",
    "load": "kbtool.store",
    "check": "kbtool.lint",
    "Metric": "kbtool.vocab",
    "metric": "kbtool.vocab",
}


def __getattr__(name: str) -> object:
    """Import a public name from its home on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'kbtool' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
