"""Commands of sweeps, and what can be said of a router from counters."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from kbtool.runner.engines.base import Counters, EngineAdapter, Observed, Trust
from kbtool.runner.target.commands import SweepCommands, filled, unrestored
from kbtool.runner.target.errors import StartError
from kbtool.runner.target.instances import Launched
from kbtool.runner.target.leg import LegSettings
from kbtool.runner.target.ready import ready
from kbtool.runner.target.secrets import HIDDEN, Secrets
from kbtool.runner.target.start import start
from kbtool.runner.target.topology import TurnSeen, affinity, split
from tests.runner.target.launching import ROOT, SOON, environment, free_port, instance, one_token, plan

KEY: Final = "sesame-open-4711"


def writes(path: Path, value: str) -> tuple[str, ...]:
    """Return a command that appends a value to a file and says it."""
    code = "import sys; open(sys.argv[1], 'a').write(sys.argv[2] + ' '); print('set', sys.argv[2:])"
    return (sys.executable, "-S", "-c", code, str(path), value)


def commands(folder: Path, limit_s: float = 30) -> SweepCommands:
    """Return commands that log into a folder."""
    return SweepCommands(folder, Secrets.of({"KEY": KEY}), environment(), limit_s)


def test_only_the_value_is_replaced() -> None:
    """`{value}` is replaced wherever it stands, and no other braces are."""
    assert filled(("nvidia-smi", "-pl", "{value}", "{port} {x}"), 450) == (
        "nvidia-smi",
        "-pl",
        "450",
        "{port} {x}",
    )
    assert filled(("a{value}",), "; touch PWNED") == ("a; touch PWNED",)
    assert filled(("{value}",), True) == ("true",)


def test_settings_are_put_back_in_reverse(tmp_path: Path) -> None:
    """Each restoring command runs once, the last change first, and nothing is owed afterwards."""
    file = tmp_path / "state"
    with commands(tmp_path) as sweep:
        sweep.apply(writes(file, "power-300"), writes(file, "power-600"))
        sweep.apply(writes(file, "clock-1000"), writes(file, "clock-0"))
        sweep.apply(writes(file, "power-400"), writes(file, "power-600"))
        assert len(unrestored(tmp_path)) == 2
    assert file.read_text() == "power-300 clock-1000 power-400 clock-0 power-600 "
    assert unrestored(tmp_path) == ()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_settings_are_put_back_after_any_error(tmp_path: Path, error: type[BaseException]) -> None:
    """An interrupt or error in the middle does not leave the box changed."""
    file = tmp_path / "state"

    def interrupted() -> None:
        with commands(tmp_path) as sweep:
            sweep.apply(writes(file, "300"), writes(file, "600"))
            raise error

    with pytest.raises(error):
        interrupted()
    assert file.read_text() == "300 600 "


def test_command_that_fails_is_put_back_and_named(tmp_path: Path) -> None:
    """A failing command is an error with what it said, without secrets, and the setting is put back all the same."""
    file = tmp_path / "state"
    broken = (sys.executable, "-S", "-c", f"import sys; print('no {KEY}'); sys.exit(4)")
    with pytest.raises(StartError, match=r"exit code 4.*\[secret\]"), commands(tmp_path) as sweep:
        sweep.apply(broken, writes(file, "600"))
    assert file.read_text() == "600 "
    log = (tmp_path / "commands.log").read_text()
    assert KEY not in log
    assert HIDDEN in log


def test_restoring_command_that_fails_stays_owed(tmp_path: Path) -> None:
    """What could not be put back is said, the rest is put back, and the next run knows of it."""
    file = tmp_path / "state"
    broken = (sys.executable, "-S", "-c", "raise SystemExit(1)")
    sweep = commands(tmp_path)
    sweep.apply(writes(file, "1"), writes(file, "0"))
    sweep.apply(writes(file, "2"), broken)
    with pytest.raises(StartError, match="could not be put back"):
        sweep.restore()
    assert file.read_text() == "1 2 0 "
    assert unrestored(tmp_path) == (broken,)


def test_command_that_hangs_is_ended(tmp_path: Path) -> None:
    """A command has a deadline, and is killed with its group."""
    hangs = (sys.executable, "-S", "-c", "import signal; signal.pause()")
    with pytest.raises(StartError, match="has not ended within"):
        commands(tmp_path, 0.2).apply(hangs, ())
    (tmp_path / "restore.json").unlink()


RUNNER: Final = """
import json, os, signal, sys
from pathlib import Path
from kbtool.runner.target.commands import SweepCommands
from kbtool.runner.target.secrets import Secrets
set_it, put_back = (tuple(each) for each in json.loads(sys.argv[1]))
with SweepCommands(Path(sys.argv[2]), Secrets(), dict(os.environ)) as sweep:
    sweep.apply(set_it, put_back)
    print("set", flush=True)
    signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_run_puts_back_or_leaves_word(tmp_path: Path, number: signal.Signals) -> None:
    """F19: after Ctrl-C the setting is back; after kill -9 the next run is told what is owed."""
    file = tmp_path / "state"
    text = json.dumps([writes(file, "300"), writes(file, "600")])
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, text, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as runner:
        assert runner.stdout is not None
        assert runner.stdout.readline() == b"set\n"
        runner.send_signal(number)
        runner.wait()
    if number is signal.SIGINT:
        assert file.read_text() == "300 600 "
        return
    assert unrestored(tmp_path) == (writes(file, "600"),)
    with commands(tmp_path):
        pass
    assert file.read_text() == "300 600 "


