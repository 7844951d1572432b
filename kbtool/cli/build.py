"""`kbtool build` and `kbtool serve`: the site, once or kept current while records change."""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from kbtool.cli.console import find_root, progress, say
from kbtool.cli.options import RootOption
from kbtool.errors import UsageError

__all__ = ["build", "serve", "site_package"]

OutOption = Annotated[
    Path | None,
    typer.Option("--out", help="Folder to write to; `build/site` if not given.", show_default=False),
]


def build(
    *,
    out: OutOption = None,
    site_url: Annotated[
        str | None,
        typer.Option(
            help="Address the site will have, for canonical links and the sitemap.", show_default=False
        ),
    ] = None,
    root: RootOption = None,
) -> None:
    """Build the whole site. Only files whose bytes change are written.

    What lint found is shown on the pages of the records concerned; it does not stop the build.
    """
    from kbtool import lint

    site = site_package()
    project = find_root(root)
    folder = (out or project / "build" / "site").resolve()
    with progress("Checking records") as advance:
        findings = lint.run(project, progress=advance).findings
    with progress("Building pages") as advance:
        report = site.build(project, folder, progress=advance, site_url=site_url, findings=findings)
    say(report.summary())
    say(f"The site is in {folder}")
    say(
        "Serve it with `kbtool serve`, or with any file server: `python3 -m http.server -d "
        + str(folder)
        + "`"
    )


def serve(
    *,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8000,
    out: OutOption = None,
    root: RootOption = None,
) -> None:
    """Build the site, serve it on this machine, and reload pages when a record changes. Stop with Ctrl-C."""
    site = site_package()
    project = find_root(root)
    site.serve(project, (out or project / "build" / "serve").resolve(), host=host, port=port, say=say)


def site_package() -> ModuleType:
    """Return the site package, with all that its extra brings there.

    Raises:
        UsageError: a package of its extra is not installed.
    """
    try:
        site = import_module("kbtool.site")
        site.require_libraries()
    except ModuleNotFoundError as error:
        # One that is asked for by its distribution is missed as a `PackageNotFoundError`, which is one of these.
        if error.name is None or error.name.partition(".")[0] == "kbtool":
            raise
        raise UsageError(
            f'the site\'s packages are missing, `{error.name}` first: pip install ".[site]"'
        ) from error
    return site
