"""What the project promises about its own tooling: versions, extras, licences, tasks."""

import importlib.metadata
import json
import os
import re
import stat
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent

BLOCK_ALL_BUT = """
import sys

class Blocker:
    blocked = frozenset({blocked!r})

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.blocked:
            raise ModuleNotFoundError("blocked by the test: " + name, name=name)

sys.meta_path.insert(0, Blocker())
"""


@cache
def pyproject() -> dict[str, Any]:
    """Return pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


@cache
def constraints() -> dict[NormalizedName, Requirement]:
    """Return the pins of constraints.txt by package name."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(pin.name): pin for pin in pins}


def declared(*extras: str) -> list[Requirement]:
    """Return kbtool's own requirements: the core's and those of the extras."""
    project = pyproject()["project"]
    texts = project["dependencies"] + [
        text for extra in extras for text in project["optional-dependencies"][extra]
    ]
    return [Requirement(text) for text in texts]


def closure(requirements: list[Requirement]) -> set[NormalizedName]:
    """Return the packages that the requirements bring on this machine, directly or through others."""
    seen: set[tuple[NormalizedName, str]] = set()
    waiting = [(requirement, "") for requirement in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for wanted in {"", *requirement.extras} - {extra for known, extra in seen if known == name}:
            seen.add((name, wanted))
            waiting += [(Requirement(text), wanted) for text in importlib.metadata.requires(name) or []]
    return {name for name, _ in seen}


def project_files() -> list[Path]:
    """Return every file that git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    paths = [ROOT / name for name in listed.decode().split("\0") if name]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def commands_of(target: str) -> str:
    """Return what `make TARGET` would run."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", "--dry-run", "--no-print-directory", target],
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def run_with_core_only(
    program: str, *arguments: str, extras: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a Python program in which only kbtool's core dependencies, and those of some extras, can be imported."""
    core = closure(declared(*extras))
    blocked = {
        module
        for module, packages in importlib.metadata.packages_distributions().items()
        if not any(canonicalize_name(package) in core | {"kbtool"} for package in packages)
    }
    return subprocess.run(
        [sys.executable, "-c", BLOCK_ALL_BUT.format(blocked=sorted(blocked)) + program, *arguments],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )


def test_every_constraint_is_exact() -> None:
    """A constraint is one version: no range, no wildcard, no URL, no marker."""
    for pin in constraints().values():
        (specifier,) = pin.specifier
        assert specifier.operator == "==", pin
        assert str(Version(specifier.version)) == specifier.version, pin
        assert pin.url is None, pin
        assert pin.marker is None, pin


def test_constraints_are_sorted_and_named_once() -> None:
    """The file has one line a package, in order, so that an update is a small diff."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    names = [line.partition("==")[0] for line in text.splitlines() if not line.startswith("#")]
    assert names == sorted(set(names))
    assert names == [canonicalize_name(name) for name in names]


def test_everything_that_setup_installs_is_pinned_and_is_what_is_pinned() -> None:
    """Transitive packages are pinned too, and the virtualenv holds the pinned versions."""
    backend = [Requirement(text) for text in pyproject()["build-system"]["requires"]]
    for name in closure([*declared("site", "dev"), *backend, Requirement("pip")]):
        assert name in constraints(), f"{name} is not in constraints.txt"
        assert importlib.metadata.version(name) in constraints()[name].specifier, name


def test_each_pin_satisfies_what_pyproject_declares() -> None:
    """The ranges of pyproject.toml contain the versions of constraints.txt."""
    backend = [Requirement(text) for text in pyproject()["build-system"]["requires"]]
    for requirement in [*declared("site", "dev"), *backend]:
        (pin,) = constraints()[canonicalize_name(requirement.name)].specifier
        assert requirement.specifier.contains(pin.version, prereleases=True), requirement


def test_import_needs_neither_pydantic_nor_any_extra() -> None:
    """`import kbtool` loads no dependency at all: names are resolved on first use."""
    result = run_with_core_only(
        "import kbtool\n"
        "heavy = {'pydantic', 'yaml', 'typer', 'rich', 'rapidfuzz', 'jinja2', 'mkdocs'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_lint_runs_with_the_core_dependencies_alone() -> None:
    """`kbtool lint` on the project's own records needs no package of an extra."""
    result = run_with_core_only("from kbtool.cli import main\nsys.argv[0] = 'kbtool'\nmain()", "lint")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("verb", ["lint", "fmt", "new", "show", "find", "schema", "explain", "why"])
def test_help_of_core_verbs_runs_with_the_core_dependencies_alone(verb: str) -> None:
    """A verb that does not build the site does not import the site's packages to explain itself."""
    result = run_with_core_only("from kbtool.cli import main\nsys.argv[0] = 'kbtool'\nmain()", verb, "--help")
    assert result.returncode == 0, result.stdout + result.stderr


def test_build_without_the_site_extra_says_what_to_install() -> None:
    """`kbtool build` without its packages is a usage error that names the extra, not a traceback."""
    result = run_with_core_only("from kbtool.cli import main\nsys.argv[0] = 'kbtool'\nmain()", "build")
    assert result.returncode == 2, result.stdout + result.stderr
    assert 'pip install ".[site]"' in result.stderr
    assert "Traceback" not in result.stderr


def test_bench_without_the_runner_extra_says_what_to_install() -> None:
    """`kbtool bench` without its packages is a usage error that names the extra, not a traceback."""
    result = run_with_core_only(
        "from kbtool.cli import main\nsys.argv[0] = 'kbtool'\nmain()",
        "bench",
        "plan",
        "plans/concurrency.yaml",
    )
    assert result.returncode == 2, result.stdout + result.stderr
    assert "kbtool[runner]" in result.stderr
    assert "Traceback" not in result.stderr


def test_bench_runs_without_the_site_extra() -> None:
    """The runner stands alone: a box that measures needs no site."""
    program = "from kbtool.cli import main\nsys.argv[0] = 'kbtool'\nmain()"
    result = run_with_core_only(
        program, "bench", "plan", "plans/concurrency.yaml", "--no-ask", extras=("runner",)
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_file_names_a_folder_of_this_machine() -> None:
    """The project's own location is written into no file: it would be wrong everywhere else."""
    here = re.compile(rb"(?<![\w.:/-])" + re.escape(os.fsencode(ROOT)) + rb"(?![\w.-])")
    naming = [path for path in project_files() if here.search(path.read_bytes())]
    assert naming == []


def test_no_file_names_a_package_registry() -> None:
    """Neither the index that pip uses here nor a registry's download host is written into a file."""
    configured = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    hosts = {urlsplit(url).hostname or "" for url in re.findall(r"https?://[^\s'\"]+", configured)}
    public = {f"{name}.org" for name in ("files.python" + "hosted", "registry.npm" + "js", "py" + "pi")}
    hosts = (hosts | public) - {""}
    naming = [path for path in project_files() if any(host.encode() in path.read_bytes() for host in hosts)]
    assert naming == []


def test_ci_runs_make_check_and_nothing_else() -> None:
    """CI and a developer check the same things with the same command."""
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & stat.S_IXUSR
    lines = [line for line in script.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert lines == ["set -eu", 'cd "$(dirname "$0")/.."', "exec make check </dev/null"]


@pytest.mark.parametrize(
    "step",
    [
        "ruff format --check",
        "ruff check",
        "mypy",
        "lint-imports",
        "kbtool lint",
        "kbtool schema --check",
        "kbtool build",
    ],
)
def test_make_check_covers(step: str) -> None:
    """`make check` runs each of the checks."""
    assert step in commands_of("check")


def test_make_check_includes_what_make_test_runs() -> None:
    """Every command of `make test` is one of `make check`, unchanged."""
    assert set(commands_of("test").splitlines()) <= set(commands_of("check").splitlines())


def test_make_lists_every_task() -> None:
    """`make` without arguments explains each task that the Makefile has."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    listed = re.findall(
        r"^  make (\S+) +\S",
        subprocess.run(
            ["make", "--no-print-directory"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
        ).stdout,
        re.MULTILINE,
    )
    assert listed == re.findall(r"^\.PHONY: (\S+)$", makefile, re.MULTILINE)


def test_each_lint_that_is_off_has_its_reason() -> None:
    """A rule is switched off with the reason beside it."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text[text.index("[tool.ruff.lint]") : text.index("[tool.ruff.lint.isort]")]
    without_reason = re.findall(r'^    "[A-Z]+\d*",(?!\s+# \S).*$', section, re.MULTILINE)
    assert without_reason == []


def test_licences_are_said_where_they_apply() -> None:
    """Code is Apache-2.0 at the root and in the metadata; records carry the text of CC BY 4.0."""
    assert "Apache License\n" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    records = (ROOT / "records" / "LICENSE").read_text(encoding="utf-8")
    assert records.startswith("Creative Commons Attribution 4.0 International\n")
    assert "Section 8" in records
    assert pyproject()["project"]["license"] == "Apache-2.0"


def test_editors_find_the_schema_of_every_kind() -> None:
    """Each schema is mapped to the folder of its kind, and each mapping has its schema."""
    settings = json.loads((ROOT / ".vscode" / "settings.json").read_text(encoding="utf-8"))
    mapped = {
        Path(schema).name.removesuffix(".schema.json"): pattern
        for schema, pattern in settings["yaml.schemas"].items()
    }
    assert set(mapped) == {
        path.name.removesuffix(".schema.json") for path in (ROOT / "schema").glob("*.schema.json")
    }
    for kind, pattern in mapped.items():
        folder = kind if kind == "withdrawn" else f"{kind}s"
        assert pattern == ("plans/*.yaml" if kind == "plan" else f"records/{folder}/**/*.yaml")


def test_pre_commit_hooks_use_the_pinned_tools() -> None:
    """A hook runs what `make setup` installed, so that there is one version of each tool."""
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    assert all(repository["repo"] == "local" for repository in config["repos"])
    assert all(hook["entry"].startswith(".venv/bin/") for hook in hooks)
