"""What a calibration comes to: up to how many streams the client's own error is small."""

from collections.abc import Callable, Sequence
from typing import Final

from kbtool.runner.calibrate.model import Calibration, LevelError

__all__ = ["verdict"]

TTFT_RATIO: Final = 0.01
TOKEN_RATIO: Final = 0.005
GAP_MS: Final = 1.0


def verdict(found: Calibration) -> str:
    """Return in one sentence up to how many streams figures are the server's, and what to do where that is few."""
    levels = sorted(
        (each for each in found.levels if each.pattern == (1,)), key=lambda each: (each.streams, each.step_ms)
    )
    if not levels:
        return "no level of one token a chunk was measured: give --streams"
    means = _up_to(
        levels,
        lambda each: (
            abs(each.ttft_mean_error_ratio) <= TTFT_RATIO and abs(each.itl_mean_error_ratio) <= TOKEN_RATIO
        ),
    )
    gaps = _up_to(levels, lambda each: abs(each.gap_p99_error_ms) <= GAP_MS)
    said = (
        f"TTFT within {TTFT_RATIO:.0%} and time per token within {TOKEN_RATIO:.1%} {_words(means)}; "
        f"gap p99 within {GAP_MS:g} ms {_words(gaps)}"
    )
    if not found.passed:
        return f"{said}: answers were misread, trust no figure of this client; report it with the lines above"
    most = levels[-1].streams
    if min(means, gaps) < most:
        return f"{said}: above that figures may be the client's; calibrate on an idle host, or measure fewer users"
    return f"{said}: good for every load that was tried"


def _up_to(levels: Sequence[LevelError], good: Callable[[LevelError], bool]) -> int:
    """Return the most streams up to which every level is good; 0 where the first is not."""
    most = 0
    for each in levels:
        if not good(each):
            return min(most, each.streams - 1)
        most = each.streams
    return most


def _words(streams: int) -> str:
    return f"up to {streams:,} stream{'' if streams == 1 else 's'}" if streams else "at no number of streams"
