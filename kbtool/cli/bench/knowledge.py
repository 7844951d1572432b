"""What the runner is told of the knowledge base and of this host: accelerator names, the client's own error."""

import json
import platform
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kbtool.cli.bench.reading import state_folder
from kbtool.cli.console import find_root
from kbtool.errors import RecordError, UsageError

if TYPE_CHECKING:
    from kbtool.runner.telemetry import AcceleratorNames

__all__ = ["accelerator_names", "calibration_here", "calibration_path"]

CALIBRATION: Final = "calibration.json"


def accelerator_names() -> "tuple[AcceleratorNames, ...]":
    """Return the accelerator records that a card may be; none where no knowledge base is at hand."""
    from kbtool.runner.telemetry import AcceleratorNames
    from kbtool.schema import Accelerator
    from kbtool.store import load

    try:
        root = find_root(None)
    except UsageError:
        return ()  # the runner works alone; the record then needs `subject.accelerator`
    found = []
    for ref, record in sorted(load(root).records.items()):
        if isinstance(record, Accelerator):
            power = record.power
            found.append(
                AcceleratorNames(
                    id=ref,
                    title=record.title,
                    names=tuple(record.names),
                    power_default_w=_exact(power.default_w),
                    power_min_w=_exact(power.min_limit_w),
                    power_max_w=_exact(power.max_limit_w),
                )
            )
    return tuple(found)


def _exact(figure: Any) -> float | None:
    """Return a figure's value where it is exact."""
    if figure is None or figure.value is None or figure.qualifier is not None:
        return None
    return float(figure.value)


def calibration_path() -> Path:
    """Return where the client's error on this host is kept."""
    return state_folder() / platform.node() / CALIBRATION


def calibration_here() -> Mapping[str, Any] | None:
    """Return the client's error on this host, or None where it was never measured.

    Raises:
        RecordError: the file is damaged. It would be found when the record is written, after the measuring.
    """
    from kbtool.runner.calibrate import read_calibration

    path = calibration_path()
    try:
        date.fromisoformat(read_calibration(path).date[:10])
        found: Mapping[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (RecordError, TypeError, ValueError) as error:
        raise RecordError(
            f"{path}: {error}; expected what `kbtool bench calibrate` writes: remove it, and run that again"
        ) from None
    return found
