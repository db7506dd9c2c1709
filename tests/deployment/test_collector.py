"""The collector: quarantine, resuming after kill -9, engines that agree, bounded memory."""

import json
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.deployment import Client
from planner.deployment.bulk import draw_unary
from planner.deployment.collector import collect, report_files
from planner.deployment.counting.checkpoint import Checkpoint
from planner.deployment.counting.isolated import _Worker, isolated_engine
from planner.deployment.counting.local import local_engine
from planner.deployment.counting.one_file import Expected, count_file
from planner.deployment.parameters import write_parameters
from planner.deployment.reports.parquet import ReportWriter
from planner.deployment.reports.reading import read_batches
from planner.deployment.reports.sealing import check_seal, seal
from planner.errors import FileError, InputError
from planner.mechanisms.packed import unpack

KEY = ("q", None)


def draw(parameters, rng, reports):
    return draw_unary(parameters.questions[0].law, rng.integers(40, size=reports))


def write(path, parameters, rows, *, key=KEY, name=None):
    with ReportWriter(path, name or parameters.hash, key, rows.shape[1]) as writer:
        writer.write(rows)


def counted(rows):
    return unpack(rows.view("<u8"), 40).sum(axis=0)


@pytest.fixture
def collection(one_question, tmp_path, rng):
    """Ten files of reports, and their counts."""
    rows = [draw(one_question, rng, 30 + i) for i in range(10)]
    folder = tmp_path / "reports"
    folder.mkdir()
    for i, each in enumerate(rows):
        write(folder / f"{i}.parquet", one_question, each)
    return folder, sum(counted(each) for each in rows), sum(map(len, rows))


def test_counts_are_those_of_the_reports(one_question, collection):
    folder, counts, users = collection
    done = collect(one_question, [folder])
    assert done.sums[KEY].users == users
    assert done.sums[KEY].counts.tolist() == counts.tolist()
    assert len(done.counted) == 10
    assert not done.quarantined
    assert not done.suspicious


def test_files_and_folders_are_each_counted_once(one_question, collection):
    folder, counts, _ = collection
    again = [folder, folder / "0.parquet", folder / ".." / "reports" / "1.parquet"]
    assert collect(one_question, again).sums[KEY].counts.tolist() == counts.tolist()


def test_several_row_groups(one_question, tmp_path, rng):
    rows = draw(one_question, rng, 5000)
    with ReportWriter(tmp_path / "a.parquet", one_question.hash, KEY, 8) as writer:
        for part in np.split(rows, 5):
            writer.write(part)
            writer._flush()
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 5
    done = collect(one_question, [tmp_path])
    assert done.sums[KEY].counts.tolist() == counted(rows).tolist()


def test_newline_json_of_a_pilot(one_question, tmp_path):
    client = Client(one_question.model_dump(mode="json"))
    reports = [client.report("q", i % 40) for i in range(60)]
    lines = [report.to_json() + "\n" for report in reports]
    (tmp_path / "a.jsonl").write_text("".join(lines[:50]))
    (tmp_path / "b.ndjson").write_text("".join(lines[50:]))
    rows = np.frombuffer(b"".join(one.payload for one in reports), np.uint8).reshape(-1, 8)
    done = collect(one_question, [tmp_path])
    assert done.sums[KEY].counts.tolist() == counted(rows).tolist()


# -- what is wrong is left out, with the reason -----------------------------------


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
    pq.write_table(pa.table({"x": [1, 2]}), path)
    seal(path)


def unsealed(path, **_):
    table = pq.read_table(path)
    pq.write_table(table, path)


def nulls(path, **_):
    about = pq.read_schema(path).metadata
    table = pq.read_table(path)
    column = pa.array([None, *table["report"].to_pylist()[1:]], pa.binary(8))
    pq.write_table(table.set_column(0, "report", column).replace_schema_metadata(about), path)
    seal(path)


def mixed_parameters(path, parameters, **_):
    table = pq.read_table(path)
    both = pa.array([bytes.fromhex(parameters.hash), bytes(32)], pa.binary())
    which = pa.DictionaryArray.from_arrays(np.arange(len(table), dtype=np.int32) % 2, both)
    pq.write_table(table.set_column(1, "parameters", which), path)
    seal(path)


