"""The measuring client: requests on the wire, raw bytes and exact times.

::

    outgoing   what is sent; limits                control    small HTTP that is not measured
    driver     who decides what is sent when       parse      recorded bytes -> `RequestTrace`
    loop       `exchange`: sends and records       http1 events answer usage verdict    steps of the parsing
    recorded   what it leaves behind               flight lane wire pending timer clock quiet health  of the loop

Nothing is parsed while requests are in flight.  Times of arrival are the kernel's (`SO_TIMESTAMPNS`) on plain
HTTP, and the client's own under TLS.
"""

from kbtool.runner.client.driver import Driver
from kbtool.runner.client.loop import exchange
from kbtool.runner.client.outgoing import Endpoint, Limits, Outgoing, Send, build_request
from kbtool.runner.client.parse import parse
from kbtool.runner.client.recorded import ClientHealth, Exchange, Interrupt, Progress, Recorded

__all__ = [
    "ClientHealth",
    "Driver",
    "Endpoint",
    "Exchange",
    "Interrupt",
    "Limits",
    "Outgoing",
    "Progress",
    "Recorded",
    "Send",
    "build_request",
    "exchange",
    "parse",
]
