"""The list of verbs: the one visible place that says which there are and in which order help shows them."""

import typer

from kbtool.cli import build, compare, explain, find, fmt, import_, lint, new, query, schema, show, stats, why
from kbtool.cli.bench.app import app as bench

__all__ = ["register"]

CHECKING = "Check and repair records"
READING = "Look things up"
MAKING = "Make things"


def register(app: typer.Typer) -> None:
    """Attach every verb to the program."""
    app.command("lint", rich_help_panel=CHECKING)(lint.lint)
    app.command("fmt", rich_help_panel=CHECKING)(fmt.fmt)
    app.command("explain", rich_help_panel=CHECKING)(explain.explain)
    app.command("why", rich_help_panel=CHECKING)(why.why)
    app.command("show", rich_help_panel=READING)(show.show)
    app.command("find", rich_help_panel=READING)(find.find)
    app.command("compare", rich_help_panel=READING)(compare.compare)
    app.command("query", rich_help_panel=READING)(query.query)
    app.command("stats", rich_help_panel=READING)(stats.stats)
    app.command("new", rich_help_panel=MAKING)(new.new)
    app.command("import", rich_help_panel=MAKING)(import_.import_set)
    app.command("schema", rich_help_panel=MAKING)(schema.schema)
    app.command("build", rich_help_panel=MAKING)(build.build)
    app.command("serve", rich_help_panel=MAKING)(build.serve)
    app.add_typer(bench, name="bench", rich_help_panel=MAKING)
