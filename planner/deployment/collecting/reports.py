"""Reports in memory, as lines of JSON as ``Report.to_json`` gives them, and as Parquet files.

A Parquet file holds the reports of one question (and round). Each row has the column ``report``
(fixed-size binary) and the column ``parameters`` (the parameter hash, stored once for each
row group). The file's metadata names the question and carries a random file number, by which
copies are recognised; a seal protects the whole (:func:`seal`).
"""

from __future__ import annotations

import json
import re
import secrets
from base64 import b64decode
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b, sha256
from io import BufferedIOBase, BytesIO
from pathlib import Path
from types import NoneType, TracebackType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from xxhash import xxh3_128

from planner.deployment.client.client import Report
from planner.deployment.collecting.groups import Group, Groups
from planner.deployment.collecting.stored import Stored, place_of
from planner.deployment.parameters import Parameters
from planner.errors import FileError, InputError
from planner.limits import REPORTS_REMEDY
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Reports

Key = tuple[str, int | None]  # question and round (None for a question that has no rounds)
ID_SIZE = 16
MARK_SIZE = 2 * ID_SIZE


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some reports of one question, with the number of the file they are from.

    Attributes
    ----------
    key:
        Question and round.
    rows:
        The reports.
    file_id:
        Number of the file; copies of a file have the same.
    marks:
        The :func:`mark` of each report, one after the other; empty if the file
        has no report ids.
    repeated:
        How many lines of the whole file only repeat another.
    group:
        Of all of them.
    """

    key: Key
    rows: Reports
    file_id: str
    marks: bytes = b""
    repeated: int = 0
    group: Group = ()


def mark(report_id: str, content: str) -> bytes:
    """What a collector remembers of a report: enough to know it again, in 32 bytes.

    Two digests of 16 bytes: of the report's id, and of everything that the report says. Two
    reports with one id are the same report if the second digests are equal, and a contradiction
    if not.

    Examples
    --------
    >>> one, same, other = (mark("00ff", text) for text in ("q: AA==", "q: AA==", "q: AQ=="))
    >>> one == same, one == other, one[:ID_SIZE] == other[:ID_SIZE]
    (True, False, True)
    """
    parts = (text.encode() for text in (report_id, content))
    return b"".join(blake2b(part, digest_size=ID_SIZE).digest() for part in parts)


class Received(NamedTuple):
    """A line that is right: its report, question and round, group and :func:`mark`, and itself."""

    report: Report
    key: Key
    group: Group
    mark: bytes
    line: bytes


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Expected:
    """What reports must be like: the parameter hash, each question's law, declared groups.

    ``sizes`` are the bytes of a report of every question and round.
    """

    parameters: str
    laws: dict[str, CollectedLaw]
    sizes: dict[Key, int]
    groups: Groups

    @classmethod
    def of(cls, parameters: Parameters) -> Expected:
        """From verified parameters."""
        laws = {law.name: law for law in parameters.questions}
        sizes = {(name, number): law.size for name, law in laws.items() for number in law.rounds}
        return cls(parameters.hash, laws, sizes, Groups(parameters.groups))

    @property
    def longest_line(self) -> int:
        """Bytes that the line of a report can need; more would only take memory."""
        longest = max(12 * len(key[0]) + 4 * -(-n // 3) for key, n in self.sizes.items())
        return _FRAME_BYTES * (1 + len(self.groups.values)) + longest

    def read(self, line: bytes, where: str, folders: Mapping[str, str]) -> Received:
        """What a line without its end says, if a client of these parameters may have written it.

        Its group stands on it or in the names of ``folders``.

        Raises
        ------
        InputError
            It is none; ``where`` is named.
        """
        own, told = self.groups.off_line(line, where)
        one, group = read_line(own, where), self.groups.settled(folders, told, where)
        key = one.question, one.round_number
        if one.parameters != self.parameters:
            what = f"parameters of {where}"
            raise InputError(what, one.parameters, self.parameters, _OTHER_PARAMETERS)
        if key not in self.sizes:
            reason = f"{where} is of question and round {key}, not one in the parameter file"
            raise InputError.because("question and round", reason, _OTHER_PARAMETERS)
        if len(one.payload) != self.sizes[key]:
            allowed = f"{self.sizes[key]} bytes"
            raise InputError(f"length of {where}", len(one.payload), allowed, REPORTS_REMEDY)
        said = f"{one.round_number}", one.payload.hex(), one.question, *group
        return Received(one, key, group, mark(one.report_id, "\n".join(said)), line + b"\n")


MAX_JSON_BYTES = 64 * 2**20
_OTHER_PARAMETERS = "Use the parameter file that the reports were made with."
_FRAME_BYTES = 1024  # of a line, for all but its question and its report


def line_batches(
    path: Path, expected: Expected, without: Collection[bytes] = ()
) -> Iterator[Batch]:
    """A batch for each question, round and group in a file of at most 64 MiB, named by its content.

    Reports with the marks in ``without`` are left out.

    Raises
    ------
    InputError
        The file is too large or cut off, or a line is not a report of these parameters.
    """
    if path.stat().st_size > MAX_JSON_BYTES:
        remedy = "Write the reports to a Parquet file, or to several smaller files."
        raise InputError.because("size", f"the file has more than {MAX_JSON_BYTES} bytes", remedy)
    data, limit = path.read_bytes(), expected.longest_line
    lines, number, seen, repeated = BytesIO(data), 0, dict[bytes, bytes](), 0
    found: dict[tuple[Key, Group], tuple[list[bytes], list[bytes]]] = {}
    folders = expected.groups.of_folders(path)
    while line := lines.readline(limit + 1):
        number += 1
        if len(line) > limit:
            reason = f"line {number} is longer than any report, {limit} bytes"
            raise InputError.because("line", reason, REPORTS_REMEDY)
        if not line.endswith(b"\n"):
            reason = "the last line is cut off: no newline ends it"
            raise InputError.because("line", reason, REPORTS_REMEDY)
        one, key, group, digests, _ = expected.read(line[:-1], f"line {number}", folders)
        first = seen.setdefault(digests[:ID_SIZE], digests)
        if first != digests:
            reason = f"line {number} has the id {one.report_id!r} of an earlier line, and differs"
            raise InputError.because("id", reason, "Find out which of the two a client sent.")
        if first is not digests:
            repeated += 1
        elif digests not in without:
            payloads, marks = found.setdefault((key, group), ([], []))
            payloads.append(one.payload)
            marks.append(digests)
    for (key, group), (payloads, marks) in found.items():
        rows = np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(len(payloads), -1)
        yield Batch(key, rows, sha256(data).hexdigest(), b"".join(marks), repeated, group)


_LINE = re.compile(
    r'{"parameters":"([0-9a-f]{64})","question":("(?:[^"\\]|\\.)*"),"id":"([0-9a-f]{16})"'
    r'(?:,"round":([1-9][0-9]{0,8}))?,"report":"([0-9A-Za-z+/=]*)","check":"[0-9a-f]{16}"}'
)
_text = lru_cache(64)(json.loads)  # the names of questions


def read_line(line: bytes, where: str) -> Report:
    """The report of a line, which has to be :meth:`Report.to_json` of it, byte for byte.

    Raises
    ------
    InputError
        It is not, or its id is not of 16 hexadecimal digits.
    """
    try:
        if found := _LINE.fullmatch(line.decode()):
            parameters, question, report_id, number, report = found.groups()
            of = parameters, _text(question), b64decode(report), report_id
            one = Report(*of, int(number) if number else None)
            if one.to_json().encode() == line:  # what is loose above is not what is written
                return one
    except ValueError:
        pass
    reason = f"{where} is not, byte for byte, what a client writes of a report"
    raise InputError.because("line", reason, REPORTS_REMEDY)


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

    Raises
    ------
    FileError
        The path cannot be written.
    """

    def __init__(self, path: str | Path, parameters: str, key: Key, size: int) -> None:
        self._path = Path(path)
        self._temporary = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}")
        self._size = size
        self._hash = pa.array([bytes.fromhex(parameters)], pa.binary())
        about = _metadata(key, secrets.token_hex(16))
        self._schema = pa.schema(
            [("report", pa.binary(size)), ("parameters", _HASHES)], metadata={_METADATA: about}
        )
        self._waiting: list[Reports] = []
        self._rows = 0

    def __enter__(self) -> ReportWriter:
        with self._named():
            self._file = pq.ParquetWriter(
                self._temporary,
                self._schema,
                compression="none",  # random bits do not compress
                use_dictionary=["parameters"],
                write_statistics=False,
            )
        return self

    def write(self, rows: Reports) -> None:
        """Add reports, uint8, shape ``(n, size)``."""
        if rows.ndim != 2 or rows.shape[1] != self._size or rows.dtype != np.uint8:
            remedy = "Give an array with one row a report."
            raise InputError("rows", rows.shape, f"bytes of shape (n, {self._size})", remedy)
        self._waiting.append(rows)
        self._rows += len(rows)
        if self._rows * self._size >= _ROW_GROUP_BYTES:
            self._flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
            raise FileError(self._path, f"cannot be written: {error}", remedy) from error

    def _flush(self) -> None:
        n = self._rows
        if n == 0:
            return
        rows = np.ascontiguousarray(np.concatenate(self._waiting))
        self._waiting, self._rows = [], 0
        reports = pa.Array.from_buffers(pa.binary(self._size), n, [None, pa.py_buffer(rows)])
        ones = pa.DictionaryArray.from_arrays(np.zeros(n, dtype=np.int32), self._hash)
        table = pa.Table.from_arrays([reports, ones], schema=self._schema)
        with self._named():
            self._file.write_table(table, row_group_size=max(1, _ROW_GROUP_BYTES // self._size))


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
    groups = expected.groups
    # Unbuffered, a column of a row group is read as it is stored; buffered, a page's header would
    # be believed when it says how long the page is.
    source = path.open() if isinstance(path, Stored) else path
    with pq.ParquetFile(source, buffer_size=0, pre_buffer=False) as file:
        key, file_id = _about(file)
        if key not in expected.sizes:
            allowed = "ones of the parameter file"
            raise InputError("question and round", key, allowed, _OTHER_PARAMETERS)
        size, schema = expected.sizes[key], file.schema_arrow
        right = [pa.field("report", pa.binary(size)), pa.field("parameters", _HASHES)]
        told = [pa.field(name, GROUPED) for name in groups.values if name in schema.names]
        if not schema.equals(pa.schema([*right, *told])):
            found = ", ".join(f"{one.name} {one.type}" for one in schema)
            allowed = f"report fixed_size_binary[{size}], parameters {_HASHES}"
            allowed += "".join(f", {name} {GROUPED}, or none" for name in groups.values)
            raise InputError("columns", found, allowed, REPORTS_REMEDY)
        _check_codecs(file.metadata)
        _check_expansion(file.metadata.num_rows * size, path.stat().st_size)
        hashes = bytes.fromhex(expected.parameters)
        for number in range(file.num_row_groups):
            _check_size(file.metadata.row_group(number), size, number)
            for rows in file.iter_batches(max(1, _BATCH_BYTES // size), row_groups=[number]):
                _check_hashes(rows.column(1), hashes)
                reports = _bytes_of(rows.column(0), size)
                for group, own in _grouped(rows.select(range(2, 2 + len(told))), groups, path):
                    yield Batch(key, reports[own], file_id, group=group)


def _grouped(
    told: pa.RecordBatch, groups: Groups, path: Path
) -> Iterator[tuple[Group, slice | NDArray[np.bool_]]]:
    """The groups of some rows, each with its rows."""
    folders = groups.of_folders(path)
    if not told.num_columns:
        yield groups.settled(folders, {}, "the file"), slice(None)
        return
    if any(column.null_count for column in told):
        raise InputError.because("group", "some reports have none", REPORTS_REMEDY)
    codes = np.column_stack([column.indices for column in told])
    for each in np.unique(codes, axis=0):
        names = (column.dictionary[int(k)].as_py() for column, k in zip(told, each, strict=True))
        said = dict(zip(told.schema.names, names, strict=True))
        yield groups.settled(folders, said, "a row"), (codes == each).all(axis=1)


def _metadata(key: Key, number: str) -> str:
    return json.dumps({"version": _FILE_FORM, "question": key[0], "round": key[1], "file": number})


def _about(file: pq.ParquetFile) -> tuple[Key, str]:
    """Question, round and number of a file, whose metadata have to be as they are written."""
    raw = (file.schema_arrow.metadata or {}).get(_METADATA, b"")
    try:
        about = json.loads(raw)
        key, number = (about["question"], about["round"]), about["file"]
        right = _metadata(key, number).encode() == raw and type(key[1]) in {int, NoneType}
        right = right and type(key[0]) is str and bool(re.fullmatch("[0-9a-f]{32}", number))
    except (ValueError, TypeError, KeyError, RecursionError):
        right = False
    if not right:
        reason = f"the file's metadata are not, byte for byte, those of version {_FILE_FORM}"
        raise InputError.because("metadata", reason, REPORTS_REMEDY)
    return key, number


def _check_codecs(metadata: pq.FileMetaData) -> None:
    """What a page becomes when it is decompressed stands in the page alone, which may lie."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    codecs = {group.column(i).compression for group in groups for i in range(group.num_columns)}
    if not codecs <= {"UNCOMPRESSED"}:
        remedy = "Write it without compression: random bits do not compress."
        raise InputError("compression", sorted(codecs), "none", remedy)


def _check_expansion(size: int, file_size: int) -> None:
    """Encoded reports may take less room than they do in memory, but not that much less."""
    most = MAX_ROW_GROUP_BYTES + _MAX_EXPANSION * file_size
    if not 0 <= size <= most:
        remedy = "Split the reports into several files."
        raise InputError("decoded size of all reports", size, f"at most {most} bytes", remedy)


def _check_size(group: pq.RowGroupMetaData, size: int, number: int) -> None:
    """Encoded and decoded: a column that repeats one report takes next to no room in a file."""
    for what, octets in ("size", group.total_byte_size), ("decoded size", group.num_rows * size):
        if not 0 <= octets <= MAX_ROW_GROUP_BYTES:
            allowed = f"at most {MAX_ROW_GROUP_BYTES} bytes, as memory is bounded"
            remedy = "Write it anew with smaller row groups."
            raise InputError(f"{what} of row group {number}", octets, allowed, remedy)


def _check_hashes(column: pa.DictionaryArray, parameters: bytes) -> None:
    """All rows must carry the hash; the dictionary makes this cheap."""
    found = column.dictionary.to_pylist()
    if column.null_count or found != [parameters]:
        names = ["none" if value is None else value.hex() for value in found]
        raise InputError("parameter hash", names, parameters.hex(), _OTHER_PARAMETERS)


def _bytes_of(chunk: pa.FixedSizeBinaryArray, size: int) -> Reports:
    if chunk.null_count:
        raise InputError.because("reports", f"{chunk.null_count} reports are null", REPORTS_REMEDY)
    data = np.frombuffer(chunk.buffers()[1], dtype=np.uint8)
    return data[chunk.offset * size : (chunk.offset + len(chunk)) * size].reshape(-1, size)


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


def check_seal(path: str | Path) -> None:
    """Check the seal of a Parquet file.

    Raises
    ------
    InputError
        There is none, or the file is not what was sealed.
    """
    with place_of(path).open("rb") as file:
        footer = _footer_start(file)
        start = max(footer - _SIZE, len(_FRAME))
        file.seek(start)
        found = file.read(_SIZE)
        if not found.startswith(_MAGIC):
            raise InputError.because(
                "seal", "the file has no seal before its footer", REPORTS_REMEDY
            )
        if found[len(_MAGIC) :] != _checksum(file, start, footer):
            raise InputError.because("checksum", "the file is not what was sealed", REPORTS_REMEDY)


def _footer_start(file: BufferedIOBase) -> int:
    length = file.seek(0, 2)
    if length < 2 * len(_FRAME) + 4:
        raise InputError.because(
            "length", f"the file has {length} bytes, too few for a Parquet file", REPORTS_REMEDY
        )
    file.seek(-_TAIL, 2)
    tail = file.read()
    file.seek(0)
    if file.read(len(_FRAME)) != _FRAME or tail[-len(_FRAME) :] != _FRAME:
        raise InputError.because("frame", "the file is no complete Parquet file", REPORTS_REMEDY)
    footer = int.from_bytes(tail[:4], "little")
    start = length - _TAIL - footer
    if start < len(_FRAME):
        raise InputError.because("footer", "the Parquet file's footer is damaged", REPORTS_REMEDY)
    if footer > _MAX_FOOTER:
        raise InputError(
            "size of the footer", footer, f"at most {_MAX_FOOTER} bytes", REPORTS_REMEDY
        )
    return start


def _checksum(file: BufferedIOBase, end: int, resume: int) -> bytes:
    """Of all bytes but those from ``end`` to ``resume``."""
    checksum = xxh3_128()
    buffer = memoryview(bytearray(_CHUNK))
    file.seek(0)
    while end > file.tell():
        size = file.readinto(buffer[: min(_CHUNK, end - file.tell())])
        checksum.update(buffer[:size])
    file.seek(resume)
    while size := file.readinto(buffer):
        checksum.update(buffer[:size])
    return checksum.digest()
