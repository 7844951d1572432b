"""Scripts of answers: what they may say."""

import pytest

from kbtool.runner.truth.spec import Spec, SpecError, read_spec


def test_members_replace_those_of_the_default() -> None:
    """What is not given stays."""
    default = Spec(tokens=8, step_ms=5)
    assert read_spec(None, default) is default
    found = read_spec({"id": "r", "tokens": 9, "pattern": [1, 3], "cached": 4}, default)
    assert found == Spec(tokens=9, step_ms=5, pattern=(1, 3), cached=4)


def test_a_spec_survives_being_sent() -> None:
    """Its JSON holds what differs from the defaults, and reads back as the same."""
    spec = Spec(tokens=9, pattern=(1, 3), framing="close", sync=False, cached=0)
    assert spec.to_json().keys() == {"tokens", "pattern", "framing", "sync", "cached"}
    assert read_spec(spec.to_json(), Spec()) == spec


@pytest.mark.parametrize(
    "given",
    [
        7,
        {"tokns": 1},
        {"tokens": 0},
        {"tokens": "5"},
        {"tokens": True},
        {"pattern": []},
        {"pattern": [0]},
        {"pattern": "1"},
        {"step_ms": 0},
        {"ttft_ms": -1},
        {"sync": 1},
        {"framing": "gzip"},
        {"text": ""},
        {"stop_after": None},
    ],
)
def test_what_cannot_be_is_refused(given: object) -> None:
    """A script with a mistake would calibrate against something else."""
    with pytest.raises(SpecError):
        read_spec(given, Spec())
