"""What each kind of server tells, and how it is asked: one adapter a kind, all of one shape (`base`)."""

from kbtool.runner.engines.base import (
    Counters,
    EngineAdapter,
    Identity,
    Observed,
    RequestOptions,
    ResetOutcome,
    Trust,
    in_force,
)
from kbtool.runner.engines.detect import Detected, adapter_for, detect, hinted

__all__ = [
    "Counters",
    "Detected",
    "EngineAdapter",
    "Identity",
    "Observed",
    "RequestOptions",
    "ResetOutcome",
    "Trust",
    "adapter_for",
    "detect",
    "hinted",
    "in_force",
]
