"""Small static charts as SVG: bars for what differs by a word, lines for a sweep over a number.

A chart never stands alone: its figures are in the table beside it. It is made of attributes and classes only,
because the Content-Security-Policy allows no inline styles.
"""

from collections.abc import Sequence
from decimal import Decimal
from math import ceil, floor, log2, log10
from typing import Final, NamedTuple

from markupsafe import Markup

from kbtool.escape import html_attribute, html_text

__all__ = ["Bar", "Point", "Series", "bars", "lines", "meter", "stacked"]

_WIDTH: Final = 420
_PLOT_HEIGHT: Final = 190
_BAR_STEP: Final = 36
_CHARACTERS: Final = 66
"""About as many as fit over a bar."""
_LEFT: Final = 46.0
_TOP: Final = 30.0
_NOTE_WIDTH: Final = 7.0
"""Of a character beside a point, with room to the next one."""
_NOTE_HEIGHT: Final = 12.0
_MARKED: Final = ' class="kb-chart__label"'


class Bar(NamedTuple):
    """One bar: its label, its length, and the text of its value."""

    label: str
    value: Decimal
    text: str
    muted: bool = False
    """Drawn hollow: a draft, or a figure that is disputed."""
    mark: bool = False
    """The one that stands for the record."""


class Point(NamedTuple):
    """One point of a sweep."""

    x: Decimal
    y: Decimal
    text: str
    muted: bool = False


class Series(NamedTuple):
    """Points joined by a line."""

    label: str
    points: tuple[Point, ...]


def bars(key: str, title: str, items: Sequence[Bar]) -> Markup:
    """Return horizontal bars from 0, each with its label above and its value behind."""
    longest = max((each.value for each in items), default=Decimal(0))
    room = _WIDTH - 8 * max((len(each.text) for each in items), default=0) - 12
    out = [_open(key, title, _BAR_STEP * len(items) + 2)]
    for index, item in enumerate(items):
        top = index * _BAR_STEP
        width = float(item.value / longest) * room if longest > 0 else 0.0
        label = html_text(_cut(item.label))
        muted = ' class="kb-is-draft"' if item.muted else ""
        out.append(
            f'<text{_MARKED if item.mark else ""} y="{top + 12}">{label}</text>'
            f'<rect{muted} y="{top + 18}" width="{_n(width)}" height="10" rx="2"/>'
            f'<text class="kb-chart__label" x="{_n(width + 6)}" y="{top + 27}">{html_text(item.text)}</text>'
        )
    out.append("</svg>")
    return Markup("".join(out))  # noqa: S704 - every text in it went through html_text


def lines(key: str, title: str, x_label: str, y_label: str, series: Sequence[Series]) -> Markup:
    """Return lines over a number, both axes named; the x axis is logarithmic where that spreads the points."""
    xs = sorted({point.x for each in series for point in each.points})
    ticks = _ticks(float(max(point.y for each in series for point in each.points)))
    place = _XAxis(xs, _LEFT, _WIDTH - 22.0)
    bottom = _TOP + _PLOT_HEIGHT
    scale = _PLOT_HEIGHT / ticks[-1]
    out = [
        _open(key, title, _PLOT_HEIGHT + 72),
        f'<text y="12">{html_text(y_label)}</text><g class="kb-chart__grid">',
    ]
    heights = [(tick, bottom - tick * scale) for tick in ticks]
    out += [f'<path d="M{_LEFT:g} {_n(y)}H{_WIDTH - 8}"/>' for _, y in heights]
    out.append('</g><g text-anchor="end">')
    out += [f'<text x="{_LEFT - 6:g}" y="{_n(y + 4)}">{tick:,g}</text>' for tick, y in heights]
    out.append('</g><g text-anchor="middle">')
    out += [f'<text x="{_n(place(x))}" y="{_n(bottom + 17)}">{x:,f}</text>' for x in _spaced(xs, place)]
    out.append(f'<text x="{(_WIDTH + 38) // 2}" y="{_n(bottom + 36)}">{html_text(x_label)}</text></g>')
    for number, each in enumerate(series, start=1):
        points = [(place(point.x), bottom - float(point.y) * scale, point) for point in each.points]
        out.append(_line(points, number, named=len(series) == 1))
    out.append("</svg>")
    return Markup("".join(out))  # noqa: S704 - every text in it went through html_text


