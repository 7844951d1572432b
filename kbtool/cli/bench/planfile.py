"""The text of a plan file that a program made: YAML in our dialect, with the comments that explain it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbtool.runner.reproduce import Reproduction

__all__ = ["plan_text"]


def plan_text(made: "Reproduction", path: Path, project: Path) -> str:
    """Return the plan file of a reproduction, with the schema line that editors read."""
    from kbtool.runner.reproduce import plan_yaml_lines
    from kbtool.store.emit import emit

    text = plan_yaml_lines(made)
    schema = os.path.relpath(project / "schema" / "plan.schema.json", path.resolve().parent)
    lines = [f"# yaml-language-server: $schema={schema}", *(f"# {line}".rstrip() for line in text.head)]
    for part in text.parts:
        lines += [f"# {line}".rstrip() for line in part.comments]
        lines.append(emit({part.key: part.value}).rstrip("\n"))
    return "\n".join(lines) + "\n"
