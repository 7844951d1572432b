"""What a run uses of the box: its accelerators, its addresses, and what dead runs left there."""

from collections.abc import Iterable

from kbtool.runner.folder import BoxLock, Holder
from kbtool.runner.plan import Plan
from kbtool.runner.plan.target import EndpointPlan
from kbtool.runner.session.events import Remark, Tell
from kbtool.runner.target import TargetError, end_leftovers, find_leftovers
from kbtool.runner.target.attach import endpoint_of
from kbtool.runner.telemetry import Inventory

__all__ = ["cards_of", "clear_leftovers", "lock_of", "resources_of"]


def lock_of(resources: Iterable[str], held: Iterable[str], holder: Holder) -> BoxLock:
    """Take what a run uses of the box and this process does not hold already.

    Raises:
        LockedError: another run uses one of it.
    """
    return BoxLock(set(resources) - set(held), holder=holder)


def resources_of(plan: Plan, inventory: Inventory) -> frozenset[str]:
    """Return names of the accelerators and addresses that a run uses; one server has one name, however it is written."""
    cards = {card.index: card.uuid for card in inventory.cards}
    found = {f"accelerator:{cards.get(index) or index}" for index in cards_of(plan, inventory)}
    target = plan.target
    found |= {_address(each) for each in target.endpoints}
    if target.launch is not None:
        found |= {f"server:loopback:{each.port}" for each in target.launch.instances}
    router = target.router
    if router is not None and router.url is not None:
        found.add(_address(EndpointPlan(name="router", url=router.url)))
    elif router is not None:
        found.add(f"server:loopback:{router.port}")
    return frozenset(found)


def _address(planned: EndpointPlan) -> str:
    endpoint = endpoint_of(planned)
    return f"server:{'loopback' if planned.is_loopback else endpoint.host}:{endpoint.port}"


def cards_of(plan: Plan, inventory: Inventory) -> tuple[int, ...]:
    """Return the indices of the accelerators that take part: those that are launched on, or all."""
    launch = plan.target.launch
    used = (
        {index for each in launch.instances for index in each.accelerators} if launch is not None else set()
    )
    return tuple(sorted(used)) or tuple(card.index for card in inventory.cards)


def clear_leftovers(tell: Tell) -> None:
    """End what dead runs of ours left, and say so; what belongs to anybody else stays."""
    try:
        end_leftovers(find_leftovers(), state=lambda text: tell(Remark(text)))
    except TargetError as error:
        # A container runtime that does not answer runs no containers of ours; whoever needs it will be told at launch.
        tell(Remark(f"could not look for containers of dead runs: {error}"))
