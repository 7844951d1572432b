"""Shape findings: one slip gives one finding, at the exact place, with the right correction."""

import re
from pathlib import Path

import pytest

from benchmarks.accuracy import score_of
from benchmarks.faults import DEAD_REFERENCE, KINDS
from benchmarks.generate import project
from kbtool.findings import Finding
from kbtool.store.files import RecordFile
from kbtool.store.read import load_bytes

SOURCES = Path(__file__).parents[1] / "lint" / "base" / "sources"
BASE_SOURCE = (SOURCES / "base-source.yaml").read_text("utf-8")
BASE = (Path(__file__).parents[1] / "lint" / "base" / "benchmarks" / "base-benchmark.yaml").read_text("utf-8")


def findings(text: str, kind: str = "benchmark") -> tuple[Finding, ...]:
    """Return what is wrong with a file of this text."""
    path = f"records/{kind}s/x.yaml"
    return load_bytes(RecordFile(Path(path), path, kind, "x", ""), text.encode()).findings


def found(old: str, new: str) -> tuple[str, str, str, str | None]:
    """Replace a part of the base record; return code, text at the place, pointer and suggestion of its only finding."""
    assert old in BASE
    text = BASE.replace(old, new, 1)
    (finding,) = findings(text)
    line = text.splitlines()[finding.line - 1]
    shown = line[finding.column - 1 : finding.end_column - 1] if finding.end_line == finding.line else line
    return finding.code, shown, finding.pointer, finding.suggestion


def message(old: str, new: str) -> str:
    """Return the message of the only finding."""
    (finding,) = findings(BASE.replace(old, new, 1))
    return finding.message


def test_valid_record_has_no_findings() -> None:
    """The base record, and generated ones, fit their models."""
    assert findings(BASE) == ()
    for path, text in project(3):
        assert findings(text, path.split("/")[1].removesuffix("s")) == ()


@pytest.mark.parametrize("kind", [*KINDS, DEAD_REFERENCE])
def test_planted_faults_are_found_exactly(kind: str) -> None:
    """Each fault gives one finding, at its line and column, with its correction.

    `python -m benchmarks.accuracy` plants each kind in over a hundred places.
    """
    score = score_of(kind, places=4, seed=2)
    assert score.places == 4
    assert (score.placed, score.single, score.suggested) == (4, 4, score.suggestions)


def test_there_are_enough_kinds_of_fault() -> None:
    """The bar is twenty kinds."""
    assert len(KINDS) >= 40


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("headline:", "headlin:", ("E002", "headlin", "/headlin", "headline")),
        ("headline:", "headline_result:", ("E002", "headline_result", "/headline_result", "headline")),
        ("power_limit_w:", "power_limit:", ("E002", "power_limit", "/system/power_limit", "power_limit_w")),
        ("accelerator_count", "accelerator-count", ("E002", "accelerator-count", "/system/accelerator-count", "accelerator_count")),
        ("headline: decode-prose-1\n", "", ("E003", "schema_version", "/headline", None)),
        ("    as_published: 93.9 tok/s\n", "", ("E003", "id", "/results/0/as_published", None)),
        ("  by: third_party\n", "", ("E003", "measured", "/measured/by", None)),
        ("tags: [base]", "tags: [base, {a: 1}]", ("E004", "{a: 1}", "/tags/1", None)),
        ("schedule-policy: fcfs", "policies: [fcfs]", ("E004", "[fcfs]", "/engine/arguments/policies", None)),
        ("schedule-policy: fcfs", "str: {int: [1]}", ("E004", "{int: [1]}", "/engine/arguments/str", None)),
        ("weight_dtype: fp8_e4m3", "weight_dtype: FP8-E4M3", ("E005", "FP8-E4M3", "/model/weight_dtype", "fp8_e4m3")),
        ("tp: 2", "tp: 0", ("E006", "0", "/deployment/tp", None)),
        ("value: 93.9", 'value: "1.234.567"', ("E007", '"1.234.567"', "/results/0/value", None)),
        ("source: sources/base-source", "source: engines/base-source", ("E011", "engines/base-source", "/sources/0/source", None)),
        ("checkpoint: ex", "checkpoint:\n    - ex", ("E004", "checkpoint", "/model/checkpoint", None)),
        ("title: Base", "title:\nstatus_reason: Base", ("E021", "title", "/title", None)),
        ("results:\n", "results:\n  - text\n", ("E004", "text", "/results/0", None)),
    ],
)  # fmt: skip
def test_finding_points_at_key_or_value(
    old: str, new: str, expected: tuple[str, str, str, str | None]
) -> None:
    """Keys for what is unknown, parents for what is missing, values for what is wrong."""
    assert found(old, new) == expected


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("tp: 2", "tp: 0", ["`0`", "at least 1"]),
        ("acceptance_length: 1.7", "acceptance_length: -2", ["`-2`", "above 0"]),
        ("os: Debian", "os: 12 # x\n  clocks: Debian", ["`12`", "quote it", '"12"']),
        ("schema_version: 1", "schema_version: 2", ["`2`", "`schema_version: 1`", "update kbtool"]),
        (
            "id: base-benchmark",
            "id: Base_Benchmark",
            ["cannot be an id", "name of the file", "`base-benchmark`"],
        ),
        ("headline: decode-prose-1", "headline: Decode", ["cannot be a name here", "`decode`"]),
        ("  tp: 2\n", "  tp: 2\n  nodes: 1\n", ["`nodes` in `deployment`", "expected in `system`"]),
        ("statistic: mean", "statistic: average", ["`average`", "`single`, `mean`, `median`"]),
        ("prefix_caching: true", "prefix_caching: 1", ["the number `1`", "`true` or `false`"]),
        ("value: 93.9", 'value: "6,853"', ["`6,853` is not a number", "did you mean `6853`"]),
        ("tags: [base]", "tags:\n", ["nothing in `tags`", "a list", "remove the key"]),
        ("value: 93.9", "value: 6.9k", ["did you mean `6900`?"]),
        ("value: 93.9", "value: 87%", ["did you mean `0.87`?"]),
        ("value: 93.9", "value: unknown", ["leave the field out", "`omitted_by_source`"]),
        ("tp: 2", "tp: 2.0", ["the number `2.0`", "did you mean `2`?"]),
        ("tp: 2", "tp: 2x", ["the text `2x`", "did you mean `2`?"]),
        ("tp: 2", "tp: n/a", ["expected a whole number", "leave the field out"]),
        ("tags: [base]", "tags: base run", ["expected a list", "write it as `[base run]`"]),
        ("tags: [base]", "tags: [[base]]", ["expected text", "take what stands in it out of the list"]),
        (
            "sources:\n",
            "sources:\n  - sources/other\n",
            ["with `source`, `role` and `group`", "`{source: ..., role: ..., group: ...}`"],
        ),
        ("  tp: 2\n", "  tp: 2\n  unit: GPUs\n", ["unknown key `unit`", "one unit, which its name says"]),
    ],
)
def test_message_teaches(old: str, new: str, parts: list[str]) -> None:
    """It says what was found, what is expected, and what to do."""
    said = message(old, new)
    assert all(part in said for part in parts), said


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("- a\n", "E001"),
        ("text\n", "E001"),
        ("12\n", "E001"),
        ("", "Y105"),
        ("# nothing\n", "Y105"),
        ("{}\n", "E003"),
    ],
)
def test_root_that_is_no_record(text: str, code: str) -> None:
    """A list, a text and an empty file each have their finding, at the first line."""
    found_codes = {(finding.code, finding.line) for finding in findings(text)}
    assert found_codes == {(code, 1)}


