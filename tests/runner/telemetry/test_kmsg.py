"""Xid lines in the kernel log."""

import os
from pathlib import Path

import pytest

from kbtool.runner.telemetry.backend import Missing, Reason
from kbtool.runner.telemetry.kmsg import KmsgReader, XidLine, parse_xid

LINES = {
    "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.": (79, "0000:01:00.0"),
    "NVRM: Xid (PCI:0008:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)": (
        154,
        "0008:01:00.0",
    ),
    "NVRM: Xid (PCI:0000:C1:00): 62, 32702bf5 0000a96c 00000000": (62, "0000:c1:00.0"),
    "NVRM: Xid (PCI:0000:41:00): 13, pid='<unknown>', name=<unknown>, Graphics Exception": (
        13,
        "0000:41:00.0",
    ),
    "NVRM: Xid (PCI:0000:41:00): 43": (43, "0000:41:00.0"),
    "NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.": (79, "0000:01:00.0"),
}


@pytest.mark.parametrize("line", LINES)
def test_the_number_and_the_address_of_an_error_are_read(line: str) -> None:
    """Number and PCI address, whatever words follow; falling off the bus is 79 without a number too."""
    found = parse_xid(line)
    assert found is not None
    assert (found.xid, found.pci) == LINES[line]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "usb 1-1: new device",
        "NVRM: Xid : 32, pid=2280636",
        "NVRM: Xid (PCI:0000:66:00): abc, pid=1",
        "NVRM: loading NVIDIA UNIX Open Kernel Module",
        "NVRM: Xid (PCI:" + "0" * 5000 + "): 79, x",
    ],
)
def test_other_lines_are_no_errors(line: str) -> None:
    """Broken and unrelated lines give nothing."""
    assert parse_xid(line) is None


def test_the_words_of_an_error_are_short_and_printable() -> None:
    """A line may hold anything, a terminal's escapes among it."""
    found = parse_xid("NVRM: Xid (PCI:0000:01:00): 31, \x1b[31m" + "x" * 1000 + "\u202e")
    assert found is not None
    assert found.detail.startswith("?[31m")
    assert len(found.detail) == 160


def test_reading_begins_at_the_end_of_the_log(tmp_path: Path) -> None:
    """What was logged before the run belongs to no cell; what comes later is told once."""
    device = tmp_path / "kmsg"
    device.write_text("4,1,100,-;NVRM: Xid (PCI:0000:01:00): 13, old\n")
    reader = KmsgReader(device)
    assert reader.open() is None
    assert reader.read() == ()
    with device.open("a") as file:
        file.write("4,2,200,-;NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.\n SUBSYSTEM=pci\n")
    assert reader.read() == (XidLine(79, "0000:01:00.0", "GPU has fallen off the bus."),)
    assert reader.read() == ()
    reader.close()


def test_a_log_that_is_overwritten_is_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel says EPIPE once when records were lost, and EAGAIN when there is nothing more."""
    device = tmp_path / "kmsg"
    device.touch()
    answers: list[bytes | OSError] = [
        BrokenPipeError(),
        b"4,9,900,-;NVRM: Xid (PCI:0000:01:00): 119, Timeout",
        BlockingIOError(),
    ]

    def read(_: int, __: int) -> bytes:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    reader = KmsgReader(device)
    assert reader.open() is None
    monkeypatch.setattr("kbtool.runner.telemetry.kmsg.os.read", read)
    assert reader.read() == (XidLine(119, "0000:01:00.0", "Timeout"),)
    reader.close()


def test_a_log_that_is_not_there_or_may_not_be_read_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both say which file, and a refusal says what would help."""
    absent = KmsgReader(tmp_path / "none").open()
    assert absent is not None
    assert absent.reason is Reason.NOT_SUPPORTED

    def refuse(*_: object) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "open", refuse)
    refused = KmsgReader().open()
    assert refused is not None
    assert refused.reason is Reason.NO_PERMISSION
    assert "CAP_SYSLOG" in refused.detail


def test_a_log_that_was_never_opened_has_nothing_to_read() -> None:
    """Reading without opening is a reason and no crash."""
    found = KmsgReader().read()
    assert isinstance(found, Missing)