def counters(requests: int | None, tokens: int | None = None) -> Counters:
    """Return a reading."""
    return Counters(t_ns=0, requests_finished=requests, generation_tok=tokens)


def test_split_is_the_share_of_each_instance() -> None:
    """Shares come from differences of counters; 12 to 0 is as uneven as can be."""
    before, after = {"a": counters(100), "b": counters(7)}, {"a": counters(112), "b": counters(7)}
    found = split(before, after)
    assert (found.counted, found.total) == ("requests_finished", 12)
    assert found.shares_ratio == {"a": 1.0, "b": 0.0}
    assert found.unevenness_ratio == 2.0
    even = split({"a": counters(0), "b": counters(0)}, {"a": counters(5), "b": counters(5)})
    assert even.unevenness_ratio == 1.0


def test_split_counts_tokens_where_requests_are_not_counted() -> None:
    """One way of counting is used for all instances."""
    before = {"a": counters(None, 10), "b": counters(0, 10)}
    after = {"a": counters(None, 40), "b": counters(9, 20)}
    assert split(before, after).shares_ratio == {"a": 0.75, "b": 0.25}


@pytest.mark.parametrize("after", [{"a": counters(3), "b": counters(9)}, {"a": counters(9), "b": None}, {}])
def test_split_that_is_not_known_is_none(after: dict[str, Counters | None]) -> None:
    """A counter that went back, is absent or counts nothing gives no share, never 0."""
    found = split({"a": counters(5), "b": counters(5)}, after)
    assert found.shares_ratio is None
    assert found.unevenness_ratio is None


def test_affinity_is_what_later_turns_find_cached() -> None:
    """A session that came back finds its last prompt; one that was moved does not; silence says nothing."""
    seen = affinity(
        [
            TurnSeen("kept", 1, 1000, 0),
            TurnSeen("kept", 2, 1500, 992),
            TurnSeen("kept", 3, 2000, 1488),
            TurnSeen("moved", 1, 1000, 0),
            TurnSeen("moved", 2, 1500, 128),
            TurnSeen("silent", 1, 1000, None),
            TurnSeen("silent", 2, 1500, None),
            TurnSeen("late", 5, 1500, 1400),
        ]
    )
    assert (seen.turns, seen.kept, seen.unreported) == (3, 2, 1)
    assert seen.kept_ratio == 2 / 3
    assert affinity([TurnSeen("one", 1, 10, 0)]).kept_ratio is None


class Adapter:
    """Reads one argument, as adapters of engines do."""

    kind = "openai"

    def from_command_line(
        self, arguments: tuple[str, ...], environment: dict[str, str]
    ) -> tuple[Observed, ...]:
        """Return the chunk size, and a variable."""
        found = []
        for name, field in (
            ("--chunked-prefill-size", "serving.chunked_prefill_size_tok"),
            ("--api-key", "key"),
        ):
            if name in arguments:
                value = arguments[arguments.index(name) + 1]
                found.append(Observed(field, value, value, Trust.PLAN, ""))
        found += [
            Observed(f"engine.environment.{name}", value, value, Trust.PLAN, "")
            for name, value in environment.items()
            if name in {"LEVEL", "MY_SECRET_NAME"}
        ]
        return tuple(found)


def test_settings_are_read_from_the_process_that_serves(tmp_path: Path) -> None:
    """A launcher that changes an argument is seen through: the process is trusted over the plan; secrets are not there."""
    launcher = tmp_path / "launcher"
    launcher.write_text(
        '#!/bin/sh\nexport LEVEL=overridden\n"$@" --chunked-prefill-size 1024 &\nwait\n', encoding="utf-8"
    )
    launcher.chmod(0o755)
    planned = instance(free_port(), environment={"LEVEL": "seven"}, env_from=["MY_SECRET_NAME"])
    leg = LegSettings(extra=("--api-key", KEY))  # a plan may not hold it
    planned["arguments"] = [str(launcher), *planned["arguments"]]
    own = environment(MY_SECRET_NAME=f"t-{KEY}")
    adapter: EngineAdapter = Adapter()  # type: ignore[assignment]
    with start(plan(planned), leg, run_id="r", log_dir=tmp_path / "run", own=own) as running:
        ready(running, SOON, one_token)
        found = {(each.field, each.trust): each.value for each in running.observed(adapter)}
        assert isinstance(running.parts[0], Launched)
        serving = running.parts[0].holders[0]
        assert serving != running.parts[0].kept.id
    assert found["serving.chunked_prefill_size_tok", Trust.PROCESS] == "1024"
    assert found["engine.environment.LEVEL", Trust.PROCESS] == "overridden"
    assert found["engine.environment.LEVEL", Trust.PLAN] == "seven"
    assert found["key", Trust.PROCESS] == HIDDEN
    assert found["key", Trust.PLAN] == HIDDEN
    assert not [field for field, _ in found if "MY_SECRET_NAME" in field]
