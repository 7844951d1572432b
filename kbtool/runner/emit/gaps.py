"""What a measured record cannot say, as typed gaps: why, and how the next run could say it."""

from collections.abc import Iterator
from typing import Any, Final

from kbtool.runner.emit.setup import Setup
from kbtool.schema import Benchmark
from kbtool.schema.common import Gap
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS
from kbtool.vocab.terms import GapReason

__all__ = ["gaps_of", "remedy_for"]

_REMEDIES: Final[dict[str, str]] = {
    "system.power_limit_w": "No driver could be asked; name it in the plan as subject.power_limit_w.",
    "system.driver": "No accelerator driver answers on this host.",
    "system.interconnects": "Name the links in the plan as subject.interconnects.",
    "engine.version": "The server does not say; name it in the plan as subject.engine_version.",
    "engine.commit": "The server does not say; name it in the plan as subject.engine_commit.",
    "engine.image_digest": "Launch from an image, or name it in the plan as subject.image_digest.",
    "engine.arguments": "Neither server nor process show arguments: measure on the host that serves.",
    "deployment.tp": "The server does not say; name it in the plan as subject.tp.",
    "deployment.pp": "The server does not say; name it in the plan as subject.pp.",
    "deployment.dp": "The server does not say; name it in the plan as subject.dp.",
    "deployment.ep": "The server does not say; name it in the plan as subject.ep.",
    "model.revision": "No server tells the checkpoint's commit; name it in the plan as subject.revision.",
    "model.weight_dtype": "The server does not say; name it in the plan as subject.weight_dtype.",
    "serving.max_running_requests": "The server does not say, and its arguments do not set it.",
    "speculation.acceptance_length": "The server has no counters of drafts: switch its metrics on.",
    "speculation.method": "The server does not say; name it in the plan as subject.speculation.",
}
_DEFAULT: Final = "Neither the running server nor its process, container or plan say it."
_NEEDS_SPECULATION: Final = frozenset({"speculation.draft_tok", "speculation.acceptance_length"})
_NEEDS_CARDS: Final = frozenset({"system.driver", "system.power_limit_w"})


def gaps_of(record: Benchmark, setup: Setup) -> tuple[Gap, ...]:
    """Return a gap for each disclosure field that the record does not give, in the order of the vocabulary."""
    return tuple(_gaps(record, setup))


def remedy_for(path: str) -> str:
    """Return how the next run could fill a field."""
    return _REMEDIES.get(path, _DEFAULT)


def _gaps(record: Benchmark, setup: Setup) -> Iterator[Gap]:
    for field in DISCLOSURE_FIELDS:
        if field.path.startswith("results."):
            asked = [each for each in record.results if not field.metrics or each.metric in field.metrics]
            given = all(_given(each, field.path.removeprefix("results.").split(".")) for each in asked)
        else:
            given = _given(record, field.path.split("."))
        if not given:
            reason = _reason(field.path, record)
            yield Gap(
                field=field.path,
                reason=reason,
                note=None if reason == "not_applicable" else remedy_for(field.path),
            )
    del setup


def _given(value: Any, path: list[str]) -> bool:
    for name in path:
        value = getattr(value, name)
        if value is None:
            return False
    return value not in ((), {}, "")


def _reason(path: str, record: Benchmark) -> GapReason:
    if path in _NEEDS_SPECULATION and record.speculation.method == "none":
        return "not_applicable"
    if path == "engine.image_digest" and record.engine.image is None:
        return "not_applicable"
    if path == "results.at.concurrency":
        return "not_applicable"
    if path == "engine.version" and record.engine.commit is not None:
        return "unknown_dev_build"
    return "not_observable"