DAMAGE = [
    (corrupt, "footer is 'damaged'"),
    (truncated, "frame is 'damaged'"),
    (empty, "length is 0"),
    (unsealed, "seal is 'missing'"),
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


LINES = [
    ("parameters", "0" * 64, "parameters"),
    ("question", "other", "question and round"),
    ("report", "AAAA", "length"),
    ("report", "???", "base64"),
    ("report", "AAAAAAAAAIA=", "0 in all bits"),
    ("round", 1, "question and round"),
    ("extra", 1, "keys"),
    ("id", "", "id"),
]


@pytest.mark.parametrize(("key", "value", "reason"), LINES, ids=str)
def test_a_bad_line_quarantines_its_file(one_question, tmp_path, key, value, reason):
    client = Client(one_question.model_dump(mode="json"))
    lines = [json.loads(client.report("q", i).to_json()) for i in range(10)]
    lines[4][key] = value
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = collect(one_question, [path])
    assert not done.sums
    assert reason in done.quarantined[0][1]


def test_lines_cut_off_repeated_or_no_json(one_question, tmp_path):
    line = Client(one_question.model_dump(mode="json")).report("q", 1).to_json()
    for text, reason in (
        (line, "cut off"),
        (f"{line}\n{line}\n", "given once"),
        ("{\n", "not JSON"),
        ("[]\n", "JSON object"),
        ("[" * 100_000 + "\n", "not JSON"),
        ("", "no reports"),
    ):
        (tmp_path / "a.jsonl").write_text(text)
        done = collect(one_question, [tmp_path])
        assert reason in done.quarantined[0][1]


def test_row_groups_too_large_for_bounded_memory(one_question, tmp_path, rng, monkeypatch):
    write(tmp_path / "a.parquet", one_question, draw(one_question, rng, 500))
    monkeypatch.setattr("planner.deployment.reports.parquet.MAX_ROW_GROUP_BYTES", 4000)
    done = collect(one_question, [tmp_path])
    assert "memory is bounded" in done.quarantined[0][1]


def test_places_that_hold_nothing(tmp_path):
    (tmp_path / "x.txt").write_text("")
    for wrong in ("missing", "x.txt"):
        with pytest.raises(FileError):
            report_files([tmp_path / wrong])
    assert report_files([tmp_path]) == []


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


# -- resuming ------------------------------------------------------------------------

SCRIPT = """
import sys
from pathlib import Path
from planner.deployment.collector import collect
from planner.deployment.parameters import read_parameters

folder = Path(sys.argv[1])
parameters = read_parameters(folder / "params.json")
collect(parameters, [folder / "reports"], checkpoint=folder / "progress", save_seconds=0.0,
        progress=lambda done, total: print(done, flush=True))
"""


def test_killed_again_and_again_it_ends_with_the_counts_of_an_unbroken_run(
    one_question, tmp_path, rng
):
    folder = tmp_path / "reports"
    folder.mkdir()
    for i in range(60):
        write(folder / f"{i:02}.parquet", one_question, draw(one_question, rng, 20 + i))
    (folder / "bad.parquet").write_bytes(b"PAR1")
    write_parameters(tmp_path / "params.json", one_question)
    unbroken = collect(one_question, [folder])
    call = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    deaths, starts = 0, []
    for lines in (5, 17, 1, 30, 10**6):
        with subprocess.Popen(call, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
            starts.append(int(process.stdout.readline()))
            for _ in range(lines):
                if not process.stdout.readline():
                    break
            process.send_signal(signal.SIGKILL)
            process.wait()
            deaths += process.returncode == -signal.SIGKILL
    assert deaths >= 4
    assert starts == sorted(starts)
    assert starts[3] >= 20  # what was saved is not counted again
    done = collect(one_question, [folder], checkpoint=tmp_path / "progress")
    assert done.sums[KEY].users == unbroken.sums[KEY].users
    assert done.sums[KEY].counts.tolist() == unbroken.sums[KEY].counts.tolist()
    assert [one.path for one in done.counted] != []
    assert sorted(one.path for one in done.counted) == [one.path for one in unbroken.counted]
    assert done.quarantined == unbroken.quarantined


def test_new_files_are_added_and_copies_of_counted_ones_are_not(one_question, collection, rng):
    folder, counts, _ = collection
    progress = folder.parent / "progress"
    collect(one_question, [folder], checkpoint=progress)
    more = draw(one_question, rng, 77)
    write(folder / "new.parquet", one_question, more)
    shutil.copy(folder / "3.parquet", folder / "copy.parquet")
    done = collect(one_question, [folder], checkpoint=progress)
    assert done.resumed == 10
    assert done.sums[KEY].counts.tolist() == (counts + counted(more)).tolist()
    assert [path.name for path, _ in done.quarantined] == ["copy.parquet"]


def test_a_repaired_file_is_counted_next_time(one_question, collection):
    folder, counts, _ = collection
    good = (folder / "5.parquet").read_bytes()
    (folder / "5.parquet").write_bytes(good[:100])
    progress = folder.parent / "progress"
    assert len(collect(one_question, [folder], checkpoint=progress).quarantined) == 1
    (folder / "5.parquet").write_bytes(good)
    done = collect(one_question, [folder], checkpoint=progress)
    assert done.sums[KEY].counts.tolist() == counts.tolist()


def test_a_file_that_changed_after_it_was_counted(one_question, collection, rng):
    folder, _, _ = collection
    progress = folder.parent / "progress"
    collect(one_question, [folder], checkpoint=progress)
    write(folder / "2.parquet", one_question, draw(one_question, rng, 3))
    with pytest.raises(FileError, match="changed after it was counted"):
        collect(one_question, [folder], checkpoint=progress)


def test_checkpoints_that_cannot_be_used(one_question, collection):
    folder, _, _ = collection
    progress = folder.parent / "progress"
    held = Checkpoint(progress, one_question.hash)
    with pytest.raises(FileError, match="in use by another process"):
        collect(one_question, [folder], checkpoint=progress)
    held.close()
    with pytest.raises(FileError, match="other parameters"):
        Checkpoint(progress, "0" * 64)
    progress.write_bytes(b"rubbish" * 999)
    with pytest.raises(FileError, match="not a usable checkpoint"):
        Checkpoint(progress, one_question.hash)


# -- engines ---------------------------------------------------------------------------


def test_engines_give_files_in_order(one_question, collection):
    folder, _, _ = collection
    files = report_files([folder])
    for engine in (local_engine, isolated_engine):
        results = list(engine(files, Expected.of(one_question)))
        assert [one.path for one in results] == files
        assert list(engine([], Expected.of(one_question))) == []


def test_isolated_workers_count_the_same(one_question, collection):
    folder, counts, users = collection
    (folder / "bad.parquet").write_bytes(b"PAR1")
    done = collect(one_question, [folder], engine=isolated_engine)
    assert done.sums[KEY].users == users
    assert done.sums[KEY].counts.tolist() == counts.tolist()
    assert len(done.quarantined) == 1


def test_a_file_that_crashes_its_reader_is_quarantined(one_question, tmp_path, rng):
    """A pipe that nobody writes to holds the worker until it is killed, as a crash would."""
    os.mkfifo(tmp_path / "crash.parquet")
    write(tmp_path / "good.parquet", one_question, draw(one_question, rng, 9))
    worker = _Worker(Expected.of(one_question))
    with ThreadPoolExecutor(1) as pool:
        counting = pool.submit(worker.count, tmp_path / "crash.parquet")
        worker.process.send_signal(signal.SIGABRT)
        assert "crashed (SIGABRT)" in counting.result().refused
    assert worker.count(tmp_path / "good.parquet").users == 9  # a new process took over
    worker.stop()


def test_seals(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": range(1000)}), path)
    before = pq.read_table(path)
    seal(path)
    check_seal(path)
    assert pq.read_table(path) == before  # other programs do not mind
    path.write_bytes(b"not Parquet" * 9)
    for function in (seal, check_seal):
        with pytest.raises(InputError, match="frame"):
            function(path)


@pytest.mark.filterwarnings("default")  # the cluster's own
def test_a_dask_cluster_counts_the_same(one_question, collection):
    distributed = pytest.importorskip("distributed")
    from planner.deployment.counting.cluster import dask_engine

    folder, _, _ = collection
    shutil.copy(folder / "0.parquet", folder / "copy.parquet")
    (folder / "bad.parquet").write_bytes(b"PAR1")
    local = collect(one_question, [folder])
    settings = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None}
    with distributed.LocalCluster(processes=False, **settings) as cluster:
        engine = dask_engine(cluster.scheduler_address)
        done = collect(one_question, [folder], engine=engine)
    assert done.sums[KEY].counts.tolist() == local.sums[KEY].counts.tolist()
    assert done.sums[KEY].users == local.sums[KEY].users
    assert done.counted == local.counted
    assert done.quarantined == local.quarantined
