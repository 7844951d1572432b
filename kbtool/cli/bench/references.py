"""The records that a plan names, looked up in the knowledge base: a run whose record cannot be written is found early."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kbtool.cli.console import find_root
from kbtool.errors import UsageError

if TYPE_CHECKING:
    from kbtool.runner.plan import Plan
    from kbtool.runner.plan.check import Remark

__all__ = ["model_names", "reference_remarks"]

_FIELDS: Final = ("engine", "model", "accelerator")


def reference_remarks(plan: "Plan") -> "Iterator[Remark]":
    """Yield a refusal for each record of the subject that there is none of; a warning where nothing can be looked up."""
    from kbtool.runner.plan.check import Remark
    from kbtool.store.suggest import nearest_reference

    records = _records()
    if not records:
        found = "no folder `records` here or above: whether its records exist was not checked"
        yield Remark("warning", "subject", f"{found}; run this inside the knowledge base")
        return
    for field in _FIELDS:
        ref = getattr(plan.subject, field)
        if ref is None or _file_of(records, ref) is not None:
            continue
        kind = ref.partition("/")[0]
        near = nearest_reference(ref, {f"{kind}/{path.stem}" for path in _files(records, kind, "*")})
        meant = f"did you mean {near}?" if near else f"`ls records/{kind}` shows those that exist;"
        yield Remark(
            "refused",
            f"subject.{field}",
            f"there is no record {ref}, and no record of the run can be made without it: {meant} or make it with "
            f"`kbtool new {field}`".replace("? or make", "? Or make"),
        )


def model_names(plan: "Plan") -> tuple[str, ...]:
    """Return what the model's record calls it: id, title, other names and checkpoints; nothing where there is none."""
    from kbtool.store.yamlio import YamlFault, parse

    records = _records()
    path = _file_of(records, plan.subject.model)
    if path is None:
        return ()
    try:
        said = parse(path.read_bytes())
    except (OSError, YamlFault):
        return ()  # lint says what is wrong with it
    if not isinstance(said, dict):
        return ()
    return tuple(str(said[key]) for key in ("id", "title", "family", "names", "checkpoints") if key in said)


def _records() -> tuple[Path, ...]:
    """Return the folders of records here and above: those of an example stand inside a checkout that has the others."""
    try:
        nearest = find_root(None)
    except UsageError:
        return ()
    return tuple(each / "records" for each in (nearest, *nearest.parents) if (each / "records").is_dir())


def _files(records: tuple[Path, ...], kind: str, name: str) -> Iterator[Path]:
    """Yield the files of records, which may lie in a folder of their group."""
    for each in records:
        yield from (each / kind).rglob(f"{name}.yaml")


def _file_of(records: tuple[Path, ...], ref: str) -> Path | None:
    kind, _, name = ref.partition("/")
    return next(_files(records, kind, name), None)
