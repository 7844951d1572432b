"""Shares of results that say what a reader needs."""

import pytest

from kbtool.analysis.quality import (
    MEASURES,
    Group,
    Quality,
    Share,
    Tally,
    is_opened,
    percent,
    qualities,
    tally,
)
from kbtool.schema import Source
from tests.analysis.records import BASE, benchmark, plain_result

CODES = [each.code for each in MEASURES]


def share(quality: Quality, code: str) -> Share:
    """Return one share of a group."""
    return quality.shares[CODES.index(code)]


def of_results(*results: dict[str, object], **over: object) -> Quality:
    """Return the figures of the base benchmark with other results, whose sources were all opened."""
    record = benchmark(results=list(results), **over)
    (found,) = qualities([Group("x", tally(record))], lambda _: True)
    return found


def test_codes_are_unique_and_each_says_what_counts() -> None:
    """A measure is known by its code, in the history and in links."""
    assert len(set(CODES)) == len(CODES)
    assert all(each.meaning.endswith(".") for each in MEASURES)


def test_each_result_counts_for_itself() -> None:
    """A quote, a load, repeats and second-hand evidence belong to one result."""
    bare = {"at": {"concurrency": None}, "repeats": None}
    found = of_results(
        plain_result(id="a", repeats=3),
        plain_result(id="b", repeats=1, evidence=[
            {"source": "sources/base-source", "locator": "Table 3", "quote": "93.9 tok/s"},
            {"source": "sources/base-source", "locator": "Table 4", "second_hand": True},
        ]),
        plain_result(id="c", **bare),
        plain_result(id="d", **bare, evidence=[
            {"source": "sources/base-source", "locator": "Table 3", "second_hand": True}
        ]),
    )  # fmt: skip
    assert found.results == 4
    assert share(found, "load") == (2, 4)
    assert share(found, "repeats") == (2, 4)
    assert share(found, "repeated") == (1, 4)
    assert share(found, "quote") == (1, 4)
    assert share(found, "second_hand") == (1, 4)


def test_a_request_rate_is_a_load() -> None:
    """Open-loop results have a rate in place of a concurrency."""
    found = of_results(plain_result(at={"concurrency": None, "request_rate_req_s": "2.5"}))
    assert share(found, "load") == (1, 1)


def test_what_a_metric_is_not_asked_is_not_counted() -> None:
    """A bandwidth between cards has no repeats to state."""
    found = of_results(plain_result(), plain_result(id="link", metric="power_w"))
    assert share(found, "repeats").of == 1
    assert share(found, "quote").of == 2


@pytest.mark.parametrize(
    "engine",
    [{"version": "0.10"}, {"commit": "a" * 40}, {"image_digest": f"sha256:{'b' * 64}"}],
)
def test_one_identity_of_the_engine_is_enough(engine: dict[str, str]) -> None:
    """A version, a commit or a digest each say which engine it was."""
    nothing = {"version": None, "commit": None, "image_digest": None}
    assert share(of_results(plain_result(), engine={**nothing, **engine}), "engine_version") == (1, 1)
    assert share(of_results(plain_result(), engine=nothing), "engine_version") == (0, 1)


def test_a_changed_setting_identifies_the_engine_of_its_result() -> None:
    """A sweep over versions states the version with each result."""
    nothing = {"version": None, "commit": None, "image_digest": None}
    swept = plain_result(id="new", **{"with": [{"field": "engine.version", "value": "0.11"}]})
    assert share(of_results(plain_result(), swept, engine=nothing), "engine_version") == (1, 2)


def test_a_result_rests_on_all_its_sources() -> None:
    """One source that nobody could open leaves the figure unopened."""
    shares = tuple(Share(0, 3) for _ in MEASURES)
    counted = Tally(3, shares, ((("sources/a",), 2), (("sources/a", "sources/b"), 1)))
    (found,) = qualities([Group("x", counted)], {"sources/a": True, "sources/b": False}.__getitem__)
    assert share(found, "opened") == (2, 3)


@pytest.mark.parametrize(
    ("outcome", "opened"),
    [("reachable", True), ("stored_copy_read", True), ("moved", True), ("gone", False), ("changed", False),
     ("not_reachable_from_here", False)],
)  # fmt: skip
def test_opened_is_what_the_last_look_found(outcome: str, *, opened: bool) -> None:
    """A source that changed since, or is gone, does not show the figure any more."""
    plain = BASE["sources/base-source"]
    source = Source.model_validate({**plain, "last_checked": {"day": "2026-11-29", "outcome": outcome}})
    assert is_opened(source) is opened
    assert not is_opened(source.model_copy(update={"last_checked": None}))


def test_groups_are_added_up_and_the_largest_comes_first() -> None:
    """Records and results add up; the order is by results, then by name."""
    one, two = (
        tally(benchmark(results=[plain_result()])),
        tally(benchmark(results=[plain_result(), plain_result(id="b")])),
    )
    found = qualities([Group("b", one), Group("a", one), Group("c", one), Group("c", two)], lambda _: True)
    assert [(each.group, each.records, each.results) for each in found] == [
        ("c", 2, 3),
        ("a", 1, 1),
        ("b", 1, 1),
    ]


def test_no_records_are_no_groups() -> None:
    """An empty knowledge base has no figures."""
    assert qualities([], lambda _: True) == []


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        ((0, 0), ""),
        ((0, 7), "0 %"),
        ((7, 7), "100 %"),
        ((1, 2_000), "1 %"),
        ((1_999, 2_000), "99 %"),
        ((1, 3), "33 %"),
    ],
)
def test_percents_claim_all_or_nothing_only_where_it_is_so(of: tuple[int, int], expected: str) -> None:
    """1,999 of 2,000 are not all of them."""
    assert percent(Share(*of)) == expected
