"""Each kind of server has a page that says what the code knows of it: traps, options, and how it is reset."""

import re
from typing import Final, get_args

import pytest

from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.doctor.traps import TRAPS
from kbtool.runner.engines import adapter_for
from kbtool.runner.plan.target import EngineKind
from tests.docs.pages import page

KINDS: Final[tuple[EngineKind, ...]] = get_args(EngineKind)
CLOSED: Final = Endpoint("closed", "127.0.0.1", 9)
"""Nothing listens there: an adapter that answers without asking needs nobody."""


def _text(kind: str) -> str:
    return _plain(page(f"measuring-engines/{kind.replace('_', '-')}.md"))


def _plain(text: str) -> str:
    return re.sub(r"[\s`]+", " ", text)


@pytest.mark.parametrize("kind", KINDS)
def test_page_has_every_trap_of_its_engine(kind: EngineKind) -> None:
    """What the doctor warns of with one engine stands on that engine's page, word for word."""
    own = [each.found for each in TRAPS if kind in each.kinds]
    assert [found for found in own if _plain(found) not in _text(kind)] == []


def test_page_of_other_servers_has_the_traps_of_all() -> None:
    """What holds for every engine stands with the servers that are none in particular."""
    common = [each.found for each in TRAPS if not each.kinds]
    assert [found for found in common if _plain(found) not in _text("openai")] == []


@pytest.mark.parametrize("kind", KINDS)
def test_page_has_every_request_field_of_its_engine(kind: EngineKind) -> None:
    """Fields that the runner adds to requests for an engine are named on its page."""
    options = adapter_for(kind).options()
    names = [*options.fixed_length, *options.no_cache, *options.usage]
    assert [name for name in names if name not in _text(kind)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_page_says_whether_the_engine_counts(kind: EngineKind) -> None:
    """A kind whose adapter never reads counters says so on its page."""
    if kind in {"ds4", "openai"}:
        assert adapter_for(kind).counters(CLOSED) is None
        assert "no counters" in _text(kind)
    else:
        assert "/metrics" in _text(kind)
