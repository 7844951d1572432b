"""Drawing as SVG: a frame with two named axes, and marks on it.

Only attributes and classes: the page's Content-Security-Policy allows no inline styles. Every text goes through
`kbtool.escape`.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from markupsafe import Markup

from kbtool.escape import html_attribute, html_text
from kbtool.runner.report.scales import Scale

__all__ = ["BOTTOM", "HEIGHT", "LEFT", "RIGHT", "TOP", "WIDTH", "Drawing", "coordinate"]

WIDTH: Final = 400
HEIGHT: Final = 228
LEFT: Final = 46.0
RIGHT: Final = WIDTH - 10.0
TOP: Final = 30.0
BOTTOM: Final = HEIGHT - 40.0

Place = tuple[float, float]


def coordinate(value: float) -> str:
    """Return a place with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


class Drawing:
    """An SVG in the making."""

    def __init__(self, key: str, title: str, description: str, *, height: float = HEIGHT) -> None:
        """Begin a drawing.

        Args:
            key: Unique in the page: letters, digits and `-`.
            title: What a screen reader announces.
            description: What it shows, and where its figures are.
            height: In the units of `WIDTH`.
        """
        name = html_attribute(key)
        start = f'<svg class="chart" viewBox="0 0 {WIDTH} {coordinate(height)}" role="img" aria-labelledby="{name}-t {name}-d">'
        texts = f'<title id="{name}-t">{html_text(title)}</title><desc id="{name}-d">{html_text(description)}</desc>'
        self._out = [start, texts]

    def finish(self) -> Markup:
        """Return the SVG."""
        return Markup("".join([*self._out, "</svg>"]))  # noqa: S704 - every text in it went through kbtool.escape

    def axes(self, x: Scale, y: Scale, x_label: str, y_label: str, *, y_grid: bool = True) -> None:
        """Draw grid, ticks and names of both axes."""
        top, bottom = min(y.start, y.end), max(y.start, y.end)
        self._out.append(f'<text class="axis" x="2" y="{coordinate(top - 16)}">{html_text(y_label)}</text>')
        if y_grid:
            lines = "".join(
                f"M{coordinate(x.start)} {coordinate(y(each))}H{coordinate(x.end)}" for each, _ in y.ticks
            )
            self._out.append(f'<path class="grid" d="{lines}"/>')
        self._out.append('<g text-anchor="end">')
        self._out += [
            f'<text x="{coordinate(x.start - 6)}" y="{coordinate(y(each) + 4)}">{html_text(text)}</text>'
            for each, text in y.ticks
        ]
        self._out.append("</g>")
        self.x_axis(x, bottom, x_label)

    def x_axis(self, x: Scale, bottom: float, x_label: str) -> None:
        """Draw the ticks and the name of an x axis; its line runs over the whole width."""
        self._out.append(
            f'<path class="base" d="M{coordinate(LEFT)} {coordinate(bottom)}H{coordinate(RIGHT)}"/>'
        )
        self._out.append('<g text-anchor="middle">')
        self._out += [
            f'<text x="{coordinate(x(each))}" y="{coordinate(bottom + 16)}">{html_text(text)}</text>'
            for each, text in x.ticks
        ]
        if x_label:
            middle = (x.start + x.end) / 2
            self._out.append(
                f'<text class="axis" x="{coordinate(middle)}" y="{coordinate(bottom + 33)}">{html_text(x_label)}</text>'
            )
        self._out.append("</g>")

    def line(self, points: Sequence[Place], series: int, *, kind: str = "line") -> None:
        """Draw a line through points; `kind` is a class of the style sheet."""
        if len(points) > 1:
            places = " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in points)
            self._out.append(f'<polyline class="{kind} s{series}" points="{places}"/>')

    def stairs(self, points: Sequence[Place], series: int) -> None:
        """Draw what stays at a height until the next point raises it."""
        if points:
            path = f"M{coordinate(points[0][0])} {coordinate(points[0][1])}"
            path += "".join(f"H{coordinate(x)}V{coordinate(y)}" for x, y in points[1:])
            self._out.append(f'<path class="line s{series}" d="{path}"/>')

    def dot(self, at: Place, series: int, tip: str, *, hollow: bool = False) -> None:
        """Draw a point that says its figures when pointed at; each series has its own shape."""
        x, y = at
        shape = (series - 1) % 4
        kind = f'class="dot s{series}{" hollow" if hollow else ""}"'
        title = f"<title>{html_text(tip)}</title>"
        cx, cy = coordinate(x), coordinate(y)
        if shape == 0:
            self._out.append(f'<circle {kind} cx="{cx}" cy="{cy}" r="4">{title}</circle>')
        elif shape == 1:
            self._out.append(
                f'<rect {kind} x="{coordinate(x - 3.6)}" y="{coordinate(y - 3.6)}" width="7.2" height="7.2">{title}</rect>'
            )
        else:
            corners = "m0-5l5 9h-10z" if shape == 2 else "m0-5l5 5l-5 5l-5-5z"
            self._out.append(f'<path {kind} d="M{cx} {cy}{corners}">{title}</path>')

    def whisker(self, x: float, low: float, high: float, series: int) -> None:
        """Draw an interval with its two ends."""
        left, right = coordinate(x - 4), coordinate(x + 4)
        self._out.append(
            f'<path class="whisker s{series}" d="M{coordinate(x)} {coordinate(low)}V{coordinate(high)}'
            f'M{left} {coordinate(low)}H{right}M{left} {coordinate(high)}H{right}"/>'
        )

    def band(self, upper: Sequence[Place], lower: Sequence[Place], series: int) -> None:
        """Fill what lies between two lines."""
        if len(upper) > 1:
            places = " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in (*upper, *reversed(lower)))
            self._out.append(f'<polygon class="band s{series}" points="{places}"/>')

    def shade(self, left: float, right: float, top: float, bottom: float, kind: str) -> None:
        """Fill a stretch of the x axis; `kind` is a class of the style sheet."""
        width = coordinate(max(right - left, 0.8))
        self._out.append(
            f'<rect class="{kind}" x="{coordinate(left)}" y="{coordinate(top)}" width="{width}" height="{coordinate(bottom - top)}"/>'
        )

    def rule(self, start: Place, end: Place, kind: str, text: str = "", *, below: bool = False) -> None:
        """Draw a straight line, with a text at its upper end, left of it where the room on the right is short."""
        self._out.append(
            f'<path class="{kind}" d="M{coordinate(start[0])} {coordinate(start[1])}L{coordinate(end[0])} {coordinate(end[1])}"/>'
        )
        if text:
            x, y = min((start, end), key=lambda each: each[1])
            left = x > WIDTH * 0.62
            anchor = ' text-anchor="end"' if left else ""
            place = f'x="{coordinate(x - 5 if left else x + 5)}" y="{coordinate(y + (12 if below else -4))}"'
            self._out.append(f'<text class="{kind}-text" {place}{anchor}>{html_text(text)}</text>')

    def note(self, at: Place, text: str, *, anchor: str = "middle") -> None:
        """Write a text."""
        self._out.append(
            f'<text class="note" x="{coordinate(at[0])}" y="{coordinate(at[1])}" text-anchor="{anchor}">{html_text(text)}</text>'
        )

    def gaps(self, points: Sequence[Place | None], series: int, *, kind: str = "line") -> None:
        """Draw a line that is interrupted where there is no point."""
        run: list[Place] = []
        for before, point in pairwise([None, *points, None]):
            if point is not None:
                run.append(point)
            elif before is not None:
                self.line(run, series, kind=kind)
                if len(run) == 1:
                    self._out.append(
                        f'<circle class="dot s{series}" cx="{coordinate(run[0][0])}" cy="{coordinate(run[0][1])}" r="1.5"/>'
                    )
                run = []
