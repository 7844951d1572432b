"""Ask git, without letting the repository's own settings make it run anything."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from kbtool.errors import UsageError

__all__ = ["git_output"]

_CAREFUL: Final = (
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false",
    "-c", "diff.external=", "--no-pager", "--no-replace-objects",
)  # fmt: skip


def git_output(root: Path, *arguments: str) -> bytes | None:
    """Return what git prints, or None where it fails.

    Raises:
        UsageError: There is no git.
    """
    git = shutil.which("git")
    if git is None:
        raise UsageError("--base needs git, which is not installed: install it, or leave --base out")
    environment = {
        **os.environ,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }
    done = subprocess.run(
        [git, *_CAREFUL, *arguments],
        cwd=root,
        env=environment,
        input=b"",
        capture_output=True,
        check=False,
    )
    return done.stdout if done.returncode == 0 else None
