"""Mistakes of drawings and of search that were published elsewhere, tried on a site of our own in a browser.

The records are made for them: a sweep, one configuration, one that was measured twice, and figures of two counts of tokens. What lint
and pages without scripts have against such mistakes is tried in `tests/whole`.
"""

import re
from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import BuiltSite, OpenContext, built, lay_out_pages
from tests.browser.test_explore import downloaded, opened, run
from tests.browser.test_real_site import hits, ready
from tests.lint.projects import write

H100: Final = "accelerators/nvidia-h100-sxm.html"
SWEEP: Final = "benchmarks/base-benchmark.html"
_EVIDENCE: Final = "evidence: [{source: sources/base-source, locator: Table 3}]"
_SVG: Final = "{http://www.w3.org/2000/svg}"


def _figure(name: str, metric: str, value: str, users: int) -> str:
    at = f"{{concurrency: {users}, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host}}"
    published = re.sub(r"(?<=\d)(?=(?:\d{3})+(?:\.|$))", ",", value.partition(".")[0]) + value[
        value.find(".") :
    ] * ("." in value)
    return (
        f"  - {{id: {name}, metric: {metric}, value: {value}, as_published: '{published}', repeats: 3, statistic: mean, at: {at}, "
        f"{_EVIDENCE}}}\n"
    )


def _configuration(users: int, total: str, whole: str, one: str) -> str:
    return (
        _figure(f"output-{users}", "output_tok_s", whole, users)
        + _figure(f"total-{users}", "total_tok_s", total, users)
        + _figure(f"user-{users}", "tok_s_per_user", one, users)
    )


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


_MACHINE: Final = "system: {accelerator: accelerators/nvidia-h100-sxm, accelerator_as_published: H100 SXM}\n"
_RECORDS: Final = (
    _MACHINE
    + "serving: {max_running_requests: 512}\nheadline: output-256\nresults:\n"
    + _configuration(1, "540", "180", "190")
    + _configuration(16, "6000", "2000", "130")
    + _configuration(256, "44974.86", "14991.62", "60")
    + "accelerators/nvidia-h100-sxm: {title: NVIDIA H100 80GB SXM5, vendor: NVIDIA, edition: SXM}\n"
    + "benchmarks/one-configuration:\n"
    + _indented(
        "title: Base Engine in one configuration\n"
        + _MACHINE
        + "headline: output-16\nresults:\n"
        + _configuration(16, "5400", "1800", "120")
    )
    + "benchmarks/measured-twice:\n"
    + _indented(
        "title: Base Engine measured twice\n"
        + _MACHINE
        + "headline: output-32\nresults:\n"
        + _configuration(32, "7200", "2400", "100")
        + _figure("output-again", "output_tok_s", "2500", 32)
    )
)


@pytest.fixture(scope="module")
def made_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BuiltSite]:
    """Build and serve the site of the records above."""
    project = tmp_path_factory.mktemp("made")
    lay_out_pages(project)
    write(project, _RECORDS)
    with built(project) as finished:
        yield finished


@pytest.fixture
def page(open_context: OpenContext, made_site: BuiltSite) -> Iterator[Page]:
    """Open a page on that site, and fail a test whose page misbehaves."""
    context, witness = open_context(made_site)
    yield context.new_page()
    witness.assert_clean()


def drawing(page: Page) -> ET.Element:
    """Return the chart of the explorer as the file that a reader takes along."""
    return ET.fromstring(downloaded(page, "svg"))  # noqa: S314 - our own file


