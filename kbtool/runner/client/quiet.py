"""Settings of the process for the time of an exchange."""

import gc
import resource
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["garbage_left_alone", "raise_file_limit"]


@contextmanager
def garbage_left_alone() -> Iterator[None]:
    """Keep the collector out: one pass over everything held takes milliseconds, which would be seen as lag."""
    was_on = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()


def raise_file_limit() -> None:
    """Allow as many files as the system does: 1,024 streams with their spares need twice the usual limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
