"""Files of reports: sealed, written whole or not at all, left out if anything is wrong."""

import json
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.deployment import Client
from planner.deployment.collecting import parquet
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.engines import count_file
from planner.deployment.collecting.parquet import (
    ReportWriter,
    check_seal,
    parquet_batches,
    seal,
)
from planner.deployment.collecting.reports import Expected
from tests.deployment.report_files import KEY, counted, draw, write
from tests.refusals import refused


@pytest.fixture
def rows(one_question, rng):
    return draw(one_question, rng, 50)


def batches(path, parameters):
    return list(parquet_batches(path, Expected.of(parameters)))


def test_row_groups_are_bounded(one_question, tmp_path, rows, monkeypatch):
    """A row group is written as soon as it is full; what is left makes the last one."""
    monkeypatch.setattr(parquet, "_ROW_GROUP_BYTES", 8 * 20)
    path = tmp_path / "a.parquet"
    with ReportWriter(path, one_question.hash, KEY, 8) as writer:
        for start in range(0, 50, 10):
            writer.write(rows[start : start + 10])
    assert [len(batch.rows) for batch in batches(path, one_question)] == [20, 20, 10]
    assert pq.ParquetFile(path).num_row_groups == 3
    write(path, one_question, rows)  # all at once
    assert [len(batch.rows) for batch in batches(path, one_question)] == [20, 20, 10]
    done = collect(one_question, [tmp_path])
    assert done.sums[KEY].counts.tolist() == counted(rows).tolist()


# -- what a file must be ---------------------------------------------------------------


def about(**changes):
    """Changes of the metadata; ``...`` takes a key away."""

    def change(table, _):
        document = json.loads(table.schema.metadata[b"ldp-planner-reports"])
        metadata = document | changes
        kept = {}
        for key, value in metadata.items():
            if value is not ...:
                kept[key] = value
        text = json.dumps(kept)
        return table.replace_schema_metadata({b"ldp-planner-reports": text})

    return change


def column(index, name, make):
    """Another column in place of one."""
    return lambda table, hash_: table.set_column(index, name, make(table, hash_))


def first_report(cell):
    """The first report is another."""

    def cells(table, _):
        return pa.array([cell, *table["report"].to_pylist()[1:]], pa.binary(8))

    return column(0, "report", cells)


def wide(table, _):
    return pa.array([bytes(16)] * len(table), pa.binary(16))


def hashes(table, *names):
    both = pa.array([bytes.fromhex(name) for name in names], pa.binary())
    which = np.arange(len(table), dtype=np.int32) % len(names)
    return pa.DictionaryArray.from_arrays(which, both)


FOREIGN = "0" * 64
ALTERED = [
    (
        lambda table, _: table.append_column("user", table["report"]),
        "columns is .*must be report",
    ),
    (lambda table, _: table.select(["report"]), "columns is"),
    (column(0, "report", wide), "columns"),
    (
        column(1, "parameters", lambda table, _: table["parameters"].cast(pa.binary())),
        r"columns is .*parameters binary.* dictionary",
    ),
    (lambda table, _: table.replace_schema_metadata({}), "metadata are not"),
    (
        lambda table, _: table.replace_schema_metadata({b"ldp-planner-reports": b"{"}),
        "metadata a",
    ),
    (about(version=2), "those of version 1"),
    (about(version=True), "metadata are not,"),
    (about(round=0), r"question and round is \('q', 0\)"),
    (about(round=True), "byte for byte, those"),
    (about(round=...), "byte for byte, th"),
    (about(question="other"), "question and round"),
    (about(question=["q"]), "byte for byte"),
    (about(file=""), "byte for by"),
    (lambda table, _: table.slice(0, 0), "no reports"),
    (first_report(None), "null"),
    (first_report(bytes(7) + b"\x80"), "0 in all bits from 40"),
    (
        column(1, "parameters", lambda table, _: hashes(table, FOREIGN)),
        "parameter hash",
    ),
    (
        column(1, "parameters", lambda table, own: hashes(table, own, FOREIGN)),
        "parameter hash",
    ),
]


