"""Warnings that travel with a measured number: what each means, and what to do about it.

A figure is published with its warnings or not at all.  The same words stand in records, in the runner's
report and on the site; the limits at which the runner raises them are in `kbtool.runner`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["WARNINGS", "WarningCode", "WarningText", "in_order"]


class WarningCode(StrEnum):
    """Why a number must be read with care, in the order in which they are shown."""

    FEW_SAMPLES = "few_samples"
    SINGLE_SESSION = "single_session"
    WIDE_SPREAD = "wide_spread"
    DRIFT = "drift"
    OUTLIERS = "outliers"
    UNSTEADY = "unsteady"
    ERRORS = "errors"
    RETRIES = "retries"
    LENGTH_OFF = "length_off"
    SHORT_OUTPUTS = "short_outputs"
    QUEUED = "queued"
    GRAPH_CLIFF = "graph_cliff"
    CLIENT_BOUND = "client_bound"
    SENT_LATE = "sent_late"
    USER_CLOCK = "user_clock"
    UNCALIBRATED = "uncalibrated"
    CLOCK_STEP = "clock_step"
    UNPROVEN_COLD = "unproven_cold"
    CONTAMINATED = "contaminated"
    FOREIGN_TRAFFIC = "foreign_traffic"
    UNACCOUNTED_TOKENS = "unaccounted_tokens"
    NOT_ISOLATED = "not_isolated"
    THROTTLED = "throttled"
    POWER_CAPPED = "power_capped"
    TELEMETRY_GAP = "telemetry_gap"
    AFTER_RESTART = "after_restart"
    SYNTHETIC_ACCEPTANCE = "synthetic_acceptance"
    SPEED_ONLY = "speed_only"
    GARBAGE_OUTPUT = "garbage_output"
    NOT_REPEATABLE = "not_repeatable"
    TRUNCATED_OUTPUT = "truncated_output"


@dataclass(frozen=True, slots=True)
class WarningText:
    """One warning in words."""

    means: str
    """What was seen, and what it does to the number."""
    remedy: str
    """What whoever measures can do about it."""


WARNINGS: Final[dict[WarningCode, WarningText]] = {
    WarningCode.FEW_SAMPLES: WarningText(
        "Too few rounds for an interval, or too few requests for the statistic: the number may move when repeated.",
        "Measure at least 3 rounds; where there were 3, plan more requests a round.",
    ),
    WarningCode.SINGLE_SESSION: WarningText(
        "All rounds come from one start of the server: the interval leaves out how starts differ.",
        "Let the plan start the server (`target.launch`), and measure at least 3 sessions.",
    ),
    WarningCode.WIDE_SPREAD: WarningText(
        "The interval is wider than the plan asked for.",
        "Allow more rounds or sessions, or find what varies.",
    ),
    WarningCode.DRIFT: WarningText(
        "The figure rose or fell steadily over the rounds: the rounds do not repeat one state of the system.",
        "Warm up for longer, look at temperature, clocks and cache, and measure again.",
    ),
    WarningCode.OUTLIERS: WarningText(
        "A round lies far from the others. It is kept.",
        "Look at that round's telemetry and errors.",
    ),
    WarningCode.UNSTEADY: WarningText(
        "The concurrency asked for was not held for at least half of the round: ramp-up and tail weigh in the figure.",
        "Send more requests per user, or make answers equally long.",
    ),
    WarningCode.ERRORS: WarningText(
        "Some requests failed. They are in no figure, but the load was not what the plan says.",
        "Read the failures by class in the run folder.",
    ),
    WarningCode.RETRIES: WarningText(
        "Some connections failed before a byte was sent and were made again.",
        "Look at the server's listen queue and the path to it.",
    ),
    WarningCode.LENGTH_OFF: WarningText(
        "Prompts are more than 2 % longer or shorter than the plan asked for; the record gives the length that was counted.",
        "Ask for longer prompts, which are matched more closely, or take the counted length for what was measured.",
    ),
    WarningCode.SHORT_OUTPUTS: WarningText(
        "Answers ended before the length asked for: fewer tokens decoded, at shorter contexts.",
        "Fix the output length where the engine allows it, or ask for a length that the prompts fill.",
    ),
    WarningCode.QUEUED: WarningText(
        "More requests were in flight than the server runs at once: latencies hold the time in its queue.",
        "Raise the server's limit of running requests, or measure below it.",
    ),
    WarningCode.GRAPH_CLIFF: WarningText(
        "Throughput is far lower than at a lower concurrency, as where batches outgrow the captured graphs.",
        "Compare captured batch sizes with running requests times verify rows.",
    ),
    WarningCode.CLIENT_BOUND: WarningText(
        "The client itself was busy or late: times hold its own delay, and the load may have been lower.",
        "Measure from a faster or idler host; `kbtool bench calibrate` shows what this one can do.",
    ),
    WarningCode.SENT_LATE: WarningText(
        "Requests of a schedule left later than it said: the load was lighter than stated.",
        "Lower the rate, or measure from a faster host.",
    ),
    WarningCode.USER_CLOCK: WarningText(
        "Receive times were taken by the client and not by the kernel, as under TLS: gaps hold its own delays.",
        "Measure on plain HTTP at the engine.",
    ),
    WarningCode.UNCALIBRATED: WarningText(
        "The client's own error on this host is not known.",
        "Run `kbtool bench calibrate` on it.",
    ),
    WarningCode.CLOCK_STEP: WarningText(
        "The wall clock was set, or the host slept, during the measurement. Durations do not use the wall clock.",
        "Keep the host awake and its clock disciplined.",
    ),
    WarningCode.UNPROVEN_COLD: WarningText(
        "Meant to be cold, but the server does not show that no part of the prompt came from its cache.",
        "Have the server report cached tokens, and reset its cache or make prompts unique.",
    ),
    WarningCode.CONTAMINATED: WarningText(
        "Meant to be cold, but the server took part of the prompt from its cache, or others used the server.",
        "Make prompts unique from the first token on, or reset the cache before each round.",
    ),
    WarningCode.FOREIGN_TRAFFIC: WarningText(
        "The server counted more than this client sent: somebody else used it meanwhile.",
        "Keep the server to yourself while measuring.",
    ),
    WarningCode.UNACCOUNTED_TOKENS: WarningText(
        "The server counted fewer tokens in total than it told its clients.",
        "Do not trust token counts of this server before the difference is explained.",
    ),
    WarningCode.NOT_ISOLATED: WarningText(
        "Other processes ran on the accelerators or loaded the host.",
        "Stop them, or choose a quiet time.",
    ),
    WarningCode.THROTTLED: WarningText(
        "Accelerators lowered their clocks because of heat or a power brake for more than 1 % of the time.",
        "Improve cooling, or let them cool down between cells.",
    ),
    WarningCode.POWER_CAPPED: WarningText(
        "Accelerators ran at their power limit: the limit, not the engine, set the speed.",
        "State the limit with the figure; compare only under the same one.",
    ),
    WarningCode.TELEMETRY_GAP: WarningText(
        "Samples of power, clocks or temperature are missing: whether the accelerators were throttled is not known.",
        "Look at the sampler's log.",
    ),
    WarningCode.AFTER_RESTART: WarningText(
        "The engine died or was started again in the same run before this was measured.",
        "Read its log, and repeat the cell in a run without a restart.",
    ),
    WarningCode.SYNTHETIC_ACCEPTANCE: WarningText(
        "Drafts were accepted by decree and not for what they said: an upper bound that no text reaches.",
        "Measure with the engine's own verification, on real prompts.",
    ),
    WarningCode.SPEED_ONLY: WarningText(
        "Nobody checked that the answers make sense: a broken model can be fast.",
        "Run the output checks with the cell.",
    ),
    WarningCode.GARBAGE_OUTPUT: WarningText(
        "Answers look broken: replacement characters, one character over and over, or hardly any vocabulary.",
        "Read some of the answers; check the checkpoint, its data types and the kernels.",
    ),
    WarningCode.NOT_REPEATABLE: WarningText(
        "The same prompt at temperature 0 got different answers: batching or kernels change what is computed.",
        "Tell apart rounding under batching from a fault by repeating with one request at a time.",
    ),
    WarningCode.TRUNCATED_OUTPUT: WarningText(
        "Answers were cut short of the length asked for, although the model had not finished.",
        "Check the context limit of server and proxy.",
    ),
}
"""Warning -> its text, for every warning, in the order of the codes."""


def in_order(warnings: set[WarningCode]) -> tuple[WarningCode, ...]:
    """Return the warnings in the order in which they are shown."""
    return tuple([each for each in WarningCode if each in warnings])
