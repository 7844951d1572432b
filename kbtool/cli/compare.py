"""`kbtool compare`: whether two results may stand side by side, what differs, and their ratio."""

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kbtool.cli.console import console, find_root, say
from kbtool.cli.options import RootOption
from kbtool.cli.show import resolve
from kbtool.errors import ExitCode, RecordError

if TYPE_CHECKING:
    from kbtool.analysis.compare import Comparison, Side
    from kbtool.store import Corpus

__all__ = ["compare"]

_ResultArgument = typer.Argument(
    metavar="RESULT",
    help="A result such as `benchmarks/ev-x#decode-c1`; a record alone means its headline.",
    show_default=False,
)


class Format(StrEnum):
    """Forms of the output."""

    TEXT = "text"
    JSON = "json"


def compare(
    one: Annotated[str, _ResultArgument],
    other: Annotated[str, _ResultArgument],
    *,
    output: Annotated[Format, typer.Option("--format", help="Form of the output.")] = Format.TEXT,
    root: RootOption = None,
) -> None:
    """Compare two results, or say which condition keeps them from standing side by side.

    The ratio is the first divided by the second. Systems of different size are compared per accelerator. What a source does
    not state is a reservation. A refusal ends with exit code 1.
    """
    from kbtool.analysis.compare import compare as compared
    from kbtool.store import load

    corpus = load(find_root(root))
    sides = _side(corpus, one), _side(corpus, other)
    found = compared(*sides)
    if output is Format.JSON:
        _print_json(sides, found)
    else:
        _print_text(sides, found)
    if found.verdict == "refused":
        raise typer.Exit(ExitCode.FINDINGS)


def _side(corpus: "Corpus", text: str) -> "Side":
    """Return the result that the user means.

    Raises:
        RecordError: No record or result is called so.
    """
    from kbtool.analysis.compare import Side
    from kbtool.schema import Benchmark
    from kbtool.store.suggest import nearest

    named, _, anchor = text.partition("#")
    ref = resolve(corpus, named)
    record = corpus.records[ref]
    if not isinstance(record, Benchmark):
        raise RecordError(f"{ref} is no benchmark and has no results: name one of `kbtool find`")
    wanted = anchor or record.headline
    result = next((each for each in record.results if each.id == wanted), None)
    if result is None:
        ids = [each.id for each in record.results]
        near = nearest(wanted or "", ids)
        hint = f"did you mean `{near}`?" if near else f"it has {', '.join(ids[:8])}"
        raise RecordError(f"{ref} has no result `{wanted}`; {hint}")
    return Side(ref, record, result, corpus.status(ref))


def _print_text(sides: "tuple[Side, Side]", found: "Comparison") -> None:
    from rich.table import Table
    from rich.text import Text

    from kbtool.escape import terminal

    out = console()
    for side in sides:
        note = "" if side.status == "verified" else f" ({side.status})"
        out.print(f"{side.name}: {terminal(side.result.as_published)}{note}", markup=False)
    out.print(terminal(found.sentence), style="bold", markup=False)
    if found.differences:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for name in ("what differs", "first", "second"):
            table.add_column(name, overflow="fold")
        for each in found.differences:
            table.add_row(*(Text(terminal(cell) or "not stated") for cell in each))
        out.print(table)


def _print_json(sides: "tuple[Side, Side]", found: "Comparison") -> None:
    plain = {
        "results": [
            {"name": side.name, "as_published": side.result.as_published, "status": side.status}
            for side in sides
        ],
        "verdict": found.verdict,
        "sentence": found.sentence,
        "refused": found.refused,
        "reservations": found.reservations,
        "ratio": None if found.ratio is None else float(found.ratio),
        "basis": found.basis,
        "differences": [each._asdict() for each in found.differences],
    }
    say(json.dumps(plain, indent=2, ensure_ascii=False))
