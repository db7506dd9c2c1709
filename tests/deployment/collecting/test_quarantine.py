"""A file that is wrong in anything is left out, with the reason, and the rest is counted."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.one_file import Expected, count_file
from planner.deployment.collecting.parquet import seal
from tests.deployment.report_files import KEY, draw, write


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
    (wrong_length, "report column"),
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
    monkeypatch.setattr("planner.deployment.collecting.parquet.MAX_ROW_GROUP_BYTES", 4000)
    done = collect(one_question, [tmp_path])
    assert "memory is bounded" in done.quarantined[0][1]
