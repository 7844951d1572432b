"""The client against the truth server: real sockets, a separate process, every token accounted for."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kbtool.errors import RecordError
from kbtool.runner.calibrate import Calibration, calibrate, read_calibration, write_calibration
from kbtool.runner.calibrate.checks import CASES, Case, run_check
from kbtool.runner.truth import TruthServer


@pytest.fixture(scope="module")
def server() -> Iterator[TruthServer]:
    """Start one truth server for all cases."""
    with TruthServer() as running:
        yield running


@pytest.fixture(scope="module")
def small() -> Calibration:
    """Calibrate at two small levels."""
    return calibrate((1, 4), checks=False, requests=2)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_hostile_stream_is_read_as_it_is(server: TruthServer, case: Case) -> None:
    """What common clients get wrong, ours gets right."""
    check = run_check(case, server, streams=4)
    assert check.passed, f"expected {check.expected}, found {check.found}"


def test_a_calibration_counts_every_token(small: Calibration) -> None:
    """No request fails and no count differs; kernel stamps were used."""
    assert [level.streams for level in small.levels] == [1, 4]
    assert small.passed
    for level in small.levels:
        assert level.clock == "kernel"
        assert level.requests == level.streams * 2
    assert small.host.cores >= 1


def test_a_calibration_is_kept_in_a_file(small: Calibration, tmp_path: Path) -> None:
    """Written and read it is the same, and nothing else is left in the folder."""
    path = tmp_path / "calibration.json"
    write_calibration(small, path)
    assert read_calibration(path) == small
    assert list(tmp_path.iterdir()) == [path]


def test_the_error_to_quote_is_that_of_the_next_larger_level(small: Calibration) -> None:
    """Or of the largest there is."""
    assert [small.nearest(n).streams for n in (1, 2, 99)] == [1, 4, 4]  # type: ignore[union-attr]  # there are levels
    assert replace(small, levels=()).nearest(1) is None


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "levels": 5}', '{"version": 1}']
)
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    """With what to do."""
    path = tmp_path / "calibration.json"
    path.write_text(content)
    with pytest.raises(RecordError, match="run the calibration again"):
        read_calibration(path)
