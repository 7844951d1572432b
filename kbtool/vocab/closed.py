"""Closed families of results: they compare only inside one class, under rules of their publisher.

A family is told by how its classes begin. Its name stands beside the metric in lists, so that nothing ranks its
figures with others, and its line stands below every list that shows one.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

__all__ = ["FAMILIES", "MLPERF_TRADEMARK", "Family", "family_of", "lines_below", "titled"]

MLPERF_TRADEMARK: Final = (
    "The MLPerf name and logo are registered and unregistered trademarks of MLCommons Association in the United States "
    "and other countries. All rights reserved. Unauthorized use strictly prohibited. See www.mlcommons.org for more "
    "information."
)


class Family(NamedTuple):
    """Results of one publisher's closed classes."""

    prefix: str
    """How its classes begin."""
    name: str
    line: str
    """What stands below a list that shows one of its figures."""
    is_reviewed: bool = False
    """Whether the publisher and the other submitters review every result under its rules before it is published."""


FAMILIES: Final = (
    Family(
        "mlperf-",
        "MLPerf",
        "Results of MLPerf\N{REGISTERED SIGN} compare only inside one class: round, benchmark, division, scenario. Ratios "
        "and figures per accelerator are worked out here and are no MLPerf metrics. Result ID, day of retrieval and footnote of "
        f"each stand on its page. {MLPERF_TRADEMARK}",
        is_reviewed=True,
    ),
)


def family_of(comparison_class: str | None) -> Family | None:
    """Return the family of a class; None for results of no closed one."""
    return next((each for each in FAMILIES if (comparison_class or "").startswith(each.prefix)), None)


def titled(metric: str, comparison_class: str | None) -> str:
    """Return a metric's title, with the family's name where the figure is of a closed class."""
    family = family_of(comparison_class)
    return f"{metric}, {family.name}" if family else metric


def lines_below(titles: Iterable[str]) -> tuple[str, ...]:
    """Return the lines that must stand below a list with these metrics, as `titled` wrote them."""
    shown = tuple(titles)
    return tuple(each.line for each in FAMILIES if any(title.endswith(f", {each.name}") for title in shown))
