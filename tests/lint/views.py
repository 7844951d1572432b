"""Files as rules see them, for tests of one rule."""

from collections.abc import Iterator
from typing import Any

from kbtool.lint.lookup import FileView
from kbtool.lint.rule import Problem, Rule

__all__ = ["found_in_text", "view_of"]


def view_of(*texts: str, kind: str = "benchmark") -> FileView:
    """Return a file whose notes are `texts`, as written and as read."""
    return FileView(
        "records/benchmarks/x.yaml", kind, "\n".join(f"- {text}" for text in texts), {"notes": list(texts)}
    )


def found_in_text(rule: Rule, *texts: str) -> list[Problem]:
    """Return what a rule that looks at texts alone finds in them."""
    record: Any = None
    found: Iterator[Problem] = rule.check(record, view_of(*texts))
    return list(found)
