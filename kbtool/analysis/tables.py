"""The tables of the data files and of `kbtool query`: their columns, what each holds and what it means.

A column that `kbtool.analysis.rows` names means here what it means there. The other tables hold what a row a record cannot:
the links between records, what records leave out, what was changed in them, prices that were seen, and the metrics themselves.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Final, Literal, NamedTuple

from kbtool.analysis.rows import COLUMNS, Cell
from kbtool.vocab import METRICS
from kbtool.vocab.numbers import number_text

__all__ = ["EXACT", "TABLES", "Column", "Table", "Type", "metrics_table", "table_of", "with_exact"]

Type = Literal["text", "integer", "number", "date"]


class Column(NamedTuple):
    """One column of a table."""

    name: str
    type: Type
    meaning: str
    unit: str = ""

    @property
    def exact(self) -> str:
        """Name of the column with the digits as text that stands beside this one where floats are all there is; or nothing."""
        return f"{self.name}_text" if self.name in EXACT and self.type == "number" else ""


class Table(NamedTuple):
    """One table, column by column."""

    name: str
    columns: tuple[Column, ...]
    cells: tuple[Sequence[Cell], ...]
    """One sequence a column, all of one length."""

    def __len__(self) -> int:
        """Return how many rows it has."""
        return len(self.cells[0])

    def rows(self) -> Iterator[tuple[Cell, ...]]:
        """Return an iterator over the rows."""
        return zip(*self.cells, strict=True)


EXACT: Final = frozenset({"value", "low", "high"})
"""Columns with figures of sources, whose digits are evidence: `3.10` says more than 3.1."""

_TEXT: Final[dict[str, str]] = {
    "ref": "The record: kind and id; its page is this with .html behind it.",
    "result": "Id of the result in its record; the anchor of its place on the page.",
    "metric": "Metric, as table metrics has it.",
    "unit": "Unit of value, low and high; that of the metric.",
    "scope": "What one value describes: a request, a user, an accelerator, an instance, the whole system.",
    "tokens": "Which tokens count: output, input, both; none for what counts no tokens.",
    "statistic": "Mean, p50, p99 and so on; null where the source does not say.",
    "qualifier": "approx, at_least or at_most where the source says so.",
    "as_published": "The figure as the source prints it.",
    "bound": "The hard limit of the hardware of which the result reaches most.",
    "comparison_class": "Closed class of results, such as a round of MLPerf: such a result compares with its own class alone.",
    "accelerator": "Record of the accelerator.",
    "engine": "Record of the engine.",
    "engine_version": "Version of the engine, as text.",
    "engine_commit": "Commit of the engine.",
    "model": "Record of the model.",
    "weight_dtype": "Data type of the weights.",
    "kv_cache_dtype": "Data type of the KV cache.",
    "speculation": "Method of speculative decoding; none where it is known to be off.",
    "input_nominal": "Input length as the source rounds it, such as 128k, where it gives no count.",
    "prompt_class": "What the prompts are: code, chat, random and so on.",
    "pool": "prefill or decode, where the figure is of one pool of a disaggregated system; null where it is of all that serve.",
    "prefix_cache": "cold, warm or off; null where the source does not say.",
    "measuring_path": "Where the client stood: on the host, in its network, behind a tunnel or a proxy.",
    "with": "Settings that this result changed against its record, as field=value.",
    "warnings": "What was wrong with the measurement, by code.",
    "standing": "stands, disputed or withdrawn; what is withdrawn leaves every ranking.",
    "status": "draft, reviewed, verified, disputed, superseded or retracted; the last two leave every ranking.",
    "confidence_label": "low, medium or high, as the record's page shows it.",
    "confidence_by": "curator where one stated the confidence, else rubric: what the published rubric gives the record.",
    "measured_by": "Who measured.",
    "publisher": "Publisher of the source.",
    "interest": "Interest in the result of the publisher, or of the author whose figures it passes on.",
    "group": "Sources of one group are not independent of each other.",
    "source": "Record of the source of the figure.",
    "title": "Title of the record or of the metric.",
    "vendor": "Who makes it.",
    "form": "Form factor.",
    "role": "What it joins.",
    "generation": "Generation of the link.",
    "maintainer": "Who maintains it.",
    "repository": "Address of its source code.",
    "licence": "Its licence.",
    "organisation": "Who published the model.",
    "architecture": "Dense, mixture of experts and so on.",
    "source_kind": "What the source is.",
    "author": "Author of the source.",
    "url": "Address of the source.",
    "archive_url": "Address of an archived copy.",
    "trap_class": "Kind of trap.",
    "engines": "Engines that it is known of.",
    "kind": "Kind of record.",
    "collection": "Set that the record was imported from; curated where it was written by hand.",
    "headline_metric": "Metric of the result that stands for the record.",
    "primary_source": "Record of the source that measured or published first.",
    "part": "Result or claim of the record that the row is about; null for the record as a whole.",
    "relation": "How the record names the other one.",
    "target": "The record that is named.",
    "target_part": "The result of it that is meant; null for the record as a whole.",
    "note": "What the record says of the link.",
    "field": "Path of a field of the record.",
    "state": "omitted_by_source: the source was searched; gap: explained; missing: neither given nor listed.",
    "what": "Fields, with old and new value.",
    "why": "The reason.",
    "direction": "Which way is better.",
    "formula": "How it is computed.",
    "trap": "What it is mistaken for.",
    "currency": "Currency of the amount.",
    "per": "What the amount buys: an hour, a unit or a whole system.",
    "basis": "What kind of price: list, cloud_on_demand and so on.",
}
_INTEGER: Final[dict[str, str]] = {
    "accelerators_serving": "Accelerators behind the figure, those that prefill and those that decode both.",
    "accelerator_count": "Accelerators of the system.",
    "nodes": "Nodes of the system.",
    "tp": "Tensor parallel ranks.",
    "pp": "Pipeline parallel ranks.",
    "dp": "Data parallel ranks.",
    "ep": "Expert parallel ranks, which reuse the others.",
    "instances": "Instances of the engine.",
    "prefill_accelerators": "Accelerators that prefill alone.",
    "decode_accelerators": "Accelerators that decode alone.",
    "draft_tok": "Draft tokens a step.",
    "concurrency": "Requests in flight at once.",
    "input_tok": "Input tokens of a request.",
    "output_tok": "Output tokens of a request.",
    "depth_tok": "Tokens of context in the KV cache before the input, which is read behind them.",
    "repeats": "How often the measurement was repeated.",
    "sessions": "Starts of the server that the repeats are spread over.",
    "samples": "Requests behind the figure.",
    "year": "Year of the measurement, else of its publication.",
    "results": "Results of the record.",
    "accelerators": "Accelerators that the amount pays for; null where the source does not say.",
}
_NUMBER: Final[dict[str, tuple[str, str]]] = {
    "value": ("The figure; null where the source gives a range alone.", ""),
    "low": ("Lower end of a range.", ""),
    "high": ("Upper end of a range.", ""),
    "per_accelerator": ("The rate shared by the accelerators that serve; null where that would be a guess.", ""),
    "bound_share": ("How much of that limit is reached; 1 is all of it.", ""),
    "power_limit_w": ("Power limit of one accelerator.", "W"),
    "request_rate_req_s": ("Requests sent a second.", "req/s"),
    "confidence": ("How far to trust the record, 0 to 1, as its page shows it: what its curator stated, else what the published rubric gives.", ""),
    "memory_gb": ("Memory of one accelerator.", "GB"),
    "bandwidth_gb_s": ("Memory bandwidth of one accelerator.", "GB/s"),
    "power_w": ("Default power limit.", "W"),
    "total_parameters": ("Parameters.", ""),
    "active_parameters": ("Parameters that one token uses.", ""),
    "context_tok": ("Longest context.", "tok"),
    "amount": ("The price.", ""),
}  # fmt: skip
_DATE: Final[dict[str, str]] = {
    "measured_day": "Day of the measurement.",
    "updated": "Last change of the record's content by a person.",
    "published": "Day of publication.",
    "accessed": "Day on which the source was read.",
    "day": "Day of the change.",
    "seen": "Day on which the price was seen or published; no price is a current one.",
}
_OF_THINGS: Final[dict[str, str]] = {"accelerator": "accelerators", "model": "models", "engine": "engines",
    "interconnect": "interconnects", "source": "sources", "gotcha": "gotchas"}  # fmt: skip


def _column(name: str) -> Column:
    if name in _NUMBER:
        meaning, unit = _NUMBER[name]
        return Column(name, "number", meaning, unit)
    if name in _INTEGER:
        return Column(name, "integer", _INTEGER[name])
    if name in _DATE:
        return Column(name, "date", _DATE[name])
    return Column(name, "text", _TEXT[name])


def _columns(*names: str) -> tuple[Column, ...]:
    return tuple(map(_column, names))


TABLES: Final[dict[str, tuple[Column, ...]]] = {
    "results": _columns(*COLUMNS["benchmark"]),
    "records": _columns(
        "ref", "kind", "title", "status", "updated", "collection", "results", "headline_metric", "primary_source"
    ),
    **{table: _columns(*COLUMNS[kind]) for kind, table in _OF_THINGS.items()},
    "links": _columns("ref", "part", "relation", "target", "target_part", "note"),
    "gaps": _columns("ref", "field", "state"),
    "changes": _columns("ref", "day", "what", "why"),
    "prices": _columns(
        "accelerator", "amount", "currency", "per", "accelerators", "basis", "seen", "as_published", "source"
    ),
    "metrics": _columns("metric", "title", "unit", "scope", "tokens", "direction", "formula", "trap"),
}  # fmt: skip
"""Name of each table -> its columns, in reading order."""


def table_of(name: str, rows: Iterable[Sequence[Cell]]) -> Table:
    """Return a table from its rows."""
    columns = TABLES[name]
    return Table(name, columns, tuple(zip(*rows, strict=True)) or ((),) * len(columns))


def metrics_table() -> Table:
    """Return the metrics, in the order of the vocabulary."""
    return table_of("metrics", (
        (each.id, each.title, each.unit, each.scope, each.tokens, each.direction, each.formula, each.trap or None)
        for each in METRICS.values()
    ))  # fmt: skip


def with_exact(table: Table) -> Iterator[tuple[str, Type, Sequence[Cell]]]:
    """Yield name, type and cells of each column, and behind a figure whose digits are evidence these as text."""
    for column, cells in zip(table.columns, table.cells, strict=True):
        yield column.name, column.type, cells
        if column.exact:
            yield column.exact, "text", [None if each is None else _digits(each) for each in cells]


def _digits(cell: Cell) -> str:
    assert isinstance(cell, int | Decimal)
    return number_text(cell)
