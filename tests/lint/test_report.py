"""Reports: complete where programs read, short where people do, and harmless wherever they are shown."""

import json
from dataclasses import replace

import pytest

from kbtool.errors import UsageError
from kbtool.findings import Edit, Finding, Severity
from kbtool.lint.outcome import Report
from kbtool.lint.report import FORMATS, render

HOSTILE = "a\x1b[31m b\n::error::forged %0A <script> ##[command] \N{RIGHT-TO-LEFT OVERRIDE} 測定"


def finding(line: int = 3, severity: Severity = "error", message: str = "found; expected") -> Finding:
    """Return a finding in a record."""
    return Finding(
        path="records/benchmarks/x.yaml",
        line=line,
        column=5,
        code="I005",
        name="headline-not-a-result",
        severity=severity,
        message=message,
        pointer="/headline",
        suggestion="decode",
        end_line=line,
        end_column=9,
    )


def report(*findings: Finding, accepted: tuple[Finding, ...] = ()) -> Report:
    """Return a report over ten files."""
    return Report(findings, 10, accepted)


def test_text_has_place_name_and_message() -> None:
    """Two lines a finding, and one that sums up."""
    text = render(report(finding(), finding(4, "warning"), accepted=(finding(9),)), "text")
    assert text.splitlines() == [
        "records/benchmarks/x.yaml:3:5: error I005 headline-not-a-result",
        "  found; expected",
        "records/benchmarks/x.yaml:4:5: warning I005 headline-not-a-result",
        "  found; expected",
        "1 error, 1 warning in 10 files; 1 finding accepted by exceptions",
    ]


def test_text_without_findings_is_one_line() -> None:
    """A clean run says so."""
    assert render(report(), "text") == "no findings in 10 files"


def test_text_says_what_can_be_mended() -> None:
    """A reader learns that `--fix` would help, and with how many."""
    mendable = replace(finding(), edits=(Edit(1, 2, "x"),))
    assert render(report(mendable), "text").endswith("; `--fix` mends 1")


def test_text_is_cut_at_the_limit_and_says_so() -> None:
    """The worst findings stay, in the order of the files, and the number of the others is given."""
    findings = [finding(line, "warning") for line in range(1, 1001)] + [finding(2000)]
    lines = render(report(*findings), "text").splitlines()
    assert len(lines) == 102
    assert lines[98].startswith("records/benchmarks/x.yaml:2000:5: error")
    assert lines[100].startswith("951 more")
    assert len(render(report(*findings), "text", limit=0).splitlines()) == 2 * 1001 + 1


def test_json_holds_everything() -> None:
    """Programs get every finding with every field, however many there are."""
    mendable = replace(finding(), edits=(Edit(1, 2, "x"),))
    document = json.loads(render(report(*[mendable] * 300, accepted=(finding(9),)), "json", limit=1))
    assert document["counts"] == {"error": 300, "warning": 0, "info": 0}
    assert len(document["findings"]) == 300
    assert document["findings"][0] == {
        "path": "records/benchmarks/x.yaml",
        "line": 3,
        "column": 5,
        "end_line": 3,
        "end_column": 9,
        "code": "I005",
        "name": "headline-not-a-result",
        "severity": "error",
        "message": "found; expected",
        "pointer": "/headline",
        "suggestion": "decode",
        "edits": [{"start": 1, "end": 2, "text": "x"}],
    }
    assert document["accepted"][0]["line"] == 9


def test_github_annotates_ten_of_a_level_and_counts_the_rest() -> None:
    """GitHub drops what is beyond; the log has it all, and a notice says how many there are."""
    findings = [finding(line, severity) for severity in ("error", "warning") for line in range(1, 16)]
    lines = render(report(*findings), "github").splitlines()
    assert sum(line.startswith("::error ") for line in lines) == 10
    assert sum(line.startswith("::warning ") for line in lines) == 10
    assert "::notice title=kbtool lint::5 errors more: see the log of this step" in lines
    assert sum(line.startswith("records/") for line in lines) == 30
    assert lines[0].startswith("records/benchmarks/x.yaml:1:5: error")


def test_github_annotation_has_its_place() -> None:
    """File, lines and columns stand in the properties."""
    annotation = render(report(finding()), "github").splitlines()[-1]
    assert annotation == (
        "::error file=records/benchmarks/x.yaml,line=3,endLine=3,col=5,endColumn=9,"
        "title=I005 headline-not-a-result::found; expected"
    )


def test_sarif_describes_rule_place_and_repair() -> None:
    """Columns are code points, the rule comes with its page, an edit with its span."""
    mendable = replace(finding(), edits=(Edit(10, 12, "x"),))
    run = json.loads(render(report(mendable), "sarif"))["runs"][0]
    assert run["columnKind"] == "unicodeCodePoints"
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["id"] == "I005"
    assert rule["shortDescription"]["text"].startswith("Flag ")
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "records/benchmarks/x.yaml", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 9}
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [
        {"deletedRegion": {"charOffset": 10, "charLength": 2}, "insertedContent": {"text": "x"}}
    ]


def test_sarif_fingerprint_survives_a_shift_of_lines() -> None:
    """A finding that moved is the same finding; two at one place are two."""

    def fingerprints(*findings: Finding) -> list[str]:
        results = json.loads(render(report(*findings), "sarif"))["runs"][0]["results"]
        return [result["partialFingerprints"]["kbtool/v1"] for result in results]

    assert fingerprints(finding(3)) == fingerprints(finding(30))
    assert len(set(fingerprints(finding(3), finding(3, message="another")))) == 2


def test_sarif_stays_below_the_limit_of_results() -> None:
    """The worst findings are kept when there are more than a service takes."""
    findings = [finding(line, "warning") for line in range(25_000)] + [finding(1)]
    results = json.loads(render(report(*findings), "sarif"))["runs"][0]["results"]
    assert len(results) == 25_000
    assert results[0]["level"] == "error"


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_text_cannot_act(form: str) -> None:
    """No control character, forged command or line of its own comes out of a message."""
    rendered = render(report(finding(message=HOSTILE)), form)
    assert not any(ord(character) < 32 and character != "\n" for character in rendered)
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in rendered
    forged = [line for line in rendered.splitlines() if line.lstrip().startswith("::error::")]
    assert forged == []
    assert (
        not any("##[" in line for line in rendered.splitlines() if not line.startswith("::"))
        or form != "github"
    )


def test_unknown_form_is_a_usage_error() -> None:
    """The message names the forms."""
    with pytest.raises(UsageError, match="text, json, github, sarif"):
        render(report(), "xml")
