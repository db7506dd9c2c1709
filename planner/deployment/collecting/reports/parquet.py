"""Parquet files of reports, for collections.

A file holds the reports of one question (and round). Each row has the column ``report``
(fixed-size binary) and the column ``parameters`` (the parameter hash, stored once for each
row group). The file's metadata names the question and carries a random file number, by which
copies are recognised; a seal protects the whole (``reports/sealing.py``).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from planner.deployment.collecting.reports.batch import Batch, Key, Rows
from planner.deployment.collecting.reports.lines import Fields
from planner.deployment.collecting.reports.sealing import check_seal, seal
from planner.errors import FileError, InputError
from planner.limits import REPORTS_REMEDY

MAX_ROW_GROUP_BYTES = 256 * 2**20
_MAX_EXPANSION = 64
"""Reports may take so many times the bytes of their file, besides one row group's worth."""
_ROW_GROUP_BYTES = 8 * 2**20
_BATCH_BYTES = 4 * _ROW_GROUP_BYTES
_METADATA = b"ldp-planner-reports"
_HASHES = pa.dictionary(pa.int32(), pa.binary())
_VERSION = 1


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
        about: dict[str, Any] = {"version": _VERSION, "question": key[0], "round": key[1]}
        about["file"] = secrets.token_hex(16)
        self._schema = pa.schema(
            [("report", pa.binary(size)), ("parameters", _HASHES)],
            metadata={_METADATA: json.dumps(about)},
        )
        self._waiting: list[Rows] = []
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

    def write(self, rows: Rows) -> None:
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
        """Names the file in whatever goes wrong with it."""
        try:
            yield
        except OSError as error:
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


def parquet_batches(path: Path, parameters: str, sizes: Mapping[Key, int]) -> Iterator[Batch]:
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
    with pq.ParquetFile(path, buffer_size=0, pre_buffer=False) as file:
        key, file_id = _about(file)
        if key not in sizes:
            remedy = "Use the parameter file that the reports were made with."
            raise InputError("question and round", key, "ones of the parameter file", remedy)
        size, schema = sizes[key], file.schema_arrow
        if schema.names != ["report", "parameters"]:
            raise InputError("columns", schema.names, "report and parameters", REPORTS_REMEDY)
        if schema.field("report").type != pa.binary(size):
            kind = str(schema.field("report").type)
            raise InputError("report column", kind, f"fixed_size_binary[{size}]", REPORTS_REMEDY)
        if schema.field("parameters").type != _HASHES:
            kind = str(schema.field("parameters").type)
            raise InputError("parameters column", kind, str(_HASHES), REPORTS_REMEDY)
        _check_codecs(file.metadata)
        _check_expansion(file.metadata.num_rows * size, path.stat().st_size)
        hashes = bytes.fromhex(parameters)
        for number in range(file.num_row_groups):
            _check_size(file.metadata.row_group(number), size, number)
            for rows in file.iter_batches(max(1, _BATCH_BYTES // size), row_groups=[number]):
                _check_hashes(rows.column(1), hashes)
                yield Batch(key, _bytes_of(rows.column(0), size), file_id)


def _about(file: pq.ParquetFile) -> tuple[Key, str]:
    try:
        about = Fields("the metadata", json.loads((file.schema_arrow.metadata or {})[_METADATA]))
    except (KeyError, ValueError, RecursionError):
        raise InputError.because(
            "metadata", "the file's metadata are missing or not JSON", REPORTS_REMEDY
        ) from None
    about.whole("version", _VERSION, _VERSION)
    number = about.value("round")
    if number is not None:
        number = about.whole("round", 1, 2)
    return (about.text("question"), number), about.text("file")


def _check_codecs(metadata: Any) -> None:
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


def _check_size(group: Any, size: int, number: int) -> None:
    """Encoded and decoded: a column that repeats one report takes next to no room in a file."""
    for what, octets in (
        ("size", group.total_byte_size),
        ("decoded size", group.num_rows * size),
    ):
        if not 0 <= octets <= MAX_ROW_GROUP_BYTES:
            allowed = f"at most {MAX_ROW_GROUP_BYTES} bytes, as memory is bounded"
            remedy = "Write it anew with smaller row groups."
            raise InputError(f"{what} of row group {number}", octets, allowed, remedy)


def _check_hashes(column: Any, parameters: bytes) -> None:
    """All rows must carry the hash; the dictionary makes this cheap."""
    found = column.dictionary.to_pylist()
    if column.null_count or found != [parameters]:
        names = ["none" if value is None else value.hex() for value in found]
        remedy = "Use the parameter file that the reports were made with."
        raise InputError("parameter hash", names, parameters.hex(), remedy)


def _bytes_of(chunk: Any, size: int) -> Rows:
    if chunk.null_count:
        raise InputError.because("reports", f"{chunk.null_count} reports are null", REPORTS_REMEDY)
    data = np.frombuffer(chunk.buffers()[1], dtype=np.uint8)
    return data[chunk.offset * size : (chunk.offset + len(chunk)) * size].reshape(-1, size)
