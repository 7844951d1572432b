"""`new`, `fmt`, `lint` and `schema`: what a contributor's commands do to files."""

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from kbtool.cli.questions import QUESTIONS
from kbtool.schema import KINDS
from tests.cli.conftest import Run

ANSWERS = {
    "id": "fresh-record",
    "title": "A record of the test",
    "source": "sources/base-source",
    "measured_by": "third_party",
    "accelerator": "accelerators/base-accelerator",
    "accelerator_count": "8",
    "engine": "engines/base-engine",
    "model": "models/base-model",
    "metric": "output_tok_s",
    "value": "1234.50",
    "as_published": "1,234.50 tok/s",
    "locator": "table 2, row 3",
    "concurrency": "16",
    "vendor": "Example Inc.",
    "form": "pcie_card",
    "role": "scale_up",
    "organisation": "Example Lab",
    "architecture": "moe",
    "source_kind": "article",
    "publisher": "Example",
    "url": "https://example.org/report",
    "interest": "none_stated",
    "symptom": "It is slow above 16 requests.",
    "cause": "Graphs were captured up to 16.",
    "detect": "Compare the running limit with the captured sizes.",
    "avoid": "Lower the limit.",
    "trap_class": "cuda_graph",
}


def options(kind: str, **changed: str) -> list[str]:
    """Return `--set` options that answer every question of a kind."""
    known = ANSWERS | changed
    return [part for each in QUESTIONS[kind] for part in ("--set", f"{each.key}={known[each.key]}")]


@pytest.mark.parametrize("kind", KINDS)
def test_new_record_has_no_lint_error(kbtool: Run, project: Path, kind: str) -> None:
    """What `new` writes can be read and has no error, only what a draft still lacks."""
    assert kbtool("new", kind, *options(kind)).code == 0
    path = f"records/{kind}s/fresh-record.yaml"
    assert (project / path).read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=")
    done = kbtool("lint", path)
    assert done.code == 0, done.out


@pytest.mark.usefixtures("project")
def test_new_benchmark_keeps_digits_and_lists_gaps(kbtool: Run, project: Path) -> None:
    """The published digits stay, and every disclosure field without an answer is listed."""
    kbtool("new", "benchmark", *options("benchmark"))
    text = (project / "records/benchmarks/fresh-record.yaml").read_text(encoding="utf-8")
    assert "value: 1234.50\n" in text
    assert "#   - {field: engine.version, source: sources/base-source}" in text
    assert "field: system.accelerator_count," not in text


@pytest.mark.usefixtures("project")
def test_new_benchmark_claims_no_search(kbtool: Run) -> None:
    """A field that nobody has looked for is not called omitted by its source: lint still asks for it."""
    kbtool("new", "benchmark", *options("benchmark"))
    done = kbtool("lint", "records/benchmarks/fresh-record.yaml", "--limit", "0")
    assert "engine.version" in done.out
    assert "omitted_by_source" in done.out


@pytest.mark.usefixtures("project")
def test_new_takes_bare_ids(kbtool: Run, project: Path) -> None:
    """The kind of a reference is known from the question."""
    bare = {key: f"base-{key}" for key in ("source", "accelerator", "engine", "model")}
    assert kbtool("new", "benchmark", *options("benchmark", **bare)).code == 0
    text = (project / "records/benchmarks/fresh-record.yaml").read_text(encoding="utf-8")
    assert "engine: engines/base-engine\n" in text


@pytest.mark.usefixtures("project")
def test_new_does_not_write_over_a_record(kbtool: Run, project: Path) -> None:
    """An id that exists is refused, and the file stays as it was."""
    path = project / "records/engines/base-engine.yaml"
    before = path.read_bytes()
    done = kbtool("new", "engine", *options("engine", id="base-engine"))
    assert done.code == 1
    assert "exists" in done.err
    assert path.read_bytes() == before


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"id": "../../etc/cron"}, "id:"),
        ({"accelerator": "engines/base-engine"}, "accelerator: `engines/base-engine` is not a reference"),
        ({"accelerator": "base-acelerator"}, "did you mean `accelerators/base-accelerator`?"),
        ({"model": "other"}, "write it first: `kbtool new model`"),
        ({"metric": "output_toks_s"}, "did you mean `output_tok_s`?"),
        ({"value": "1e5"}, "is not a number"),
        ({"source": "sources/base-sorce"}, "did you mean `sources/base-source`?"),
    ],
)
def test_new_refuses_answers_that_make_no_record(
    kbtool: Run, project: Path, changed: dict[str, str], says: str
) -> None:
    """A wrong answer is named, and no file is written."""
    before = sorted(project.rglob("*"))
    done = kbtool("new", "benchmark", *options("benchmark", **changed))
    assert done.code == 2
    assert says in done.err
    assert sorted(project.rglob("*")) == before


@pytest.mark.usefixtures("project")
def test_new_names_missing_answers_where_nobody_can_be_asked(kbtool: Run) -> None:
    """Without a terminal the missing answers are listed as options."""
    done = kbtool("new", "engine")
    assert done.code == 2
    assert "--set id=... --set title=..." in done.err


