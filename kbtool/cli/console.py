"""Where output goes: results to stdout, diagnostics to stderr, colour and progress only on a terminal."""

import csv
import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kbtool.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = [
    "complain",
    "console",
    "find_root",
    "finish_streams",
    "prepare_streams",
    "progress",
    "say",
    "say_csv",
    "show_table",
]

SHOW_PROGRESS_AFTER_S: Final = 1.0

WIDTH_WITHOUT_TERMINAL: Final = 1000
"""A file or a pipe has no width: nothing is folded there."""

Progress = Callable[[int, int], None]


def prepare_streams() -> None:
    """Make stdout and stderr take whatever is printed: closed ones, and encodings that lack a character.

    What goes to a file or a program is UTF-8, as records are; a terminal shows what it cannot print as an escape.
    """
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - open until the end
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - open until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


def finish_streams() -> None:
    """Hand over what is still buffered.

    Raises:
        OSError: the file behind stdout does not take it. A reader that left is no error.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _let_go_of_stdout()
    except OSError:
        _let_go_of_stdout()
        raise


def _let_go_of_stdout() -> None:
    """Send the rest of the output nowhere: whoever read it, such as `head`, has seen enough."""
    with suppress(OSError):  # of a stream without a descriptor, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str = "") -> None:
    """Print one result line to stdout."""
    try:
        sys.stdout.write(text + "\n")
    except BrokenPipeError:
        _let_go_of_stdout()


def complain(*lines: str) -> None:
    """Print diagnostics to stderr, with control characters made visible.

    Nobody may be listening any more, as behind `2>&1 | head`: the work goes on, and its exit code tells.
    """
    from kbtool.escape import terminal

    with suppress(OSError):
        for line in lines:
            sys.stderr.write(f"kbtool: {terminal(line)}\n")


def console() -> "Console":
    """Return a Rich console on stdout; it colours only on a terminal and honours `NO_COLOR`."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            _let_go_of_stdout()  # Rich itself would leave with exit code 1

    width = None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL
    return Output(highlight=False, width=width, soft_wrap=width is not None)


def show_table(table: "Table") -> None:
    """Print a table to stdout, without the blanks that fill its last column."""
    out = console()
    with out.capture() as capture:
        out.print(table)
    for line in capture.get().splitlines():
        say(line.rstrip())


def say_csv(rows: Iterable[Iterable[str | int | float | Decimal | bool | None]]) -> None:
    """Print rows as CSV with LF line ends, in a form that no spreadsheet runs as a formula."""
    from kbtool.escape import csv_cell

    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows(map(csv_cell, row) for row in rows)
    say(buffer.getvalue().removesuffix("\n"))


def find_root(given: Path | None) -> Path:
    """Return the project root: the given folder, or the nearest parent that holds `records/`.

    Raises:
        UsageError: there is none.
    """
    if given is not None:
        if not (given / "records").is_dir():
            raise UsageError(f"{given} has no folder `records`: give the folder that holds it with --root")
        return given.resolve()
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "records").is_dir():
            return folder
    raise UsageError("no folder `records` here or above: run kbtool inside a checkout, or give --root")


@contextmanager
def progress(title: str) -> Iterator[Progress]:
    """Give a callback `(done, total)` that draws a bar once the work has taken over a second.

    Nothing is drawn where stderr is not a terminal.
    """
    if not sys.stderr.isatty():
        yield lambda done, total: None  # noqa: ARG005 - the signature is the callback's
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    bar = Bar(console=Console(stderr=True), transient=True)
    task = bar.add_task(title)
    started_s = time.monotonic()

    def advance(done: int, total: int) -> None:
        if not bar.live.is_started and time.monotonic() - started_s > SHOW_PROGRESS_AFTER_S:
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield advance
    finally:
        if bar.live.is_started:
            bar.stop()
