"""Load: drivers that say which request is sent when, each made from plain specs.

::

    work         what requests are: model, API, endpoints, affinity, options, prompts
    sequence     `single_stream` and `prefill`: one request at a time
    closed       `ClosedLoop`: n users
    open         `OpenLoop`: arrivals at a rate
    conversations  `Conversations`: agents in turns
    replay       `Replay`: a recorded trace
    build supply schedule lengths patience   parts of them

Every driver sends the same requests for the same specs.  What it computes while requests are in flight delays the
loop, so requests are built beforehand wherever they do not depend on answers.
"""

from kbtool.runner.load.build import Built, RequestMaker, Who
from kbtool.runner.load.closed import ClosedLoop, ClosedLoopSpec, Marks
from kbtool.runner.load.conversations import Conversations, ConversationsSpec
from kbtool.runner.load.lengths import FixedLength, Length, LognormalLength, UniformLength
from kbtool.runner.load.open import OpenLoop, OpenLoopSpec
from kbtool.runner.load.replay import Replay, ReplaySpec
from kbtool.runner.load.sequence import (
    PrefillSpec,
    Sequential,
    SingleStreamSpec,
    length_probes,
    prefill,
    single_stream,
)
from kbtool.runner.load.work import Affinity, Api, Content, EndpointChoice, RequestOptions, WorkSpec

__all__ = [
    "Affinity",
    "Api",
    "Built",
    "ClosedLoop",
    "ClosedLoopSpec",
    "Content",
    "Conversations",
    "ConversationsSpec",
    "EndpointChoice",
    "FixedLength",
    "Length",
    "LognormalLength",
    "Marks",
    "OpenLoop",
    "OpenLoopSpec",
    "PrefillSpec",
    "Replay",
    "ReplaySpec",
    "RequestMaker",
    "RequestOptions",
    "Sequential",
    "SingleStreamSpec",
    "UniformLength",
    "Who",
    "WorkSpec",
    "length_probes",
    "prefill",
    "single_stream",
]
