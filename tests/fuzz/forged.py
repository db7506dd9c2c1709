"""Parquet files whose pages lie about their size, although footer and seal are right."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from planner.deployment.collecting.reports import seal

__all__ = ["lying_page", "table"]

DICTIONARY_PAGE = 2
# Fields of a page's header in Thrift's compact form: the first byte is the distance from the last
# field and the type (5 a whole number, 12 a structure).
NUMBER, AFTER_CHECKSUM, AFTER_SIZE = b"\x15", b"\x3c", b"\x4c"


def table(parameters, rows):
    """So many equal reports of a question of 40 items."""
    about = {"version": 1, "question": "q", "round": None, "file": "00"}
    schema = pa.schema(
        [("report", pa.binary(8)), ("parameters", pa.dictionary(pa.int32(), pa.binary()))],
        metadata={b"ldp-planner-reports": json.dumps(about).encode()},
    )
    reports = pa.Array.from_buffers(pa.binary(8), rows, [None, pa.py_buffer(bytes(8 * rows))])
    name = pa.array([bytes.fromhex(parameters.hash)], pa.binary())
    hashes = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), name)
    return pa.Table.from_arrays([reports, hashes], schema=schema)


def lying_page(path, parameters, *, decoded=None, stored=None, values=None, compression="none"):
    """Write a file of a hundred reports; what is given replaces what the first page says.

    The checksum that a page may have makes room for it.
    """
    settings = {"compression": compression, "write_statistics": False, "write_page_checksum": True}
    pq.write_table(table(parameters, 100), path, **settings)
    start = pq.ParquetFile(path).metadata.row_group(0).column(0).dictionary_page_offset
    data, end, fields = bytearray(path.read_bytes()), start, []
    for _ in range(4):  # kind, decoded and stored size, checksum
        assert data[end : end + 1] == NUMBER
        value, end = _read(data, end + 1)
        fields.append(value)
    assert data[end : end + 2] == AFTER_CHECKSUM + NUMBER
    count, end = _read(data, end + 2)
    assert fields[0] == DICTIONARY_PAGE
    sizes = [fields[1] if decoded is None else decoded, fields[2] if stored is None else stored]
    rest = b"".join(NUMBER + _written(size) for size in sizes)
    rest += AFTER_SIZE + NUMBER + _written(count if values is None else values)
    kind = NUMBER + _written(DICTIONARY_PAGE, end - start - len(rest) - 1)
    data[start:end] = kind + rest
    path.write_bytes(data)
    seal(path)


def _read(data, start):
    """A number in groups of seven bits, and where it ends."""
    number, shift = 0, 0
    while True:
        number |= (data[start] & 127) << shift
        start, shift = start + 1, shift + 7
        if data[start - 1] < 128:
            return number >> 1, start


def _written(number, octets=1):
    """The same, in as many bytes at least."""
    left, groups = number << 1, []
    while left or len(groups) < octets:
        groups.append(left & 127)
        left >>= 7
    return bytes([one | 128 for one in groups[:-1]] + groups[-1:])
