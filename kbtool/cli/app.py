"""The `kbtool` program: its verbs, its help, and what its exit codes mean."""

import sys
import traceback

import typer

from kbtool.cli import commands
from kbtool.cli.console import complain
from kbtool.errors import ExitCode, KbtoolError

__all__ = ["app", "main"]

_EPILOG = (
    "Exit codes: 0 clean, 1 findings (an unreadable record is one), 2 wrong usage, "
    "3 a bug in kbtool, 130 interrupted."
)

app = typer.Typer(
    name="kbtool",
    help="Evidence on LLM inference performance: check records, look numbers up, build the site.",
    epilog=_EPILOG,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
commands.register(app)


def main() -> None:
    """Run the command line and leave with one of the documented exit codes."""
    try:
        app(standalone_mode=True)
    except KbtoolError as error:
        complain(*str(error).splitlines(), *getattr(error, "__notes__", ()))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output, such as `head`, has seen enough.
        sys.stderr.close()
        sys.exit(ExitCode.CLEAN)
    except OSError as error:
        # A full disk or a missing permission is no bug, and every file that was written is whole.
        complain(f"the system refused: {error}", *getattr(error, "__notes__", ()))
        sys.exit(ExitCode.USAGE)
    except Exception:  # noqa: BLE001 - the outermost frame reports our own bugs and says so
        traceback.print_exc()
        complain("this is a bug in kbtool; please report it with the traceback above")
        sys.exit(ExitCode.BUG)
