"""The `kbtool` program: its verbs, its help, and what its exit codes mean."""

import errno
import traceback
from typing import Final

import typer
from typer.exceptions import TyperException

from kbtool.cli import commands
from kbtool.cli.console import complain, finish_streams, prepare_streams
from kbtool.errors import ExitCode, KbtoolError

__all__ = ["app", "run"]

_EPILOG = (
    "Exit codes: 0 clean, 1 findings (an unreadable record is one), 2 wrong usage, "
    "3 a bug in kbtool, 74 the disk did not take a measurement, 130 interrupted."
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


def run() -> int:
    """Run the command line and return one of the documented exit codes."""
    prepare_streams()
    try:
        code = app(standalone_mode=False)
        finish_streams()
    except KbtoolError as error:
        complain(*str(error).splitlines(), *getattr(error, "__notes__", ()))
        return error.exit_code
    except TyperException as error:
        error.show()  # type: ignore[attr-defined]  # typer raises none without it
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = ExitCode.INTERRUPTED
    except OSError as error:
        # A full disk or a missing permission is no bug, and every file that was written is whole.
        complain(_refusal(error), *getattr(error, "__notes__", ()))
        return ExitCode.USAGE
    except Exception:  # noqa: BLE001 - the outermost frame reports our own bugs and says so
        traceback.print_exc()
        complain("this is a bug in kbtool; please report it with the traceback above")
        return ExitCode.BUG
    if code == ExitCode.INTERRUPTED:
        complain("interrupted")
    return code if isinstance(code, int) else ExitCode.CLEAN


_REMEDIES: Final = {
    errno.ENOSPC: "make room on the disk, and run it again",
    errno.EDQUOT: "make room within the quota, and run it again",
    errno.EACCES: "correct the permissions, and run it again",
    errno.EPERM: "correct the permissions, and run it again",
    errno.EROFS: "work in a folder that can be written",
    errno.ENOENT: "it is not there, or no longer: bring it back, or run it again",
}


def _refusal(error: OSError) -> str:
    """Return what the system refused, and what to do."""
    place = f"{error.filename}: " if error.filename else ""
    remedy = _REMEDIES.get(error.errno or 0, "correct it, and run it again")
    return f"the system refused: {place}{error.strerror or error}; expected it to go through: {remedy}"
