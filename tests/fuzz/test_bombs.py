"""Small files that would take a machine's memory or an hour: refused by size before reading."""

import json
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.deployment.client.canonical import parse_document
from planner.deployment.collecting.counting.one_file import Expected, count_file
from planner.deployment.collecting.reports.sealing import seal
from planner.errors import FileError

START = '{"format":"ldp-planner-parameters","version":1,'
SECONDS = 5.0  # of a processor


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{" + ",".join(f'"k{i}":0' for i in range(40_000)) + ',"k1":1}', "'k1' appears twice"),
        (START + '"x":[' + "0," * 2**20 + "0]}", "more than 1,048,576 commas"),
        (START + '"x":' + "[" * 65 + "]" * 65 + "}", "nested at most 64 deep"),
        (START + '"x":' + "[" * 970 + "]" * 970 + "}", "nested"),
        (START + '"x":' + "[" * 10**6 + "]" * 10**6 + "}", "nested too deeply"),
    ],
    ids=["keys", "marks", "deep", "deeper", "deepest"],
)
def test_parameter_files(text, reason):
    started = time.process_time()
    with pytest.raises(FileError, match=reason):
        parse_document(text)
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize(
    ("rows", "groups"),
    [(40_000_000, 40), (40_000_000, 1)],
)
def test_parquet_files_that_repeat_one_report(one_question, tmp_path, rows, groups):
    """A dictionary and a run length: 320 MB in a few hundred kB."""
    path = tmp_path / "bomb.parquet"
    about = {"version": 1, "question": "q", "round": None, "file": "00"}
    schema = pa.schema(
        [("report", pa.binary(8)), ("parameters", pa.dictionary(pa.int32(), pa.binary()))],
        metadata={b"ldp-planner-reports": json.dumps(about).encode()},
    )
    size = rows // groups
    reports = pa.Array.from_buffers(pa.binary(8), size, [None, pa.py_buffer(bytes(8 * size))])
    name = pa.array([bytes.fromhex(one_question.hash)], pa.binary())
    hashes = pa.DictionaryArray.from_arrays(np.zeros(size, np.int32), name)
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=True) as writer:
        table = pa.Table.from_arrays([reports, hashes], schema=schema)
        for _ in range(groups):
            writer.write_table(table, row_group_size=size)
    seal(path)
    assert path.stat().st_size < 2**20
    started = time.process_time()
    refused = count_file(path, Expected.of(one_question)).refused
    assert "decoded size of all reports is 320000000 but must be at most" in refused
    assert time.process_time() - started < SECONDS


def test_a_line_that_is_longer_than_any_report(one_question, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("[" + "[]," * 10**6 + "[]]\n")
    started = time.process_time()
    assert "line 1 is longer than any report" in count_file(path, Expected.of(one_question)).refused
    assert time.process_time() - started < SECONDS
