"""Pages, search and data files made from records; the only place that knows HTML."""

from pathlib import Path
from typing import TYPE_CHECKING

from kbtool.site.builder import Builder, BuildReport, build, require_libraries

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BuildReport", "Builder", "build", "require_libraries", "serve"]


def serve(
    root: Path, out: Path, *, host: str = "127.0.0.1", port: int = 8000, say: "Callable[[str], None]" = print
) -> None:
    """Build the site, serve it on this machine, and reload pages whose records change. Ends with Ctrl-C."""
    from kbtool.site.serve import serve as run

    run(root, out, host=host, port=port, say=say)
