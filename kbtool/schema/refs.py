"""References between records: `<kind>s/<id>`, with the kind in the type."""

from typing import Annotated, Final, Literal, get_args

from pydantic import StringConstraints

__all__ = [
    "FOLDERS",
    "KINDS",
    "AcceleratorRef",
    "AnyRef",
    "BenchmarkRef",
    "EngineRef",
    "InterconnectRef",
    "Kind",
    "ModelRef",
    "SourceRef",
    "TargetRef",
    "split",
]

Kind = Literal["benchmark", "accelerator", "interconnect", "engine", "model", "source", "gotcha"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
FOLDERS: Final[dict[str, Kind]] = {f"{kind}s": kind for kind in KINDS}
"""Folder under `records/` and first part of a reference -> kind."""

_ID = "[a-z][a-z0-9]*(-[a-z0-9]+)*"
_ANY = "(" + "|".join(FOLDERS) + ")"

BenchmarkRef = Annotated[str, StringConstraints(max_length=120, pattern=f"^benchmarks/{_ID}$")]
AcceleratorRef = Annotated[str, StringConstraints(max_length=120, pattern=f"^accelerators/{_ID}$")]
InterconnectRef = Annotated[str, StringConstraints(max_length=120, pattern=f"^interconnects/{_ID}$")]
EngineRef = Annotated[str, StringConstraints(max_length=120, pattern=f"^engines/{_ID}$")]
ModelRef = Annotated[str, StringConstraints(max_length=120, pattern=f"^models/{_ID}$")]
SourceRef = Annotated[str, StringConstraints(max_length=120, pattern=f"^sources/{_ID}$")]
AnyRef = Annotated[str, StringConstraints(max_length=120, pattern=f"^{_ANY}/{_ID}$")]
TargetRef = Annotated[str, StringConstraints(max_length=221, pattern=f"^{_ANY}/{_ID}(#{_ID})?$")]
"""A record, or one result of a benchmark: `benchmarks/<id>#<result>`."""


def split(reference: str) -> tuple[str, str, str]:
    """Return folder, id and result id (empty where the whole record is meant)."""
    folder, _, rest = reference.partition("/")
    record_id, _, result_id = rest.partition("#")
    return folder, record_id, result_id
