"""Everything that is known of one MLPerf run, before it becomes a record."""

from dataclasses import dataclass
from typing import Any

from kbtool.ingest.mlperf_files import Summary, SystemFile
from kbtool.ingest.mlperf_names import Device, EngineFound, ModelFound
from kbtool.ingest.mlperf_rows import Row
from kbtool.ingest.mlperf_submitters import Submitter

__all__ = ["Run", "evidence_at"]


@dataclass(frozen=True, slots=True)
class Run:
    """Everything known about one run."""

    rows: tuple[Row, ...]
    """One, or the 99 and the 99.9 row of one measurement; the stricter first."""
    submitter: Submitter
    device: Device
    model: ModelFound
    engine: EngineFound
    system: SystemFile | None
    summary: Summary | None

    @property
    def row(self) -> Row:
        """The row that stands for the run."""
        return self.rows[0]


def evidence_at(source: str, locator: str, quote: str | None = None) -> dict[str, Any]:
    """Return where something stands, as a record holds it."""
    found = {"source": source, "locator": locator[:300]}
    return found if quote is None else found | {"quote": quote}
