"""Only regular files in their place are records; everything else is a finding, and nothing else is opened."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from kbtool.errors import UsageError
from kbtool.findings import Finding
from kbtool.schema import FOLDERS as RECORD_FOLDERS
from kbtool.schema import MODELS
from kbtool.store.faults import FaultKind, FileFault
from kbtool.store.files import FOLDERS, RecordFile, discover, locate, read
from kbtool.store.limits import MAX_BYTES


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project root with one engine."""
    put(tmp_path / "records/engines/sglang.yaml")
    return tmp_path


def put(path: Path, content: str = "id: x\n") -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    path.chmod(0o644)
    return path


def findings(root: Path) -> list[tuple[str, str]]:
    """Return path and name of each finding."""
    return [(each.path, each.name) for each in discover(root) if isinstance(each, Finding)]


def record(root: Path, path: str) -> RecordFile:
    """Return the record file at a path that must be one."""
    found = locate(root, root / path)
    assert isinstance(found, RecordFile)
    return found


def test_record_files_are_found_in_order_with_kind_and_group(project: Path) -> None:
    """By path, whatever order the file system lists them in."""
    for path in (
        "benchmarks/ev-b.yaml",
        "benchmarks/helix/ev-c.yaml",
        "benchmarks/ev-a.yaml",
        "reviews/benchmarks/ev-a.yaml",
        "withdrawn/engines/old.yaml",
        "accelerators/nvidia-h100-sxm5-80gb.yaml",
        "models/v4.1-flash.yaml",
        "models/README.md",
        "LICENSE",
    ):
        put(project / "records" / path)
    found = [
        (each.relative, each.kind, each.id, each.group)
        for each in discover(project)
        if isinstance(each, RecordFile)
    ]
    assert found == [
        ("records/accelerators/nvidia-h100-sxm5-80gb.yaml", "accelerator", "nvidia-h100-sxm5-80gb", ""),
        ("records/benchmarks/ev-a.yaml", "benchmark", "ev-a", ""),
        ("records/benchmarks/ev-b.yaml", "benchmark", "ev-b", ""),
        ("records/benchmarks/helix/ev-c.yaml", "benchmark", "ev-c", "helix"),
        ("records/engines/sglang.yaml", "engine", "sglang", ""),
        ("records/models/v4.1-flash.yaml", "model", "v4.1-flash", ""),
        ("records/reviews/benchmarks/ev-a.yaml", "review", "ev-a", "benchmarks"),
        ("records/withdrawn/engines/old.yaml", "withdrawn", "old", "engines"),
    ]
    assert findings(project) == []


def test_every_kind_of_the_schema_has_a_folder() -> None:
    """The store names the folders itself, because importing the models is slow."""
    assert FOLDERS.items() >= RECORD_FOLDERS.items()
    assert set(FOLDERS.values()) == set(MODELS)


@pytest.mark.parametrize(
    ("name", "flagged"),
    [
        ("ev-x.yml", "foreign-file"),
        ("ev-x.YAML", "foreign-file"),
        ("ev-x.json", "foreign-file"),
        ("ev-x.yaml~", "foreign-file"),
        (".gitattributes", "foreign-file"),
        ("readme.md", "foreign-file"),
        (".0123456789abcdef.kbtool-tmp", "unfinished-write"),
        ("EV-X.yaml", "unsafe-file-name"),
        (".ev-x.yaml", "unsafe-file-name"),
        ("-rf.yaml", "unsafe-file-name"),
        ("--fix.yaml", "unsafe-file-name"),
        ("ev x.yaml", "unsafe-file-name"),
        ("ev_x.yaml", "unsafe-file-name"),
        ("ev;touch x;$(id)`id`.yaml", "unsafe-file-name"),
        ("ev-é.yaml", "unsafe-file-name"),
        ("ev-\u202elmay.yaml", "unsafe-file-name"),
        ("ev\n::error::x.yaml", "unsafe-file-name"),
        ("ev-\x1b[31m.yaml", "unsafe-file-name"),
        ("ev-\udcff.yaml", "unsafe-file-name"),
    ],
)
def test_name_that_could_do_harm_is_a_finding(project: Path, name: str, flagged: str) -> None:
    """It is shown without its control characters, and the path can always be printed."""
    put(project / "records/benchmarks" / name)
    ((path, kind),) = findings(project)
    assert kind == flagged
    assert path.isprintable()
    assert path.encode("utf-8")
    located = locate(project, project / "records/benchmarks" / name)
    assert isinstance(located, Finding)
    assert (located.path, located.name) == (path, flagged)


