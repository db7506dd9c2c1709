"""The collector: every file of a folder once, whole or not at all, and going on after kill -9."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
import pytest

from planner import FileError
from planner.deployment import Client, write_parameters
from planner.deployment.collecting.checkpoint import Checkpoint
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.known_reports import KnownReports
from planner.deployment.collecting.places import report_files
from planner.deployment.collecting.reports import mark
from tests.deployment.report_files import KEY, counted, draw, write
from tests.refusals import refused


def total(collection):
    """Users and counts."""
    sums = collection.sums[KEY]
    return sums.users, sums.counts.tolist()


def test_counts_are_those_of_the_reports(one_question, collection):
    folder, counts, users = collection
    again = [folder, folder / "0.parquet", folder / ".." / "reports" / "1.parquet"]
    done = collect(one_question, again)
    expected = (users, counts.tolist())
    assert total(done) == expected
    assert len(done.counted) == 10
    assert not done.quarantined


# -- resuming ------------------------------------------------------------------------

SCRIPT = """
import sys
from pathlib import Path
from planner.deployment.collecting import collector
from planner.deployment.collecting.engines import count_file
from planner.deployment.parameters import read_parameters

folder = Path(sys.argv[1])
parameters = read_parameters(folder / "params.json")
collector._SAVE_SECONDS = 0.0
collector.collect(parameters, [folder / "reports"], checkpoint=folder / "progress",
                  engine=lambda files, expected: (count_file(path, expected) for path in files),
                  progress=lambda done, total: print(done, flush=True) or input())
"""


ENDED = """
import os, signal, sys
from planner.cli import main
from planner.deployment.collecting import collector

save = collector.Checkpoint.save

def save_until_ended(self, files):
    if len(self.files()) == 4:
        os.kill(os.getpid(), signal.SIGTERM)
    save(self, files)

