"""The verbs of `kbtool bench`, and the one place that says which there are."""

from importlib.util import find_spec

import typer

from kbtool.errors import UsageError

__all__ = ["app"]

_BEFORE = "Before measuring"
_MEASURING = "Measuring"
_AFTER = "What came out"
_OTHERS = "Other tools"


_NEEDED = ("arro3.io", "orjson", "prometheus_client", "psutil", "pynvml")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that the module is in
        return False


def _needs_the_extra() -> None:
    """Measured records from a real engine: doctor, plan, run, report, record."""
    if not all(map(_is_installed, _NEEDED)):
        raise UsageError("kbtool bench needs its extra: pip install 'kbtool[runner]'")


app = typer.Typer(
    name="bench",
    help="Measure a running or launched engine, and write records that leave nothing out.",
    no_args_is_help=True,
    callback=_needs_the_extra,
    rich_markup_mode=None,
)


def _register() -> typer.Typer:
    from kbtool.cli.bench import audit, doctor, record, run, tools

    app.command("doctor", rich_help_panel=_BEFORE)(doctor.doctor)
    app.command("audit", rich_help_panel=_BEFORE)(audit.audit)
    app.command("calibrate", rich_help_panel=_BEFORE)(tools.calibrate)
    app.command("plan", rich_help_panel=_BEFORE)(run.plan)
    app.command("reproduce", rich_help_panel=_BEFORE)(tools.reproduce)
    app.command("run", rich_help_panel=_MEASURING)(run.run)
    app.command("resume", rich_help_panel=_MEASURING)(run.resume)
    app.command("report", rich_help_panel=_AFTER)(record.report)
    app.command("record", rich_help_panel=_AFTER)(record.record)
    app.command("compare", rich_help_panel=_AFTER)(tools.compare)
    app.command("verify", rich_help_panel=_AFTER)(record.verify)
    app.command("import", rich_help_panel=_OTHERS)(tools.import_file)
    app.command("crosscheck", rich_help_panel=_OTHERS)(tools.crosscheck)
    return app


_register()
