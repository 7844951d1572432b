"""Fuzz the strict YAML reader: `python tests/fuzz/fuzz_yaml.py [CORPUS...] [-max_total_time=60]`.

Any exception but a `YamlFault`, and any difference between reading with and without positions, is a
crash. Atheris takes the options of libFuzzer; a crashing input is written to the working folder and
belongs into `tests/store/test_yamlio.py`.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
with atheris.instrument_imports(include=["kbtool"]):
    from kbtool.store.emit import emit
    from kbtool.store.yamlio import YamlFault, parse, parse_with_positions


def one_input(data: bytes) -> None:
    """Read one input both ways; what is read can be written and read again."""
    value, fault = outcome(parse, data)
    positioned, same_fault = outcome(parse_with_positions, data)
    if fault is not None:
        assert same_fault is not None
        assert same_fault.args == fault.args
        assert min(fault.line, fault.column) >= 1
        return
    read, root = positioned
    assert repr(read) == repr(value)
    assert 0 <= root.start <= root.end <= len(data)
    assert repr(parse(emit(value).encode())) == repr(value)


def outcome(read: Callable[[bytes], Any], data: bytes) -> tuple[Any, YamlFault | None]:
    """Return what is read, or the fault that keeps it from being read."""
    try:
        return read(data), None
    except YamlFault as fault:
        return None, fault


def main() -> None:
    """Fuzz until the time is over or something crashes."""
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
