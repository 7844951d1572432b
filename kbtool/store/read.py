"""One file: read, parsed and checked for shape, with a finding for whatever keeps it from being a record."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

from kbtool.findings import Finding
from kbtool.schema.base import StrictModel
from kbtool.store.faults import RecordFault
from kbtool.store.files import RecordFile, read
from kbtool.store.validate import ShapeFile, shape_findings, validate
from kbtool.store.yamlio import parse, parse_with_positions

__all__ = ["Loaded", "digest_of", "read_file", "ref_of"]


@dataclass(frozen=True)
class Loaded:
    """One file and what could be made of it."""

    file: RecordFile
    digest: str
    """Of the bytes; equal digests mean equal files."""
    data: bytes
    value: dict[str, Any] | None
    """Plain data as parsed; None where the file cannot be read as YAML or holds no mapping."""
    record: StrictModel | None
    """None where the data has not the shape of its kind."""
    findings: tuple[Finding, ...]
    """Why there is no record; empty where there is one."""

    @cached_property
    def ref(self) -> str:
        """`<kind>s/<id>`; `reviews/<kind>s/<id>` and `withdrawn/<kind>s/<id>` for those files."""
        return ref_of(self.file)


def ref_of(file: RecordFile) -> str:
    """Return what a file is called among records: its reference, with a folder in front for reviews and stones."""
    if file.kind in {"review", "withdrawn"}:
        _, head, folder, *_ = file.relative.split("/")
        return f"{head}/{folder}/{file.id}"
    return f"{file.kind}s/{file.id}"


def digest_of(data: bytes) -> str:
    """Return the digest of a file's bytes."""
    return blake2b(data, digest_size=16).hexdigest()


def read_file(file: RecordFile) -> Loaded:
    """Read one file. Nothing that may stand in it raises: it becomes findings."""
    try:
        data = read(file)
    except RecordFault as fault:
        return Loaded(file, "", b"", None, None, (fault.finding(file.relative),))
    return load_bytes(file, data)


def load_bytes(file: RecordFile, data: bytes) -> Loaded:
    """Return what `data` would be as the content of `file`."""
    digest = digest_of(data)
    try:
        value = parse(data)
    except RecordFault as fault:
        return Loaded(file, digest, data, None, None, (fault.finding(file.relative),))
    shape = validate(file.kind, value)
    plain = value if isinstance(value, dict) else None
    if shape.error is None:
        return Loaded(file, digest, data, plain, shape.record, ())
    # Places are worked out for files with findings alone: they cost as much again as the parsing.
    value, root = parse_with_positions(data)
    shaped = ShapeFile(file.relative, file.kind, value, data.decode(), root)
    return Loaded(file, digest, data, plain, None, shape_findings(shaped, shape.error))
