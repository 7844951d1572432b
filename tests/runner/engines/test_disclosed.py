"""What a record will say of its setup: one answer for the doctor and for what writes the record."""

import pytest

from kbtool.runner.engines.disclosed import arguments_in, gap_reason, is_unknown_build
from kbtool.vocab.terms import GapReason


def test_only_what_a_record_lists_as_an_argument_counts() -> None:
    """Neither fields of their own nor the place where the server listened."""
    fields = ("serving.context_tok", "engine.arguments.port", "engine.arguments.jinja", "model.checkpoint")
    assert list(arguments_in(fields)) == ["jinja"]


@pytest.mark.parametrize(
    ("version", "build", "commit", "unknown"),
    [
        ("0.32.0", None, None, False),
        ("0.33.0.dev12", None, None, True),
        (None, "b0-unknown", None, True),
        (None, None, "0a1b2c3", True),
        (None, None, None, False),
    ],
)
def test_a_build_without_a_release_is_known_as_one(
    version: str | None, build: str | None, commit: str | None, unknown: bool
) -> None:
    """A server that says nothing is not of a development build."""
    assert is_unknown_build(version, build, commit) is unknown


@pytest.mark.parametrize(
    ("path", "drafts", "contained", "unknown_build", "reason"),
    [
        ("speculation.draft_tok", False, None, False, "not_applicable"),
        ("speculation.draft_tok", None, None, False, "not_observable"),
        ("engine.image_digest", True, False, False, "not_applicable"),
        ("engine.image_digest", True, None, False, "not_observable"),
        ("engine.image_digest", True, True, False, "not_observable"),
        ("engine.commit", True, False, True, "unknown_dev_build"),
        ("engine.commit", True, False, False, "not_observable"),
        ("system.driver", False, False, True, "not_observable"),
    ],
)
def test_each_gap_has_one_reason(
    path: str, drafts: bool | None, contained: bool | None, unknown_build: bool, reason: GapReason
) -> None:
    """What is not known is no reason to call a field without meaning."""
    assert gap_reason(path, drafts=drafts, contained=contained, unknown_build=unknown_build) == reason
