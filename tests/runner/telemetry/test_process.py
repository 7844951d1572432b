"""The sampler as a process: started, killed, silent, ended, and alone."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kbtool.runner.telemetry import Event, Kind, SamplerProcess, TelemetrySample, read_stream, sampler_command
from kbtool.runner.telemetry.process import sampler_environment
from tests.fakes.nvml import FakeClock, seconds

PATIENCE_S = 30
FAKE = """
import sys
from pathlib import Path
from kbtool.runner.telemetry.__main__ import run
from tests.fakes.nvml import FakeBackend, FakeKernelLog, FakeClock, load_card

class Cards(FakeBackend):
    def sample(self, card):
        {trouble}
        return super().sample(card)

clock = FakeClock()
cards = Cards(clock, [load_card("rtx-pro-6000-blackwell-server")])
code = run(Path(sys.argv[1]), cards, FakeKernelLog(clock), interval_ns=10_000_000)
import os
os._exit(code)
"""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., SamplerProcess]]:
    """Return a function that starts a sampler; end all of them afterwards."""
    made: list[SamplerProcess] = []

    def start(*command: str, restarts: int = 2) -> SamplerProcess:
        file = tmp_path / "telemetry.jsonl"
        sampler = SamplerProcess(
            command or sampler_command(file, interval_ms=20, with_cards=False),
            file,
            tmp_path / "sampler.log",
            restarts=restarts,
        )
        made.append(sampler)
        sampler.start()
        return sampler

    yield start
    for sampler in made:
        sampler.stop()


def fake(tmp_path: Path, trouble: str = "pass") -> tuple[str, ...]:
    """Return the command of a sampler with a scripted card, in which every sample runs `trouble` first."""
    return (sys.executable, "-c", FAKE.format(trouble=trouble), str(tmp_path / "telemetry.jsonl"))


def poll_until(
    sampler: SamplerProcess, wanted: Callable[[list[TelemetrySample]], bool]
) -> list[TelemetrySample]:
    """Read until the rows are as wanted; fail after a time that no machine needs."""
    rows: list[TelemetrySample] = []
    timer = select.poll()
    for _ in range(PATIENCE_S * 100):
        rows += sampler.poll()
        if wanted(rows):
            return rows
        timer.poll(10)
    pytest.fail(f"not seen in {PATIENCE_S} s; the last rows are {rows[-5:]}")


def has(kind: Kind, count: int = 1) -> Callable[[list[TelemetrySample]], bool]:
    """Return whether there are that many rows of a kind."""
    return lambda rows: sum(row.kind == kind for row in rows) >= count


def said(event: Event) -> Callable[[list[TelemetrySample]], bool]:
    """Return whether there is such an event."""
    return lambda rows: any(row.event == event for row in rows)


def test_a_sampler_writes_host_rows_and_beats_and_ends_when_asked(
    started: Callable[..., SamplerProcess],
) -> None:
    """The last row says that it was asked to end, and the stream reads the same again."""
    sampler = started()
    rows = poll_until(sampler, has(Kind.HOST))
    assert sampler.ready
    host = next(row for row in rows if row.kind == Kind.HOST)
    assert host.host_total_ns
    assert host.runner_memory_bytes
    rows += sampler.stop()
    assert (rows[0].event, rows[-1].event) == (Event.STARTED, Event.STOPPED)
    assert read_stream(sampler.file) == rows
    assert sampler.errors.read_text() == ""


def test_a_host_without_a_driver_is_sampled_all_the_same(
    started: Callable[..., SamplerProcess], tmp_path: Path
) -> None:
    """The real driver or its absence: the stream has beats, and cards or the reason for none."""
    sampler = started(*sampler_command(tmp_path / "telemetry.jsonl", interval_ms=20))
    rows = poll_until(
        sampler, lambda rows: has(Kind.BEAT)(rows) and (has(Kind.CARD)(rows) or said(Event.NO_CARDS)(rows))
    )
    assert not any(row.event == Event.DIED for row in rows)


def test_a_killed_sampler_is_an_event_and_is_started_again(
    started: Callable[..., SamplerProcess], tmp_path: Path
) -> None:
    """Nothing that it wrote is lost, and sampling goes on in the same stream."""
    sampler = started(*fake(tmp_path))
    before = poll_until(sampler, has(Kind.CARD, 3))
    first = sampler.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    after = poll_until(sampler, said(Event.STARTED))
    died = [row for row in after if row.event == Event.DIED]
    assert [row.detail for row in died] == ["signal SIGKILL; started again, 1 restarts left"]
    assert sampler.pid != first
    after += poll_until(sampler, has(Kind.CARD))
    after += sampler.stop()
    written = [row for row in read_stream(sampler.file) if row.event != Event.TORN_LINE]
    assert [row for row in before + after if row not in died and row.event != Event.TORN_LINE] == written


def test_a_sampler_that_crashes_in_the_driver_ends_with_its_cards(
    started: Callable[..., SamplerProcess], tmp_path: Path
) -> None:
    """A segmentation fault on every start: as many restarts as allowed, then an end, and no exception here."""
    sampler = started(*fake(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"), restarts=1)
    rows = poll_until(sampler, lambda rows: sum(row.event == Event.DIED for row in rows) == 2)
    details = [row.detail for row in rows if row.event == Event.DIED]
    assert details == ["signal SIGSEGV; started again, 0 restarts left", "signal SIGSEGV; not started again"]
    assert sampler.poll() == []


def test_a_fault_of_the_card_thread_ends_the_process(
    started: Callable[..., SamplerProcess], tmp_path: Path
) -> None:
    """A thread that died unseen would leave a sampler that beats and samples nothing."""
    sampler = started(*fake(tmp_path, "raise KeyError('ours')"), restarts=0)
    rows = poll_until(sampler, said(Event.DIED))
    assert [row.detail for row in rows if row.event == Event.DIED] == ["exit code 1; not started again"]
    assert "KeyError: 'ours'" in sampler.errors.read_text()


def test_a_driver_that_hangs_holds_up_neither_the_host_nor_the_end(
    started: Callable[..., SamplerProcess], tmp_path: Path
) -> None:
    """Host rows go on while a reading hangs, and the process ends although its thread never returns."""
    sampler = started(*fake(tmp_path, "import threading; threading.Event().wait()"))
    rows = poll_until(sampler, said(Event.HANG))
    assert not any(row.kind == Kind.CARD for row in rows)
    assert sum(row.kind == Kind.HOST for row in rows) >= 2
    rows = sampler.stop()
    assert rows[-1].event == Event.STOPPED


def test_a_sampler_never_outlives_its_runner(tmp_path: Path) -> None:
    """The runner is killed without a chance to say anything; its sampler reads the end of the pipe."""
    file = tmp_path / "telemetry.jsonl"
    program = (
        "import sys, threading\n"
        "from pathlib import Path\n"
        "from kbtool.runner.telemetry import SamplerProcess, sampler_command\n"
        "file = Path(sys.argv[1])\n"
        "sampler = SamplerProcess(sampler_command(file, interval_ms=20, with_cards=False), file, file.with_suffix('.log'))\n"
        "sampler.start()\n"
        "while not sampler.ready:\n"
        "    sampler.poll()\n"
        "    threading.Event().wait(0.01)\n"
        "print(sampler.pid, flush=True)\n"
        "threading.Event().wait()\n"
    )
    runner = subprocess.Popen([sys.executable, "-c", program, str(file)], stdout=subprocess.PIPE)
    assert runner.stdout is not None
    pid = int(runner.stdout.readline())
    handle = os.pidfd_open(pid)
    runner.kill()
    runner.wait()
    runner.stdout.close()
    try:
        ended, _, _ = select.select([handle], [], [], PATIENCE_S)
        assert ended, "the sampler still runs"
    finally:
        os.close(handle)
    assert read_stream(file)[-1].event == Event.STOPPED


def test_a_sampler_that_stops_beating_is_silent_until_it_beats_again(tmp_path: Path) -> None:
    """On a fake clock: one event after five seconds without a beat, and one when it is back."""
    clock = FakeClock()
    file = tmp_path / "telemetry.jsonl"
    sampler = SamplerProcess((sys.executable, "-c", "input()"), file, tmp_path / "log", clock=clock)
    sampler.start()
    try:
        events = []
        for second in (1, 4, 6, 20):
            clock.now_ns = seconds(second)
            events += [(row.event, row.t_ns) for row in sampler.poll()]
        assert events == [(Event.SILENT, seconds(6))]
        file.write_text('["beat",20000000000,null]\n')
        assert [row.event for row in sampler.poll()] == [None, Event.SPOKE]
    finally:
        sampler.stop()


def test_a_sampler_that_does_not_end_is_killed(tmp_path: Path) -> None:
    """It ignores the end of its input: killed, reaped, and said."""
    command = (sys.executable, "-c", "import threading; threading.Event().wait()")
    sampler = SamplerProcess(command, tmp_path / "telemetry.jsonl", tmp_path / "log")
    sampler.start()
    assert sampler.pid is not None
    rows = sampler.stop(patience_s=0.05)
    assert [row.detail for row in rows] == ["did not end when asked and was killed"]
    assert not Path(f"/proc/{sampler.pid}").exists()


def test_secrets_of_the_runner_do_not_reach_the_sampler() -> None:
    """Only what a program needs to start is passed on."""
    given = {"PATH": "/bin", "OPENAI_API_KEY": "sk-1", "HF_TOKEN": "hf_1", "LD_LIBRARY_PATH": "/lib"}
    assert sampler_environment(given) == {"PATH": "/bin", "LD_LIBRARY_PATH": "/lib"}


def test_the_command_names_cards_and_runner(tmp_path: Path) -> None:
    """A list of arguments, never a shell's."""
    command = sampler_command(tmp_path / "t", interval_ms=50, cards=(4, 5))
    assert command[-4:] == ("--runner-pid", str(os.getpid()), "--cards", "4,5")
    assert "--no-cards" in sampler_command(tmp_path / "t", with_cards=False)
