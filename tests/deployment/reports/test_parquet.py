"""Parquet files of reports: written whole or not at all, read back in batches."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from planner.deployment.collector import collect
from planner.deployment.reports.parquet import ReportWriter
from planner.deployment.reports.reading import read_batches
from planner.errors import FileError, InputError
from tests.deployment.report_files import KEY, counted, draw, write


def test_several_row_groups(one_question, tmp_path, rng):
    rows = draw(one_question, rng, 5000)
    with ReportWriter(tmp_path / "a.parquet", one_question.hash, KEY, 8) as writer:
        for part in np.split(rows, 5):
            writer.write(part)
            writer._flush()
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 5
    done = collect(one_question, [tmp_path])
    assert done.sums[KEY].counts.tolist() == counted(rows).tolist()


def test_a_writer_that_fails_leaves_nothing(one_question, tmp_path, rng):
    rows = draw(one_question, rng, 5)

    def failing():
        with ReportWriter(tmp_path / "a.parquet", one_question.hash, KEY, 8) as writer:
            writer.write(rows)
            writer.write(rows[:, :4])

    with pytest.raises(InputError, match="rows"):
        failing()
    assert not list(tmp_path.iterdir())
    with (
        pytest.raises(FileError, match="cannot be written"),
        ReportWriter(tmp_path / "no" / "a.parquet", one_question.hash, KEY, 8),
    ):
        pass


def test_batches_carry_question_and_rows(one_question, tmp_path, rng):
    rows = draw(one_question, rng, 5)
    write(tmp_path / "a.parquet", one_question, rows)
    (batch,) = read_batches(tmp_path / "a.parquet", one_question.hash, {KEY: 8})
    assert batch.key == KEY
    assert batch.rows.tolist() == rows.tolist()
