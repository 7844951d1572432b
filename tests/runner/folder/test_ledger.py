"""Lines of the ledger: made, chained, and believed only when whole."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from kbtool.runner.folder import DamagedError, Entry, RoundDone, Stamp, Warned
from kbtool.runner.folder.ledger import GENESIS, MAX_LINE_BYTES, encode_line, scan
from tests.runner.folder.scenario import carry_out, create, options


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the ledger of a whole run."""
    root = tmp_path_factory.mktemp("ledger") / "run"
    with create(root, options()) as folder:
        carry_out(folder)
    return (root / "ledger.jsonl").read_bytes()


def _write(path: Path, entries: list[Entry]) -> bytes:
    data, prev = b"", GENESIS
    for number, entry in enumerate(entries, 1):
        line, prev = encode_line(entry, seq=number, prev=prev, stamp=Stamp(1, 2, 3))
        data += line
    path.write_bytes(data)
    return data


def test_scan_believes_whole_lines_alone_wherever_the_ledger_is_cut(ledger: bytes) -> None:
    """Cut at each of its bytes, a ledger yields the lines that are whole before the cut, and no other."""
    lines = scan(ledger).lines
    ends = [position + 1 for position, byte in enumerate(ledger) if byte == ord("\n")]
    assert len(lines) == len(ends) > 10
    for cut in range(len(ledger) + 1):
        found = scan(ledger[:cut])
        n_whole = sum(end <= cut for end in ends)
        assert found.lines == lines[:n_whole]
        assert found.good_bytes + len(found.tail) == cut
        assert found.n_intact_after == 0


def test_scan_sees_a_flipped_bit_in_every_byte(ledger: bytes) -> None:
    """Whichever bit flips, nothing of its line or of a later one is believed, and the prefix is untouched."""
    rng = random.Random(5)
    lines = scan(ledger).lines
    starts = [0, *(position + 1 for position, byte in enumerate(ledger) if byte == ord("\n"))]
    for position in range(len(ledger)):
        flipped = bytearray(ledger)
        flipped[position] ^= 1 << rng.randrange(8)
        found = scan(bytes(flipped))
        hit = sum(start <= position for start in starts) - 1
        assert found.lines == lines[:hit]
        # Two lines become one where the newline between them is hit, so the last two say nothing more.
        assert found.n_intact_after > 0 or hit >= len(lines) - 2


def test_scan_sees_a_change_that_means_the_same_in_json(tmp_path: Path) -> None:
    """Hashes are over raw bytes: another escape of the same character is a change."""
    data = _write(tmp_path / "x", [Warned("drift", "\u00e9")])
    assert b"\\u00e9" in data
    assert scan(data.replace(b"\\u00e9", b"\\u00E9")).lines == ()


def test_scan_sees_lines_left_out_moved_or_repeated(ledger: bytes) -> None:
    """The chain breaks where a line is missing, out of place, or there twice; that is damage, not a torn write."""
    lines = ledger.splitlines(keepends=True)
    for changed in (
        [*lines[:3], *lines[4:]],
        [*lines[:3], lines[4], lines[3], *lines[5:]],
        [*lines[:4], lines[3], *lines[4:]],
    ):
        found = scan(b"".join(changed))
        assert len(found.lines) in {3, 4}
        assert found.n_intact_after > 0


@pytest.mark.parametrize(
    "tail", [b"\0" * 4096, b"\n\n", b"{}\n", b'{"sha256":"', b"\xff" * 100, b"[" * 5000 + b"\n"]
)
def test_scan_survives_any_tail(ledger: bytes, tail: bytes) -> None:
    """What a disk may leave after the last line is a tail, and changes nothing before it."""
    found = scan(ledger + tail)
    assert (found.lines, found.tail) == (scan(ledger).lines, tail)


def test_scan_sees_a_line_of_another_ledger(tmp_path: Path) -> None:
    """A line that is whole, and has the right number, belongs only where its predecessor is the one it names."""
    one = _write(tmp_path / "one", [Warned("drift", "a"), Warned("drift", "b")])
    two = _write(tmp_path / "two", [Warned("drift", "c"), Warned("drift", "d")])
    found = scan(one.splitlines(keepends=True)[0] + two.splitlines(keepends=True)[1])
    assert (len(found.lines), found.n_intact_after) == (1, 1)


def test_scan_sees_a_number_that_is_passed_over(tmp_path: Path) -> None:
    """Ordinals have no gaps, even where someone has made the chain fit."""
    first = _write(tmp_path / "x", [Warned("drift", "a")])
    prev = scan(first).lines[0].sha256
    third, _ = encode_line(Warned("drift", "c"), seq=3, prev=prev, stamp=Stamp(1, 2, 3))
    assert len(scan(first + third).lines) == 1


def test_encode_line_refuses_what_json_has_not() -> None:
    """NaN, infinities, other objects and over-long entries are refused before anything is written."""
    for detail in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="JSON"):
            encode_line(_Odd({"x": detail}), seq=1, prev=GENESIS, stamp=Stamp(1, 2, 3))
    with pytest.raises(TypeError, match="Path"):
        encode_line(_Odd({"x": Path()}), seq=1, prev=GENESIS, stamp=Stamp(1, 2, 3))
    with pytest.raises(ValueError, match="a file of its own"):
        encode_line(Warned("x", "y" * MAX_LINE_BYTES), seq=1, prev=GENESIS, stamp=Stamp(1, 2, 3))


def test_line_reads_kinds_that_others_have_added(tmp_path: Path) -> None:
    """A kind of entry needs a class and nothing else; hostile text comes back exactly."""
    entry = _Odd({"a": [1, None, "\u2028\0"], "b": {"c": 1.5}})
    (line,) = scan(_write(tmp_path / "x", [entry])).lines
    assert line.read(_Odd) == entry
    assert line.stamp == Stamp(1, 2, 3)


def test_lone_surrogates_become_visible_escapes(tmp_path: Path) -> None:
    """What a hostile server can say, and UTF-8 cannot, does not make the ledger unreadable."""
    (line,) = scan(_write(tmp_path / "x", [Warned("drift", "a\ud800")])).lines
    assert line.read(Warned).detail == "a\\ud800"


def test_line_refuses_another_kind_and_other_fields(tmp_path: Path) -> None:
    """An entry is read as what it is: strictly, and with the place in the message."""
    (line,) = scan(_write(tmp_path / "x", [Warned("drift", "slower")])).lines
    with pytest.raises(DamagedError, match="ledger line 1 is a 'warning' entry"):
        line.read(RoundDone)
    with pytest.raises(DamagedError, match=r"ledger line 1 \(warning\): code: .*valid integer"):
        line.read(_OtherWarned)


@dataclass(frozen=True, slots=True)
class _Odd(Entry):
    """A kind of entry that the package does not know."""

    kind: ClassVar[str] = "odd"

    facts: dict[str, object]


@dataclass(frozen=True, slots=True)
class _OtherWarned(Entry):
    """A kind of entry whose fields another version changed."""

    kind: ClassVar[str] = "warning"

    code: int
    detail: str
    cell: str | None
