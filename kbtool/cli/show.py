"""`kbtool show`: one record in the terminal, in the order in which its page shows it."""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kbtool.cli.console import console, find_root, say
from kbtool.cli.options import RefArgument, RootOption, normal_ref
from kbtool.errors import RecordError

if TYPE_CHECKING:
    from kbtool.schema import Benchmark, Record
    from kbtool.store import Corpus

__all__ = ["resolve", "show"]


class Format(StrEnum):
    """Forms of the output."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


def show(
    ref: RefArgument,
    *,
    output: Annotated[Format, typer.Option("--format", help="Form of the output.")] = Format.TEXT,
    root: RootOption = None,
) -> None:
    """Show one record: its figures, how far to trust them, its gaps, and what points at it."""
    from kbtool.store import load

    corpus = load(find_root(root))
    name = resolve(corpus, ref)
    if output is Format.YAML:
        say(corpus.loaded(name).data.decode().removesuffix("\n"))
    elif output is Format.JSON:
        from kbtool.store.exactjson import exact_json

        say(exact_json(corpus.loaded(name).value, indent=2).removesuffix("\n"))
    else:
        _print_text(corpus, name)


def resolve(corpus: "Corpus", text: str) -> str:
    """Return the reference that the user means.

    Raises:
        RecordError: no valid record is called so, or several are; the message says which come near.
    """
    name = normal_ref(text)
    if corpus.get(name) is not None:
        return name
    same_id = [ref for ref in corpus.records if ref.partition("/")[2] == name]
    if len(same_id) == 1:
        return same_id[0]
    if same_id:
        raise RecordError(f"`{name}` is the id of {len(same_id)} records: say which of {', '.join(same_id)}")
    broken = [each for each in corpus.files if name in {each.ref, each.file.id} and each.record is None]
    if broken:
        first = broken[0].findings[0]
        raise RecordError(f"{first.path}:{first.line}:{first.column}: {first.message}")
    near = corpus.nearest(name)
    raise RecordError(f"there is no record `{name}`" + (f"; did you mean `{near}`?" if near else ""))


def _print_text(corpus: "Corpus", ref: str) -> None:
    from kbtool.schema import Benchmark

    out = console()
    record = corpus.records[ref]
    for text, style in _head(corpus, ref, record):
        out.print(text, style=style, markup=False)
    if isinstance(record, Benchmark):
        _print_results(record)
    for text, style in _tail(corpus, ref, record):
        out.print(text, style=style, markup=False)


Line = tuple[str, str | None]


def _head(corpus: "Corpus", ref: str, record: "Record") -> Iterator[Line]:
    from kbtool.escape import terminal

    yield terminal(record.title), "bold"
    confidence = record.confidence
    trust = f", confidence {confidence.label} ({confidence.score})" if confidence else ""
    yield f"{ref}: {corpus.status(ref)}{trust}, updated {record.updated}", None
    if record.status_reason:
        yield terminal(record.status_reason), "yellow"


def _print_results(record: "Benchmark") -> None:
    """Print a line a result, the headline in bold; conditions have the names that they have in the record."""
    from rich.table import Table
    from rich.text import Text

    from kbtool.escape import terminal

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("result", "figure", "metric and conditions"):
        table.add_column(name, overflow="fold", no_wrap=name == "figure")
    for result in record.results:
        stated = [
            f"{name} {_words(value)}" for name, value in result.at.model_dump(exclude_defaults=True).items()
        ]
        changed = [f"with {each.field} {each.value}" for each in result.with_]
        standing = [] if result.standing == "stands" else [result.standing]
        words = [result.metric, *filter(None, [result.statistic]), *stated, *changed, *standing]
        style = "bold" if result.id == record.headline else None
        cells = (result.id, result.as_published, ", ".join(words))
        table.add_row(*(Text(terminal(cell)) for cell in cells), style=style)
    console().print(table)


def _words(value: object) -> str:
    return " and ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _tail(corpus: "Corpus", ref: str, record: "Record") -> Iterator[Line]:
    from kbtool.escape import terminal

    for title, paths in (
        ("Omitted by source", [each.field for each in record.omitted_by_source]),
        ("Gaps", [f"{each.field} ({each.reason})" for each in record.gaps]),
        ("Claims", [f"{each.verdict}: {each.statement}" for each in record.claims]),
        ("Sources", [f"{each.source} ({each.role})" for each in record.sources]),
        ("Pointed at by", sorted({each.source_ref for each in corpus.backlinks(ref)})),
    ):
        if paths:
            yield title, "bold"
            yield from ((f"  {terminal(path)}", None) for path in paths)
    if record.notes:
        yield terminal(record.notes), None
