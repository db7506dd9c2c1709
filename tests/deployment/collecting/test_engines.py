"""Engines agree: threads, processes of their own, a cluster."""

import os
import pickle
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from planner.deployment.collecting.collector import collect, report_files
from planner.deployment.collecting.engines import _Worker, in_order, isolated_engine, local_engine
from planner.deployment.collecting.one_file import Expected
from planner.errors import InputError
from tests.deployment.report_files import KEY, draw, write


def test_engines_give_files_in_order(one_question, collection):
    folder, _, _ = collection
    files, _ = report_files([folder])
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


def test_a_worker_that_is_stopped_is_not_started_again(one_question, tmp_path):
    os.mkfifo(tmp_path / "waiting.parquet")
    worker = _Worker(Expected.of(one_question))
    process = worker.process
    with ThreadPoolExecutor(1) as pool:
        counting = pool.submit(worker.count, tmp_path / "waiting.parquet")
        while not counting.running():
            continue
        worker.stop()
        assert "crashed (SIGKILL)" in counting.result().refused
    assert worker.process is process
    assert process.poll() == -signal.SIGKILL


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


def test_an_engine_that_is_given_up_ends_its_workers(one_question, collection):
    folder, _, _ = collection
    engine = isolated_engine(report_files([folder])[0], Expected.of(one_question))
    first = next(engine)
    assert first.users == 30
    engine.close()
    assert list(isolated_engine([], Expected.of(one_question))) == []


def test_an_engine_without_a_word_for_lost_files_passes_errors_on(tmp_path):
    (tmp_path / "a.jsonl").touch()
    with ThreadPoolExecutor(1) as pool, pytest.raises(AttributeError):
        list(in_order(pool.submit, [tmp_path / "a.jsonl"], None, 1))


def test_the_cluster_must_be_installed_and_answer(monkeypatch):
    pytest.importorskip("distributed")
    from planner.deployment.collecting.engines import dask_engine

    engine = dask_engine("nonsense://nowhere")
    with pytest.raises(InputError, match=r"scheduler is 'nonsense://nowhere'.*dask scheduler"):
        list(engine([], None))
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"engine is 'dask'.*pip install"):
        dask_engine("tcp://127.0.0.1:1")
