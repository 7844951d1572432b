"""The kinds of chart that a report has: figures over a number, tails of distributions, tokens over time, panels."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kbtool.runner.report.numbers import shown
from kbtool.runner.report.scales import Scale, fitted, linear, share_scale, spread_ticks, tick_text
from kbtool.runner.report.svg import BOTTOM, LEFT, RIGHT, TOP, Drawing

__all__ = ["About", "Mark", "Panel", "Point", "Series", "Stairs", "panels", "stairs", "sweep", "tails"]

PANEL: float = 74.0
PANEL_STEP: float = 112.0


@dataclass(frozen=True, slots=True)
class About:
    """What a chart is of."""

    key: str
    title: str
    x_label: str
    y_label: str

    @property
    def description(self) -> str:
        """What a screen reader says of it."""
        return f"{self.y_label} over {self.x_label}. The table and the CSV file below hold the figures."


@dataclass(frozen=True, slots=True)
class Point:
    """One point, with its interval where it has one."""

    x: float
    y: float
    tip: str
    low: float | None = None
    high: float | None = None
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together."""

    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical line with a text."""

    x: float
    text: str
    kind: str = "mark"
    """Class of the style sheet: `mark` for what is bad, `edge` for a boundary."""


def sweep(
    about: About,
    series: Sequence[Series],
    *,
    marks: Sequence[Mark] = (),
    log_y: bool = False,
    even: bool = False,
    names: Sequence[str] = (),
    from_zero: bool = True,
    band: tuple[float, float, float] | None = None,
    labels: bool = False,
    diagonal: bool = False,
) -> Markup:
    """Return figures over a number, with their intervals.

    Args:
        about: What it is of.
        series: At least one, with at least one point.
        marks: Vertical lines.
        log_y: Whether the y axis is logarithmic.
        even: Whether x counts from 1 and has a linear axis whatever its range.
        names: Texts at x = 1, 2, ..., in place of numbers.
        from_zero: Whether the y axis begins at 0.
        band: Low, value and high of a number that holds for all of x.
        labels: Whether each point of a single series has its value written at it.
        diagonal: Whether a line is drawn where y is x.
    """
    drawing = Drawing(about.key, about.title, about.description)
    points = [point for each in series for point in each.points]
    xs = [point.x for point in points]
    x = _counted(max(xs), names) if even else spread_ticks(xs, LEFT + 18, RIGHT - 18)
    y = _heights(points, band, log_y=log_y, from_zero=from_zero)
    drawing.axes(Scale(x.low, x.high, LEFT, RIGHT, ()), y, "", about.y_label)
    drawing.x_axis(x, BOTTOM, about.x_label)
    if diagonal:
        drawing.line([(x(each), y(each)) for each in sorted(set(xs))], 1, kind="level")
    if band is not None:
        low, value, high = (y(each) for each in band)
        drawing.shade(LEFT, RIGHT, high, low, "window")
        drawing.rule((LEFT, value), (RIGHT, value), "level")
    for mark in marks:
        drawing.rule((x(mark.x), TOP), (x(mark.x), BOTTOM), mark.kind, mark.text, below=True)
    for number, each in enumerate(series, start=1):
        aside = (number - (len(series) + 1) / 2) * min(5.0, 14 / len(series))
        _one_series(drawing, each, [(x(point.x) + aside, y(point.y)) for point in each.points], y, number)
    if labels and len(series) == 1:
        for point in points:
            _label(drawing, point, (x(point.x), y(point.y)))
    return drawing.finish()


def _one_series(
    drawing: Drawing, series: Series, places: Sequence[tuple[float, float]], y: Scale, number: int
) -> None:
    drawn = list(zip(places, series.points, strict=True))
    drawing.line([place for place, point in drawn if not point.hollow], number)
    for place, point in drawn:
        if point.low is not None and point.high is not None:
            drawing.whisker(place[0], y(point.low), y(point.high), number)
        drawing.dot(place, number, point.tip, hollow=point.hollow)


def _label(drawing: Drawing, point: Point, place: tuple[float, float]) -> None:
    left = _at_right(place[0])
    drawing.note(
        (place[0] + (-7 if left else 7), place[1] - 7), shown(point.y), anchor="end" if left else "start"
    )


def _counted(most: float, names: Sequence[str]) -> Scale:
    """Return an x axis that counts from 1."""
    low, high = 0.5, max(most, len(names)) + 0.5
    if names:
        return Scale(
            low, high, LEFT, RIGHT, tuple((float(at), text) for at, text in enumerate(names, start=1))
        )
    ticks = linear(low, high, LEFT, RIGHT).ticks
    return Scale(
        low, high, LEFT, RIGHT, tuple(each for each in ticks if 1 <= each[0] <= most and each[0].is_integer())
    )


def _at_right(x: float) -> bool:
    return x > RIGHT - 50


def _heights(
    points: Sequence[Point], band: tuple[float, float, float] | None, *, log_y: bool, from_zero: bool
) -> Scale:
    """Return the y axis. Intervals of few rounds can be far wider than the figures: they may double the axis, not more."""
    values = [point.y for point in points] + ([band[1]] if band else [])
    ends = [end for point in points for end in (point.low, point.high) if end is not None]
    ends += [band[0], band[2]] if band else []
    low, high = min(values), max(values)
    if log_y and low > 0:
        kept = [end for end in ends if low / 10 <= end <= high * 10]
        return fitted([*values, *kept], BOTTOM, TOP, log=True)
    kept = [min(max(end, 0.0), high * 2) if low >= 0 else end for end in ends]
    return fitted([*values, *kept], BOTTOM, TOP, from_zero=from_zero)


def tails(
    about: About, curves: Sequence[Sequence[tuple[float, float]]], limits: Sequence[float] = ()
) -> Markup:
    """Return distributions as quantile curves with the tail drawn out; the y axis is logarithmic.

    Args:
        about: What it is of.
        curves: Places on the axis of shares (-log10(1 - share)) with values above 0; none of them empty.
        limits: Values that a dashed line is drawn at; one far off the curves is drawn at the edge.
    """
    drawing = Drawing(about.key, about.title, about.description)
    x = share_scale(max(place for points in curves for place, _ in points), LEFT, RIGHT - 6)
    values = [value for points in curves for _, value in points]
    near = [each for each in limits if min(values) / 30 <= each <= max(values) * 30]
    y = fitted([*values, *near], BOTTOM, TOP, log=True)
    drawing.axes(x, y, about.x_label, about.y_label)
    for limit in limits:
        drawing.rule((LEFT, y(limit)), (RIGHT, y(limit)), "limit", f"{tick_text(limit)}", below=True)
    for number, points in enumerate(curves, start=1):
        drawing.line([(x(place), y(value)) for place, value in points], number)
        drawing.dot((x(points[-1][0]), y(points[-1][1])), number, f"largest: {shown(points[-1][1])}")
    return drawing.finish()


@dataclass(frozen=True, slots=True)
class Stairs:
    """Tokens of one request over time."""

    points: tuple[tuple[float, float], ...]
    """Time since it was sent, and tokens up to then."""
    gap: tuple[float, float] | None
    """Start and end of the longest gap, in the same unit of time."""
    gap_text: str


def stairs(about: About, requests: Sequence[Stairs]) -> Markup:
    """Return tokens over time as stairs; the longest gap of each request is marked."""
    drawing = Drawing(about.key, about.title, about.description)
    most = max(each.points[-1][0] for each in requests)
    x = linear(0.0, most, LEFT, RIGHT)
    x = Scale(0.0, most, LEFT, RIGHT, tuple(each for each in x.ticks if each[0] <= most))
    y = fitted([point[1] for each in requests for point in each.points], BOTTOM, TOP)
    drawing.axes(x, y, about.x_label, about.y_label)
    for number, each in enumerate(requests, start=1):
        drawing.stairs([(x(0.0), y(0.0)), *((x(t), y(tok)) for t, tok in each.points)], number)
        if each.gap is not None:
            start, end = each.gap
            height = y(max((tok for t, tok in each.points if t <= start), default=0.0))
            drawing.line([(x(start), height), (x(end), height)], number, kind="gap")
            left = _at_right(x(end))
            drawing.note(
                (x(end) - 4 if left else x(end) + 6, height + 13),
                each.gap_text,
                anchor="end" if left else "start",
            )
    return drawing.finish()


@dataclass(frozen=True, slots=True)
class Panel:
    """One quantity over time."""

    label: str
    lines: tuple[tuple[float | None, ...], ...]
    """One line a series, over the same times."""
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    limit: float | None = None
    """A bound that is drawn too."""
    from_zero: bool = True


def panels(
    about: About,
    times: Sequence[float],
    parts: Sequence[Panel],
    windows: Sequence[tuple[float, float]],
    marks: Sequence[Mark] = (),
) -> Markup:
    """Return quantities over one time axis, one below the other; windows are shaded."""
    drawing = Drawing(about.key, about.title, about.description, height=PANEL_STEP * len(parts) + 34)
    span = max(times[-1], 1e-9)
    bare = linear(0.0, span, LEFT, RIGHT)
    ticks = tuple(each for each in bare.ticks if each[0] <= span)
    for number, part in enumerate(parts):
        top = TOP + number * PANEL_STEP
        last = number == len(parts) - 1
        x = Scale(0.0, span, LEFT, RIGHT, ticks if last else ())
        known = [each for line in (*part.lines, part.low, part.high) for each in line if each is not None]
        values = known + ([part.limit] if part.limit is not None else [])
        y = fitted(values, top + PANEL, top, from_zero=part.from_zero)
        for start, end in windows:
            drawing.shade(x(start), x(end), top, top + PANEL, "window")
        drawing.axes(x, y, about.x_label if last else "", part.label)
        _panel(drawing, part, [x(each) for each in times], y)
        if part.limit is not None:
            drawing.rule((LEFT, y(part.limit)), (RIGHT, y(part.limit)), "limit")
        for mark in marks:
            drawing.rule(
                (x(mark.x), top), (x(mark.x), top + PANEL), mark.kind, mark.text if number == 0 else ""
            )
    return drawing.finish()


def _panel(drawing: Drawing, part: Panel, places: Sequence[float], y: Scale) -> None:
    for run in _runs(part):
        drawing.band(
            [(places[at], y(high)) for at, _, high in run], [(places[at], y(low)) for at, low, _ in run], 1
        )
    for number, line in enumerate(part.lines, start=1):
        drawing.gaps(
            [None if value is None else (place, y(value)) for place, value in zip(places, line, strict=True)],
            number,
        )


def _runs(part: Panel) -> list[list[tuple[int, float, float]]]:
    """Return the stretches of a panel's range without a hole: index, low, high."""
    runs: list[list[tuple[int, float, float]]] = [[]]
    for at, (low, high) in enumerate(zip(part.low, part.high, strict=True)):
        if low is not None and high is not None:
            runs[-1].append((at, low, high))
        elif runs[-1]:
            runs.append([])
    return runs
