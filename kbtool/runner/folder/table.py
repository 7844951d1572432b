"""Tables as Parquet files that know their version, their columns and whether they are whole.

A file is plain Parquet (zstd) for any reader. Its metadata has, under `kbtool`, a JSON object: what each
column means, facts about the whole, and a seal that names table, version and the SHA-256 of the file with
the digits of the hash as zeros. `decode` checks the seal before the parser sees a byte: Parquet has no
checksum of its own here, so a flipped bit would else come back as a wrong number, and a cut file as a
crash of the parser.
"""

import hashlib
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from kbtool.runner.folder.errors import RawFileError

__all__ = ["Column", "ColumnType", "Table", "decode", "encode"]


class ColumnType(StrEnum):
    """What the values of a column are; each may also be None, which is never 0."""

    BOOL = "bool"
    UINT8 = "uint8"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT64 = "float64"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Column:
    """A named column; columns of a table have equal length."""

    name: str
    type: ColumnType
    meaning: str
    """What a value is, with its unit; written into the file."""
    values: Sequence[Any]
    delta: bool = field(default=False, compare=False)
    """Values grow steadily, or are all different: a dictionary of them would only add to the size."""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of equal length and what they are about.

    Attributes:
        kind: Name of the table, such as `requests`: lower-case letters, digits and `-`.
        version: Version of its columns; a reader refuses one that it does not know.
        facts: Further texts for the file's metadata, such as the device that was sampled.
    """

    kind: str
    version: int
    columns: tuple[Column, ...]
    facts: tuple[tuple[str, str], ...] = ()

    def __getitem__(self, name: str) -> Sequence[Any]:
        """Return the values of a column.

        Raises:
            KeyError: There is none of that name.
        """
        for column in self.columns:
            if column.name == name:
                return column.values
        raise KeyError(name)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0].values) if self.columns else 0


_MAGIC: Final = b"PAR1"
_NO_DIGEST: Final = b"0" * 64
_SEAL: Final = re.compile(rb"kbtool-table/([a-z0-9-]{1,40})/([0-9]{1,6})/sha256:([0-9a-f]{64})")
_KIND: Final = re.compile(r"[a-z0-9-]{1,40}", re.ASCII)
_FOOTER_LENGTH_BYTES: Final = 8
_BATCH_ROWS: Final = 1 << 14
_MAX_TABLE_BYTES: Final = 4 << 30
"""Of a table in memory: a small file of a stranger may unpack to more than any round can hold."""
_CREATED_BY: Final = "kbtool"


def encode(table: Table) -> bytes:
    """Return a table as the bytes of a Parquet file; equal tables give equal bytes.

    Raises:
        ValueError: Columns differ in length, a name is there twice, or a value is not of its column's type.
    """
    import arro3.core
    import arro3.io

    _check(table)
    types = _arrow_types()
    arrays: dict[str, Any] = {}
    for column in table.columns:
        try:
            arrays[column.name] = arro3.core.Array(list(column.values), types[column.type])
        except (TypeError, OverflowError, UnicodeError) as error:
            raise ValueError(f"table {table.kind}, column {column.name} ({column.type}): {error}") from error
    seal = f"kbtool-table/{table.kind}/{table.version}/sha256:{_NO_DIGEST.decode()}"
    meanings = {column.name: [column.type, column.meaning] for column in table.columns}
    buffer = io.BytesIO()
    arro3.io.write_parquet(
        arro3.core.Table.from_pydict(arrays),
        buffer,
        compression="zstd(3)",
        created_by=_CREATED_BY,
        writer_version="parquet_2_0",
        column_encoding={column.name: "delta_binary_packed" for column in table.columns if column.delta},
        column_dictionary_enabled={column.name: not column.delta for column in table.columns},
        # One key: the writer puts several in an order that differs from call to call.
        key_value_metadata={"kbtool": json.dumps({"columns": meanings, "facts": table.facts, "seal": seal})},
    )
    return _with_digest(buffer.getvalue())


def decode(data: bytes, *, kind: str, versions: Iterable[int], place: str) -> Table:
    """Return the table in the bytes of a file.

    Args:
        data: The whole file.
        kind: The table that is expected.
        versions: The versions that the caller knows.
        place: Path of the file, for messages.

    Raises:
        RawFileError: It is no table of ours, damaged, another table, or of an unknown version.
    """
    seal = _find_seal(data, place)
    found_kind, version = seal[1].decode(), int(seal[2])
    if seal[3] != _digest(data, seal.start(3)):
        raise RawFileError(
            f"{place}: the bytes are not those that were written (SHA-256 differs): "
            "take the file from a copy of the run, or measure the cell again"
        )
    known = sorted(versions)
    if found_kind != kind:
        raise RawFileError(
            f"{place}: holds the table {found_kind!r}, and {kind!r} was expected: was it renamed?"
        )
    if version not in known:
        raise RawFileError(
            f"{place}: version {version} of the table {kind!r}, and this kbtool reads {', '.join(map(str, known))}: "
            "read it with the kbtool that wrote it, or a later one"
        )
    return _parse(data, kind, version, place)


def _check(table: Table) -> None:
    names = [column.name for column in table.columns]
    if not names or len(set(names)) != len(names) or not _KIND.fullmatch(table.kind):
        raise ValueError(
            f"table {table.kind!r}: needs a plain name and columns with different names, found {names}"
        )
    lengths = {column.name: len(column.values) for column in table.columns}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"table {table.kind!r}: columns differ in length: {lengths}")


def _arrow_types() -> dict[ColumnType, Any]:
    from arro3.core import DataType

    return {
        ColumnType.BOOL: DataType.bool(),
        ColumnType.UINT8: DataType.uint8(),
        ColumnType.INT32: DataType.int32(),
        ColumnType.INT64: DataType.int64(),
        ColumnType.FLOAT64: DataType.float64(),
        ColumnType.TEXT: DataType.utf8(),
    }


def _with_digest(data: bytes) -> bytes:
    """Put the hash into its place: a text of the same length, so that nothing else moves."""
    *_, seal = _SEAL.finditer(data)
    start, end = seal.span(3)
    return data[:start] + hashlib.sha256(data).hexdigest().encode() + data[end:]


def _digest(data: bytes, start: int) -> bytes:
    """Return the hash of a file with the digits of the hash, which begin at `start`, as zeros."""
    digest = hashlib.sha256(data[:start])
    digest.update(_NO_DIGEST)
    digest.update(memoryview(data)[start + len(_NO_DIGEST) :])
    return digest.hexdigest().encode()


def _find_seal(data: bytes, place: str) -> re.Match[bytes]:
    """Return the last seal in the footer: texts of a hostile server, which come before it, may look like one."""
    footer = data[-_FOOTER_LENGTH_BYTES:]
    if len(data) < 2 * _FOOTER_LENGTH_BYTES or not data.startswith(_MAGIC) or footer[4:] != _MAGIC:
        raise RawFileError(
            f"{place}: is no whole Parquet file ({len(data)} bytes): take it from a copy of the run"
        )
    seals = list(
        _SEAL.finditer(data, max(0, len(data) - int.from_bytes(footer[:4], "little") - _FOOTER_LENGTH_BYTES))
    )
    if not seals:
        raise RawFileError(f"{place}: has no seal of kbtool: it was not written by kbtool, or it is damaged")
    return seals[-1]


def _parse(data: bytes, kind: str, version: int, place: str) -> Table:
    found = _read_parquet(data, place)
    types = _arrow_types()
    columns = []
    try:
        about = json.loads(found.schema.metadata_str["kbtool"])
        meanings = about["columns"]
        facts = tuple((str(key), str(value)) for key, value in about["facts"])
        for name in found.column_names:
            type_name, meaning = meanings[name]
            column = found.column(name)
            if column.type != types[ColumnType(type_name)]:
                raise RawFileError(f"{place}: column {name} is {column.type}, and {type_name} was expected")
            columns.append(Column(name, ColumnType(type_name), str(meaning), tuple(column.to_pylist())))
    except (KeyError, TypeError, ValueError) as error:
        raise RawFileError(
            f"{place}: the description of the columns is not one of kbtool's: {error!r}"
        ) from error
    return Table(kind, version, tuple(columns), facts)


def _read_parquet(data: bytes, place: str) -> Any:
    """Return the table; a seal shows only that nobody changed the file, not that it was sane when sealed."""
    import arro3.core
    import arro3.io

    try:
        reader = arro3.io.read_parquet(data, batch_size=_BATCH_ROWS)
        batches, n_bytes = [], 0
        for batch in reader:
            batches.append(batch)
            n_bytes += batch.nbytes
            if n_bytes > _MAX_TABLE_BYTES:
                break
    except BaseException as error:
        # The parser raises bare Exception, and on some broken files it panics, which is a BaseException.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise RawFileError(f"{place}: the Parquet parser refuses it: {str(error)[:200]}") from None
        raise
    if n_bytes > _MAX_TABLE_BYTES:
        raise RawFileError(f"{place}: unpacks to more than {_MAX_TABLE_BYTES} bytes: no round is that large")
    return arro3.core.Table.from_batches(batches, schema=reader.schema)