# --- 2. Input and output tokens under an axis that says generated ---------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "axis", "largest"),
    [
        ("output_tok_s", "Output throughput, tok/s", 14991.62),
        ("total_tok_s", "Total throughput, tok/s", 44974.86),
    ],
)
def test_an_axis_names_what_its_points_count(page: Page, metric: str, axis: str, largest: float) -> None:
    """Every point is of the metric on the axis; the largest total is not among the points of output."""
    opened(page, f"explore.html#metric={metric}&x=concurrency&view=scatter")
    texts = {"".join(each.itertext()) for each in drawing(page).iter(f"{_SVG}text")}
    assert any(axis in each for each in texts)
    found = run(
        page,
        """
        const { rows } = filtered("#metric=" + given);
        const choice = { metric: given, view: "scatter", x: "concurrency", y: "value", by: "engine", stat: "mean", pool: null, logx: "", logy: "" };
        const scene = scenes.makeScene(results, rows, choice, { width: 800, height: 400 });
        const name = results.column("metric");
        return { metrics: Array.from(new Set(Array.from(scene.rows, (row) => name.text(row)))), largest: Math.max(...scene.ys) };
        """,
        metric,
    )
    assert found == {"metrics": [metric], "largest": largest}


def test_two_counts_of_tokens_share_no_axis(page: Page) -> None:
    """Without a metric there is no chart; the table names the metric of each row."""
    opened(page, "explore.html#metric=*")
    expect(page.locator("[data-x=note]")).to_contain_text("figures of two metrics share no axis")
    expect(page.locator("[data-x=svg]")).to_be_disabled()
    table = page.locator("[data-x=table]")
    expect(table).to_contain_text("Output throughput")
    expect(table).to_contain_text("Total throughput")


# --- 3. A vertical line on a frontier that was one configuration ------------------------------------------------------


def test_one_configuration_is_a_point_and_no_line(page: Page) -> None:
    """The three loads of a sweep are joined, the one configuration stays a point; one with two throughputs is neither."""
    opened(page, "explore.html#view=frontier")
    expect(page.locator("[data-x=note]")).to_contain_text("4 points. 1 line joins points of one sweep")
    drawn = drawing(page)
    (line,) = lines_of(drawn)
    assert len({x for x, _ in line}) == len(line) == 3

    opened(page, "explore.html#view=frontier&q=one+configuration")
    expect(page.locator("[data-x=note]")).to_contain_text("1 point. 0 lines join")
    assert lines_of(drawing(page)) == []

    opened(page, "explore.html#view=frontier&q=measured+twice")
    expect(page.locator("[data-x=note]")).to_contain_text("0 points. 0 lines join")
    for button in ("svg", "png"):
        expect(page.locator(f"[data-x={button}]")).to_be_disabled()


def lines_of(drawn: ET.Element) -> list[list[tuple[float, float]]]:
    """Return the lines that join points, the axes and the grid aside: those in a colour of a series."""
    circles = {(each.get("cx"), each.get("cy")) for each in drawn.iter(f"{_SVG}circle")}
    found = []
    for each in drawn.iter(f"{_SVG}polyline"):
        points = [tuple(point.split(",")) for point in (each.get("points") or "").split()]
        if all(point in circles for point in points):
            found.append([(float(x), float(y)) for x, y in points])
    return found


# --- 11. Ids with hyphens and plain numbers that no search finds -------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("nvidia-h100-sxm", H100),
        ("NVIDIA-H100-SXM", H100),
        ("h100-sxm", H100),
        ("h100 sxm", H100),
        ("H100", H100),
        ("nvidia-h100-smx", H100),
        ("nvidai h100", H100),
        ("nvidia h100 80gb sxm5", H100),
        ("14,991.62", SWEEP),
        ("14991.62", SWEEP),
        ("14,991", SWEEP),
        ("14991", SWEEP),
        ("one-configuration", "benchmarks/one-configuration.html"),
        ("base-benchmrk", SWEEP),
        ("base enigne", "engines/base-engine.html"),
    ],
)
def test_search_finds_ids_and_numbers_as_they_are_typed(page: Page, query: str, wanted: str) -> None:
    """Whole or in part, with separators or without, and with a slip in a word."""
    ready(page, "search.html")
    assert any(each.endswith(wanted) for each in hits(page, query)[:3])


@pytest.mark.parametrize("query", ["14991.63", "24991", "nvidia-h900-sxm"])
def test_search_does_not_take_one_number_for_another(page: Page, query: str) -> None:
    """A digit is no slip of the pen: another number, and another card, is not found."""
    ready(page, "search.html")
    page.get_by_role("combobox").fill(query)
    expect(page.get_by_role("status")).to_have_text("Nothing found")
