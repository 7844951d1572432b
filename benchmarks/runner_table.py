"""The rows of a comparison as a Markdown table, medians over the repetitions."""

from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks.runner_measure import CELLS, Cell, Row
from benchmarks.runner_peers import PEERS, Peer

__all__ = ["line", "table"]


def line(row: Row) -> str:
    """Return one row for whoever watches."""
    seen = row.reported
    return (
        f"{row.repeat + 1} {row.cell:14} {row.tool:15} TTFT {_error(seen.ttft_ms, row.ttft_true_ms):>8} "
        f"ITL {_error(seen.itl_ms, row.itl_true_ms, 2):>9} {row.cpu_us_per_chunk:7.1f} us/chunk "
        f"{row.peak_rss_mb:6.0f} MB {row.wall_s:5.1f} s, load {row.load_average:.1f}"
    )


def _ratio(found: float | None, true: float) -> float | None:
    return None if found is None else found / true - 1


def _error(found: float | None, true: float, digits: int = 1) -> str:
    error = _ratio(found, true)
    return "-" if error is None else f"{error:+.{digits}%}"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a Markdown table: medians over the repetitions."""
    yield "| streams | tool | TTFT | ITL per token | gap p99, true -> reported | tokens | load | CPU us/chunk | to its end | RSS MB | n |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    best = {
        (row.cell, row.repeat): max(
            other.tok_s_true for other in rows if (other.cell, other.repeat) == (row.cell, row.repeat)
        )
        for row in rows
    }
    for cell in CELLS:
        for one in PEERS:
            some = [row for row in rows if (row.cell, row.tool) == (cell.name, one.name)]
            if some:
                loads = [row.tok_s_true / best[row.cell, row.repeat] for row in some]
                yield _table_row(cell, one, some, median(loads))


def _table_row(cell: Cell, one: Peer, some: Sequence[Row], load: float) -> str:
    ttft = _median([_ratio(row.reported.ttft_ms, row.ttft_true_ms) for row in some])
    itl = _median([_ratio(row.reported.itl_ms, row.itl_true_ms) for row in some])
    gap = _median([row.reported.gap_p99_ms for row in some])
    off = {
        (row.reported.output_tok or 0) / row.output_tok_true - 1
        for row in some
        if row.reported.output_tok != row.output_tok_true
    }
    tokens = "exact" if not off else f"{max(off, key=abs):+.1%}"
    words = (
        cell.name,
        one.name,
        "-" if ttft is None else f"{ttft:+.2%}",
        "-" if itl is None else f"{itl:+.2%}",
        f"{median(row.gap_p99_true_ms for row in some):.2f} -> {'-' if gap is None else format(gap, '.2f')}",
        tokens,
        f"{load:.3f}",
        f"{median(row.cpu_us_per_chunk for row in some):.0f}",
        f"{median(row.cpu_to_end_us_per_chunk for row in some):.0f}",
        f"{max(row.peak_rss_mb for row in some):.0f}",
        str(len(some)),
    )
    return f"| {' | '.join(words)} |"


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
