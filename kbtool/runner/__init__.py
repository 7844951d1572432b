"""The runner: measured records from a real engine, with a calibrated client and nothing left out.

It measures engines over HTTP, keeps the raw times, and derives every figure from them by pure functions, so
that a better definition can be applied to an old run.  Needs the extra `kbtool[runner]`; runs on Linux alone.

Parts, imports downwards::

    session               a plan carried out: legs, cells, rounds; resume
    doctor report emit    what is there; what came out; records of it
    target                engines launched or attached, routers, processes and containers
    load                  which request is sent when
    engines               what each kind of server tells, and how it is asked
    telemetry             accelerators and host, sampled apart from the load
    client                requests on the wire and their times
    metrics stats         raw times -> figures -> medians, intervals, warnings
    folder                the run folder: journal, raw tables, seals
    plan prompts trace    what is asked for, what is sent, what was seen
"""
