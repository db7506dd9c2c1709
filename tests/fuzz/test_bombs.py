"""Small files that would take a machine's memory or an hour: refused by size before reading."""

import json
import pickle
import random
import time
import tracemalloc
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.deployment.client.document import content_hash
from planner.deployment.collecting.engines import CountingProcess, count_file
from planner.deployment.collecting.parquet import seal
from planner.deployment.collecting.reports import Expected
from planner.deployment.parameters import parse_parameters
from planner.errors import VerificationError
from planner.limits import DENOMINATOR as D
from tests.deployment.report_files import draw, write
from tests.refusals import refused

SECONDS = 5.0  # of a processor


def test_parquet_files_that_repeat_one_report(one_question, tmp_path):
    """A dictionary and a run length: 320 MB in a few hundred kB."""
    path = tmp_path / "bomb.parquet"
    groups = 40
    size = 1_000_000
    counts = table(one_question, size)
    with pq.ParquetWriter(
        path, counts.schema, compression="none", use_dictionary=True
    ) as writer:
        for _ in range(groups):
            writer.write_table(counts, row_group_size=size)
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
    assert (
        "line 1 is longer than any report"
        in count_file(path, Expected.of(one_question)).refused
    )
    assert time.process_time() - started < SECONDS


LARGEST = 2**31 - 1
MEBIBYTES = 1024
LIES = [
    ({"stored": LARGEST}, "Page was smaller"),
    ({"stored": LARGEST, "decoded": LARGEST}, "Page was smaller"),
    (
        {"decoded": LARGEST, "compression": "zstd"},
        r"compression is ['ZSTD'] but must be none",
    ),
    ({"values": 2**28}, "needs more memory than there is"),
]


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs Linux' account of memory"
)
def test_pages_that_lie_about_their_size_take_no_memory(one_question, tmp_path, rng):
    """Where the footer and the seal are right, too; each in the same process of its own."""
    good = tmp_path / "good.parquet"
    bad = tmp_path / "bad.parquet"
    write(good, one_question, draw(one_question, rng, 9))
    lying_page(bad, one_question)
    worker = CountingProcess(pickle.dumps(Expected.of(one_question)))
    try:
        assert (
            worker.count(bad).users == 100
        )  # nothing is wrong with a page that does not lie
        for lies, reason in LIES:
            lying_page(bad, one_question, **lies)
            assert reason in worker.count(bad).refused
        assert worker.count(good).users == 9
        text = Path(f"/proc/{worker.process.pid}/status").read_text()
        status = text.splitlines()
        (peak,) = (int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
        assert peak < MEBIBYTES * 2**10 / 4
    finally:
        worker.stop()


# -- files whose pages lie about their size, although footer and seal are right -----------------

DICTIONARY_PAGE = 2
# Fields of a page's header in Thrift's compact form: the first byte is the distance from the last
# field and the type (5 a whole number, 12 a structure).
NUMBER = b"\x15"
AFTER_CHECKSUM = b"\x3c"
AFTER_SIZE = b"\x4c"


def table(parameters, rows):
    """So many equal reports of a question of 40 items."""
    header = {"version": 1, "question": "q", "round": None, "file": "0" * 32}
    schema = pa.schema(
        [
            ("report", pa.binary(8)),
            ("parameters", pa.dictionary(pa.int32(), pa.binary())),
        ],
        metadata={b"ldp-planner-reports": json.dumps(header).encode()},
    )
    reports = pa.Array.from_buffers(
        pa.binary(8), rows, [None, pa.py_buffer(bytes(8 * rows))]
    )
    name = pa.array([bytes.fromhex(parameters.hash)], pa.binary())
    hashes = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), name)
    return pa.Table.from_arrays([reports, hashes], schema=schema)


def lying_page(
    path, parameters, *, decoded=None, stored=None, values=None, compression="none"
):
    """Write a file of a hundred reports; what is given replaces what the first page says.

    The checksum that a page may have makes room for it.
    """
    settings = {
        "compression": compression,
        "write_statistics": False,
        "write_page_checksum": True,
    }
    pq.write_table(table(parameters, 100), path, **settings)
    start = pq.ParquetFile(path).metadata.row_group(0).column(0).dictionary_page_offset
    data = bytearray(path.read_bytes())
    end = start
    fields = []
    for _ in range(4):  # kind, decoded and stored size, checksum
        assert data[end : end + 1] == NUMBER
        value, end = _read(data, end + 1)
        fields.append(value)
    assert data[end : end + 2] == AFTER_CHECKSUM + NUMBER
    count, end = _read(data, end + 2)
    assert fields[0] == DICTIONARY_PAGE
    sizes = [
        fields[1] if decoded is None else decoded,
        fields[2] if stored is None else stored,
    ]
    rest = b"".join(NUMBER + _written(size) for size in sizes)
    rest += AFTER_SIZE + NUMBER + _written(count if values is None else values)
    kind = NUMBER + _written(DICTIONARY_PAGE, end - start - len(rest) - 1)
    data[start:end] = kind + rest
    path.write_bytes(data)
    seal(path)


