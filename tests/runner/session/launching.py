"""Plans that launch the scripted engine as a program of its own."""

import json
import sys
from pathlib import Path
from typing import Any

from tests.runner.target.launching import free_port

__all__ = ["instance", "launched"]

_PROGRAM = Path(__file__).with_name("served_engine.py")


def instance(*options: str, **script: Any) -> dict[str, Any]:
    """Return an instance of a plan."""
    return {
        "port": free_port(),
        "arguments": [
            sys.executable,
            str(_PROGRAM),
            "{port}",
            "{model_name}",
            json.dumps(script),
            *options,
        ],
    }


def launched(*options: str, **script: Any) -> dict[str, Any]:
    """Return a target of one launched engine."""
    return {"engine": "vllm", "launch": {"instances": [instance(*options, **script)]}}
