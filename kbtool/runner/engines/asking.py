"""Questions to a server over HTTP: small, bounded, and strict about what counts as an answer."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import orjson

from kbtool.runner.client import control
from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.engines import metrics_text
from kbtool.runner.engines.base import ResetOutcome

__all__ = ["ask", "ask_json", "models", "post_for_reset", "root_of", "samples", "text_at", "whole_at"]

MODELS: Final = "/v1/models"
TIMEOUT_S: Final = 10.0
JSON_BYTES: Final = 4 * 1024 * 1024
MAX_DEPTH: Final = 24
_ABSENT: Final = frozenset({400, 404, 405, 422, 501})
"""What servers answer to a path or a question that they do not know."""


def root_of(endpoint: Endpoint) -> Endpoint:
    """Return the endpoint without `/v1` at the end of its base path: identity and counters lie beside it."""
    return replace(endpoint, base_path=endpoint.base_path.removesuffix("/v1"))


def ask(endpoint: Endpoint, path: str, *, max_bytes: int = JSON_BYTES) -> control.Answer | None:
    """Ask one path; None where the server has no such thing, or keeps it to itself.

    Whether a key is missing shows in the list of models: proxies close other paths to everybody.

    Raises:
        ControlError: It cannot be reached, or answers with a failure, too much, or nothing in time; or the list of
            models wants a key.
    """
    try:
        answer = control.get(root_of(endpoint), path, timeout_s=TIMEOUT_S, max_bytes=max_bytes)
    except control.UnauthorizedError:
        if path == MODELS:
            raise
        return None
    if answer.status in _ABSENT:
        return None
    if answer.status != 200:
        raise control.ControlError(
            f"{endpoint.name}: GET {path} answered {answer.status}, expected 200: see the server's log"
        )
    return answer


def ask_json(endpoint: Endpoint, path: str) -> dict[str, object] | None:
    """Ask one path for a JSON object; None where the server has no such thing, or answers it with something else.

    A page of a proxy or an app that answers every path with its front page is no JSON object, hence None.
    """
    answer = ask(endpoint, path)
    if answer is None:
        return None
    try:
        found = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) and _shallow(found, MAX_DEPTH) else None


def _shallow(value: object, depth: int) -> bool:
    """Return whether a value nests no deeper than `depth`."""
    if isinstance(value, dict):
        return depth > 0 and all(_shallow(each, depth - 1) for each in value.values())
    if isinstance(value, list):
        return depth > 0 and all(_shallow(each, depth - 1) for each in value)
    return True


def samples(endpoint: Endpoint, wanted: tuple[str, ...]) -> metrics_text.Samples | None:
    """Read the wanted samples of `/metrics`; None where the server has none of them."""
    answer = ask(endpoint, "/metrics", max_bytes=metrics_text.MAX_BYTES)
    if answer is None:
        return None
    found = metrics_text.read_samples(answer.body.decode("utf-8", errors="replace"), wanted)
    return found if found.values else None


def models(endpoint: Endpoint) -> tuple[dict[str, object], ...] | None:
    """Ask for the models that the server lists, at most 100; None where it lists none."""
    found = ask_json(endpoint, MODELS)
    data = None if found is None else found.get("data")
    if not isinstance(data, list):
        return None
    return tuple(each for each in data[:100] if isinstance(each, dict) and isinstance(each.get("id"), str))


def post_for_reset(endpoint: Endpoint, path: str) -> ResetOutcome:
    """Ask a path to forget the prefix cache, and return what it says of it."""
    try:
        answer = control.post_json(root_of(endpoint), path, {}, timeout_s=TIMEOUT_S, max_bytes=65_536)
    except control.UnauthorizedError:
        return ResetOutcome.REFUSED
    if answer.status in {404, 405, 501}:
        return ResetOutcome.UNSUPPORTED
    return ResetOutcome.DONE if answer.status == 200 else ResetOutcome.REFUSED


def text_at(table: Mapping[str, object] | None, name: str) -> str | None:
    """Return a text of one line out of an answer; None where it is absent, empty, or something else."""
    value = None if table is None else table.get(name)
    return value if isinstance(value, str) and 0 < len(value) <= 300 and value.isprintable() else None


def whole_at(table: Mapping[str, object] | None, name: str) -> int | None:
    """Return a whole number of at least 1 out of an answer."""
    value = None if table is None else table.get(name)
    return value if type(value) is int and 0 < value < 10**15 else None
