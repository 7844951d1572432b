"""A server whose true send times are known: what a client is calibrated against.

It is a separate process (`python -m kbtool.runner.truth`), speaks as an OpenAI-compatible engine does, keeps an exact
schedule, and logs when each request arrived and when each send was handed to the kernel.  It shares no code with
the client, so that a mistake in one does not hide the same mistake in the other.

::

    spec       what one request is to be answered with     schedule   -> bytes and times, pure
    requests   HTTP requests as bytes, pure                server     the loop that keeps the schedule
    log        what was true                               process    starting it and asking it
"""

from kbtool.runner.truth.log import TrueRequest, read_log
from kbtool.runner.truth.process import TruthServer
from kbtool.runner.truth.spec import Spec, read_spec

__all__ = ["Spec", "TrueRequest", "TruthServer", "read_log", "read_spec"]
