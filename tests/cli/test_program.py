"""The program as a whole: its verbs, its help and its exit codes."""

import sys

import pytest

from kbtool.cli import main
from kbtool.cli.app import app
from kbtool.errors import ExitCode
from tests.cli.conftest import Run

VERBS = [
    "lint",
    "fmt",
    "explain",
    "why",
    "show",
    "find",
    "compare",
    "query",
    "stats",
    "new",
    "import",
    "schema",
    "build",
    "serve",
]


def test_verbs_are_those_of_the_readme() -> None:
    """The program has these verbs and no others."""
    assert [command.name for command in app.registered_commands] == VERBS


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_for_every_option(kbtool: Run, verb: str) -> None:
    """The help of a verb explains what it does and each of its options."""
    done = kbtool(verb, "--help")
    assert done.code == 0
    command = next(each for each in app.registered_commands if each.name == verb)
    assert command.callback is not None
    assert (command.callback.__doc__ or "").splitlines()[0].split()[0] in done.out


def test_a_bug_is_reported_as_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An exception that nobody expected ends with exit code 3 and its traceback."""
    monkeypatch.setattr("kbtool.vocab.METRICS", None)
    monkeypatch.setattr(sys, "argv", ["kbtool", "explain", "tpot_ms"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == ExitCode.BUG
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_is_exit_130(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends with the exit code that shells give an interrupted program."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kbtool.lint.pages.rule_pages", interrupted)
    monkeypatch.setattr(sys, "argv", ["kbtool", "explain", "T001"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == ExitCode.INTERRUPTED
