"""Parquet files of reports: sealed, written whole or not at all, believed in nothing when read.

A file holds the reports of one question (and round). Each row has the column ``report``
(fixed-size binary) and the column ``parameters`` (the parameter hash, stored once for each
row group). The file's metadata names the question and carries a random file number, by which
copies are recognised; a seal protects the whole (:func:`seal`).
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from types import NoneType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from xxhash import xxh3_128

from planner.deployment.collecting.places import Stored
from planner.deployment.collecting.reports import (
    FOREIGN,
    Batch,
    Expected,
    Group,
    Key,
    unfit,
)
from planner.errors import FileError, InputError
from planner.limits import REPORTS_REMEDY
from planner.mechanisms.counting import Reports

MAX_ROW_GROUP_BYTES = 256 * 2**20
# Reports may take so many times the bytes of their file, besides one row group's worth.
_MAX_EXPANSION = 64
_ROW_GROUP_BYTES = 8 * 2**20
_BATCH_BYTES = 4 * _ROW_GROUP_BYTES
_METADATA = b"ldp-planner-reports"
_HASHES = pa.dictionary(pa.int32(), pa.binary())
# The type of a column that says of which group each report is.
GROUPED = pa.dictionary(pa.int32(), pa.string())
_FILE_FORM = 1


class ReportWriter:
    """Writes a Parquet file of reports, whole or not at all; used as a context manager.

    Parameters
    ----------
    path:
        An existing file is replaced when the context ends without an error.
    parameters:
        The parameter hash, 64 hexadecimal digits.
    key:
        Question and round.
    size:
        Bytes of a report.
    groups:
        Values of each known variable; every report is then of one value of each.

    Raises
    ------
    FileError
        The path cannot be written.
    """

    def __init__(
        self,
        path: str | Path,
        parameters: str,
        key: Key,
        size: int,
        groups: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._path = Path(path)
        self._temporary = self._path.with_name(
            f".{self._path.name}.{secrets.token_hex(4)}"
        )
        self._size = size
        self._hash = pa.array([bytes.fromhex(parameters)], pa.binary())
        self._groups = groups or {}
        metadata = _metadata(key, secrets.token_hex(16))
        columns = [("report", pa.binary(size)), ("parameters", _HASHES)]
        columns += [(name, GROUPED) for name in self._groups]
        self._schema = pa.schema(columns, metadata={_METADATA: metadata})
        self._waiting: list[Reports] = []
        self._waiting_groups: list[NDArray[np.int32]] = []
        self._rows = 0

    def __enter__(self) -> ReportWriter:
        with self._named():
            self._file = pq.ParquetWriter(
                self._temporary,
                self._schema,
                compression="none",  # random bits do not compress
                use_dictionary=["parameters", *self._groups],
                write_statistics=False,
            )
        return self

    def write(self, rows: Reports, groups: NDArray[np.int32] | None = None) -> None:
        """Add reports, uint8, shape ``(n, size)``.

        ``groups`` has the place of each report's value of each variable, shape ``(n, variables)``.
        """
        if rows.ndim != 2 or rows.shape[1] != self._size or rows.dtype != np.uint8:
            remedy = "Give an array with one row a report."
            raise InputError(
                "rows", rows.shape, f"bytes of shape (n, {self._size})", remedy
            )
        if groups is None:
            groups = np.zeros((len(rows), 0), dtype=np.int32)
        if groups.shape != (len(rows), len(self._groups)):
            allowed = f"of shape ({len(rows)}, {len(self._groups)})"
            remedy = "Give a value of each variable for each report."
            raise InputError("groups", groups.shape, allowed, remedy)
        self._waiting.append(rows)
        self._waiting_groups.append(groups)
        self._rows += len(rows)
        if self._rows * self._size >= _ROW_GROUP_BYTES:
            self._flush()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            with self._named():
                if kind is None:
                    self._flush()
                self._file.close()
                if kind is None:
                    seal(self._temporary)
                    self._temporary.replace(self._path)
        finally:
            self._temporary.unlink(missing_ok=True)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Names the file in whatever goes wrong with it, and leaves nothing of it."""
        try:
            yield
        except OSError as error:
            self._temporary.unlink(missing_ok=True)
            remedy = "Check that the directory exists, may be written to, and has room."
            raise FileError(
                self._path, f"cannot be written: {error}", remedy
            ) from error

    def _flush(self) -> None:
        n = self._rows
        if n == 0:
            return
        rows = np.ascontiguousarray(np.concatenate(self._waiting))
        groups = np.concatenate(self._waiting_groups)
        self._waiting = []
        self._waiting_groups = []
        self._rows = 0
        reports = pa.Array.from_buffers(
            pa.binary(self._size), n, [None, pa.py_buffer(rows)]
        )
        ones = pa.DictionaryArray.from_arrays(np.zeros(n, dtype=np.int32), self._hash)
        columns = [reports, ones]
        for column, values in enumerate(self._groups.values()):
            codes = np.ascontiguousarray(groups[:, column])
            columns.append(pa.DictionaryArray.from_arrays(codes, pa.array(values)))
        table = pa.Table.from_arrays(columns, schema=self._schema)
        with self._named():
            self._file.write_table(
                table, row_group_size=max(1, _ROW_GROUP_BYTES // self._size)
            )


def parquet_batches(path: Path, expected: Expected) -> Iterator[Batch]:
    """Batches of at most 32 MiB of reports; nothing is parsed before the seal is checked.

    Raises
    ------
    InputError
        The seal is broken, or the file is not one of reports of these parameters.
    pyarrow.ArrowException
        The file is corrupt all the same.
    """
    check_seal(path)
    # Unbuffered, a column of a row group is read as it is stored; buffered, a page's header would
    # be believed when it says how long the page is.
    source = path.open() if isinstance(path, Stored) else path
    with pq.ParquetFile(source, buffer_size=0, pre_buffer=False) as file:
        key, file_id = _about(file)
        if key not in expected.sizes:
            allowed = "ones of the parameter file"
            raise InputError("question and round", key, allowed, FOREIGN)
        size = expected.sizes[key]
        schema = file.schema_arrow
        right = [pa.field("report", pa.binary(size)), pa.field("parameters", _HASHES)]
        group_fields = [
            pa.field(name, GROUPED) for name in expected.groups if name in schema.names
        ]
        if not schema.equals(pa.schema([*right, *group_fields])):
            columns = ", ".join(f"{column.name} {column.type}" for column in schema)
            allowed = f"report fixed_size_binary[{size}], parameters {_HASHES}"
            allowed += "".join(
                f", {name} {GROUPED}, or none" for name in expected.groups
            )
            raise InputError("columns", columns, allowed, REPORTS_REMEDY)
        _check_room(file.metadata, size, path.stat().st_size)
        hashes = bytes.fromhex(expected.parameters)
        for number in range(file.num_row_groups):
            for rows in file.iter_batches(
                max(1, _BATCH_BYTES // size), row_groups=[number]
            ):
                reports = _bytes_of(rows, size, hashes)
                for group, members in _grouped(
                    rows.select(range(2, 2 + len(group_fields))), expected, path
                ):
                    yield Batch(key, reports[members], file_id, group=group)


def _grouped(
    group_rows: pa.RecordBatch, expected: Expected, path: Path
) -> Iterator[tuple[Group, slice | NDArray[np.bool_]]]:
    """The groups of some rows, each with its rows."""
    folders = expected.of_folders(path)
    if not group_rows.num_columns:
        yield expected.group(folders, {}, "the file"), slice(None)
        return
    if any(column.null_count for column in group_rows):
        raise unfit("some reports have none")
    codes = np.column_stack([column.indices for column in group_rows])
    for cell in np.unique(codes, axis=0):
        names = (
            column.dictionary[int(k)].as_py()
            for column, k in zip(group_rows, cell, strict=True)
        )
        said = dict(zip(group_rows.schema.names, names, strict=True))
        yield expected.group(folders, said, "a row"), (codes == cell).all(axis=1)


def _metadata(key: Key, number: str) -> str:
    return json.dumps(
        {"version": _FILE_FORM, "question": key[0], "round": key[1], "file": number}
    )


def _about(file: pq.ParquetFile) -> tuple[Key, str]:
    """Question, round and number of a file, whose metadata have to be as they are written."""
    raw = (file.schema_arrow.metadata or {}).get(_METADATA, b"")
    try:
        metadata = json.loads(raw)
        key = (metadata["question"], metadata["round"])
        number = metadata["file"]
        right = _metadata(key, number).encode() == raw and type(key[1]) in {
            int,
            NoneType,
        }
        right = (
            right and type(key[0]) is str and bool(re.fullmatch("[0-9a-f]{32}", number))
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        right = False
    if not right:
        raise unfit(
            f"the file's metadata are not, byte for byte, those of version {_FILE_FORM}"
        )
    return key, number


def _check_room(metadata: pq.FileMetaData, size: int, file_size: int) -> None:
    """What a page becomes when it is decompressed stands in the page alone, which may lie.

    Encoded reports may take less room than they do in memory, but not that much less: a column
    that repeats one report takes next to no room in a file.
    """
    groups = [*map(metadata.row_group, range(metadata.num_row_groups))]
    codecs = {
        group.column(i).compression
        for group in groups
        for i in range(group.num_columns)
    }
    if not codecs <= {"UNCOMPRESSED"}:
        remedy = "Write it without compression: random bits do not compress."
        raise InputError("compression", sorted(codecs), "none", remedy)
    whole = metadata.num_rows * size
    most = MAX_ROW_GROUP_BYTES + _MAX_EXPANSION * file_size
    if not 0 <= whole <= most:
        remedy = "Split the reports into several files."
        raise InputError(
            "decoded size of all reports", whole, f"at most {most} bytes", remedy
        )
    for number, row_group in enumerate(groups):
        for what, octets in (
            ("size", row_group.total_byte_size),
            ("decoded size", row_group.num_rows * size),
        ):
            if not 0 <= octets <= MAX_ROW_GROUP_BYTES:
                allowed = f"at most {MAX_ROW_GROUP_BYTES} bytes, as memory is bounded"
                remedy = "Write it anew with smaller row groups."
                raise InputError(
                    f"{what} of row group {number}", octets, allowed, remedy
                )


def _bytes_of(rows: pa.RecordBatch, size: int, parameters: bytes) -> Reports:
    """The reports, all of which must carry the hash; the dictionary makes this cheap."""
    chunk = rows.column(0)
    hashes = rows.column(1)
    listed = hashes.dictionary.to_pylist()
    if hashes.null_count or listed != [parameters]:
        names = ["none" if value is None else value.hex() for value in listed]
        raise InputError("parameter hash", names, parameters.hex(), FOREIGN)
    if chunk.null_count:
        raise unfit(f"{chunk.null_count} reports are null")
    data = np.frombuffer(chunk.buffers()[1], dtype=np.uint8)
    return data[chunk.offset * size : (chunk.offset + len(chunk)) * size].reshape(
        -1, size
    )


_MAGIC = b"LDPRSEAL"
_SIZE = len(_MAGIC) + 16
_TAIL = 8  # the footer's length and "PAR1"
_FRAME = b"PAR1"
_CHUNK = 2**23
_MAX_FOOTER = 4 * 2**20  # what it becomes in memory is many times larger


def seal(path: str | Path) -> None:
    """Add the seal to a complete Parquet file, in place.

    Raises
    ------
    InputError
        It is not a complete Parquet file.
    """
    with Path(path).open("r+b") as file:
        start = _footer_start(file)
        file.seek(start)
        footer = file.read()
        digest = _checksum(file, start, start)
        file.seek(start)
        file.write(_MAGIC + digest + footer)


def check_seal(path: Path) -> None:
    """Check the seal of a Parquet file.

    Raises
    ------
    InputError
        There is none, or the file is not what was sealed.
    """
    with path.open("rb") as file:
        footer = _footer_start(file)
        start = max(footer - _SIZE, len(_FRAME))
        file.seek(start)
        sealed = file.read(_SIZE)
        if not sealed.startswith(_MAGIC):
            raise unfit("the file has no seal before its footer")
        if sealed[len(_MAGIC) :] != _checksum(file, start, footer):
            raise unfit("the file is not what was sealed")


def _footer_start(file: BufferedIOBase) -> int:
    length = file.seek(0, 2)
    if length < 2 * len(_FRAME) + 4:
        raise unfit(f"the file has {length} bytes, too few for a Parquet file")
    file.seek(-_TAIL, 2)
    tail = file.read()
    file.seek(0)
    if file.read(len(_FRAME)) != _FRAME or tail[-len(_FRAME) :] != _FRAME:
        raise unfit("the file is no complete Parquet file")
    footer = int.from_bytes(tail[:4], "little")
    start = length - _TAIL - footer
    if start < len(_FRAME):
        raise unfit("the Parquet file's footer is damaged")
    if footer > _MAX_FOOTER:
        raise InputError(
            "size of the footer", footer, f"at most {_MAX_FOOTER} bytes", REPORTS_REMEDY
        )
    return start


def _checksum(file: BufferedIOBase, end: int, resume: int) -> bytes:
    """Of all bytes but those from ``end`` to ``resume``."""
    checksum = xxh3_128()
    buffer = memoryview(bytearray(_CHUNK))
    for start, stop in ((0, end), (resume, file.seek(0, 2))):
        file.seek(start)
        while size := file.readinto(buffer[: min(_CHUNK, stop - file.tell())]):
            checksum.update(buffer[:size])
    return checksum.digest()
