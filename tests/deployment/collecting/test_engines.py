"""Engines agree: threads and processes of their own; one file is counted whole or not at all."""

import os
import pickle
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from planner.deployment.collecting.collector import report_files
from planner.deployment.collecting.engines import _Worker, isolated_engine, local_engine
from planner.deployment.collecting.one_file import Expected
from planner.errors import InputError
from tests.deployment.report_files import draw, write


def test_engines_give_files_in_order(one_question, collection):
    folder, _, _ = collection
    files, _ = report_files([folder])
    for engine in (local_engine, isolated_engine):
        results = list(engine(files, Expected.of(one_question)))
        assert [one.path for one in results] == files
        assert list(engine([], Expected.of(one_question))) == []


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


def test_a_worker_that_ends_by_itself_is_named_by_its_code(one_question, tmp_path, rng):
    """And a request that it never read is no error of ours."""
    write(tmp_path / "good.parquet", one_question, draw(one_question, rng, 9))
    worker = _Worker(Expected.of(one_question))
    worker._paths.write(pickle.dumps(tmp_path)[:-1] + b"no such opcode")
    worker._paths.flush()
    worker.process.wait()
    assert "crashed (exit code 1)" in worker.count(tmp_path / "good.parquet").refused
    assert worker.count(tmp_path / "good.parquet").users == 9
    worker.stop()


class Printing:
    """Prints where it is unpickled, and is the file there."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return eval, (
            f"print('read', flush=True) or __import__('pathlib').Path({str(self.path)!r})",
        )


def test_what_a_worker_prints_does_not_get_between_its_counts(one_question, tmp_path, rng):
    write(tmp_path / "good.parquet", one_question, draw(one_question, rng, 9))
    worker = _Worker(Expected.of(one_question))
    assert worker.count(Printing(tmp_path / "good.parquet")).users == 9
    assert "No such file" in worker.count(tmp_path / "gone.parquet").refused
    worker.stop()


def test_the_cluster_must_be_installed(monkeypatch):
    pytest.importorskip("distributed")
    from planner.deployment.collecting.engines import dask_engine

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"engine is 'dask'.*pip install"):
        dask_engine("tcp://127.0.0.1:1")
