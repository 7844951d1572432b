"""Whether an interval lies where its metric can: over few rounds, one by Student's t may reach beyond."""

from kbtool.vocab.metrics import METRICS

__all__ = ["is_too_wide"]


def is_too_wide(metric: str, low: float | None, high: float | None) -> bool:
    """Return whether an interval reaches below 0, or above what the metric can be: then it says that nothing is known.

    No interval is not too wide.
    """
    if low is None or high is None:
        return False
    most = METRICS[metric].plausible_max
    return low < 0 or (most is not None and high > most)
