"""A finished run as records of the knowledge base, or as what other programs exchange."""

from kbtool.runner.emit.links import LinkTarget
from kbtool.runner.emit.record import Emitted, RecordGiven, records_of

__all__ = ["Emitted", "LinkTarget", "RecordGiven", "records_of"]
