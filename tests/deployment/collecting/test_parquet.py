"""Parquet files of reports: sealed, written whole or not at all, left out if anything is wrong."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.deployment.collecting import reports
from planner.deployment.collecting import reports as sealing
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.one_file import Expected, count_file, read_batches
from planner.deployment.collecting.reports import ReportWriter, check_seal, seal
from planner.errors import FileError, InputError
from tests.deployment.report_files import KEY, counted, draw, write


@pytest.fixture
def rows(one_question, rng):
    return draw(one_question, rng, 50)


def batches(path, parameters):
    return list(read_batches(path, parameters.hash, {KEY: 8}))


def test_row_groups_are_bounded(one_question, tmp_path, rows, monkeypatch):
    """A row group is written as soon as it is full; what is left makes the last one."""
    monkeypatch.setattr(reports, "_ROW_GROUP_BYTES", 8 * 20)
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


def altered(path, change):
    """The sealed file with its table changed."""
    pq.write_table(change(pq.read_table(path)), path, compression="none")
    seal(path)


def about(**changes):
    """Changes of the metadata; ``...`` takes a key away."""

    def change(table):
        metadata = json.loads(table.schema.metadata[b"ldp-planner-reports"]) | changes
        kept = {key: value for key, value in metadata.items() if value is not ...}
        return table.replace_schema_metadata({b"ldp-planner-reports": json.dumps(kept)})

    return change


def plain_hashes(table):
    """The hash in every row, instead of once in a dictionary."""
    return table.set_column(1, "parameters", table["parameters"].cast(pa.binary()))


ALTERED = [
    (lambda table: table.append_column("user", table["report"]), "columns is .*but must be report"),
    (lambda table: table.select(["report"]), "columns is"),
    (lambda table: table.replace_schema_metadata({}), "metadata are not"),
    (lambda table: table.replace_schema_metadata({b"ldp-planner-reports": b"{"}), "metadata are"),
    (plain_hashes, r"columns is .*parameters binary.* dictionary"),
    (about(version=2), "those of version 1"),
    (about(version=True), "metadata are not,"),
    (about(round=0), r"question and round is \('q', 0\)"),
    (about(round=True), "byte for byte, those"),
    (about(round=...), "byte for byte, th"),
    (about(question=["q"]), "byte for byte"),
    (about(file=""), "byte for by"),
]


@pytest.mark.parametrize(("change", "reason"), ALTERED, ids=[reason for _, reason in ALTERED])
def test_a_file_of_another_form_is_refused(one_question, tmp_path, rows, change, reason):
    path = tmp_path / "a.parquet"
    write(path, one_question, rows)
    altered(path, about())
    assert len(batches(path, one_question)) == 1  # the alteration alone does no harm
    altered(path, change)
    with pytest.raises(FileError, match=f"{reason}.*(Get the file again|Use the parameter file)"):
        batches(path, one_question)


# -- writing -----------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["width", "type", "shape"])
def test_rows_that_are_no_reports_leave_no_file(one_question, tmp_path, rows, wrong):
    odd = {"width": rows[:, :4], "type": rows.astype(np.int16), "shape": rows.ravel()}[wrong]

    def failing():
        with ReportWriter(tmp_path / "a.parquet", one_question.hash, KEY, 8) as writer:
            writer.write(rows)
            writer.write(odd)

    with pytest.raises(InputError, match=r"rows is .* bytes of shape \(n, 8\)"):
        failing()
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written(one_question, tmp_path):
    with (
        pytest.raises(FileError, match=r"cannot be written: .* Check that the directory"),
        ReportWriter(tmp_path / "no" / "a.parquet", one_question.hash, KEY, 8),
    ):
        pass


@pytest.mark.parametrize("when", ["write_table", "close"])
def test_a_disk_that_fails_leaves_the_old_file(one_question, tmp_path, rows, when):
    path = tmp_path / "a.parquet"
    path.write_text("old")

    def failing():
        with ReportWriter(path, one_question.hash, KEY, 8) as writer:
            writer.write(rows)

            def fail(*_, **__):
                delattr(writer._file, when)  # once
                raise OSError("No space left on device")

            setattr(writer._file, when, fail)

    with pytest.raises(FileError, match=r"a.parquet: cannot be written: No space left"):
        failing()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def corrupt(path, **_):
    data = bytearray(path.read_bytes())
    data[-8:-4] = b"\xff\xff\xff\x7f"
    path.write_bytes(bytes(data))


def truncated(path, **_):
    path.write_bytes(path.read_bytes()[:-50])


def empty(path, **_):
    path.write_bytes(b"")


def no_reports(path, parameters, rng):
    write(path, parameters, draw(parameters, rng, 1)[:0])


def foreign_hash(path, parameters, rng):
    write(path, parameters, draw(parameters, rng, 9), name="0" * 64)


def wrong_length(path, parameters, rng):
    write(path, parameters, np.hstack([draw(parameters, rng, 9)] * 2))


def other_question(path, parameters, rng):
    write(path, parameters, draw(parameters, rng, 9), key=("other", None))


def other_round(path, parameters, rng):
    write(path, parameters, draw(parameters, rng, 9), key=("q", 1))


def bits_beyond(path, parameters, rng):
    rows = draw(parameters, rng, 9).copy()
    rows[3, 7] = 128
    write(path, parameters, rows)


def copy(path, **_):
    shutil.copy(path.with_name("0.parquet"), path)


def not_reports(path, **_):
    pq.write_table(pa.table({"x": [1, 2]}), path, compression="none")
    seal(path)


def unsealed(path, **_):
    table = pq.read_table(path)
    pq.write_table(table, path, compression="none")


def nulls(path, **_):
    about = pq.read_schema(path).metadata
    table = pq.read_table(path)
    column = pa.array([None, *table["report"].to_pylist()[1:]], pa.binary(8))
    pq.write_table(
        table.set_column(0, "report", column).replace_schema_metadata(about),
        path,
        compression="none",
    )
    seal(path)


def mixed_parameters(path, parameters, **_):
    table = pq.read_table(path)
    both = pa.array([bytes.fromhex(parameters.hash), bytes(32)], pa.binary())
    which = pa.DictionaryArray.from_arrays(np.arange(len(table), dtype=np.int32) % 2, both)
    pq.write_table(table.set_column(1, "parameters", which), path, compression="none")
    seal(path)


DAMAGE = [
    (corrupt, "footer is damaged"),
    (truncated, "no complete Parquet file"),
    (empty, "has 0 bytes"),
    (unsealed, "has no seal"),
    (no_reports, "no reports"),
    (foreign_hash, "parameter hash"),
    (mixed_parameters, "parameter hash"),
    (wrong_length, "columns"),
    (other_question, "question and round"),
    (other_round, "question and round"),
    (bits_beyond, "0 in all bits from 40"),
    (copy, "is a copy of"),
    (not_reports, "metadata"),
    (nulls, "null"),
]


@pytest.mark.parametrize(("damage", "reason"), DAMAGE, ids=[d.__name__ for d, _ in DAMAGE])
def test_a_damaged_file_is_quarantined_and_the_rest_counted(
    one_question, collection, rng, damage, reason
):
    folder, counts, users = collection
    write(folder / "odd.parquet", one_question, draw(one_question, rng, 50))
    damage(folder / "odd.parquet", parameters=one_question, rng=rng)
    done = collect(one_question, [folder])
    assert [path.name for path, _ in done.quarantined] == ["odd.parquet"]
    assert reason in done.quarantined[0][1]
    assert done.sums[KEY].counts.tolist() == counts.tolist()
    assert done.sums[KEY].users == users
    assert (folder / "odd.parquet").exists()  # left where it is


def test_any_flipped_byte_is_counted_right_or_refused(one_question, tmp_path, rng):
    """The seal sees every flip, before the library that reads Parquet can crash on it."""
    rows = draw(one_question, rng, 40)
    path = tmp_path / "a.parquet"
    write(path, one_question, rows)
    data, expected = path.read_bytes(), Expected.of(one_question)
    assert not count_file(path, expected).refused
    for position in range(len(data)):
        flipped = bytearray(data)
        flipped[position] ^= 1 << (position % 8)
        path.write_bytes(bytes(flipped))
        assert count_file(path, expected).refused, position


def test_row_groups_too_large_for_bounded_memory(one_question, tmp_path, rng, monkeypatch):
    write(tmp_path / "a.parquet", one_question, draw(one_question, rng, 500))
    monkeypatch.setattr("planner.deployment.collecting.reports.MAX_ROW_GROUP_BYTES", 4000)
    done = collect(one_question, [tmp_path])
    assert "memory is bounded" in done.quarantined[0][1]


@pytest.mark.parametrize("chunk", [7, 2**20])
def test_other_programs_do_not_mind_the_seal(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(sealing, "_CHUNK", chunk)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": range(1000)}), path)
    before, size = pq.read_table(path), path.stat().st_size
    seal(path)
    check_seal(path)
    assert pq.read_table(path) == before
    assert path.stat().st_size == size + 24


FRAMED = [
    (b"", "file has 0 bytes"),
    (b"PAR1PAR1PAR", "file has 11 bytes"),
    (b"not Parquet" * 9, "no complete Parquet file"),
    (b"PAR1" + bytes(12), "no complete Parquet file"),
    (bytes(12) + b"PAR1", "no complete Parquet file"),
    (b"PAR1" + (1).to_bytes(4, "little") + b"PAR1", "footer is damaged"),
    (b"PAR1" + b"\xff" * 4 + b"PAR1", "footer is damaged"),
]


@pytest.mark.parametrize(("data", "reason"), FRAMED, ids=[reason for _, reason in FRAMED])
@pytest.mark.parametrize("function", [seal, check_seal])
def test_what_is_no_complete_parquet_file(tmp_path, data, reason, function):
    path = tmp_path / "a.parquet"
    path.write_bytes(data)
    with pytest.raises(InputError, match=reason):
        function(path)
    assert path.read_bytes() == data