def make_symlink(path: Path) -> None:
    """Make a link to a file of the system."""
    path.symlink_to("/etc/passwd")


def make_dangling_link(path: Path) -> None:
    """Make a link to nothing."""
    path.symlink_to("nowhere")


def make_endless_link(path: Path) -> None:
    """Make a link to itself."""
    path.symlink_to(path.name)


def make_nothing(_: Path) -> None:
    """Leave the place empty."""


def make_socket(path: Path) -> None:
    """Bind a socket; a path may be longer than an address can be."""
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


def make_executable(path: Path) -> None:
    """Make a record that could be run."""
    put(path).chmod(0o755)


@pytest.mark.parametrize(
    ("make", "flagged"),
    [
        (make_symlink, "symbolic-link"),
        (make_dangling_link, "symbolic-link"),
        (make_endless_link, "symbolic-link"),
        (os.mkfifo, "special-file"),
        (make_socket, "special-file"),
        (make_executable, "executable-file"),
        (Path.mkdir, "unsafe-file-name"),
    ],
)
def test_what_is_no_plain_file_is_a_finding_and_never_opened(
    project: Path, make: Callable[[Path], None], flagged: str
) -> None:
    """A pipe would block whoever opens it."""
    path = project / "records/engines/x.yaml"
    make(path)
    assert findings(project) == [("records/engines/x.yaml", flagged)]
    if not path.is_dir():
        located = locate(project, path)
        assert isinstance(located, Finding)
        assert located.name == flagged


@pytest.mark.parametrize("path", ["records/evil", "records/engines/group"])
def test_linked_folder_is_not_followed(project: Path, path: str) -> None:
    """Neither when everything is listed nor when one file is named."""
    (project / path).symlink_to("/etc")
    assert findings(project) == [(path, "symbolic-link")]
    located = locate(project, project / path / "passwd")
    assert isinstance(located, Finding)
    assert (located.path, located.name) == (path, "symbolic-link")


def test_linked_records_folder_is_a_finding(tmp_path: Path) -> None:
    """The root of all records is no exception."""
    (tmp_path / "records").symlink_to("/etc")
    assert findings(tmp_path) == [("records", "symbolic-link")]


@pytest.mark.parametrize("is_folder", [True, False])
def test_nested_repository_is_one_finding(project: Path, *, is_folder: bool) -> None:
    """Whether it is a clone or a submodule; nothing in it is a record."""
    put(project / "records/engines/sub/x.yaml")
    if is_folder:
        put(project / "records/engines/sub/.git/HEAD")
    else:
        put(project / "records/engines/sub/.git", "gitdir: elsewhere\n")
    assert findings(project) == [("records/engines/sub", "nested-repository")]
    located = locate(project, project / "records/engines/sub/x.yaml")
    assert isinstance(located, Finding)
    assert (located.path, located.name) == ("records/engines/sub", "nested-repository")


def test_empty_folder_may_be_a_submodule(project: Path) -> None:
    """Git keeps no empty folder; that of a kind may wait for its first record."""
    (project / "records/engines/sub").mkdir()
    (project / "records/models").mkdir()
    assert findings(project) == [("records/engines/sub", "empty-folder")]


@pytest.mark.parametrize(
    ("path", "at", "suggestion"),
    [
        ("records/x.yaml", "records/x.yaml", None),
        ("records/reviews/x.yaml", "records/reviews/x.yaml", None),
        ("records/reviews/benchmark/x.yaml", "records/reviews/benchmark", "benchmarks"),
        ("records/reviews/reviews/x.yaml", "records/reviews/reviews", None),
        ("records/reviews/engines/g/x.yaml", "records/reviews/engines/g", None),
        ("records/benchmark/x.yaml", "records/benchmark", "benchmarks"),
        ("records/Engines/x.yaml", "records/Engines", "engines"),
        ("records/stuff/x.yaml", "records/stuff", None),
        ("records/engines/a/b/x.yaml", "records/engines/a/b", None),
    ],
)
def test_record_in_the_wrong_place_is_a_finding(
    project: Path, path: str, at: str, suggestion: str | None
) -> None:
    """Once for a folder, with the folder that was meant."""
    put(project / path)
    (finding,) = [each for each in discover(project) if isinstance(each, Finding)]
    assert (finding.path, finding.name, finding.suggestion) == (at, "misplaced-file", suggestion)
    assert locate(project, project / path) == finding


