"""The page of a run as a file: its policy, its plots with their data, its size, and what hostile texts become in it."""

import base64
import csv
import hashlib
import html
import io
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest

from kbtool.runner.plan.cells import Visit
from kbtool.runner.report import html_report, page
from kbtool.runner.results import load_run
from kbtool.runner.trace import Outcome, RequestTrace
from tests.runner.report.made_run import Shape, make_run, plan_of, workload

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x1b[31m\u202e\ud800=1+1"
EVERYTHING = plan_of(
    workload("single_stream", "single"),
    workload("concurrency", "users"),
    workload("rate", "open"),
    workload("prefill", "pre"),
    workload("conversation", "talk"),
    sweeps=[
        {
            "id": "chunk",
            "setting": "engine.arguments.chunk",
            "values": [{"value": "1"}, {"value": '=HYPERLINK("//evil")'}],
            "base": "1",
            "command": ["set", "{value}"],
            "workloads": ["users"],
        }
    ],
)  # fmt: skip


def _page(root: Path, plan: dict[str, Any], shape: Shape | None = None) -> str:
    folder = make_run(root, plan, shape)
    return html_report(load_run(folder), folder).decode()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the page of a run with every kind of workload, a sweep, cards and failures."""

    def change(_: Visit, trace: RequestTrace) -> RequestTrace:
        return (
            replace(trace, outcome=Outcome.STALLED, detail="no token")
            if trace.id == "users-c4/2/1"
            else trace
        )

    return _page(tmp_path_factory.mktemp("whole") / "run", EVERYTHING, Shape(cards=2, change=change))


def _files(text: str) -> dict[str, list[list[str]]]:
    """Return the CSV files in a page, by name."""
    links = re.findall(r'href="data:text/csv;charset=utf-8,([^"]*)" download="([^"]+)"', text)
    return {
        name: list(csv.reader(io.StringIO(unquote_to_bytes(html.unescape(data)).decode())))
        for data, name in links
    }


def test_the_policy_comes_first_and_allows_one_style_sheet(whole: str) -> None:
    """Nothing is loaded and nothing runs: the only thing allowed is the style sheet with this hash."""
    head = whole.index("<head>") + len("<head>")
    policy = re.match(r'\s*<meta http-equiv="Content-Security-Policy" content="([^"]*)">', whole[head:])
    assert policy is not None
    style = re.findall(r"<style>(.*?)</style>", whole, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    assert len(style) == 1
    assert html.unescape(policy[1]) == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert "<script" not in whole
    assert not re.search(r"<[^>]*\s(style|on\w+|src)=", whole)
    assert {each[:5] for each in re.findall(r'href="([^"#]+)', whole)} == {"data:"}


def test_templates_escape_everything() -> None:
    """No template turns escaping off, runs a script or carries a style of its own."""
    found = sorted(files("kbtool.runner.report").joinpath("templates").iterdir(), key=lambda each: each.name)
    assert [each.name for each in found] == ["page.html", "parts.html", "report.css"]
    for each in found:
        assert not re.search(
            r"\|\s*safe\b|autoescape|Markup|<script|\sstyle=|\son\w+=", each.read_text("utf-8")
        )


def test_equal_runs_give_equal_bytes(tmp_path: Path) -> None:
    """Neither the clock nor the place of the folder shows in the page."""
    plan, shape = plan_of(workload("concurrency", "users", levels=[1, 4])), Shape(cards=1)
    assert _page(tmp_path / "one", plan, shape) == _page(tmp_path / "other", plan, shape)


def test_every_plot_has_title_description_table_and_data(whole: str) -> None:
    """What a plot shows can be read without seeing it, and taken away as a file."""
    figures = re.findall(r'<figure id="([^"]+)">(.*?)</figure>', whole, re.DOTALL)
    files = _files(whole)
    assert len(figures) > 30
    for key, body in figures:
        assert f'aria-labelledby="{key}-t {key}-d"' in body
        assert re.search(
            rf'<title id="{re.escape(key)}-t">[^<]+</title><desc id="{re.escape(key)}-d">[^<]+</desc>', body
        )
        assert "<tbody>\n<tr>" in body
        name = re.search(r'download="([^"]+)"', body)
        assert name is not None
        assert len(files[name[1]]) > 1
        assert "parquet" in body
    titles = {re.sub(r",? by .*|, .*", "", each) for each in re.findall(r"<figcaption>([^<]+)", whole)}
    assert {
        "Tokens of two requests over time",
        "Accelerators over the cell",
        "Goodput",
        "Prefill speed",
        "TTFT",
        "TPOT",
        "Step gap",
    } <= titles


def test_axes_and_columns_have_units(whole: str) -> None:
    """Every axis of a time or a speed names its unit."""
    axes = re.findall(r'<text class="axis"[^>]*>([^<]+)</text>', whole)
    for text in axes:
        if re.search(
            r"^(Time|TTFT|TPOT|Step gap|E2E|Output|Speed|Prefill speed|Power|Temperature|SM clock|Goodput|Requests,)",
            text,
        ):
            assert re.search(r", (ms|s|tok/s|W|.C|MHz|req/s)(, logarithmic)?$", text), text


def test_numbers_of_page_and_files_are_those_of_the_summary(tmp_path: Path) -> None:
    """The file of a cell holds every measurement with all its digits, and the page the same values."""
    folder = make_run(tmp_path / "run", plan_of(workload("concurrency", "users", levels=[4])), Shape())
    run = load_run(folder)
    text = html_report(run, folder).decode()
    rows = _files(text)["cell-0-users-c4-numbers.csv"]
    at = {name: place for place, name in enumerate(rows[0])}
    found = [
        (row[at["metric"]], row[at["statistic"]], float(row[at["value"]]), row[at["n"]]) for row in rows[1:]
    ]
    measurements = run.cells[0].summary.measurements
    assert found == [(each.metric, each.statistic, each.value, str(each.n_samples)) for each in measurements]
    values = {float(each) for each in re.findall(r'<data value="([^"]+)"', text)}
    assert {each.value for each in measurements} <= values


def test_a_file_runs_nothing_in_a_spreadsheet(whole: str) -> None:
    """A value of a plan that looks like a formula comes as text."""
    cells = [cell for rows in _files(whole).values() for row in rows for cell in row]
    assert '\'=HYPERLINK("//evil")' in cells
    assert not [each for each in cells if each.startswith(("=", "+", "@"))]


def test_hostile_texts_are_text(tmp_path: Path) -> None:
    """Names of models, failures, remarks and settings are shown as they are and mean nothing to a browser."""

    def change(_: Visit, trace: RequestTrace) -> RequestTrace:
        return (
            replace(trace, outcome=Outcome.ERROR_EVENT, detail=HOSTILE[:200])
            if trace.id.endswith("/1")
            else trace
        )

    plan = plan_of(workload("concurrency", "users", levels=[4]), title="Title <b>bold</b> & more")
    shape = Shape(
        model=HOSTILE,
        change=change,
        warned=[("odd", HOSTILE)],
        fail=lambda _: "",
        shares=((HOSTILE[:50], 3),),
    )
    text = _page(tmp_path / "run", plan, shape)
    for bad in ("<script", "<img", "<b>bold", "\x1b", "\u202e", "\ud800"):
        assert bad not in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 4


def test_what_does_not_fit_is_left_out_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page stays below its limit by leaving out plots of the last cells, never numbers of the tables."""
    folder = make_run(
        tmp_path / "run", plan_of(workload("concurrency", "users", levels=[1, 2, 4, 8])), Shape(cards=2)
    )
    run = load_run(folder)
    monkeypatch.setattr(page, "MAX_BYTES", 260_000)
    text = html_report(run, folder).decode()
    assert len(text.encode()) < 260_000
    assert re.search(r"<p>\d+ plots and tables would have made the page larger", text)
    assert all(f'id="cell-{index}"' in text for index in range(4))


def test_thirty_cells_stay_below_three_megabytes(tmp_path: Path) -> None:
    """A run of the size of a day's work fits whole into a page that can be mailed."""
    plan = plan_of(workload("concurrency", "users", levels=[*range(1, 31)], requests_per_stream=1))
    text = _page(tmp_path / "run", plan, Shape(cards=8, rounds=2))
    assert len(text.encode()) < 3_000_000
    assert "would have made the page larger" not in text


def test_a_run_that_only_failed_has_a_page(tmp_path: Path) -> None:
    """There is nothing to plot, and the page says what failed."""
    text = _page(tmp_path / "run", plan_of(), Shape(fail=lambda _: "every request was refused"))
    assert "No cell was measured to its end" in text
    assert "every request was refused" in text
    assert "<figure" not in text


def test_an_empty_run_has_a_page(tmp_path: Path) -> None:
    """A run that was stopped before its first cell ended is no error."""
    folder = make_run(tmp_path / "run", plan_of(), Shape(fail=lambda _: "x", finished=False))
    run = replace(load_run(folder), cells=(), failed=(), finished=False)
    text = html_report(run, folder).decode()
    assert "not finished" in text
    assert "Nothing was measured" in text


@pytest.mark.parametrize("spoil", ["no tokens by event", "one piece", "all failed"])
def test_poor_answers_still_make_a_page(tmp_path: Path, spoil: str) -> None:
    """A server that tells little, buffers, or fails throughout leaves out plots and breaks none."""

    def change(_: Visit, trace: RequestTrace) -> RequestTrace:
        chunks = trace.chunks
        if spoil == "no tokens by event":
            return replace(trace, chunks=replace(chunks, cumulative_tok=(None,) * len(chunks)))
        if spoil == "one piece":
            return replace(trace, chunks=replace(chunks, t_ns=(chunks.t_ns[-1],) * len(chunks)))
        return replace(trace, outcome=Outcome.REFUSED, detail="busy")

    text = _page(
        tmp_path / "run", plan_of(workload("concurrency", "users", levels=[1, 4])), Shape(change=change)
    )
    assert 'id="cell-1"' in text
    if spoil == "no tokens by event":
        assert "arrivals are counted" in text
    if spoil == "all failed":
        assert "status 200, busy" in text
