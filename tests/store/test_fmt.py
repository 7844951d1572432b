"""The one form: it is reached in one step, and nothing that a file says is lost on the way."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.generate import project
from kbtool.findings import Edit
from kbtool.schema import MODELS
from kbtool.store import fmt
from kbtool.store.emit import emit
from kbtool.store.files import RecordFile
from kbtool.store.fmt import FormatError, format_files, format_text, modeline, surface_findings
from kbtool.store.validate import validate
from kbtool.store.yamlio import YamlFault, parse
from tests.lint.projects import BENCHMARK, edit, write
from tests.schema.records import records

PATH = "records/benchmarks/x.yaml"
MODELINE = "# yaml-language-server: $schema=../../schema/benchmark.schema.json\n"


def formatted(text: str) -> str:
    """Return a benchmark's text in form, without its schema line."""
    after = format_text(text, "benchmark", PATH)
    assert format_text(after, "benchmark", PATH) == after
    assert after.startswith(MODELINE)
    return after.removeprefix(MODELINE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("title: x\nid: a\n", "id: a\ntitle: x\n"),
        ("id: a\r\ntitle: x\r\n", "id: a\ntitle: x\n"),
        ("id: a", "id: a\n"),
        ("\ufeffid: a\n", "id: a\n"),
        ("id: a\nnotes: |\n  one\n  two", "id: a\nnotes: |-\n  one\n  two\n"),
        ("updated: 2026-10-04\n", 'updated: "2026-10-04"\n'),
        ("updated: '2026-10-04'\n", 'updated: "2026-10-04"\n'),
        ("engine: {version: 0.10}\n", 'engine: {version: "0.10"}\n'),
        ("engine: {commit: 0123abc}\n", 'engine: {commit: "0123abc"}\n'),
        ("engine: {commit: abc123}\n", "engine: {commit: abc123}\n"),
        ('system: {power_limit_w: "600.0"}\n', "system: {power_limit_w: 600.0}\n"),
        ('deployment: {tp: "8"}\n', "deployment: {tp: 8}\n"),
        ('deployment: {tp: "eight"}\n', 'deployment: {tp: "eight"}\n'),
        ('engine: {arguments: {x: "8", a: 1}}\n', 'engine: {arguments: {x: "8", a: 1}}\n'),
        ("unknown: 1\nid: a\n", "unknown: 1\nid: a\n"),
    ],
)
def test_form(before: str, after: str) -> None:
    """Order of keys, quotes, line ends and the last line come into form; what only a person can mend does not."""
    assert formatted(before) == after


def test_comments_move_with_their_keys() -> None:
    """A comment above a key belongs to it, one at its end too, one that is indented deeper to what stands above."""
    before = """\
# About the whole file.
title: x
# About the id:
# it has two lines.
id: a   # and one behind it
  # deeper

updated: "2026-10-04"
"""
    after = """\
# About the whole file.
# About the id:
# it has two lines.
id: 'a'   # and one behind it
  # deeper
title: x

updated: "2026-10-04"
"""
    assert formatted(before.replace("id: a ", "id: 'a' ")) == after


def test_list_items_keep_their_dash() -> None:
    """The first key of an item stands behind the dash, whichever it is."""
    before = """\
results:
  - metric: m
    # the anchor
    id: one
    note: |
      # text, no comment

      more
    value: 1
  - {value: 2, id: two}
"""
    after = """\
results:
  # the anchor
  - id: one
    metric: m
    value: 1
    note: |
      # text, no comment

      more
  - {id: two, value: 2}
"""
    assert formatted(before) == after


def test_schema_line_is_set_and_replaced() -> None:
    """The line names the schema of the kind, as many folders up as it takes."""
    assert modeline("review", "records/reviews/engines/x.yaml").endswith(
        "=../../../schema/review.schema.json"
    )
    grouped = format_text(f"{MODELINE}id: a\n", "benchmark", "records/benchmarks/group/x.yaml")
    assert grouped == f"{MODELINE.replace('../../', '../../../')}id: a\n"


