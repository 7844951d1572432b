"""The engine: what a run checks, what it reports, and what it does not report."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest

from kbtool.errors import UsageError
from kbtool.findings import Finding
from kbtool.lint import check, engine, run
from kbtool.lint import rules as all_rules
from kbtool.lint.lookup import FileView, Lookup, strings
from kbtool.lint.rule import Problem, Rule, collect, rule
from kbtool.schema import Benchmark, Record, Source
from tests.lint.projects import BENCHMARK, edit, write

MISSING_HEADLINE = "headline: decode-prose-2\n"


def codes(root: Path, *, base: str | None = None, as_of: date | None = None) -> list[str]:
    """Return the codes of a run without a cache."""
    return [finding.code for finding in run(root, base=base, as_of=as_of, cache=False).findings]


def only(root: Path) -> Finding:
    """Return the only finding of a project."""
    (finding,) = check(root)
    return finding


def test_clean_project_has_no_findings(tmp_path: Path) -> None:
    """Base records are clean, and every file counts as checked."""
    report = run(write(tmp_path), cache=False)
    assert report.findings == ()
    assert report.files_checked == 8


def test_finding_points_at_the_value(tmp_path: Path) -> None:
    """A rule's JSON pointer becomes the line and column of the value, in code points."""
    finding = only(write(tmp_path, MISSING_HEADLINE))
    line = (tmp_path / BENCHMARK).read_text(encoding="utf-8").splitlines()[finding.line - 1]
    assert line[finding.column - 1 : finding.end_column - 1] == "decode-prose-2"
    assert (finding.path, finding.code, finding.pointer) == (BENCHMARK, "I005", "/headline")


def test_broken_file_does_not_hide_others(tmp_path: Path) -> None:
    """A file that is not YAML, one of a wrong shape and one that breaks a rule each give their finding."""
    write(tmp_path, f"{MISSING_HEADLINE}engines/bad: {{title: Bad}}\nmodels/bad: {{title: Bad too}}\n")
    edit(tmp_path, "title: Bad", "title: [", "records/engines/bad.yaml")
    edit(tmp_path, "organisation:", "organization:", "records/models/bad.yaml")
    found = {(finding.path, finding.code) for finding in check(tmp_path)}
    assert (BENCHMARK, "I005") in found
    assert ("records/models/bad.yaml", "E002") in found
    assert ("records/engines/bad.yaml", "Y133") in found


def test_findings_are_sorted(tmp_path: Path) -> None:
    """Findings come in the order of files, lines and columns."""
    write(tmp_path, f"{MISSING_HEADLINE}tags: [b, b]\nsystem: {{accelerator: accelerators/none}}\n")
    findings = check(tmp_path)
    assert len(findings) > 1
    assert findings == sorted(findings, key=Finding.sort_key)


def test_select_and_ignore_take_codes_and_names(tmp_path: Path) -> None:
    """Prefixes of a code or a name choose; what keeps a file from being read is always reported."""
    write(
        tmp_path,
        f"{MISSING_HEADLINE}system: {{accelerator: accelerators/none}}\nengines/bad: {{title: Bad}}\n",
    )
    edit(tmp_path, "title: Bad", "title: [", "records/engines/bad.yaml")

    def chosen(select: tuple[str, ...] = (), ignore: tuple[str, ...] = ()) -> set[str]:
        return {finding.code for finding in run(tmp_path, select=select, ignore=ignore, cache=False).findings}

    assert chosen(select=("I",)) == {"I005", "Y133"}
    assert chosen(select=("reference-",)) == {"L001", "Y133"}
    assert chosen(ignore=("I005", "Y")) == {"L001", "Y133"}
    assert chosen(select=("I", "L"), ignore=("headline",)) == {"L001", "Y133"}


def test_draft_severity_ends_with_a_review(tmp_path: Path) -> None:
    """What is a warning in a draft is an error once a review that fits makes it a reviewed record."""
    write(tmp_path, "system: {driver: null}\n")
    assert [(each.code, each.severity) for each in check(tmp_path)] == [("G001", "warning")]
    reviewed = tmp_path / "reviewed"
    write(reviewed, 'system: {driver: null}\nreviews/benchmarks/base-benchmark: {reviewed: "2026-09-21"}\n')
    assert ("G001", "error") in [(each.code, each.severity) for each in check(reviewed)]


