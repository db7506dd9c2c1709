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
# Row groups of many rows may be stored as dictionaries, which take little room in a
# file and much when they are decoded.
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
        # Hidden files are no report files: a collector that looks meanwhile does not
        # find one that is half written.
        self._temporary = self._path.with_name(
            f".{self._path.name}.{secrets.token_hex(4)}"
        )
        self._size = size
        digest = bytes.fromhex(parameters)
        self._hash = pa.array([digest], pa.binary())
        self._groups = groups or {}
        # Random, not a checksum: it is known before the content is, and stays that of
        # all copies.
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
                # Statistics have the least and the greatest report of each row group in
                # the footer, which a reader would have to check as well.
                write_statistics=False,
            )
        return self

    def write(self, rows: Reports, groups: NDArray[np.int32] | None = None) -> None:
        """Add reports, uint8, shape ``(n, size)``.

        ``groups`` has the place of each report's value of each variable, shape ``(n, variables)``.
        """
        n = len(rows)
        if rows.shape != (n, self._size) or rows.dtype != np.uint8:
            remedy = "Give an array with one row a report."
            allowed = f"bytes of shape (n, {self._size})"
            raise InputError("rows", rows.shape, allowed, remedy)
        if groups is None:
            groups = np.zeros((n, 0), dtype=np.int32)
        variables = len(self._groups)
        if groups.shape != (n, variables):
            allowed = f"of shape ({n}, {variables})"
            remedy = "Give a value of each variable for each report."
            raise InputError("groups", groups.shape, allowed, remedy)
        self._waiting.append(rows)
        self._waiting_groups.append(groups)
        self._rows += n
        if self._rows * self._size >= _ROW_GROUP_BYTES:
            self._flush()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            with self._named():
                if kind is None:
                    self._flush()
                # The file is closed after an error too, as its handle would outlive the
                # temporary file.
                self._file.close()
                if kind is None:
                    # Sealed under the temporary name, and then renamed: a file under
                    # its own name without a seal is never ours.
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
            reason = f"cannot be written: {error}"
            raise FileError(self._path, reason, remedy) from error

    def _flush(self) -> None:
        """Write what waits as a row group."""
        n = self._rows
        if n == 0:
            return
        rows = np.ascontiguousarray(np.concatenate(self._waiting))
        groups = np.concatenate(self._waiting_groups)
        self._waiting = []
        self._waiting_groups = []
        self._rows = 0
        # Without copies: the rows are the column's bytes, and no row is null.
        buffers = [None, pa.py_buffer(rows)]
        reports = pa.Array.from_buffers(pa.binary(self._size), n, buffers)
        # Each row has the one hash, by number 0 of a dictionary.
        numbers = np.zeros(n, dtype=np.int32)
        hashes = pa.DictionaryArray.from_arrays(numbers, self._hash)
        columns = [reports, hashes]
        codes_of_groups = np.ascontiguousarray(groups.T)
        for codes, values in zip(codes_of_groups, self._groups.values(), strict=True):
            column = pa.DictionaryArray.from_arrays(codes, pa.array(values))
            columns.append(column)
        table = pa.Table.from_arrays(columns, schema=self._schema)
        most_rows = max(1, _ROW_GROUP_BYTES // self._size)
        with self._named():
            self._file.write_table(table, row_group_size=most_rows)


def parquet_batches(path: Path, expected: Expected) -> Iterator[Batch]:
    """Batches of at most 32 MiB of reports; nothing is parsed before the seal is checked.

    Raises
    ------
    InputError
        The seal is broken, or the file is not one of reports of these parameters.
    pyarrow.ArrowException
        The file is corrupt all the same.
    """
    # What follows is what somebody sealed, who may still be an attacker: the seal is a
    # checksum without a key.
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
        columns = len(file.schema_arrow.names)
        _check_columns(file.schema_arrow, size, expected)
        _check_room(file.metadata, size, path.stat().st_size)
        hashes = bytes.fromhex(expected.parameters)
        most_rows = max(1, _BATCH_BYTES // size)
        # By row group, since each was found small enough to be in memory; a batch over
        # several of them is not bounded so.
        for number in range(file.num_row_groups):
            for rows in file.iter_batches(most_rows, row_groups=[number]):
                reports = _bytes_of(rows, size, hashes)
                # The columns of groups stand behind those of reports and hashes.
                group_rows = rows.select(range(2, columns))
                for group, members in _grouped(group_rows, expected, path):
                    yield Batch(key, reports[members], file_id, group=group)


def _check_columns(schema: pa.Schema, size: int, expected: Expected) -> None:
    """Refuse other columns than reports of this size, their hash, and groups of the survey."""
    reports = pa.field("report", pa.binary(size))
    right = [reports, pa.field("parameters", _HASHES)]
    for name in expected.groups:
        if name in schema.names:
            right.append(pa.field(name, GROUPED))
    # The columns' types decide how bytes are decoded, so that a file of other types is
    # refused, not converted.
    if not schema.equals(pa.schema(right)):
        columns = ", ".join(f"{column.name} {column.type}" for column in schema)
        allowed = f"report fixed_size_binary[{size}], parameters {_HASHES}"
        for name in expected.groups:
            allowed += f", {name} {GROUPED}, or none"
        raise InputError("columns", columns, allowed, REPORTS_REMEDY)


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
    names = group_rows.schema.names
    codes = np.column_stack([column.indices for column in group_rows])
    for cell in np.unique(codes, axis=0):
        stated = {}
        for name, column, code in zip(names, group_rows, cell, strict=True):
            stated[name] = column.dictionary[int(code)].as_py()
        members = (codes == cell).all(axis=1)
        yield expected.group(folders, stated, "a row"), members


def _metadata(key: Key, number: str) -> str:
    """What a file says of itself: in one way alone, so that no two readers differ."""
    question, round_number = key
    return json.dumps(
        {
            "version": _FILE_FORM,
            "question": question,
            "round": round_number,
            "file": number,
        }
    )


def _about(file: pq.ParquetFile) -> tuple[Key, str]:
    """Question, round and number of a file, whose metadata have to be as they are written."""
    raw = (file.schema_arrow.metadata or {}).get(_METADATA, b"")
    # The metadata are parsed and written again, and the two compared: so no second key,
    # blank or escape hides a second meaning.
    try:
        metadata = json.loads(raw)
        question = metadata["question"]
        round_number = metadata["round"]
        number = metadata["file"]
        key = (question, round_number)
        # The types first: true would be written as JSON like the number that it equals.
        is_right = type(question) is str
        is_right = is_right and type(round_number) in {int, NoneType}
        is_right = is_right and re.fullmatch("[0-9a-f]{32}", number) is not None
        is_right = is_right and _metadata(key, number).encode() == raw
    except (ValueError, TypeError, KeyError, RecursionError):
        is_right = False
    if not is_right:
        reason = (
            f"the file's metadata are not, byte for byte, those of version {_FILE_FORM}"
        )
        raise unfit(reason)
    return key, number


def _check_room(metadata: pq.FileMetaData, size: int, file_size: int) -> None:
    """What a page becomes when it is decompressed stands in the page alone, which may lie.

    Encoded reports may take less room than they do in memory, but not that much less: a column
    that repeats one report takes next to no room in a file.
    """
    numbers = range(metadata.num_row_groups)
    groups = [metadata.row_group(number) for number in numbers]
    codecs = set()
    # A compressed page can become a thousand times as large, and how large stands only
    # in itself.
    for group in groups:
        for column in range(group.num_columns):
            codecs.add(group.column(column).compression)
    if not codecs <= {"UNCOMPRESSED"}:
        remedy = "Write it without compression: random bits do not compress."
        raise InputError("compression", sorted(codecs), "none", remedy)
    # The number of rows is what the file claims; a claim below zero would pass a bound
    # from above alone.
    whole = metadata.num_rows * size
    most = MAX_ROW_GROUP_BYTES + _MAX_EXPANSION * file_size
    if not 0 <= whole <= most:
        what = "decoded size of all reports"
        remedy = "Split the reports into several files."
        raise InputError(what, whole, f"at most {most} bytes", remedy)
    for number, row_group in enumerate(groups):
        _check_row_group(f"size of row group {number}", row_group.total_byte_size)
        decoded = row_group.num_rows * size
        _check_row_group(f"decoded size of row group {number}", decoded)


def _check_row_group(what: str, octets: int) -> None:
    """InputError if a row group is larger than what is read at once, or says it is below 0."""
    if not 0 <= octets <= MAX_ROW_GROUP_BYTES:
        allowed = f"at most {MAX_ROW_GROUP_BYTES} bytes, as memory is bounded"
        remedy = "Write it anew with smaller row groups."
        raise InputError(what, octets, allowed, remedy)


def _bytes_of(rows: pa.RecordBatch, size: int, parameters: bytes) -> Reports:
    """The reports, all of which must carry the hash; the dictionary makes this cheap."""
    reports = rows.column(0)
    hashes = rows.column(1)
    listed = hashes.dictionary.to_pylist()
    # All rows of a batch share the one entry of the dictionary, so that comparing it
    # compares each row's hash.
    if hashes.null_count or listed != [parameters]:
        names = ["none" if value is None else value.hex() for value in listed]
        raise InputError("parameter hash", names, parameters.hex(), FOREIGN)
    if reports.null_count:
        raise unfit(f"{reports.null_count} reports are null")
    # The first buffer would say which are null.
    _, values = reports.buffers()
    whole = np.frombuffer(values, dtype=np.uint8)
    # A batch is a part of the column, from its offset on.
    start = reports.offset * size
    end = start + len(reports) * size
    return whole[start:end].reshape(-1, size)


# A seal has these 8 bytes and the XXH3-128 checksum, between the row groups and the
# footer, where Parquet readers skip what no offset leads to.
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
        # All offsets in a Parquet file count from its start, so that the footer can
        # move back by the seal's bytes without a change.
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
    """Where the footer begins: its length stands in the last 8 bytes, before "PAR1"."""
    length = file.seek(0, 2)
    if length < 2 * len(_FRAME) + 4:
        raise unfit(f"the file has {length} bytes, too few for a Parquet file")
    file.seek(-_TAIL, 2)
    tail = file.read()
    file.seek(0)
    beginning = file.read(len(_FRAME))
    if beginning != _FRAME or not tail.endswith(_FRAME):
        raise unfit("the file is no complete Parquet file")
    footer = int.from_bytes(tail[:4], "little")
    start = length - _TAIL - footer
    if start < len(_FRAME):
        raise unfit("the Parquet file's footer is damaged")
    if footer > _MAX_FOOTER:
        allowed = f"at most {_MAX_FOOTER} bytes"
        raise InputError("size of the footer", footer, allowed, REPORTS_REMEDY)
    return start


def _checksum(file: BufferedIOBase, end: int, resume: int) -> bytes:
    """The checksum of all bytes of a file but those from ``end`` to ``resume``."""
    # XXH3 reads at about the speed of memory; SHA-256 takes far longer, and without a
    # key keeps no attacker out either.
    checksum = xxh3_128()
    buffer = memoryview(bytearray(_CHUNK))
    length = file.seek(0, 2)
    for start, stop in ((0, end), (resume, length)):
        file.seek(start)
        left = stop - start
        while left > 0:
            size = file.readinto(buffer[: min(_CHUNK, left)])
            if not size:  # the file became shorter meanwhile
                break
            checksum.update(buffer[:size])
            left -= size
    return checksum.digest()
