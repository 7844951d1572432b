"""Telemetry: accelerators and host, sampled apart from the load.

    read_inventory(backend)     the cards, how they are joined, which accelerator record each is
    read_host()                 the host
    SamplerProcess              samples in a process of its own, into a file that only grows
    summarize_window(rows, ..)  what the samples say about a window of time

A value that could not be read is None, with a reason: never 0.  A sampler that dies or hangs is an event.
"""

from kbtool.runner.telemetry.backend import Backend, CardProcess, ClockReason, MigInstance, Missing, Reason
from kbtool.runner.telemetry.cards import (
    CardFacts,
    CardLoad,
    Gap,
    Inventory,
    Leftover,
    PeerPath,
    card_loads,
    leftovers,
    number_ranges,
    read_inventory,
)
from kbtool.runner.telemetry.energy import Energy
from kbtool.runner.telemetry.host import (
    BusyProcess,
    HostFacts,
    NumaNode,
    busy_processes,
    process_times,
    read_host,
)
from kbtool.runner.telemetry.kmsg import ABORTING_XIDS
from kbtool.runner.telemetry.match import AcceleratorMatch, AcceleratorNames, match_accelerator
from kbtool.runner.telemetry.nvml import NvmlBackend
from kbtool.runner.telemetry.process import SamplerProcess, sampler_command
from kbtool.runner.telemetry.sample import COLUMNS, Event, Kind, TelemetrySample, from_columns, to_columns
from kbtool.runner.telemetry.stream import StreamReader, TelemetryError, between, read_stream
from kbtool.runner.telemetry.tenancy import ForeignUse
from kbtool.runner.telemetry.throttle import Throttle
from kbtool.runner.telemetry.window import (
    CardWindow,
    ClockVerdict,
    HostWindow,
    Traffic,
    WindowTelemetry,
    XidEvent,
    summarize_window,
)

__all__ = [
    "ABORTING_XIDS", "COLUMNS", "AcceleratorMatch", "AcceleratorNames", "Backend", "BusyProcess", "CardFacts",
    "CardLoad", "CardProcess", "CardWindow", "ClockReason", "ClockVerdict", "Energy", "Event", "ForeignUse", "Gap",
    "HostFacts", "HostWindow", "Inventory", "Kind", "Leftover", "MigInstance", "Missing", "NumaNode", "NvmlBackend",
    "PeerPath", "Reason", "SamplerProcess", "StreamReader", "TelemetryError", "TelemetrySample", "Throttle",
    "Traffic", "WindowTelemetry", "XidEvent", "between", "busy_processes", "card_loads", "from_columns", "leftovers",
    "match_accelerator", "number_ranges", "process_times", "read_host", "read_inventory", "read_stream",
    "sampler_command", "summarize_window", "to_columns",
]  # fmt: skip
