"""One file, whole or not at all; what cannot be opened is refused like what cannot be read."""

import io
import os
import pickle
import resource
import sys
from types import SimpleNamespace

import pytest

from planner.deployment.collecting import one_file
from planner.deployment.collecting.one_file import Expected, count_file, stamp_of
from planner.mechanisms.collected import Bits
from tests.deployment.report_files import KEY, counted, draw, write


@pytest.fixture
def expected(one_question):
    return Expected.of(one_question)


def test_every_question_and_round_is_expected(parameters):
    sizes = Expected.of(parameters).sizes
    assert len(sizes) == 20
    assert sizes["design", None] == 16  # the type and the items
    assert (sizes["idue", None], sizes["olh", None], sizes["age", None]) == (8, 8, 2)
    assert (sizes["sampled", 1], sizes["sampled", 2]) == (4, 4)
    assert ("sampled", None) not in sizes


def test_a_file_and_its_stamp(one_question, expected, tmp_path, rng):
    rows, path = draw(one_question, rng, 30), tmp_path / "a.parquet"
    write(path, one_question, rows)
    found = count_file(path, expected)
    assert (found.path, found.refused, found.users) == (path, "", 30)
    assert found.stamp == stamp_of(path) == (path.stat().st_size, path.stat().st_mtime_ns)
    assert found.sums[KEY].counts.tolist() == counted(rows).tolist()


def test_a_file_that_is_gone_is_refused(expected, tmp_path):
    found = count_file(tmp_path / "gone.parquet", expected)
    assert found.refused == "cannot be read: No such file or directory"
    assert (found.stamp, found.users) == ((-1, -1), 0)


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