def test_prose_is_never_wrapped_again() -> None:
    """Blocks, long lines and odd spacing inside of values stay byte for byte."""
    text = "id: a\nmeasured:   {by:   self}\nnotes: >\n  a  b\n  c\n\n   d\n"
    assert formatted(text) == text


def test_unreadable_file_is_left_alone() -> None:
    """Formatting is no repair of what cannot be understood."""
    with pytest.raises(YamlFault):
        format_text("a: [\n", "benchmark", PATH)


def test_loss_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should moving text ever change what a file says, it is not moved."""
    monkeypatch.setattr(
        fmt,
        "order_edits",
        lambda _model, _root, text: [Edit(0, len(text), "id: b\n")] if "id: a" in text else [],
    )
    with pytest.raises(FormatError, match="would change what the file says"):
        format_text(f"{MODELINE}id: a\n", "benchmark", PATH)


def test_generated_records_are_in_form() -> None:
    """What our own programs write needs no formatting."""
    for path, text in project(3):
        assert format_text(text, path.split("/")[1].removesuffix("s"), path) == text


# --- Properties -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(MODELS))
@settings(max_examples=20)
@given(data=st.data())
def test_record_survives_writing_and_reading(kind: str, data: st.DataObject) -> None:
    """Any record that the model accepts is the same after emit, parse and validate."""
    value = data.draw(records(kind))
    record = validate(kind, value).record
    assert record is not None
    read = parse(emit(value).encode())
    assert list(read) == list(value)  # type: ignore[arg-type]  # a record is a mapping
    assert validate(kind, read).record == record


@pytest.mark.parametrize("kind", list(MODELS))
@settings(max_examples=20)
@given(data=st.data())
def test_form_is_reached_at_once_and_keeps_the_record(kind: str, data: st.DataObject) -> None:
    """Formatting twice is formatting once, and the record is the same, whatever order its keys had."""
    value = data.draw(records(kind))
    record = validate(kind, value).record
    text = emit({key: value[key] for key in data.draw(st.permutations(list(value)))})
    once = format_text(text, kind, f"records/{kind}s/x.yaml")
    assert format_text(once, kind, f"records/{kind}s/x.yaml") == once
    assert validate(kind, parse(once.encode())).record == record


# --- Files ------------------------------------------------------------------------------------


def test_files_are_written_only_where_they_change(tmp_path: Path) -> None:
    """Outcomes say what happened to each file, with a diff; the second run changes nothing."""
    write(tmp_path)
    edit(tmp_path, "  tp: 2\n  pp: 1\n", '  pp: 1\n  tp: "2"\n')
    edit(tmp_path, "title: Base Engine\n", "title: [\n", "records/engines/base-engine.yaml")
    would = {each.relative: each for each in format_files(tmp_path, write=False)}
    assert would[BENCHMARK].changed
    assert '-  tp: "2"' in would[BENCHMARK].diff()
    assert '  tp: "2"' in (tmp_path / BENCHMARK).read_text("utf-8")
    assert would["records/engines/base-engine.yaml"].fault
    assert [each.relative for each in format_files(tmp_path) if each.changed] == [BENCHMARK]
    assert "  tp: 2\n  pp: 1\n" in (tmp_path / BENCHMARK).read_text("utf-8")
    assert not any(each.changed for each in format_files(tmp_path))


def test_paths_restrict_the_files(tmp_path: Path) -> None:
    """A folder or a file is enough; the others are not looked at."""
    write(tmp_path)
    outcomes = list(format_files(tmp_path, paths=[tmp_path / "records" / "sources"]))
    assert [each.relative for each in outcomes] == ["records/sources/base-source.yaml"]


def test_surface_findings_carry_their_repair() -> None:
    """A missing schema line and a missing final newline are warnings that `--fix` mends."""
    file = RecordFile(Path(PATH), PATH, "benchmark", "x", "")
    found = list(surface_findings("id: a\nnotes: é", file))
    assert [(each.code, each.line, each.column, each.severity) for each in found] == [
        ("E030", 1, 1, "warning"),
        ("E031", 2, 9, "warning"),
    ]
    assert list(surface_findings(f"{MODELINE}id: a\n", file)) == []
