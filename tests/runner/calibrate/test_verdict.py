"""What a calibration comes to, in a sentence."""

from dataclasses import replace

import pytest

from kbtool.runner.calibrate import Calibration, Host, LevelError, verdict

GOOD = LevelError(
    streams=1, pattern=(1,), step_ms=10.0, requests=8, events=100, ttft_true_ms=50.0, ttft_mean_error_ratio=0.0003,
    ttft_from_parsed_error_ratio=0.0, itl_true_ms=10.0, itl_mean_error_ratio=0.00002, gap_p99_true_ms=10.0,
    gap_p99_error_ms=0.06, gap_error_p99_ms=0.1, throughput_error_ratio=0.0, load_ratio=1.0, token_errors=0,
    failures=0, cpu_us_per_event=10.0, parse_us_per_event=10.0, cpu_share_ratio=0.1, loop_lag_p50_ms=0.1,
    loop_lag_p99_ms=0.2, send_late_p99_ms=0.1, server_late_max_ms=0.1, clock="kernel",
)  # fmt: skip
HOST = Host(**dict.fromkeys(Host.__dataclass_fields__, ""))  # type: ignore[arg-type]


def _of(*levels: LevelError) -> Calibration:
    return Calibration(HOST, "kbtool bench 0", "2026-11-30T00:00:00Z", False, 0.1, levels, ())


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ((GOOD, replace(GOOD, streams=1024)), "up to 1,024 streams; gap p99 within 1 ms up to 1,024 streams: good"),
        (
            (GOOD, replace(GOOD, streams=64, gap_p99_error_ms=3.0), replace(GOOD, streams=1024)),
            "up to 1,024 streams; gap p99 within 1 ms up to 1 stream: above that",
        ),
        ((replace(GOOD, itl_mean_error_ratio=0.1),), "time per token within 0.5% at no number of streams"),
        ((replace(GOOD, token_errors=1),), "trust no figure of this client"),
        ((replace(GOOD, pattern=(1, 3)),), "give --streams"),
    ],
    ids=["good", "gaps", "means", "misread", "none"],
)  # fmt: skip
def test_verdict_says_up_to_how_many_streams_figures_are_the_servers(
    levels: tuple[LevelError, ...], said: str
) -> None:
    """The first level that is off ends what is good, whatever comes after it."""
    assert said in verdict(_of(*levels))