def test_other_ending_suggests_the_right_name(project: Path) -> None:
    """So that a fixer can rename it."""
    put(project / "records/engines/vllm.yml")
    (finding,) = [each for each in discover(project) if isinstance(each, Finding)]
    assert finding.suggestion == "vllm.yaml"


def test_unreadable_folder_hides_no_other(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a finding, and the rest is listed."""
    # Root may read everything, so the refusal is made up.
    put(project / "records/benchmarks/ev-x.yaml")
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "benchmarks":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert findings(project) == [("records/benchmarks", "unreadable-file")]
    assert [each.relative for each in discover(project) if isinstance(each, RecordFile)] == [
        "records/engines/sglang.yaml"
    ]


def test_project_without_records_is_a_usage_error(tmp_path: Path) -> None:
    """Most likely the command was run in the wrong place."""
    with pytest.raises(UsageError, match="no folder `records`"):
        list(discover(tmp_path))


@pytest.mark.parametrize(
    "path", ["elsewhere.yaml", "records", "records/engines/missing.yaml", "records/../x.yaml"]
)
def test_path_that_names_no_record_is_a_usage_error(project: Path, path: str) -> None:
    """Outside of the records, or not there."""
    put(project / "elsewhere.yaml")
    put(project / "x.yaml")
    with pytest.raises(UsageError, match="expected a record"):
        locate(project, project / path)


def test_readme_is_neither_record_nor_finding(project: Path) -> None:
    """It may stand in any folder."""
    put(project / "records/engines/README.md")
    assert locate(project, project / "records/engines/README.md") is None


def test_content_is_read_as_it_is(project: Path) -> None:
    """Up to the last byte of the limit."""
    path = project / "records/engines/sglang.yaml"
    path.write_bytes(b"\xff\x00" * (MAX_BYTES // 2))
    assert read(record(project, "records/engines/sglang.yaml")) == b"\xff\x00" * (MAX_BYTES // 2)


def test_large_file_is_not_read(project: Path) -> None:
    """A sparse file of a terabyte costs nothing."""
    path = project / "records/engines/sglang.yaml"
    os.truncate(path, 1 << 40)
    with pytest.raises(FileFault, match="expected at most") as fault:
        read(record(project, "records/engines/sglang.yaml"))
    assert fault.value.finding("x").name == "file-too-large"


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (make_symlink, FaultKind.SYMBOLIC_LINK),
        (os.mkfifo, FaultKind.SPECIAL_FILE),
        (Path.mkdir, FaultKind.SPECIAL_FILE),
        (make_nothing, FaultKind.UNREADABLE_FILE),
    ],
)
def test_file_that_changed_since_it_was_found_is_not_opened(
    project: Path, make: Callable[[Path], None], kind: FaultKind
) -> None:
    """It may be anything by now."""
    file = record(project, "records/engines/sglang.yaml")
    file.path.unlink()
    make(file.path)
    with pytest.raises(FileFault) as fault:
        read(file)
    assert fault.value.kind is kind


def test_link_that_appears_between_look_and_open_is_not_followed(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The open call refuses what the look before it could not see."""
    file = record(project, "records/engines/sglang.yaml")
    status = file.path.lstat()
    file.path.unlink()
    file.path.symlink_to("/etc/passwd")
    monkeypatch.setattr(Path, "lstat", lambda _: status)
    with pytest.raises(FileFault) as fault:
        read(file)
    assert fault.value.kind is FaultKind.SYMBOLIC_LINK


def test_pipe_that_appears_between_look_and_open_does_not_block(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is opened without waiting for a writer, and then refused."""
    file = record(project, "records/engines/sglang.yaml")
    status = file.path.lstat()
    file.path.unlink()
    os.mkfifo(file.path)
    monkeypatch.setattr(Path, "lstat", lambda _: status)
    with pytest.raises(FileFault) as fault:
        read(file)
    assert fault.value.kind is FaultKind.SPECIAL_FILE
