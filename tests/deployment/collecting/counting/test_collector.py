"""The collector: each file once, whole or not at all, and resuming after kill -9."""

import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from planner.deployment import Client
from planner.deployment.collecting.counting.checkpoint import Checkpoint
from planner.deployment.collecting.counting.collector import collect, report_files
from planner.deployment.parameter_file.parameters import write_parameters
from planner.errors import FileError
from tests.deployment.report_files import KEY, counted, draw, write


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


def test_newline_json_of_a_pilot(one_question, tmp_path):
    client = Client(one_question.document)
    reports = [client.report("q", i % 40) for i in range(60)]
    lines = [report.to_json() + "\n" for report in reports]
    (tmp_path / "a.jsonl").write_text("".join(lines[:50]))
    (tmp_path / "b.ndjson").write_text("".join(lines[50:]))
    rows = np.frombuffer(b"".join(one.payload for one in reports), np.uint8).reshape(-1, 8)
    done = collect(one_question, [tmp_path])
    assert done.sums[KEY].counts.tolist() == counted(rows).tolist()


def test_places_that_hold_nothing(tmp_path):
    (tmp_path / "x.txt").write_text("")
    for wrong in ("missing", "x.txt"):
        with pytest.raises(FileError):
            report_files([tmp_path / wrong])
    assert report_files([tmp_path]) == []


def test_names_that_no_checkpoint_can_hold(tmp_path):
    path = tmp_path / os.fsdecode(b"\xff.parquet")
    path.write_bytes(b"")
    for place in (tmp_path, path):
        with pytest.raises(FileError, match=r"udcff.parquet.*not UTF-8. Rename it"):
            report_files([place])


# -- resuming ------------------------------------------------------------------------

SCRIPT = """
import sys
from pathlib import Path
from planner.deployment.collecting.counting.collector import collect
from planner.deployment.parameter_file.parameters import read_parameters

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
