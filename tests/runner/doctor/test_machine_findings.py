"""What the doctor says of cards and host."""

from kbtool.runner.doctor import Severity
from tests.fakes.engine import Script, running
from tests.fakes.nvml import FakeBackend, FakeClock, eight_servers, load_card
from tests.runner.doctor.examining import diagnosis_of, field, plan_for, quiet_host, said


def eight() -> FakeBackend:
    """Return eight Server Editions, idle."""
    return eight_servers(FakeClock())


def test_cards_fill_their_fields() -> None:
    """Edition, limit and driver come from the driver; how many take part from layout and instances."""
    with running(Script()) as engine:
        found = diagnosis_of(engine.url, backend=eight())
    assert field(found, "system.accelerator").value == "accelerators/rtx-pro-6000-server"
    assert field(found, "system.power_limit_w").value == "600.0"
    assert field(found, "system.driver").filled
    assert field(found, "system.accelerator_count").value == "1"


def test_cards_of_the_plan_are_the_ones_looked_at() -> None:
    """A launch that names its cards is judged by them alone."""
    with running(Script()) as engine:
        port = engine.port
    backend = eight()
    backend.cards[7].facts["power_enforced_mw"] = 300_000
    instance = {"port": port, "arguments": ["vllm", "serve", "m"], "accelerators": [0, 1, 2, 3]}
    found = diagnosis_of(plan_for({"engine": "vllm", "launch": {"instances": [instance]}}), backend=backend)
    assert field(found, "system.accelerator_count").value == "4"
    assert field(found, "system.power_limit_w").filled
    assert said(found, "its power limit is 300 W") is None


def test_a_lowered_power_limit_is_said() -> None:
    """A cap explains a slow card, and two caps in one group a slow group."""
    backend = eight()
    backend.cards[2].facts["power_enforced_mw"] = 450_000
    with running(Script()) as engine:
        found = diagnosis_of(engine.url, backend=backend)
    remark = said(found, "its power limit is 450 W, by default 600 W", Severity.WARNING)
    assert remark is not None
    assert remark.place == "card 2"
    assert said(found, "different power limits", Severity.WARNING)
    assert said(found, "something else limits too", Severity.WARNING)
    assert not field(found, "system.power_limit_w").filled


def test_an_unknown_card_is_not_taken_for_another() -> None:
    """A name without a record is a gap that the plan can fill."""
    backend = FakeBackend(FakeClock(), [load_card("rtx-pro-6000-blackwell-workstation")])
    with running(Script()) as engine:
        found = diagnosis_of(engine.url, backend=backend)
    assert not field(found, "system.accelerator").filled
    assert "subject.accelerator" in field(found, "system.accelerator").remedy
    assert said(found, "no accelerator record is named", Severity.WARNING)


def test_links_that_go_through_the_host_are_said() -> None:
    """Barred peer-to-peer copies and pairs on two processors slow tensor parallelism."""
    backend = eight()
    backend.peers = dict.fromkeys(backend.peers, "CNS")
    with running(Script()) as engine:
        found = diagnosis_of(engine.url, backend=backend)
    assert said(found, "cannot copy directly (CNS)", Severity.WARNING)
    assert said(found, "lie on different processors", Severity.NOTE)


def test_other_users_of_the_cards_are_named_where_they_can_be_told() -> None:
    """A process that is not the server's contaminates; inside a container nobody can say whose it is."""
    backend = eight()
    backend.cards[1].runs(999_999, 2**30)
    with running(Script()) as engine:
        found = diagnosis_of(engine.url, backend=backend)
        hidden = diagnosis_of(engine.url, backend=backend, host=quiet_host(host_pids=False))
    remark = said(found, "program-999999 (pid 999999)", Severity.WARNING)
    assert remark is not None
    assert remark.place == "card 1"
    assert said(hidden, "999999") is None
    assert said(hidden, "cannot be told inside a container", Severity.NOTE)


def test_the_servers_own_process_on_a_card_shows_which_cards_take_part() -> None:
    """The process behind the port is on two cards: those are the system."""
    backend = eight()
    with running(Script()) as engine:
        holder = diagnosis_of(engine.url).servers[0].holders[0].pid
        for card in (4, 5):
            backend.cards[card].runs(holder, 2**30)
        found = diagnosis_of(engine.url, backend=backend)
    assert field(found, "system.accelerator_count").value == "2"
    assert said(found, f"pid {holder}), which does not belong") is None


def test_lost_hot_and_narrow_cards_are_said() -> None:
    """A card that fell off the bus is a problem; heat and missing lanes are warnings."""
    backend = eight()
    backend.cards[0].lost_ns = 0
    backend.cards[1].facts["temperature_c"] = 83
    backend.cards[2].facts |= {"pcie_width": 8, "pcie_width_max": 16}
    with running(Script()) as engine:
        found = diagnosis_of(engine.url, backend=backend)
    assert not found.usable
    assert said(found, "the driver has lost it", Severity.PROBLEM)
    assert said(found, "83 degrees before any load", Severity.WARNING)
    assert said(found, "8 of 16 lanes", Severity.WARNING)


def test_a_busy_host_and_its_habits_are_said() -> None:
    """Load, governor, clock and address translation show in figures."""
    host = quiet_host(load_1m=40.0, cpus=16, governor="powersave", clock_synchronised=False, iommu="DMA-FQ")
    with running(Script()) as engine:
        found = diagnosis_of(engine.url, backend=eight(), host=host)
    assert said(found, "a load of 40", Severity.WARNING)
    assert said(found, "governor powersave", Severity.NOTE)
    assert said(found, "not synchronised", Severity.NOTE)
    assert said(found, "the IOMMU translates", Severity.NOTE)


def test_a_quiet_machine_has_no_warnings() -> None:
    """Eight equal cards on a calm host: nothing to warn of."""
    with running(Script(natural_tok=5)) as engine:
        found = diagnosis_of(engine.url, backend=eight())
    assert [each.found for each in found.remarks if each.severity is not Severity.NOTE] == []


def test_without_a_driver_the_gaps_have_their_reason() -> None:
    """No card to be seen is said once, and each field knows how to be filled."""
    with running(Script()) as engine:
        found = diagnosis_of(engine.url)
    assert said(found, "accelerators cannot be read", Severity.NOTE)
    assert field(found, "system.accelerator_count").reason == "not_observable"
    assert field(found, "system.power_limit_w").remedy == "give `subject.power_limit_w`"