def test_no_message_speaks_pydantic() -> None:
    """Whatever is wrong is said in the words of a record's author."""
    jargon = (
        "Input should",
        "valid string",
        "extra_forbidden",
        "pydantic",
        "type=",
        "str_type",
        "model_type",
    )
    for kind in ("benchmark", "source", "model", "review", "withdrawn"):
        for text in ("{a: 1}\n", "{id: 5, sources: x, title: [1], results: {}, links: [{}], gaps: [1]}\n"):
            for finding in findings(text, kind):
                assert not any(word in finding.message for word in jargon), finding
                assert finding.code != "E099", finding


def test_quoted_number_is_a_number() -> None:
    """A figure in quotes is read as the figure; `kbtool fmt` takes the quotes away."""
    assert findings(BASE.replace("value: 93.9", 'value: "93.9"')) == ()


def test_attribute_name_is_no_key() -> None:
    """`with` is the key; its name in Python is not accepted."""
    assert found("    at:\n", "    with_: []\n    at:\n")[3] == "with"


@pytest.mark.parametrize(
    ("old", "new", "suggestion"),
    [
        ('updated: "2026-09-20"', "updated: 20260920", '"2026-09-20"'),
        ('updated: "2026-09-20"', 'updated: "Sep 20, 2026"', "2026-09-20"),
        ('updated: "2026-09-20"', 'updated: "20/09/2026"', "2026-09-20"),
        ('updated: "2026-09-20"', 'updated: "2026-20-09"', "2026-09-20"),
        ('updated: "2026-09-20"', 'updated: "09/10/2026"', None),
        ("input_tok: 1024", "isl: 1024", "input_tok"),
        ("accelerator_count:", "gpu_count:", "accelerator_count"),
        ("  by: third_party", "  who: third_party", "by"),
    ],
)
def test_what_was_meant_is_suggested(old: str, new: str, suggestion: str | None) -> None:
    """Other spellings of a day and other names of a key lead to ours; a day that could be two leads to none."""
    assert found(old, new)[3] == suggestion


def test_address_and_hash_are_taken_out_of_what_surrounds_them() -> None:
    """A link of Markdown, a missing scheme, capitals and a prefix are said to be what they are."""
    for url in ("[report](https://example.org/r)", "<https://example.org/r>", "example.org/r"):
        text = re.sub(r"(?m)^url: .*$", f'url: "{url}"', BASE_SOURCE)
        assert [each.suggestion for each in findings(text, "source")] == ["https://example.org/r"]
    digest = "0123456789abcdef" * 4
    for hash_text in (digest.upper(), f"sha256:{digest}"):
        text = re.sub(r"(?m)^content_sha256: .*$", f'content_sha256: "{hash_text}"', BASE_SOURCE)
        assert [each.suggestion for each in findings(text, "source")] == [digest]
