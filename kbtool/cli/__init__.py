"""The command line: parse arguments, call one function of a lower layer, print, return an exit code."""

import sys

from kbtool.errors import ExitCode

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with one of the documented exit codes."""
    try:
        from kbtool.cli.app import run  # loading the program takes long enough to be interrupted in

        code = run()
    except KeyboardInterrupt:
        sys.stderr.write("kbtool: interrupted\n")
        code = ExitCode.INTERRUPTED
    sys.exit(code)
