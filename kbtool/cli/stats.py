"""`kbtool stats`: how complete the data are, over all results and by group, and what that was on earlier days."""

import json
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbtool.cli.console import complain, find_root, say, say_csv, show_table
from kbtool.cli.options import RootOption, TableFormat, day

if TYPE_CHECKING:
    from kbtool.analysis.quality import Quality
    from kbtool.analysis.quality_history import Entry
    from kbtool.schema import Benchmark
    from kbtool.store import Corpus

__all__ = ["stats"]


class By(StrEnum):
    """What to group records by."""

    PUBLISHER = "publisher"
    COLLECTION = "collection"
    MEASURED_BY = "measured-by"
    ACCELERATOR = "accelerator"
    ENGINE = "engine"


def stats(
    *,
    by: Annotated[By, typer.Option("--by", help="What to group the records by.")] = By.PUBLISHER,
    output: Annotated[TableFormat, typer.Option("--format", help="Form of the output.")] = TableFormat.TABLE,
    save: Annotated[
        str | None,
        typer.Option(
            "--save",
            metavar="DAY",
            help="Also keep the figures of today's records under this day in `site/data/quality-history.csv`.",
            show_default=False,
        ),
    ] = None,
    root: RootOption = None,
) -> None:
    """Print how many results say what a reader needs: version, load, quote, repeats, source; and how many are second hand.

    A share is of the results that are asked: repeats, for one, are not asked of a link's bandwidth. Records that were
    retracted or superseded do not count. `--by collection` tells curated records from imported ones.
    """
    from kbtool.analysis.quality import ALL
    from kbtool.store import load

    project = find_root(root)
    saved = day(save, "--save")
    corpus = load(project)
    if corpus.findings:
        complain(f"{len(corpus.findings)} findings keep files from being counted; `kbtool lint` lists them")
    counted = _Counted(corpus)
    total = counted.by(lambda _ref, _record: ALL)
    _PRINT[output]([*total, *counted.by(partial(_KEYS[by], corpus))], by)
    if saved is not None:
        from kbtool.analysis.quality_history import entries_of

        _save(project, entries_of(saved, [*total, *counted.by(partial(_collection, corpus))]))


class _Counted:
    """What every benchmark that stands adds to the figures, tallied once."""

    def __init__(self, corpus: "Corpus") -> None:
        from kbtool.analysis.quality import tally
        from kbtool.schema import Benchmark
        from kbtool.vocab.terms import WITHDRAWN

        self._corpus = corpus
        self._tallies = [
            (ref, record, tally(record))
            for ref, record in corpus.records.items()
            if isinstance(record, Benchmark) and record.status not in WITHDRAWN
        ]

    def by(self, key: "Callable[[str, Benchmark], str]") -> "list[Quality]":
        """Return the figures by group."""
        from kbtool.analysis.quality import Group, qualities

        groups = [Group(key(ref, record), found) for ref, record, found in self._tallies]
        return qualities(groups, self._opened)

    def _opened(self, ref: str) -> bool:
        from kbtool.analysis.quality import is_opened
        from kbtool.schema import Source

        source = self._corpus.get(ref)
        return isinstance(source, Source) and is_opened(source)


def _publisher(corpus: "Corpus", _ref: str, record: "Benchmark") -> str:
    from kbtool.schema import Source

    source = corpus.get(record.primary_source or "")
    return source.publisher if isinstance(source, Source) else "no primary source"


def _collection(corpus: "Corpus", ref: str, _record: "Benchmark") -> str:
    from kbtool.analysis.quality import CURATED

    return corpus.loaded(ref).file.group or CURATED


_KEYS: "dict[By, Callable[[Corpus, str, Benchmark], str]]" = {
    By.PUBLISHER: _publisher,
    By.COLLECTION: _collection,
    By.MEASURED_BY: lambda _corpus, _ref, record: record.measured.by,
    By.ACCELERATOR: lambda _corpus, _ref, record: record.system.accelerator or "not stated",
    By.ENGINE: lambda _corpus, _ref, record: record.engine.engine or "not stated",
}


def _print_table(qualities: "Sequence[Quality]", by: By) -> None:
    from rich.table import Table
    from rich.text import Text

    from kbtool.analysis.quality import MEASURES, percent
    from kbtool.escape import terminal

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(by.value, overflow="fold")
    for name in ("records", "results", *(each.short for each in MEASURES)):
        table.add_column(name, justify="right", no_wrap=True)
    for row, each in enumerate(qualities):
        numbers = (f"{each.records:,}", f"{each.results:,}", *map(percent, each.shares))
        table.add_row(Text(terminal(each.group)), *numbers, style="bold" if row == 0 else None)
    show_table(table)


def _print_json(qualities: "Sequence[Quality]", by: By) -> None:
    from kbtool.analysis.quality import MEASURES

    rows = [
        {
            by.value: each.group,
            "records": each.records,
            "results": each.results,
            **{measure.code: share._asdict() for measure, share in zip(MEASURES, each.shares, strict=True)},
        }
        for each in qualities
    ]
    say(json.dumps(rows, indent=2, ensure_ascii=False))


def _print_csv(qualities: "Sequence[Quality]", by: By) -> None:
    from kbtool.analysis.quality import MEASURES

    head = [
        by.value,
        "records",
        "results",
        *(f"{each.code}{end}" for each in MEASURES for end in ("", "_of")),
    ]
    rows: list[list[str | int]] = [
        [
            each.group,
            each.records,
            each.results,
            *(part for share in each.shares for part in (share.have, share.of)),
        ]
        for each in qualities
    ]
    say_csv([head, *rows])


_PRINT: "dict[TableFormat, Callable[[Sequence[Quality], By], None]]" = {
    TableFormat.TABLE: _print_table,
    TableFormat.JSON: _print_json,
    TableFormat.CSV: _print_csv,
}


def _save(project: Path, entries: "list[Entry]") -> None:
    from kbtool.analysis.quality_history import HISTORY_PATH, read_history, with_day, write_history
    from kbtool.store.atomic import write_atomic

    path = project / HISTORY_PATH
    history = read_history(path.read_text("utf-8")) if path.exists() else []
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, write_history(with_day(history, entries)).encode())
    complain(f"kept under {entries[0].day} in {HISTORY_PATH}" if entries else "there is nothing to keep")
