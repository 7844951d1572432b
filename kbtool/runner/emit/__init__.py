"""A finished run as records of the knowledge base, or as what other programs exchange."""

from kbtool.runner.emit.record import Emitted, RecordGiven, records_of

__all__ = ["Emitted", "RecordGiven", "records_of"]
