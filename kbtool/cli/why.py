"""`kbtool why`: why a record stands where it stands, and what would raise it."""

from kbtool.cli.console import console, find_root
from kbtool.cli.options import RefArgument, RootOption
from kbtool.cli.show import resolve

__all__ = ["why"]


def why(ref: RefArgument, *, root: RootOption = None) -> None:
    """Say what a record's status and confidence rest on, and what is missing for the next step."""
    from kbtool.analysis.review_gate import assess
    from kbtool.escape import terminal
    from kbtool.lint import run
    from kbtool.store import load

    project = find_root(root)
    corpus = load(project)
    name = resolve(corpus, ref)
    report = run(project, paths=[corpus.loaded(name).file.path])
    out = console()
    for section in assess(corpus, name, report.findings):
        out.print(section.title, style="bold", markup=False)
        for line in section.lines:
            out.print(f"  {terminal(line)}", markup=False)
