"""Small files that would take a machine's memory or an hour: refused by size before reading."""

import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from planner.deployment.client.document import parse_document
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.engines import _Worker, isolated_engine
from planner.deployment.collecting.one_file import Expected, count_file
from planner.deployment.collecting.reports import seal
from planner.errors import FileError
from tests.deployment.report_files import draw, write
from tests.fuzz.forged import lying_page, table

START = '{"format":"ldp-planner-parameters","version":4,'
SECONDS = 5.0  # of a processor


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{" + ",".join(f'"k{i}":0' for i in range(40_000)) + ',"k1":1}', "'k1' appears twice"),
        (START + '"x":[' + "0," * 2**20 + "0]}", "more than 1,048,576 commas"),
        (START + '"x":' + "[" * 65 + "]" * 65 + "}", "nested more than 64 levels deep"),
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
    size = rows // groups
    one = table(one_question, size)
    with pq.ParquetWriter(path, one.schema, compression="none", use_dictionary=True) as writer:
        for _ in range(groups):
            writer.write_table(one, row_group_size=size)
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


LARGEST = 2**31 - 1
MEBIBYTES = 1024
LIES = [
    ({"stored": LARGEST}, "Page was smaller"),
    ({"stored": LARGEST, "decoded": LARGEST}, "Page was smaller"),
    ({"decoded": LARGEST, "compression": "zstd"}, r"compression is ['ZSTD'] but must be none"),
    ({"values": 2**28}, "needs more memory than there is"),
]
needs_linux = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the system does not tell what a process took"
)


@needs_linux
def test_pages_that_lie_about_their_size_take_no_memory(one_question, tmp_path, rng):
    """Where the footer and the seal are right, too; each in the same process of its own."""
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    write(good, one_question, draw(one_question, rng, 9))
    lying_page(bad, one_question)
    worker = _Worker(Expected.of(one_question))
    try:
        assert worker.count(bad).users == 100  # nothing is wrong with a page that does not lie
        for lies, reason in LIES:
            lying_page(bad, one_question, **lies)
            assert reason in worker.count(bad).refused
        assert worker.count(good).users == 9
        status = Path(f"/proc/{worker.process.pid}/status").read_text().splitlines()
        (peak,) = (int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
        assert peak < MEBIBYTES * 2**10 / 4
    finally:
        worker.stop()


@needs_linux
def test_a_file_that_takes_too_much_memory_is_left_out_alone(one_question, tmp_path, rng):
    write(tmp_path / "a.parquet", one_question, draw(one_question, rng, 9))
    lying_page(tmp_path / "b.parquet", one_question, values=2**28)
    write(tmp_path / "c.parquet", one_question, draw(one_question, rng, 5))
    done = collect(one_question, [tmp_path], engine=isolated_engine)
    assert done.quarantined == ((tmp_path / "b.parquet", "needs more memory than there is"),)
    assert done.sums["q", None].users == 14
