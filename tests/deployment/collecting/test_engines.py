"""Engines agree: threads and processes of their own; one file is counted whole or not at all."""

import io
import os
import pickle
import resource
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from planner.deployment.collecting import one_file
from planner.deployment.collecting.collector import report_files
from planner.deployment.collecting.engines import _Worker, isolated_engine, local_engine
from planner.deployment.collecting.one_file import Expected, count_file
from planner.errors import InputError
from planner.mechanisms.collected import Bits
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


def test_the_cluster_must_be_installed(monkeypatch):
    pytest.importorskip("distributed")
    from planner.deployment.collecting.engines import dask_engine

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"engine is 'dask'.*pip install"):
        dask_engine("tcp://127.0.0.1:1")


@pytest.fixture
def expected(one_question):
    return Expected.of(one_question)


def test_a_file_whose_counting_takes_too_much_memory_is_refused(
    one_question, expected, tmp_path, rng, monkeypatch
):
    def full(_):
        raise MemoryError

    write(tmp_path / "a.parquet", one_question, draw(one_question, rng, 9))
    monkeypatch.setattr(Bits, "counter", full)
    found = count_file(tmp_path / "a.parquet", expected)
    assert (found.users, found.refused) == (0, "needs more memory than there is")


def test_a_worker_answers_each_path_and_ends_with_its_input(
    one_question, expected, tmp_path, rng, monkeypatch
):
    """The process of the isolated engine, run here: nothing printed gets between its answers."""
    good = tmp_path / "good.parquet"
    write(good, one_question, draw(one_question, rng, 9))
    asked = io.BytesIO(b"".join(map(pickle.dumps, (expected, good, tmp_path / "gone.parquet"))))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=asked))
    limits = []
    monkeypatch.setattr(resource, "setrlimit", lambda *limit: limits.append(limit))
    answers, outlet = os.pipe()
    screen = os.dup(1)
    os.dup2(outlet, 1)
    try:
        one_file.serve()
        os.write(1, b"printed")  # goes to standard error now
    finally:
        os.dup2(screen, 1)
        os.close(screen)
        os.close(outlet)
    with os.fdopen(answers, "rb") as found:
        first, second = pickle.load(found), pickle.load(found)  # noqa: S301 - our own
        assert found.read() == b""
    if sys.platform == "linux":
        ((kind, (most, _)),) = limits
        assert kind == resource.RLIMIT_DATA
        assert most > one_file.MAX_WORKER_BYTES + 40 * one_file.MAX_CELL_BYTES
    assert (first.users, second.users) == (9, 0)
    assert "No such file" in second.refused
