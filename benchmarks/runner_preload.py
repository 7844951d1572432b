"""Start one load tool many times without paying for its imports each time: run by the tool's own Python.

Loads the tool's modules once, then reads jobs from standard input, one JSON object a line, and forks for each: the
tool runs as it would from its command line, in a fresh process.  Says `{"pid": ...}` when it has started, and
`{"status": ..., "cpu_s": ...}` when it has ended.  Uses nothing but the standard library.

Usage: PYTHON runner_preload.py ENTRY_MODULE:FUNCTION [MODULE...]
"""

import importlib
import json
import os
import resource
import sys
import traceback


def main() -> None:
    """Load, and fork until standard input closes."""
    entry, *modules = sys.argv[1:]
    module, _, function = entry.partition(":")
    for name in (*modules, module):
        importlib.import_module(name)
    start = getattr(importlib.import_module(module), function)
    say({"ready": True})
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            run(start, job)
        say({"pid": pid})
        _, status, used = os.wait4(pid, 0)
        say({"status": os.waitstatus_to_exitcode(status), "cpu_s": used.ru_utime + used.ru_stime})


def say(value: object) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def run(start: object, job: dict) -> None:  # type: ignore[type-arg]
    """Become the tool: its arguments, its folder, and its output to a file."""
    status = 1
    try:
        log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.environ.update(job["environment"])
        os.chdir(job["folder"])
        sys.argv = job["argv"]
        code = start()  # type: ignore[operator]
        status = code if isinstance(code, int) else 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - the child must not go on as its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Not the interpreter's own end: that would wait for what the parent had loaded.
        os._exit(status)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