@pytest.mark.parametrize(
    ("change", "reason"), ALTERED, ids=[reason for _, reason in ALTERED]
)
def test_a_file_of_another_form_is_left_out_and_the_rest_counted(
    one_question, collection, rows, change, reason
):
    folder, counts, users = collection
    path = folder / "odd.parquet"
    write(path, one_question, rows)
    for alteration, left_out in (
        (about(), []),
        (change, [path]),
    ):  # the first does no harm
        table = alteration(pq.read_table(path), one_question.hash)
        pq.write_table(table, path, compression="none")
        seal(path)
        done = collect(one_question, [folder])
        assert [file for file, _ in done.quarantined] == left_out
    assert re.search(reason, done.quarantined[0][1])
    assert done.sums[KEY].counts.tolist() == counts.tolist()
    assert done.sums[KEY].users == users
    assert path.exists()  # left where it is


# -- writing -----------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["width", "type", "shape"])
def test_rows_that_are_no_reports_leave_no_file(one_question, tmp_path, rows, wrong):
    odd = {"width": rows[:, :4], "type": rows.astype(np.int16), "shape": rows.ravel()}[
        wrong
    ]

    def failing():
        with ReportWriter(tmp_path / "a.parquet", one_question.hash, KEY, 8) as writer:
            writer.write(rows)
            writer.write(odd)

    with refused("rows"):
        failing()
    assert not list(tmp_path.iterdir())


def test_any_flipped_byte_is_counted_right_or_refused(one_question, tmp_path, rng):
    """The seal sees every flip, before the library that reads Parquet can crash on it."""
    rows = draw(one_question, rng, 40)
    path = tmp_path / "a.parquet"
    write(path, one_question, rows)
    data = path.read_bytes()
    expected = Expected.of(one_question)
    assert not count_file(path, expected).refused
    for position in range(len(data)):
        flipped = bytearray(data)
        flipped[position] ^= 1 << (position % 8)
        path.write_bytes(bytes(flipped))
        assert count_file(path, expected).refused, position


def test_row_groups_too_large_for_bounded_memory(
    one_question, tmp_path, rng, monkeypatch
):
    write(tmp_path / "a.parquet", one_question, draw(one_question, rng, 500))
    monkeypatch.setattr(
        "planner.deployment.collecting.parquet.MAX_ROW_GROUP_BYTES", 4000
    )
    done = collect(one_question, [tmp_path])
    assert "memory is bounded" in done.quarantined[0][1]


@pytest.mark.parametrize("chunk", [7, 2**20])
def test_other_programs_do_not_mind_the_seal(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(parquet, "_CHUNK", chunk)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": range(1000)}), path)
    before = pq.read_table(path)
    size = path.stat().st_size
    seal(path)
    check_seal(path)
    assert pq.read_table(path) == before
    assert path.stat().st_size == size + 24


FRAMED = {
    "no bytes": b"",
    "eleven bytes": b"PAR1PAR1PAR",
    "other": b"not Parquet" * 9,
    "no end": b"PAR1" + bytes(12),
    "no start": bytes(12) + b"PAR1",
    "a footer of one byte": b"PAR1" + (1).to_bytes(4, "little") + b"PAR1",
    "a footer that is too long": b"PAR1" + b"\xff" * 4 + b"PAR1",
}


@pytest.mark.parametrize("data", FRAMED.values(), ids=FRAMED)
@pytest.mark.parametrize("function", [seal, check_seal])
def test_what_is_no_complete_parquet_file(tmp_path, data, function):
    path = tmp_path / "a.parquet"
    path.write_bytes(data)
    with refused("reports"):
        function(path)
    assert path.read_bytes() == data


def test_a_file_without_a_seal_is_refused(tmp_path):
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "a.parquet")
    with refused("reports"):
        check_seal(tmp_path / "a.parquet")


# -- newline JSON: a bad line makes its file worthless -----------------------------------


LINES = [
    ("parameters", "0" * 64, "parameters"),
    ("question", "other", "question and round"),
    ("payload", b"123", "length of line 5"),
    ("payload", b"1234567\x80", "0 in all bits"),
    ("round_number", 1, "question and round"),
    ("round_number", True, "byte for byte"),
    ("report_id", "", "byte for byte"),
    ("report_id", "AB" * 8, "byte for byte"),
    ("report_id", "ab" * 7, "byte for byte"),
]


