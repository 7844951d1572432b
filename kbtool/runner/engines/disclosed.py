"""What a record of a run will say of its setup: shared by the doctor, who foretells it, and by what writes the record."""

from collections.abc import Iterable, Iterator
from typing import Final

from kbtool.runner.engines.versions import is_development
from kbtool.runner.plan.cells import Cell
from kbtool.vocab.terms import GapReason

__all__ = ["arguments_in", "gap_reason", "is_unknown_build", "repeats_prefixes"]

_ARGUMENTS: Final = "engine.arguments."
_OF_THIS_RUN: Final = frozenset(
    {"host", "port", "served_model_name", "alias", "api_key", "model", "model_path", "hf_repo", "log_file"}
)
"""Arguments that say where this one run listened or lay, not how the engine worked."""
_OF_DRAFTS: Final = frozenset({"speculation.draft_tok", "speculation.acceptance_length"})
_OF_BUILDS: Final = frozenset({"engine.version", "engine.commit"})


def arguments_in(fields: Iterable[str]) -> Iterator[str]:
    """Yield the names of the settings that stand among a record's engine arguments.

    Settings that the record has a field for stand there, and what only says where the server listened nowhere.
    """
    for each in fields:
        name = each.removeprefix(_ARGUMENTS)
        if name != each and name.replace("-", "_").lstrip("_") not in _OF_THIS_RUN:
            yield name


def repeats_prefixes(load: Cell) -> bool:
    """Return whether a load sends prefixes again, so that its answers tell whether the server reuses them."""
    return load.cache == "warm" or load.kind == "conversation" or load.shared_prefix_tok > 0


def is_unknown_build(version: str | None, build: str | None, commit: str | None) -> bool:
    """Return whether a server names a build or a commit, and no version of a release."""
    if version is None:
        return build is not None or commit is not None
    return is_development(version)


def gap_reason(path: str, *, drafts: bool | None, contained: bool | None, unknown_build: bool) -> GapReason:
    """Return why a field of the record is a gap.

    Args:
        path: The disclosure field.
        drafts: Whether drafts are made; None where it is not known.
        contained: Whether the servers run in containers; None where it is not known.
        unknown_build: Whether the servers are of a build that no release names.
    """
    if path in _OF_DRAFTS and drafts is False:
        return "not_applicable"
    if path == "engine.image_digest" and contained is False:
        return "not_applicable"
    if path == "results.at.concurrency":
        return "not_applicable"
    if path in _OF_BUILDS and unknown_build:
        return "unknown_dev_build"
    return "not_observable"