collector._SAVE_SECONDS = 0.0
collector.Checkpoint.save = save_until_ended
main()
"""


def test_ended_by_another_program_it_keeps_what_was_saved(
    one_question, collection, tmp_path
):
    folder, counts, users = collection
    params = tmp_path / "params.json"
    progress = tmp_path / "progress"
    write_parameters(params, one_question)
    words = ["aggregate", params, folder, "--checkpoint", progress]
    call = [sys.executable, "-c", ENDED, *map(str, words)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 143
    assert done.stdout == ""
    assert done.stderr == ""
    saved = Checkpoint(progress, one_question.hash)
    assert len(saved.files()) == 4
    saved.close()
    rest = collect(one_question, [folder], checkpoint=progress)
    assert rest.resumed == 4
    expected = (users, counts.tolist())
    assert total(rest) == expected


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
    starts = []
    for files in (5, 17, 1, 30):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(call, **pipes) as process:  # noqa: S603
            starts.append(int(process.stdout.readline()))
            for _ in range(files):  # each goes on when it is told to
                print(file=process.stdin, flush=True)
                assert process.stdout.readline()
            print(file=process.stdin, flush=True)
            process.send_signal(signal.SIGKILL)  # in the next one
            assert process.wait() == -signal.SIGKILL
    assert starts == sorted(starts)
    assert starts[3] >= 20  # what was saved is not counted again
    done = collect(one_question, [folder], checkpoint=tmp_path / "progress")
    assert total(done) == total(unbroken)
    assert sorted(file.path for file in done.counted) == [
        file.path for file in unbroken.counted
    ]
    assert done.quarantined == unbroken.quarantined


def test_new_files_are_added_and_copies_of_counted_ones_are_not(
    one_question, collection, rng
):
    folder, counts, _ = collection
    progress = folder.parent / "progress"
    collect(one_question, [folder], checkpoint=progress)
    people = draw(one_question, rng, 77)
    write(folder / "new.parquet", one_question, people)
    shutil.copy(folder / "3.parquet", folder / "copy.parquet")
    done = collect(one_question, [folder], checkpoint=progress)
    assert done.resumed == 10
    expected = (counts + counted(people)).tolist()
    assert done.sums[KEY].counts.tolist() == expected
    assert [path.name for path, _ in done.quarantined] == ["copy.parquet"]
    write(folder / "2.parquet", one_question, draw(one_question, rng, 3))
    with refused("changed after it was counted", kind=FileError):
        collect(one_question, [folder], checkpoint=progress)


# -- what is counted once, and what is not counted any more ----------------------------


@pytest.fixture
def successors(one_question, tmp_path):
    """A file of 100 reports, its successor of 150, and another with 20 of these and 5 more."""
    client = Client(one_question.document)
    every = [client.report("q", i % 40).to_json() + "\n" for i in range(155)]
    folder = tmp_path / "lines"
    folder.mkdir()
    (folder / "1.jsonl").write_text("".join(every[:100]))
    (folder / "2.jsonl").write_text("".join(every[:150]))
    (folder / "3.jsonl").write_text("".join(every[130:155]))
    (tmp_path / "all.jsonl").write_text("".join(every))
    return folder, tmp_path / "all.jsonl"


def test_a_report_counts_once_whatever_file_it_is_in(one_question, successors):
    folder, whole = successors
    done = collect(one_question, [folder])
    collected = collect(one_question, [whole])
    assert total(done) == total(collected)
    assert done.sums[KEY].users == 155
    assert [file.repeated for file in done.counted] == [0, 100, 20]
    assert done.repeated == 120
    origins = [[path.name for path in file.origins] for file in done.counted]
    assert origins == [[], ["1.jsonl"], ["2.jsonl"]]


def test_a_report_counts_once_over_several_runs(one_question, successors, tmp_path):
    folder, whole = successors
    for name in ("1.jsonl", "3.jsonl"):
        shutil.copy(folder / name, tmp_path / name)
    progress = tmp_path / "progress"
    first = tmp_path / "1.jsonl"
    last = tmp_path / "3.jsonl"
    for places in ([first], [first, last], [tmp_path]):
        done = collect(one_question, places, checkpoint=progress)
    collected = collect(one_question, [whole])
    assert total(done) == total(collected)
    reasons = {path.name: reason for path, reason in done.quarantined}
    assert "is a copy of" in reasons["1.jsonl"]
    assert "holds only reports that are counted already" in reasons["2.jsonl"]


def test_a_contradiction_costs_the_report_and_never_its_file(one_question, tmp_path):
    """Across files and within one, in one run and in several, and when a file is dropped."""
    client = Client(one_question.document)
    first, *others = (client.report("q", item) for item in range(5))
    forged = [replace(other, report_id=first.report_id) for other in others[:2]]
    lines = [report.to_json() + "\n" for report in (first, *others)]
    contradicting = [report.to_json() + "\n" for report in forged]
    (tmp_path / "1.jsonl").write_text(lines[0])
    files = [tmp_path / "2.jsonl", tmp_path / "3.jsonl"]
    files[0].write_text(lines[1] + contradicting[0] + lines[2])
    files[1].write_text(lines[3] + contradicting[1] + lines[4] + contradicting[0])
    progress = tmp_path / "progress"
    collect(one_question, files[:1], checkpoint=tmp_path / "other")
    for checkpoint in (None, progress, progress):
        done = collect(one_question, [tmp_path], checkpoint=checkpoint)
        assert not [path for path, _ in done.quarantined if path.suffix == ".jsonl"]
        assert done.sums[KEY].users == 5
        left_out = [
            (contradiction.path, contradiction.line, contradiction.other)
            for contradiction in done.contradictions
        ]
        first_file = str(tmp_path / "1.jsonl")
        assert left_out == [
            (files[0], 2, first_file),
            (files[1], 2, first_file),
            (files[1], 4, "line 2 of it"),
        ]
        assert {contradiction.report_id for contradiction in done.contradictions} == {
            first.report_id
        }
    (tmp_path / "1.jsonl").unlink()  # now the next one of this id counts
    done = collect(one_question, files, checkpoint=progress, missing="drop")
    assert done.sums[KEY].users == 5
    assert [contradiction.path for contradiction in done.contradictions] == [
        files[1],
        files[1],
    ]


def test_a_file_of_contradictions_alone_is_no_error(one_question, tmp_path):
    client = Client(one_question.document)
    first = client.report("q", 1)
    second = client.report("q", 2)
    (tmp_path / "1.jsonl").write_text(first.to_json() + "\n")
    forged = replace(second, report_id=first.report_id)
    (tmp_path / "2.jsonl").write_text(forged.to_json() + "\n")
    done = collect(one_question, [tmp_path])
    assert done.sums[KEY].users == 1
    assert not done.quarantined
    (left_out,) = done.contradictions
    assert left_out.path.name == "2.jsonl"
    assert left_out.line == 1


def test_a_file_that_was_counted_and_is_missing(one_question, collection, rng):
    folder, counts, users = collection
    progress = folder.parent / "progress"
    collect(one_question, [folder], checkpoint=progress)
    cells = pq.read_table(folder / "4.parquet")["report"].to_pylist()
    taken = counted(np.frombuffer(b"".join(cells), np.uint8).reshape(-1, 8))
    (folder / "4.parquet").rename(folder.parent / "4.parquet")
    with refused("was counted and is missing, as are 0 more files", kind=FileError):
        collect(one_question, [folder], checkpoint=progress)
    kept = collect(one_question, [folder], checkpoint=progress, missing="keep")
    expected = (users, counts.tolist())
    assert total(kept) == expected
    for _ in range(2):
        done = collect(one_question, [folder], checkpoint=progress, missing="drop")
        expected = (users - 34, (counts - taken).tolist())
        assert total(done) == expected
    (folder.parent / "4.parquet").rename(folder / "4.parquet")
    back = collect(one_question, [folder], checkpoint=progress)
    expected = (users, counts.tolist())
    assert total(back) == expected
    for path in folder.iterdir():
        path.unlink()
    write(folder / "other.parquet", one_question, draw(one_question, rng, 50))
    with refused("was counted and is missing, as are 9 more files", kind=FileError):
        collect(one_question, [folder], checkpoint=progress)
    with refused("missing"):
        collect(one_question, [folder], missing="forget")


def test_reports_left_out_for_a_file_that_is_taken_away_count_again(
    one_question, successors, tmp_path
):
    folder, whole = successors
    progress = tmp_path / "progress"
    collect(one_question, [folder], checkpoint=progress)
    (folder / "1.jsonl").unlink()
    done = collect(one_question, [folder], checkpoint=progress, missing="drop")
    assert total(done) == total(
        collect(one_question, [whole])
    )  # all are in the second file, too
    (folder / "2.jsonl").unlink()
    done = collect(one_question, [folder], checkpoint=progress, missing="drop")
    assert done.sums[KEY].users == 25


WRONG = "is none of .parquet, .jsonl, .ndjson"


def test_every_file_of_a_folder_is_counted_or_named(one_question, tmp_path, rng):
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    for path in (tmp_path / "0.parquet", deep / "UPPER.PARQUET", tmp_path / "real"):
        write(path, one_question, draw(one_question, rng, 10))
    (tmp_path / "link.parquet").symlink_to(tmp_path / "real")
    (tmp_path / "again.parquet").symlink_to(
        tmp_path / "0.parquet"
    )  # one file, counted once
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "c.jsonl.gz").write_bytes(b"")
    (tmp_path / ".0.parquet.ab12cd34").write_bytes(b"")  # what a killed writer leaves
    (tmp_path / ".b.jsonl").write_bytes(b"")
    (tmp_path / "nowhere.jsonl").symlink_to(tmp_path / "missing")
    (tmp_path / "itself.jsonl").symlink_to(tmp_path / "itself.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    odd = tmp_path / os.fsdecode(b"\xff.parquet")
    odd.write_bytes(b"")
    done = collect(one_question, [tmp_path])
    assert done.sums[KEY].users == 30
    assert {path.name: reason for path, reason in done.quarantined} == {
        "real": WRONG,
        "c.jsonl.gz": WRONG,
        ".0.parquet.ab12cd34": WRONG,
        ".b.jsonl": "is hidden",
        "nowhere.jsonl": "cannot be found or read",
        "itself.jsonl": "cannot be found or read",
        "pipe.jsonl": "is not a regular file",
        odd.name: "has a name that is not UTF-8",
    }


def test_a_folder_that_cannot_be_read_is_named():
    """As a user without rights: an administrator can read everything."""
    user = os.geteuid()
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        closed = folder / "closed"
        closed.mkdir()
        (closed / "0.jsonl").write_text("")
        folder.chmod(0o755)
        closed.chmod(0)
        if user == 0:
            os.seteuid(65534)
        try:
            _, others = report_files([folder])
        finally:
            os.seteuid(user)
            closed.chmod(0o755)
    assert others == [(closed, "cannot be read: Permission denied")]


MORE = b"".join(mark(f"{i:04x}", "q: AA==") for i in range(1000))


@pytest.mark.parametrize(
    "attempt",
    [lambda known: known.add(Path("b.jsonl"), MORE), lambda known: known.repeats(MORE)],
    ids=["add", "repeats"],
)
def test_a_temporary_directory_without_room_is_named(attempt, monkeypatch):
    connect = sqlite3.connect

    def with_little_room(*arguments, **options):
        database = connect(*arguments, **options)
        database.execute("PRAGMA max_page_count = 4")
        return database

    monkeypatch.setattr(sqlite3, "connect", with_little_room)
    with closing(KnownReports()) as reports:
        reports.add(Path("a.jsonl"), mark("00", "q: AA=="))
        with refused("database or disk is full", kind=FileError):
            attempt(reports)
