"""Cards keep what other pages need, through the cache and back."""

from kbtool.site.cards import Card, card_of
from kbtool.store.references import outgoing
from tests.site.samples import context_of, records, rich


def cards() -> dict[str, Card]:
    """Return the cards of the samples."""
    return {ref: card_of(ref, each, "draft", outgoing(each)) for ref, each in records().items()}


def test_a_card_survives_the_cache() -> None:
    """Every kind's card is the same after it was text."""
    for ref, card in cards().items():
        assert Card.from_row(card.to_row()) == card, ref


def test_the_headline_keeps_its_digits() -> None:
    """What is shown and what is sorted by are two things."""
    card = cards()["benchmarks/ev-fastserve-demo-8xa1-p2p"]
    assert card.headline is not None
    assert card.headline[:2] == ("946.6", "tok/s")
    assert card.headline.raw == "946.6"
    assert card.metric == "output_tok_s"


def test_mentions_say_where_and_why() -> None:
    """A source is told the results that quote it, a record the relation that is stated."""
    mentions = cards()["benchmarks/ev-fastserve-demo-8xa1"].mentions
    quoting = {each.anchor for each in mentions if each.target == "sources/cross-post"}
    assert "prefill-32k" in quoting
    relations = {(each.relation, each.target) for each in mentions}
    assert ("same_system_as", "benchmarks/ev-fastserve-demo-8xa1-p2p") in relations


def test_disclosure_has_one_letter_a_field() -> None:
    """Given, omitted, gap, missing, or not asked."""
    card = context_of(rich()).card
    assert set(card.disclosure) <= set("gopm-")
    assert {"g", "o", "p", "m"} <= set(card.disclosure)


def test_changes_say_what_was_what() -> None:
    """The old value, the new one, and why."""
    first, second = cards()["benchmarks/ev-fastserve-demo-8xa1"].changes
    assert (first.what, first.why) == ("", "First version.")
    assert second.what == "system.power_limit_w: 600 \N{RIGHTWARDS ARROW} 300"