# --- Exceptions -------------------------------------------------------------------------------

EXCEPTION = 'exceptions: [{rule: I005, reason: The result follows., until: "2027-01-31"}]\n'


def test_exception_accepts_its_finding(tmp_path: Path) -> None:
    """An exception silences the findings of its rule in its record, and the report lists them apart."""
    report = run(write(tmp_path, MISSING_HEADLINE + EXCEPTION), cache=False)
    assert report.findings == ()
    assert [finding.code for finding in report.accepted] == ["I005"]


@pytest.mark.parametrize(("at", "expected"), [("/headline", []), ("/results", ["I005", "X001"])])
def test_exception_may_name_a_place(tmp_path: Path, at: str, expected: list[str]) -> None:
    """With a place, an exception covers what is there and below, and nothing else."""
    write(tmp_path, MISSING_HEADLINE + EXCEPTION.replace("{rule:", f"{{at: {at}, rule:"))
    assert sorted(codes(tmp_path)) == expected


def test_unknown_rule_in_an_exception_is_found(tmp_path: Path) -> None:
    """A misspelt rule is reported with the name that was probably meant."""
    write(tmp_path, EXCEPTION.replace("I005", "headline-not-a-resutl"))
    finding = only(tmp_path)
    assert (finding.code, finding.suggestion) == ("X001", "headline-not-a-result")


def test_expired_exception_counts_only_with_a_day(tmp_path: Path) -> None:
    """There is no clock: an exception ends on the day that the caller names, and never by itself."""
    write(tmp_path, MISSING_HEADLINE + EXCEPTION)
    assert codes(tmp_path) == []
    assert codes(tmp_path, as_of=date(2027, 1, 31)) == []
    assert sorted(codes(tmp_path, as_of=date(2027, 2, 1))) == ["I005", "X002"]


def test_exception_of_a_rule_that_did_not_run_is_left_alone(tmp_path: Path) -> None:
    """A rule over changes cannot fire without a base commit, so that its exception is not called useless."""
    code = next(each.code for each in all_rules.RULES if each.scope == "base")
    write(tmp_path, EXCEPTION.replace("I005", code))
    assert codes(tmp_path) == []


# --- Some files -------------------------------------------------------------------------------


def test_partial_run_checks_the_given_files_alone(tmp_path: Path) -> None:
    """With paths, other files give no findings, and dead references are found by the names of files."""
    write(tmp_path, f"{MISSING_HEADLINE}system: {{accelerator: accelerators/base-acelerator}}\n")
    report = run(tmp_path, paths=[tmp_path / BENCHMARK])
    assert sorted(finding.code for finding in report.findings) == ["I005", "L001"]
    assert report.files_checked == 1
    other = run(tmp_path, paths=[tmp_path / "records" / "sources"])
    assert (other.findings, other.files_checked) == ((), 1)


def test_partial_run_knows_the_review(tmp_path: Path) -> None:
    """The review of a given record is read, since it decides how severe a finding is."""
    write(tmp_path, 'system: {driver: null}\nreviews/benchmarks/base-benchmark: {reviewed: "2026-09-21"}\n')
    report = run(tmp_path, paths=[tmp_path / BENCHMARK])
    assert ("G001", "error") in [(each.code, each.severity) for each in report.findings]


def test_partial_run_agrees_with_the_whole_one(tmp_path: Path) -> None:
    """What a run over one file finds, a run over all finds too."""
    write(tmp_path, f"{MISSING_HEADLINE}system: {{accelerator: accelerators/none, driver: null}}\n")
    assert set(run(tmp_path, paths=[tmp_path / BENCHMARK]).findings) <= set(check(tmp_path))


# --- Rules ------------------------------------------------------------------------------------


@rule("T999", "rule-under-test")
def failing(record: Benchmark) -> Iterator[Problem]:
    """Flag everything, and break down."""
    yield Problem("/id", "found")
    raise ZeroDivisionError(record.id)


