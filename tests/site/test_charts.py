"""Charts are well-formed, quiet pictures of numbers that stand in a table beside them."""

from decimal import Decimal
from xml.etree.ElementTree import Element

import pytest
from defusedxml.ElementTree import fromstring

from kbtool.site.charts import Bar, Point, Series, _ticks, bars, lines, meter, stacked

HOSTILE = '</text><script>alert(1)</script>&"'


def parsed(svg: str) -> Element:
    """Return a drawing as XML."""
    tree: Element = fromstring(svg)
    return tree


def names(svg: str) -> set[str]:
    """Return the names of all attributes and elements."""
    tree = parsed(svg)
    return {name for each in tree.iter() for name in (each.tag, *each.attrib)}


def bar(value: str, **rest: object) -> Bar:
    """Return a bar."""
    return Bar("a label", Decimal(value), value, **rest)  # type: ignore[arg-type]


def point(x: str, y: str) -> Point:
    """Return a point of a sweep."""
    return Point(Decimal(x), Decimal(y), y)


def test_bars_are_proportional_and_start_at_zero() -> None:
    """Twice the value is twice the length."""
    tree = parsed(bars("k", "t", [bar("100"), bar("50"), bar("0")]))
    widths = [float(each.attrib["width"]) for each in tree.iter("rect")]
    assert widths[1] == pytest.approx(widths[0] / 2, abs=0.1)
    assert widths[2] == 0


def test_lines_go_through_their_points_from_left_to_right() -> None:
    """A larger x lies further right, a larger y higher up."""
    tree = parsed(
        lines("k", "t", "x", "y", [Series("", (point("1", "10"), point("2", "30"), point("4", "20")))])
    )
    circles = [(float(each.attrib["cx"]), float(each.attrib["cy"])) for each in tree.iter("circle")]
    assert [x for x, _ in circles] == sorted(x for x, _ in circles)
    assert circles[1][1] < circles[2][1] < circles[0][1]


def test_a_wide_sweep_has_a_logarithmic_axis() -> None:
    """1, 8 and 64 stand at equal distances; on a plain axis two of them would be one."""
    tree = parsed(
        lines("k", "t", "x", "y", [Series("", (point("1", "1"), point("8", "2"), point("64", "3")))])
    )
    first, second, third = (float(each.attrib["cx"]) for each in tree.iter("circle"))
    assert second - first == pytest.approx(third - second, abs=0.2)


def test_figures_beside_points_do_not_run_into_one_another() -> None:
    """Of two points that nearly meet one figure is left to the table; points that stand apart keep theirs."""
    close = [point("1", "1000"), point("64", "1001"), point("65", "1002"), point("512", "3000")]
    notes = [
        each.text
        for each in parsed(lines("k", "t", "x", "y", [Series("", tuple(close))])).iter("text")
        if each.get("class") == "kb-chart__note"
    ]
    assert notes == ["1000", "1001", "3000"]


@pytest.mark.parametrize(
    "svg",
    [
        bars(HOSTILE[:0] + "k", HOSTILE, [Bar(HOSTILE, Decimal(1), HOSTILE)]),
        lines("k", HOSTILE, HOSTILE, HOSTILE, [Series(HOSTILE, (Point(Decimal(1), Decimal(0), HOSTILE),))]),
        stacked("k", HOSTILE, [(HOSTILE, (1, 2, 0), HOSTILE)]),
        meter(Decimal("0.75"), "medium"),
    ],
)
def test_drawings_hold_texts_and_no_code(svg: str) -> None:
    """No script, no handler, no inline style: the policy of the pages would stop them, and nothing needs them."""
    found = names(svg)
    assert "script" not in found
    assert "style" not in found
    assert not {name for name in found if name.startswith("on")}


def test_a_drawing_is_announced_by_its_title() -> None:
    """A screen reader gets title and description; the table beside it says the rest."""
    tree = parsed(bars("Chart-1", "Speed by load", [bar("1")]))
    assert tree.attrib["role"] == "img"
    assert tree.attrib["aria-labelledby"] == "Chart-1-t Chart-1-d"
    assert [each.text for each in tree.iter("title")] == ["Speed by load"]


def test_provisional_figures_are_hollow() -> None:
    """A draft cannot be taken for a checked figure."""
    assert "kb-is-draft" in bars("k", "t", [bar("1", muted=True)])
    assert "kb-is-draft" not in bars("k", "t", [bar("1")])


@pytest.mark.parametrize(
    ("top", "ticks"),
    [
        (6853.0, [0, 2000, 4000, 6000, 8000]),
        (1.43, [0, 0.5, 1, 1.5]),
        (100.0, [0, 25, 50, 75, 100]),
        (0.0, [0, 1]),
    ],
)
def test_ticks_are_round(top: float, ticks: list[float]) -> None:
    """Numbers that a reader can interpolate between."""
    assert _ticks(top) == ticks
