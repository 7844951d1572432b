"""The runner: measured records from a real engine, with a calibrated client and nothing left out.

It measures engines over HTTP, keeps the raw times, and derives every figure from them by pure functions, so
that a better definition can be applied to an old run.  Needs the extra `kbtool[runner]`; runs on Linux alone.

Parts, imports downwards::

    session                     a plan carried out: legs, cells, rounds; resumed where it was left
    doctor audit                what is there before; whether the answers can be believed
    emit report compare         records of what came out; the run for a reader; two runs side by side
    reproduce                   a record as a plan
    results                     a run read back, every figure computed anew
    target                      engines launched or attached, routers, processes and containers
    calibrate truth             the client's own error; the server whose true send times are known
    engines telemetry load      what servers tell; accelerators and host; which request is sent when
    client metrics folder       requests on the wire; raw times to figures; the run folder
    plan prompts stats          what is asked for; what is sent; intervals, cliffs, comparisons
    trace                       what one request looked like

`kbtool.cli.bench` joins it with the knowledge base: it alone reads plans, writes records and lints them.
"""