def test_rule_that_raises_is_not_swallowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of ours rises with the names of rule and file, and no finding is lost silently."""
    monkeypatch.setattr(all_rules, "RULES", (failing,))
    with pytest.raises(ZeroDivisionError) as raised:
        run(write(tmp_path), cache=False)
    assert raised.value.__notes__ == [f"while rule T999 rule-under-test looked at {BENCHMARK}"]


def test_annotation_says_which_kinds() -> None:
    """A model names its kind, a union several, and `Record` the seven kinds of record."""

    def made(annotation: object) -> Rule:
        def check(record: Record) -> Iterator[Problem]:
            yield Problem("/id", record.id)

        check.__annotations__["record"] = annotation
        return rule("T998", "annotated")(check)

    assert made(Benchmark).kinds == {"benchmark"}
    assert made(Benchmark | Source).kinds == {"benchmark", "source"}
    assert len(made(Record).kinds) == 7
    with pytest.raises(TypeError, match="not a kind of record"):
        made(int)


def test_extras_come_by_annotation() -> None:
    """A rule gets other records and its file where its parameters ask for them, in their order."""

    @rule("T997", "with-extras")
    def with_extras(record: Benchmark, view: FileView, refs: Lookup) -> Iterator[Problem]:
        """Flag it."""
        del record, view, refs
        yield from ()

    assert with_extras.extras == (FileView, Lookup)


def test_codes_and_names_are_unique() -> None:
    """Two rules that share a code are refused when they are collected; one that is imported twice is one."""
    module = ModuleType("family")
    module.__dict__.update(one=failing, same=failing)
    assert collect([module, module]) == (failing,)
    module.__dict__["other"] = replace(failing, name="another-name")
    with pytest.raises(ValueError, match="more than one rule with code T999"):
        collect([module])
    module.__dict__["other"] = replace(failing, code="Z001", name="another-name")
    with pytest.raises(ValueError, match="codes of no family: Z001"):
        collect([module])


def test_lookup_notes_what_was_asked_for() -> None:
    """Also what does not exist, since its appearance may change the answer."""
    lookup = Lookup.over({})
    assert lookup.get("engines/none") is None
    assert lookup.get("benchmarks/x#decode") is None
    assert lookup.get(None) is None
    assert lookup.take_asked() == {"engines/none", "benchmarks/x"}
    assert lookup.take_asked() == set()


def test_strings_have_pointers() -> None:
    """Every text comes with its JSON pointer, escaped where a key holds a slash or a tilde."""
    value = {"a": ["x", {"b/c": "y", "d~": "z"}], "n": 1}
    assert list(strings(value)) == [("/a/0", "x"), ("/a/1/b~1c", "y"), ("/a/1/d~0", "z")]


# --- Git --------------------------------------------------------------------------------------


def git(root: Path, *arguments: str) -> None:
    """Run git in a project, with an author and without the settings of this machine."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": "Somebody", f"GIT_{role}_EMAIL": "somebody@example.org"}
    subprocess.run(["git", *arguments], cwd=root, env=environment, check=True, capture_output=True)


def test_base_rules_see_before_and_after(tmp_path: Path) -> None:
    """With a base commit, changed, new and removed records are compared with what they were."""
    write(tmp_path, "gotchas/other: {title: Another trap}\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Add records")
    assert codes(tmp_path, base="HEAD") == []
    (tmp_path / "records" / "gotchas" / "other.yaml").unlink()
    found = run(tmp_path, base="HEAD", cache=False).findings
    assert {finding.path for finding in found} == {"records/gotchas/other.yaml"}
    assert {finding.code[0] for finding in found} == {"B"}


@pytest.mark.parametrize("revision", ["nowhere", "--help", "HEAD; true"])
def test_unknown_base_is_a_usage_error(tmp_path: Path, revision: str) -> None:
    """A revision that git does not know ends the run with what to do, whatever it looks like."""
    write(tmp_path)
    git(tmp_path, "init", "--quiet")
    with pytest.raises(UsageError, match="git knows no revision"):
        run(tmp_path, base=revision, cache=False)


def test_garbage_collection_is_switched_on_again(tmp_path: Path) -> None:
    """A run leaves the interpreter as it found it."""
    import gc

    run(write(tmp_path), cache=False)
    assert gc.isenabled()
    assert engine.check(tmp_path) == []
