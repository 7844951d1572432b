"""Throughput per accelerator against speed per user: what a system can trade, point by point of one sweep.

A point needs both figures of one configuration, as `kbtool.analysis.sweeps` pairs them. Points are joined within one sweep
alone. A point is on the frontier where no other of its sweep is at least as good in both and better in one (Pareto). One
configuration is a point and no line: published charts drew a vertical line through a single system.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from kbtool.analysis.rows import Cell, Row
from kbtool.analysis.sweeps import AXES, configurations, setups

__all__ = ["Frontier", "Point", "frontiers", "pareto"]


class Point(NamedTuple):
    """One configuration of one sweep."""

    per_user: Decimal
    """Tokens a second of one user."""
    per_accelerator: Decimal
    """Output tokens a second of one accelerator."""
    load: tuple[Cell, ...]
    """Where it stands in the sweep: a cell for each of `AXES`, the concurrency first."""
    result: str
    """Reference and anchor of the result that gives the throughput."""


class Frontier(NamedTuple):
    """One sweep."""

    points: tuple[Point, ...]
    """By speed per user, the fastest first."""
    best: tuple[Point, ...]
    """Those that no other point beats."""

    @property
    def is_line(self) -> bool:
        """Whether there is anything to join: two points that differ in where they stand and in speed."""
        return len({each.load for each in self.best}) > 1 and len({each.per_user for each in self.best}) > 1


def frontiers(rows: Sequence[Row]) -> tuple[Frontier, ...]:
    """Return the sweeps that give both figures, in the order of their first results."""
    setup = setups(rows)
    sweeps: dict[int, list[Point]] = {}
    for each in configurations(rows, setup):
        row = rows[each.row]
        share = row.cells["per_accelerator"]
        if isinstance(share, int | Decimal):
            load = tuple(row.cells[axis] for axis in AXES)
            point = Point(each.user_tok_s, Decimal(share), load, f"{row.ref}#{row.anchor}")
            sweeps.setdefault(setup[each.row], []).append(point)
    return tuple([Frontier(_by_speed(points), pareto(points)) for points in sweeps.values()])


def pareto(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the points that no other one beats, the fastest per user first; of equal ones the first stands."""
    best: list[Point] = []
    for point in _by_speed(points):
        if not best or point.per_accelerator > best[-1].per_accelerator:
            best.append(point)
    return tuple(best)


def _by_speed(points: Sequence[Point]) -> tuple[Point, ...]:
    return tuple(sorted(points, key=lambda each: (-each.per_user, -each.per_accelerator, each.result)))
