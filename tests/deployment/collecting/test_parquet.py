"""Parquet files of reports: written whole or not at all, read back in batches."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.deployment.collecting import parquet
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.one_file import read_batches
from planner.deployment.collecting.parquet import ReportWriter, seal
from planner.errors import FileError, InputError
from tests.deployment.report_files import KEY, counted, draw, write


@pytest.fixture
def rows(one_question, rng):
    return draw(one_question, rng, 50)


def batches(path, parameters):
    return list(read_batches(path, parameters.hash, {KEY: 8}))


def test_batches_carry_question_rows_and_the_files_number(one_question, tmp_path, rows):
    found = []
    for name in "ab":
        write(tmp_path / f"{name}.parquet", one_question, rows)
        found += batches(tmp_path / f"{name}.parquet", one_question)
    first, second = found
    assert first.key == second.key == KEY
    assert first.rows.tolist() == second.rows.tolist() == rows.tolist()
    assert first.file_id != second.file_id


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


def test_a_row_group_without_rows_holds_no_batch(one_question, tmp_path, rows):
    path = tmp_path / "a.parquet"
    write(path, one_question, rows)
    table = pq.read_table(path)
    with pq.ParquetWriter(path, table.schema, compression="none") as writer:
        writer.write_table(table[:0])
        writer.write_table(table)
    seal(path)
    assert pq.ParquetFile(path).num_row_groups == 2
    (batch,) = batches(path, one_question)
    assert len(batch.rows) == 50


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
    (lambda table: table.append_column("user", table["report"]), "columns is .*'user'"),
    (lambda table: table.select(["report"]), "columns is"),
    (lambda table: table.replace_schema_metadata({}), "metadata are missing or not JSON"),
    (lambda table: table.replace_schema_metadata({b"ldp-planner-reports": b"{"}), "not JSON"),
    (plain_hashes, r"parameters column is 'binary' .* dictionary"),
    (about(version=2), "version of the metadata is 2 but must be 1"),
    (about(round=3), "round of the metadata is 3 but must be 1 or 2"),
    (about(round=...), "metadata are missing"),
    (about(round=2), r"question and round is \('q', 2\)"),
    (about(question=""), "question of the metadata is empty"),
    (about(file=""), "file of the metadata is empty"),
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


def test_what_is_no_parquet_behind_its_frame_is_corrupt(one_question, tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + b"rubbish" + (7).to_bytes(4, "little") + b"PAR1")
    seal(path)
    with pytest.raises(FileError, match=r"is corrupt or truncated: .*Get it again"):
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