def _read(data, start):
    """A number in groups of seven bits, and where it ends."""
    number = 0
    shift = 0
    while True:
        number |= (data[start] & 127) << shift
        start = start + 1
        shift = shift + 7
        if data[start - 1] < 128:
            return number >> 1, start


def _written(number, octets=1):
    """The same, in as many bytes at least."""
    left = number << 1
    groups = []
    while left or len(groups) < octets:
        groups.append(left & 127)
        left >>= 7
    return bytes([group | 128 for group in groups[:-1]] + groups[-1:])


# -- parameter files that would take long to prove ----------------------------------------------


def set_designs(size):
    """Reports about sets of 1,024 elements, of which each ratio is another number."""
    ratios = random.Random(1).choices(range(int(0.96 * D), D), k=1024)
    question = {
        "asked": "whole-set",
        "law": "overlap",
        "padding_length": 1024,
        "cap": 50.0,
    }
    question |= {
        "held": 1500,
        "ratios": ratios,
        "longer_sets": None,
        "levels": levels([1.0], 2000),
    }
    return [question] * (size // 10**4)


def sides(size):
    """Types that are all alike: each may have the largest ratio of any two groups."""
    types = 2048
    groups = size // 56_000
    half = D // types // 2
    alike = [[1] * groups] * types
    weights = [[[half, half]] * types] * groups
    values = [[[0, 0]] * groups] * types
    question = {
        "asked": "item",
        "law": "sides",
        "types": alike,
        "weights": weights,
        "values": values,
    }
    return [
        question | {"groups": list(range(groups)), "levels": levels([1.0] * groups, 2)}
    ]


def matrix(size):
    """A different budget for every pair."""
    count = int((size / 9) ** 0.5)
    rule = [
        [5.1 + (max(i, j) * count + min(i, j)) / 1e6 for j in range(count)]
        for i in range(count)
    ]
    rule = [[round(budget, 6) for budget in row] for row in rule]
    question = {
        "asked": "item",
        "law": "bits",
        "a": [D // 2] * count,
        "b": [D // 8] * count,
    }
    return [
        question
        | {"rule": rule, "levels": levels([rule[i][i] for i in range(count)], 2)}
    ]


def levels(budgets, items):
    level = {"item_count": items, "items": []}
    return [
        level | {"name": str(i), "epsilon": budget} for i, budget in enumerate(budgets)
    ]


def written(parameters, asked):
    common = {"mechanism": "made up", "denominator": D, "rule": "min"}
    named = [common | entry | {"name": str(i)} for i, entry in enumerate(asked)]
    document = dict(parameters.document) | {"questions": named}
    return json.dumps(
        document | {"hash": content_hash(document)}, separators=(",", ":")
    )


@pytest.mark.parametrize("questions", [set_designs, sides, matrix])
def test_parameters_are_proven_in_time(one_question, questions):
    """Five seconds for 4 MB, and as much for a part."""
    text = written(one_question, questions(500_000))
    accepted = questions is not sides
    taken = []
    while not taken or (min(taken) > len(text) / 4e6 * SECONDS and len(taken) < 3):
        slower = _slower()
        started = time.process_time()
        with (
            nullcontext()
            if accepted
            else refused(
                "The estimator of levels '0' is biased", kind=VerificationError
            )
        ):
            parse_parameters(text)
        taken.append((time.process_time() - started) / slower)
    assert min(taken) < len(text) / 4e6 * SECONDS


def _slower():
    """How much slower than usual this processor adds fractions: other work may slow it."""
    started = time.process_time()
    sum((Fraction(n, 7) for n in range(20_000)), Fraction(0))
    return max(1.0, (time.process_time() - started) / 0.04)


def test_parameters_are_proven_in_little_memory(one_question):
    """A gigabyte for 4 MB."""
    text = written(one_question, set_designs(50_000))
    tracemalloc.start()
    parse_parameters(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < len(text) / 4e6 * 2**30
