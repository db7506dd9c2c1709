"""A disk without room: one sentence, nothing lost, and never the advice to delete something."""

import resource
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
import pytest

from planner import (
    Aggregate,
    Categorical,
    FileError,
    Level,
    Survey,
    randomized_response,
)
from planner.deployment import Client, Memory
from planner.deployment.bulk import perturb_file
from planner.deployment.collecting.checkpoint import Checkpoint
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.engines import FileCount
from planner.deployment.collecting.inbox import Inbox
from planner.deployment.parameters import parameters_from_mechanisms
from planner.files import replace_file
from tests.deployment.report_files import KEY, draw, write

HASH = "0" * 64
ROOM = 2**16


@contextmanager
def small_files(folder):
    """The system writes no file beyond 64 KiB (EFBIG)."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, before[1]))
    try:
        yield folder
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def small_disk(folder):
    """A disk of 64 KiB (ENOSPC)."""
    mount = shutil.which("mount")
    umount = shutil.which("umount")
    disk = folder / "disk"
    disk.mkdir()
    call = [mount or "mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(disk)]
    if (
        mount is None
        or subprocess.run(call, check=False, capture_output=True).returncode  # noqa: S603
    ):
        pytest.skip("no disk may be mounted")
    try:
        yield disk
    finally:
        subprocess.run([umount or "umount", "-l", str(disk)], check=True)  # noqa: S603


@pytest.fixture(params=[small_files, small_disk])
def full(request):
    return request.param


def refused(error):
    """The sentence of an error that gives a way out, and that costs nothing."""
    text = str(error.value)
    assert "cannot be written" in text
    assert "room" in text or "limit on the size of files" in text
    for word in ("delete", "remove", "damaged", "corrupt", "everything again"):
        assert word not in text.lower()
    return text


def saved(name, size):
    counted = Aggregate(3, np.zeros(2, dtype=np.int64))
    sums = {(KEY, ()): counted}
    return FileCount(Path(name), (1, 2), name, 3, sums=sums, marks=bytes(size))


def test_a_checkpoint_keeps_what_it_has(full, tmp_path):
    with full(tmp_path) as folder:
        progress = Checkpoint(folder / "progress", HASH)
        progress.save([saved("a", 10)])
        with pytest.raises(FileError) as error:
            progress.save([saved("b", 4 * ROOM)])
        refused(error)
        progress.save([saved("c", 10)])
        progress.close()
        progress = Checkpoint(folder / "progress", HASH)
        assert [file.path.name for file in progress.files()] == ["a", "c"]
        progress.close()


def test_a_memory_gives_the_report_that_it_has_and_releases_no_other(full, tmp_path):
    with full(tmp_path) as folder:
        memory = Memory(folder / "memory")
        assert memory.change((HASH, "u", "q"), lambda _: b"first") == b"first"
        with pytest.raises(FileError) as error:
            memory.change((HASH, "v", "q"), lambda _: bytes(4 * ROOM))
        refused(error)
        again = Memory(folder / "memory")
        assert again.change((HASH, "u", "q"), lambda kept: kept) == b"first"
        assert again.change((HASH, "v", "q"), lambda kept: kept or b"new") == b"new"


def reports_of_one_answer(path):
    level = (Level("only", 1.0, item_count=2),)
    question = Categorical("q", level)
    survey = Survey("s", 10, (question,))
    parameters = parameters_from_mechanisms(
        survey, {"q": randomized_response(1.0, items=2)}
    )
    with NamedTemporaryFile(suffix=".csv") as answers:  # elsewhere, where there is room
        answers.write(b"q\n0\n")
        answers.flush()
        perturb_file(parameters, Path(answers.name), path.with_suffix(".parquet"))


@pytest.mark.parametrize(
    "make", [Memory, lambda path: Checkpoint(path, HASH), reports_of_one_answer]
)
def test_one_that_cannot_be_made_leaves_nothing(full, make, tmp_path):
    with full(tmp_path) as folder:
        taken = folder / "taken"
        if full is small_disk:
            taken.write_bytes(bytes(ROOM))
        else:
            most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (2**10, most))
        with pytest.raises(FileError) as error:
            make(folder / "new")
        refused(error)
        assert [path for path in folder.iterdir() if path != taken] == []


def test_files_that_are_replaced_stay_as_they_were(full, tmp_path):
    with full(tmp_path) as folder:
        (folder / "plan.json").write_text("old")
        with pytest.raises(FileError) as error:
            replace_file(folder / "plan.json", bytes(4 * ROOM))
        refused(error)
        assert (folder / "plan.json").read_text() == "old"
        assert len(list(folder.iterdir())) == 1


def test_a_receiver_acknowledges_nothing_that_it_cannot_keep(
    full, one_question, tmp_path
):
    client = Client(one_question.document)
    with full(tmp_path) as folder:
        inbox = Inbox(folder / "in", one_question, ROOM // 3)
        lines = [client.report("q", 1).to_json().encode() + b"\n" for _ in range(2500)]
        reports = [inbox.read(line, "a line") for line in lines]
        groups = iter(range(0, 2500, 10))
        with pytest.raises(FileError) as error:
            any(inbox.add([reports[start : start + 10]]) == ["no"] for start in groups)
        refused(error)
        acknowledged = next(groups) - 10  # without the group that failed
        kept = inbox.sums()[KEY].users
        assert 0 < acknowledged <= kept < acknowledged + 10
        inbox.release()
    if full is small_files:
        box = Inbox(folder / "in", one_question)
    else:
        box = None
    if box:  # there is room again
        assert box.sums()[KEY].users == kept
        assert box.add([reports]) == [""]
        box.close()
        done = collect(one_question, [folder / "in"])
        assert done.sums[KEY].users == 2500


def test_reports_are_whole_or_not_there(full, one_question, tmp_path, rng):
    rows = draw(one_question, rng, ROOM)
    with full(tmp_path) as folder:
        (folder / "a.parquet").write_text("old")
        with pytest.raises(FileError) as error:
            write(folder / "a.parquet", one_question, rows)
        refused(error)
        assert (folder / "a.parquet").read_text() == "old"
        assert len(list(folder.iterdir())) == 1