def test_fmt_check_changes_nothing(kbtool: Run, project: Path) -> None:
    """`fmt --check` reports what it would change; `fmt` changes it; then there is nothing left."""
    path = project / "records/engines/base-engine.yaml"
    tidy = path.read_text(encoding="utf-8")
    head, *lines = tidy.splitlines()
    untidy = "\n".join([head, *lines[1:], lines[0]])
    path.write_text(untidy, encoding="utf-8")
    assert kbtool("fmt", "--check").code == 1
    assert path.read_text(encoding="utf-8") == untidy
    assert kbtool("fmt").code == 0
    assert path.read_text(encoding="utf-8") == tidy
    assert kbtool("fmt", "--check").code == 0


def test_fmt_leaves_a_broken_file_alone(kbtool: Run, project: Path) -> None:
    """A file that cannot be parsed keeps its bytes, is reported, and fails the command."""
    path = project / "records/engines/base-engine.yaml"
    path.write_text("id: [\n", encoding="utf-8")
    done = kbtool("fmt")
    assert done.code == 1
    assert "base-engine.yaml" in done.err
    assert path.read_text(encoding="utf-8") == "id: [\n"


def test_lint_exits_with_one_on_an_error(kbtool: Run, project: Path) -> None:
    """A finding of the grade error fails the run, in every form of report."""
    path = project / "records/engines/base-engine.yaml"
    path.write_text(
        path.read_text(encoding="utf-8").replace("status: draft", "status: darft"), encoding="utf-8"
    )
    for form in ("text", "json", "github", "sarif"):
        done = kbtool("lint", "--format", form)
        assert done.code == 1
        assert "draft" in done.out
    json.loads(kbtool("lint", "--format", "sarif").out)


@pytest.mark.usefixtures("project")
def test_lint_is_clean_on_the_base_records(kbtool: Run) -> None:
    """The records that the rules' examples are laid over have no finding at all."""
    done = kbtool("lint", "--strict")
    assert done.code == 0, done.out


@pytest.mark.usefixtures("project")
def test_schema_check_finds_a_stale_file(kbtool: Run, project: Path) -> None:
    """`schema --check` fails while a file is missing or differs, and passes after `schema`."""
    assert kbtool("schema", "--check").code == 1
    assert kbtool("schema").code == 0
    assert kbtool("schema", "--check").code == 0
    (project / "schema/engine.schema.json").write_text("{}", encoding="utf-8")
    done = kbtool("schema", "--check")
    assert done.code == 1
    assert "engine.schema.json" in done.err


@pytest.mark.parametrize("group", ["../../..", "/elsewhere", "A B", ".", ""])
def test_new_writes_below_the_folder_of_its_kind(kbtool: Run, project: Path, group: str) -> None:
    """A group that is no plain folder name is refused, and nothing is written anywhere."""
    before = sorted(project.parent.rglob("*"))
    done = kbtool("new", "engine", *options("engine"), "--group", group)
    assert done.code == 2
    assert "cannot be a folder" in done.err
    assert sorted(project.parent.rglob("*")) == before


@pytest.mark.usefixtures("project")
def test_new_knows_an_id_in_another_folder(kbtool: Run) -> None:
    """One id is one record, whatever folder it lies in."""
    done = kbtool("new", "engine", *options("engine", id="base-engine"), "--group", "other", "--force")
    assert done.code == 1
    assert "records/engines/base-engine.yaml has this id already" in done.err


@pytest.mark.usefixtures("project")
def test_new_names_every_wrong_answer_on_a_line_of_its_own(kbtool: Run) -> None:
    """In the words of lint, not of the library behind the models."""
    done = kbtool("new", "source", *options("source", id="Bad Id", url="example.org/r", interest="none"))
    assert [line.partition(": ")[2].partition(":")[0] for line in done.err.splitlines()[1:]] == [
        "id",
        "url",
        "interest",
    ]
    assert "did you mean `https://example.org/r`?" in done.err
    assert "pattern" not in done.err


def test_fmt_takes_a_path_by_another_way(kbtool: Run, project: Path) -> None:
    """A path through `..` names the files that it leads to."""
    done = kbtool("fmt", "records/engines/../../records/engines")
    assert done.code == 0
    assert done.out == f"0 of {len(list((project / 'records/engines').iterdir()))} files changed\n"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("verb", ["build", "serve"])
def test_a_site_without_its_packages_is_a_wrong_use(
    kbtool: Run, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """The runner's extra brings some of them, so that the site's modules load: the rest is asked for by name."""

    def version(name: str) -> str:
        if name.startswith("arro3"):
            return "0.9.1"  # as where the runner's extra alone is there
        raise PackageNotFoundError(name)

    monkeypatch.setattr("kbtool.site.builder.version", version)
    done = kbtool(verb)
    assert done.code == 2
    assert 'the site\'s packages are missing, `jinja2` first: pip install ".[site]"' in done.err
