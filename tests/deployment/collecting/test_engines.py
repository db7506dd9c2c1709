"""Processes that count: a file that crashes one costs that file; none outlives its collection."""

import os
import pickle
import sys

import psutil
import pytest

from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.engines import CountingProcess, local_engine
from planner.deployment.collecting.places import report_files
from planner.deployment.collecting.reports import Expected
from tests.deployment.report_files import KEY, draw, write, write_crashing
from tests.refusals import refused


@pytest.fixture
def counting_here():
    """Here files are counted in processes."""


def test_files_are_given_in_order(one_question, collection):
    folder, _, _ = collection
    files, _ = report_files([folder])
    results = list(local_engine(files, Expected.of(one_question)))
    assert [result.path for result in results] == files
    assert list(local_engine([], Expected.of(one_question))) == []


def test_a_file_that_crashes_its_reader_is_left_out_alone(
    one_question, collection, rng
):
    folder, _, users = collection
    for name in ("00", "5a"):
        write_crashing(
            folder / f"{name}.parquet", one_question, draw(one_question, rng, 9)
        )
    done = collect(one_question, [folder])
    assert done.sums[KEY].users == users
    assert [path.name for path, _ in done.quarantined] == ["00.parquet", "5a.parquet"]
    assert {reason for _, reason in done.quarantined} == {
        "is corrupt: the program that reads it crashed (SIGABRT)"
    }


def test_workers_end_with_their_collection(one_question, collection):
    """Also where one of them is held, by a pipe that nobody writes to."""
    os.mkfifo(collection[0] / "held.parquet")
    files = sorted(collection[0].iterdir())
    others = psutil.Process().children()
    counts = local_engine(files, Expected.of(one_question))
    assert next(counts).users == 30
    started = set(psutil.Process().children()).difference(others)
    assert started
    counts.close()
    assert not any(process.is_running() for process in started)


def test_a_worker_that_ends_by_itself_is_named_by_its_code(one_question, tmp_path, rng):
    """And a request that it never read is no error of ours."""
    write(tmp_path / "good.parquet", one_question, draw(one_question, rng, 9))
    worker = CountingProcess(pickle.dumps(Expected.of(one_question)))
    worker.process.stdin.write(pickle.dumps(tmp_path)[:-1] + b"no such opcode")
    worker.process.stdin.flush()
    worker.process.wait()
    assert "crashed (exit code 1)" in worker.count(tmp_path / "good.parquet").refused


class Printing:
    """Prints where it is unpickled, and is the file there."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return eval, (
            f"print('read', flush=True) or __import__('pathlib').Path({str(self.path)!r})",
        )


def test_what_a_worker_prints_does_not_get_between_its_counts(
    one_question, tmp_path, rng
):
    write(tmp_path / "good.parquet", one_question, draw(one_question, rng, 9))
    worker = CountingProcess(pickle.dumps(Expected.of(one_question)))
    assert worker.count(Printing(tmp_path / "good.parquet")).users == 9
    assert "No such file" in worker.count(tmp_path / "gone.parquet").refused
    worker.stop()


def test_the_cluster_must_be_installed(monkeypatch):
    pytest.importorskip("distributed")
    from planner.deployment.collecting.engines import dask_engine

    monkeypatch.setitem(sys.modules, "distributed", None)
    with refused("engine"):
        dask_engine("tcp://127.0.0.1:1")
