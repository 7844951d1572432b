"""Which accelerator record a card's name leads to."""

from dataclasses import replace

import pytest

from kbtool.runner.telemetry.match import AcceleratorNames, match_accelerator, name_words

SERVER = AcceleratorNames(
    "nvidia-rtx-pro-6000-blackwell-server",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    ("RTX PRO 6000", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "SM120"),
    power_default_w=600,
    power_min_w=300,
    power_max_w=600,
)
WORKSTATION = AcceleratorNames(
    "nvidia-rtx-pro-6000-blackwell-workstation",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    ("RTX PRO 6000", "RTX PRO 6000 Blackwell", "SM120"),
    power_default_w=600,
    power_min_w=150,
    power_max_w=600,
)
MAX_Q = AcceleratorNames(
    "nvidia-rtx-pro-6000-blackwell-max-q",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
    ("RTX PRO 6000", "RTX PRO 6000 Max-Q", "SM120"),
    power_default_w=300,
)
H100 = AcceleratorNames(
    "nvidia-h100-sxm", "NVIDIA H100 SXM", ("H100", "H100 80 GB HBM3"), power_default_w=700
)
L40S = AcceleratorNames("nvidia-l40s", "NVIDIA L40S")
ALL = (SERVER, WORKSTATION, MAX_Q, H100, L40S)


@pytest.mark.parametrize("wanted", [SERVER, WORKSTATION, MAX_Q, L40S])
def test_the_drivers_full_name_leads_to_its_edition(wanted: AcceleratorNames) -> None:
    """The full name that the driver gives is the title of one record."""
    found = match_accelerator(wanted.title, ALL)
    assert (found.accelerator, found.by, found.doubts) == (wanted.id, "title", ())


def test_a_name_that_three_records_share_leads_to_none() -> None:
    """Texts say RTX PRO 6000 for all three editions, so the name alone decides nothing."""
    found = match_accelerator("NVIDIA RTX PRO 6000", ALL)
    assert found.accelerator is None
    assert found.candidates == (MAX_Q.id, SERVER.id, WORKSTATION.id)


def test_a_loose_name_counts_when_one_record_has_it_and_power_agrees() -> None:
    """The driver's name of an H100 is among that record's loose names."""
    found = match_accelerator("NVIDIA H100 80GB HBM3", ALL, power_default_w=700)
    assert (found.accelerator, found.by) == (H100.id, "name")


def test_a_loose_name_is_refused_when_the_power_limit_contradicts() -> None:
    """A card that calls itself RTX PRO 6000 Blackwell and takes 300 W at least is no Workstation Edition."""
    found = match_accelerator("NVIDIA RTX PRO 6000 Blackwell", ALL, power_default_w=600, power_min_w=300)
    assert found.accelerator is None
    assert found.candidates == (WORKSTATION.id,)
    assert "lowest power limit is 300 W" in found.doubts[0]


def test_a_title_keeps_its_match_and_carries_the_doubt() -> None:
    """A vendor may ship an edition with another limit: the name stands, and the difference is said."""
    found = match_accelerator(SERVER.title, ALL, power_default_w=450)
    assert found.accelerator == SERVER.id
    assert found.doubts == (f"the card's default power limit is 450 W, that of {SERVER.id} 600 W",)


def test_a_word_that_makes_another_product_is_never_dropped() -> None:
    """Without a Max-Q record, a Max-Q is unknown; it is no Workstation Edition with a word too many."""
    assert match_accelerator(MAX_Q.title, (SERVER, WORKSTATION)).accelerator is None
    assert match_accelerator("NVIDIA H200", ALL).accelerator is None
    assert match_accelerator("NVIDIA L40", ALL).accelerator is None


def test_a_mig_slice_belongs_to_its_card() -> None:
    """The driver adds the profile of the slice to the name of the card."""
    found = match_accelerator(f"{SERVER.title} MIG 1g.24gb", ALL)
    assert found.accelerator == SERVER.id


def test_two_records_of_one_title_are_ambiguous() -> None:
    """The same title twice is a fault of the records, and no choice of ours."""
    twin = replace(L40S, id="l40s-again")
    assert match_accelerator("NVIDIA L40S", (*ALL, twin)).candidates == ("l40s-again", "nvidia-l40s")


def test_words_are_compared_without_vendor_case_and_punctuation() -> None:
    """Max-Q is one word however it is written, and so is a memory size."""
    assert name_words("NVIDIA-RTX PRO 6000 Max-Q Edition") == name_words("rtx pro 6000 max q")
    assert name_words("H100 80 GB HBM3") == name_words("NVIDIA H100 80GB HBM3")
    assert name_words("RTX PRO 6000 Server Edition") != name_words("RTX PRO 6000 Workstation Edition")
