"""Every warning has its meaning and its remedy."""

from kbtool.vocab.metrics import METRICS
from kbtool.vocab.units import UNITS
from kbtool.vocab.warnings import WARNINGS, WarningCode, in_order


def test_every_warning_is_defined_once_and_in_order() -> None:
    """The table has the codes, all of them, as they are shown."""
    assert list(WARNINGS) == list(WarningCode)


def test_texts_are_sentences_of_their_own() -> None:
    """No two warnings say the same, and each says what to do."""
    texts = [text for each in WARNINGS.values() for text in (each.means, each.remedy)]
    assert len({each.means for each in WARNINGS.values()}) == len(WARNINGS)
    assert all(text.endswith(".") and text[0].isupper() for text in texts)


def test_order_is_that_of_the_codes() -> None:
    """However they were found."""
    assert in_order({WarningCode.SPEED_ONLY, WarningCode.DRIFT}) == (
        WarningCode.DRIFT,
        WarningCode.SPEED_ONLY,
    )
    assert in_order(set()) == ()


def test_every_metric_has_a_known_unit() -> None:
    """The page of metrics writes it out."""
    assert {each.unit for each in METRICS.values()} <= UNITS.keys()
