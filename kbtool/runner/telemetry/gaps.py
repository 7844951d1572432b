"""Why a window lacks something: the sampler's events, read as states that last until they are revoked."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from kbtool.runner.telemetry.cards import Gap
from kbtool.runner.telemetry.sample import Event, Kind, TelemetrySample
from kbtool.runner.telemetry.tenancy import sweep_margin_ns

__all__ = ["lost_since", "standing_gaps", "unlisted_processes"]

_STANDING: Final = {
    Event.NO_CARDS: "cards",
    Event.NO_KERNEL_LOG: "kernel_log",
    Event.NO_DRIVER_EVENTS: "driver_events",
}


def standing_gaps(rows: Sequence[TelemetrySample], cards: Collection[int], end_ns: int) -> tuple[Gap, ...]:
    """Return what could not be read at the end of a window, with the reason given when that began.

    Args:
        rows: Rows in order of time, the events from before the window among them.
        cards: Our cards.
        end_ns: End of the window.
    """
    standing: dict[str, str] = {}
    for row in rows:
        foreign = row.card is not None and row.card not in cards
        if row.kind != Kind.EVENT or row.t_ns > end_ns or foreign:
            continue
        detail = row.detail or ""
        column, _, reason = detail.partition(": ")
        if row.event == Event.STARTED:
            # A sampler that was started again says anew what it cannot read.
            standing.clear()
        elif row.event == Event.GAP:
            standing[f"cards[{row.card}].{column}"] = reason
        elif row.event == Event.GAP_CLOSED:
            standing.pop(f"cards[{row.card}].{detail}", None)
        elif row.event in _STANDING:
            standing[_STANDING[Event(row.event)]] = detail
    return tuple(Gap(what, reason) for what, reason in sorted(standing.items()))


def lost_since(rows: Sequence[TelemetrySample], card: int, end_ns: int) -> int | None:
    """Return when a card was lost, if that was before the end of the window."""
    found = (
        row.t_ns for row in rows if row.event == Event.GPU_LOST and row.card == card and row.t_ns <= end_ns
    )
    return next(found, None)


def unlisted_processes(
    rows: Sequence[TelemetrySample], cards: Sequence[int], start_ns: int, end_ns: int
) -> Iterator[Gap]:
    """Yield the cards whose processes nobody listed in the window, and why."""
    margin = sweep_margin_ns(start_ns, end_ns)
    listed = {
        row.card
        for row in rows
        if row.kind == Kind.SWEEP and start_ns - margin <= row.t_ns <= end_ns + margin
    }
    refused = {row.card: row.detail for row in rows if row.event == Event.NO_PROCESSES and row.t_ns <= end_ns}
    for card in cards:
        if card not in listed:
            why = refused.get(card)
            yield Gap(f"cards[{card}].processes", why or "nobody listed them in this window")