@pytest.mark.parametrize(("field", "value", "reason"), LINES, ids=str)
def test_a_bad_report_quarantines_its_file(
    one_question, tmp_path, field, value, reason
):
    client = Client(one_question.document)
    reports = [client.report("q", i) for i in range(10)]
    reports[4] = replace(reports[4], **{field: value})
    path = tmp_path / "a.jsonl"
    path.write_text("".join(report.to_json() + "\n" for report in reports))
    done = collect(one_question, [path])
    assert not done.sums
    assert reason in done.quarantined[0][1]


def test_more_than_a_pilot_is_refused(one_question, tmp_path, monkeypatch):
    client = Client(one_question.document)
    line = client.report("q", 1).to_json() + "\n"
    (tmp_path / "a.jsonl").write_text(line)
    for limit, left_out in ((len(line), 0), (len(line) - 1, 1)):
        monkeypatch.setattr(
            "planner.deployment.collecting.reports.MAX_JSON_BYTES", limit
        )
        done = collect(one_question, [tmp_path])
        assert len(done.quarantined) == left_out
    assert f"more than {limit} bytes" in done.quarantined[0][1]


def test_a_line_sent_again_counts_once(one_question, tmp_path):
    """As clients do that got no answer; the same id with other contents is left out."""
    client = Client(one_question.document)
    first = client.report("q", 1).to_json() + "\n"
    second = client.report("q", 2).to_json() + "\n"
    third = client.report("q", 3).to_json() + "\n"
    (tmp_path / "a.jsonl").write_text(3 * first + second + first)
    (tmp_path / "b.jsonl").write_text(2 * second + 2 * third)
    done = collect(one_question, [tmp_path])
    assert not done.quarantined
    assert done.sums["q", None].users == 3
    assert [file.repeated for file in done.counted] == [3, 3]
    document = json.loads(third)
    forged = replace(client.report("q", 4), report_id=document["id"]).to_json()
    (tmp_path / "b.jsonl").write_text(f"{third}{forged}\n")
    done = collect(one_question, [tmp_path])
    assert not done.quarantined
    assert done.sums["q", None].users == 3
    (left_out,) = done.contradictions
    assert left_out.line == 2
    assert left_out.other == "line 1 of it"


NO_LINES = [
    '{"parameters":"PARAMETERS","question":"q","id":"x"}',
    '{"parameters":"PARAMETERS","question":"q","id":"x","report":{}}',
    '{"parameters":"PARAMETERS","question":["q"],"id":"x","report":""}',
    '{"parameters":"PARAMETERS","question":"q","id":7,"report":"\\u00e9"}',
    '{"parameters":"PARAMETERS","question":"\\ud800","id":"x","report":""}',
    '{"parameters":"PARAMETERS","id":"a","id":"b"}',
    *("[]", "{", "7", "null", '"report"', "[" * 1000, " GOOD"),
    '{"parameters":NaN}',
    '{"parameters":' + "[" * 480 + "]" * 480 + "}",
    '{"parameters":' + "9" * 900 + "}",
]
BAD = [
    (line + "\n", "line 1 is not, byte for byte, what a client writes")
    for line in NO_LINES
]
BAD += [("GOOD", "cut off"), ("", "no reports")]


def test_a_bad_line_never_stops_the_collection(one_question, tmp_path):
    """Whatever one file holds, it is named, and the others are counted."""
    client = Client(one_question.document)
    first = client.report("q", 1).to_json()
    client = Client(one_question.document)
    second = client.report("q", 2).to_json()
    for i, (text, _) in enumerate(BAD):
        whole = text.replace("PARAMETERS", one_question.hash).replace("GOOD", first)
        (tmp_path / f"{i:02}.jsonl").write_text(whole)
    (tmp_path / "good.jsonl").write_text(second + "\n")
    done = collect(one_question, [tmp_path])
    assert done.sums["q", None].users == 1
    assert [path.name for path, _ in done.quarantined] == [
        f"{i:02}.jsonl" for i in range(len(BAD))
    ]
    for (_, said), (_, reason) in zip(done.quarantined, BAD, strict=True):
        assert reason in said