def stacked(key: str, title: str, items: Sequence[tuple[str, tuple[int, ...], str]]) -> Markup:
    """Return bars of equal length, each split into shares: label, counts, text at the end of the label."""
    out = [_open(key, title, 34 * len(items))]
    for index, (label, counts, text) in enumerate(items):
        top = index * 34
        total = sum(counts) or 1
        out.append(
            f'<text y="{top + 12}">{html_text(_cut(label))}</text>'
            f'<text x="{_WIDTH}" y="{top + 12}" text-anchor="end">{html_text(text)}</text>'
        )
        left = 0.0
        for share, count in enumerate(counts):
            width = _WIDTH * count / total
            if count:
                size = f'width="{_n(max(width - 1, 0.5))}" height="8"'
                out.append(f'<rect class="kb-chart__share--{share}" x="{_n(left)}" y="{top + 18}" {size}/>')
            left += width
    out.append("</svg>")
    return Markup("".join(out))  # noqa: S704 - every text in it went through html_text


def meter(score: Decimal, label: str) -> Markup:
    """Return a bar from 0 to 1 for a score whose number stands beside it."""
    return Markup(  # noqa: S704 - numbers, and a word of a closed set
        f'<svg class="kb-meter kb-meter--{html_attribute(label)}" viewBox="0 0 100 6" preserveAspectRatio="none"'
        ' aria-hidden="true" focusable="false"><rect class="kb-meter__track" width="100" height="6" rx="3"/>'
        f'<rect class="kb-meter__fill" width="{_n(float(score) * 100)}" height="6" rx="3"/></svg>'
    )


class _XAxis:
    """Places of x values; logarithmic where the largest is eight times the smallest or more."""

    def __init__(self, xs: Sequence[Decimal], left: float, right: float) -> None:
        low, high = float(xs[0]), float(xs[-1])
        self._logarithmic = low > 0 and high / low >= 8
        self._low, self._high = self._warp(low), self._warp(high)
        pad = 18.0
        self._left, self._room = left + pad, right - left - 2 * pad

    def _warp(self, x: float) -> float:
        return log2(x) if self._logarithmic else x

    def __call__(self, x: Decimal) -> float:
        span = self._high - self._low
        share = (self._warp(float(x)) - self._low) / span if span else 0.5
        return self._left + share * self._room


def _open(key: str, title: str, height: int) -> str:
    """Return the start of an SVG that a screen reader announces by its title; the table beside it says the rest."""
    return (
        f'<svg class="kb-chart kb-s1" viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="{key}-t {key}-d">'
        f'<title id="{key}-t">{html_text(title)}</title><desc id="{key}-d">The table below holds the same figures.</desc>'
    )


def _line(points: Sequence[tuple[float, float, Point]], number: int, *, named: bool) -> str:
    path = " ".join(f"{_n(x)},{_n(y)}" for x, y, _ in points)
    out = [f'<g class="kb-s{number}"><polyline class="kb-chart__line" points="{path}"/>']
    for x, y, point in points:
        muted = " kb-is-draft" if point.muted else ""
        out.append(f'<circle class="kb-chart__point{muted}" cx="{_n(x)}" cy="{_n(y)}" r="4.5"/>')
    out.append("</g>")
    if named:
        out.append('<g text-anchor="middle">')
        out += [
            f'<text class="kb-chart__note" x="{_n(x)}" y="{_n(y)}">{html_text(text)}</text>'
            for x, y, text in _notes(points)
        ]
        out.append("</g>")
    return "".join(out)


def _notes(points: Sequence[tuple[float, float, Point]]) -> list[tuple[float, float, str]]:
    """Return the figures beside the points; one that would run into another is left to the table."""
    placed: list[tuple[float, float, str]] = []
    for x, y, point in points:
        at = y + 19 if y - 10 < _TOP - 8 else y - 10
        if all(
            abs(x - left) > _NOTE_WIDTH * (len(point.text) + len(text)) / 2 or abs(at - top) > _NOTE_HEIGHT
            for left, top, text in placed
        ):
            placed.append((x, at, point.text))
    return placed


def _ticks(top: float) -> list[float]:
    """Return four to six round values from 0 to at least `top`."""
    if top <= 0:
        return [0.0, 1.0]
    rough = top / 4
    power = 10 ** floor(log10(rough))
    step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= rough)
    return [step * index for index in range(ceil(top / step - 1e-9) + 1)]


def _spaced(xs: Sequence[Decimal], place: _XAxis) -> list[Decimal]:
    """Return the x values whose labels do not run into one another."""
    shown: list[Decimal] = []
    for x in xs:
        if not shown or place(x) - place(shown[-1]) >= 34:
            shown.append(x)
    return shown


def _cut(label: str) -> str:
    return (
        label if len(label) <= _CHARACTERS else label[: _CHARACTERS - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"
    )


def _n(value: float) -> str:
    """Return a coordinate with at most one decimal."""
    text = f"{value:.1f}"
    return text.removesuffix(".0")
