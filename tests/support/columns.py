"""The explorer's files read in Python, and its rules written down once more: what the browser has to agree with."""

import csv
import gzip
import io
import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from kbtool.analysis.sweeps import STATISTIC_KINDS
from kbtool.escape import csv_cell

__all__ = ["Explorer", "unpack"]

Value = str | Decimal | None


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, list[Value]]]:
    """Return header and columns of a file, as `kbtool.site.explore.pack` describes it."""
    raw = gzip.decompress(data)
    assert raw[:4] == b"kbc1"
    length = int.from_bytes(raw[4:8], "little")
    header = json.loads(raw[8 : 8 + length])
    rows = header["rows"]
    planes = (
        iter(raw[start : start + rows] for start in range(8 + length, len(raw), rows)) if rows else iter(())
    )
    columns = {each["name"]: list(_cells(each, planes, rows)) for each in header["columns"]}
    assert next(planes, None) is None
    return header, columns


def _cells(head: dict[str, Any], planes: Iterator[bytes], rows: int) -> Iterator[Value]:
    scales = next(planes) if head["kind"] == "digits" and rows else b""
    read = [next(planes) for _ in range(head["planes"])] if rows else []
    for row in range(rows):
        number = sum(plane[row] << (8 * place) for place, plane in enumerate(read))
        if head["kind"] != "digits":
            word = head["words"][number - 1] if number else None
            yield Decimal(word) if word is not None and head["kind"] == "number" else word
        elif scales[row] == 255:
            yield None
        else:
            sign = -1 if scales[row] >= 128 else 1
            yield Decimal((int(sign < 0), tuple(map(int, str(number))), -(scales[row] % 128)))


class Explorer:
    """The rules of the explorer over the files of a built site."""

    def __init__(self, site: Path) -> None:
        parts = {
            path.name: unpack(path.read_bytes()) for path in sorted((site / "data/explore").glob("*.bin.gz"))
        }
        self.header = parts["main.bin.gz"][0]
        self.labels: dict[str, dict[str, str]] = {}
        self.columns: dict[str, Sequence[Value]] = {}
        for header, columns in parts.values():
            assert header["build"] == self.header["build"]
            self.columns |= columns
            for head in header["columns"]:
                self.labels[head["name"]] = dict(
                    zip(head.get("words", ()), head.get("labels", head.get("words", ())), strict=True)
                )
        self.rows = self.header["rows"]
        metrics = self.header["metrics"]
        self.labels["metric"] = {name: each["title"] for name, each in metrics.items()}
        for name in ("unit", "scope", "tokens"):
            self.columns[name] = [metrics[each][name] or None for each in self.columns["metric"]]
        self.columns["title"] = [self.labels["ref"][str(each)] for each in self.columns["ref"]]

    def stands(self, row: int) -> bool:
        """Return whether a result takes part in rankings."""
        fallen = self.columns["status"][row] in {"retracted", "superseded"}
        return not fallen and self.columns["standing"][row] != "withdrawn"

    def passing(
        self,
        *,
        metric: str = "*",
        q: str = "",
        fallen: bool = False,
        skip: str = "",
        facets: Mapping[str, Sequence[Value]],
    ) -> list[int]:
        """Return the rows that are shown, in the order of the records; `skip` leaves one facet aside."""
        chosen = {name: set(values) for name, values in facets.items() if name != skip}
        if metric != "*" and skip != "metric":
            chosen["metric"] = {metric}
        words = _folded(q).split()
        return [
            row
            for row in range(self.rows)
            if (fallen or self.stands(row))
            and all(self.columns[name][row] in values for name, values in chosen.items())
            and all(any(word in text for text in self._searched(row)) for word in words)
        ]

    def _searched(self, row: int) -> Iterator[str]:
        for name in self.header["searched"]:
            cell = self.columns[name][row]
            if cell is not None:
                yield _folded(f"{cell} {self.labels[name].get(str(cell), '')}")

    def counts(self, facet: str, **choice: Any) -> dict[str, int]:
        """Return how many rows each value of a facet would show."""
        found: dict[str, int] = {}
        for row in self.passing(skip=facet, **choice):
            cell = self.columns[facet][row]
            key = "~" if cell is None else format(cell, "f") if isinstance(cell, Decimal) else cell
            found[key] = found.get(key, 0) + 1
        return found

    def ordered(self, rows: Sequence[int], name: str, *, descending: bool) -> list[int]:
        """Return rows by a column, null last; measures within comparison class and metric."""
        cells = self.columns[name]
        stated = [row for row in rows if cells[row] is not None]
        stated.sort(key=cells.__getitem__, reverse=descending)  # type: ignore[arg-type]  # of one type, none null
        order = stated + [row for row in rows if cells[row] is None]
        if name in self.header["measures"]:
            order.sort(key=lambda row: str(self.columns["comparison_class"][row] or ""))
            order.sort(key=lambda row: str(self.columns["metric"][row]))
        return order

    def csv(self, rows: Iterable[int]) -> str:
        """Return the file that Python would write."""
        names = self.header["exported"]
        file = io.StringIO()
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([csv_cell(self.columns[name][row]) for name in names] for row in rows)
        return file.getvalue()

    def lines(self, rows: Iterable[int], axis: str) -> set[frozenset[int]]:
        """Return the sets of rows that a line joins in a chart across an axis."""
        groups: dict[Any, list[int]] = {}
        others = [name for name in self.header["axes"] if name != axis]
        for row in rows:
            key = (
                self.columns["setup"][row],
                self.columns["statistic"][row],
                *[self.columns[name][row] for name in others],
            )
            groups.setdefault(key, []).append(row)
        found = set()
        for group in groups.values():
            places = {self.columns[axis][row] for row in group}
            if len(group) > 1 and len(places) == len(group):
                found.add(frozenset(group))
        return found

    def kind(self, row: int) -> str:
        """Return what the statistic of a row tells of."""
        statistic = self.columns["statistic"][row]
        return next(kind for kind, members in STATISTIC_KINDS.items() if statistic in members)


def _folded(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text).lower()
    return "".join(each for each in decomposed if not unicodedata.category(each).startswith("M"))
