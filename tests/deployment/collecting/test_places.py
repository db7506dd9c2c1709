"""Every file that is seen in a folder is counted or named."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from planner.deployment.collecting.collector import collect, report_files
from planner.errors import FileError
from tests.deployment.report_files import KEY, draw, write


def test_places_that_hold_nothing(tmp_path):
    (tmp_path / "x.txt").write_text("")
    for wrong in ("missing", "x.txt"):
        with pytest.raises(FileError):
            report_files([tmp_path / wrong])
    assert report_files([tmp_path]) == ([], [(tmp_path / "x.txt", WRONG)])
    assert report_files([tmp_path], [tmp_path / "x.txt"]) == ([], [])


WRONG = "is none of .parquet, .jsonl, .ndjson"


def test_every_file_of_a_folder_is_counted_or_named(one_question, tmp_path, rng):
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    for path in (tmp_path / "0.parquet", deep / "UPPER.PARQUET", tmp_path / "real"):
        write(path, one_question, draw(one_question, rng, 10))
    (tmp_path / "link.parquet").symlink_to(tmp_path / "real")
    (tmp_path / "again.parquet").symlink_to(tmp_path / "0.parquet")  # one file, counted once
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


def test_files_below_a_thousand_folders(one_question, tmp_path, rng):
    """Deeper than the interpreter's own nesting."""
    write(tmp_path / "0.parquet", one_question, draw(one_question, rng, 10))
    folders = [tmp_path]
    for _ in range(1050):
        folders.append(folders[-1] / "d")
        folders[-1].mkdir()
    try:
        assert collect(one_question, [tmp_path]).sums[KEY].users == 10
    finally:
        for folder in reversed(folders[1:]):
            folder.rmdir()


def test_a_folder_that_cannot_be_read_is_named():
    """As a user without rights: an administrator can read everything."""
    user = os.geteuid()
    with TemporaryDirectory() as name:
        place = Path(name).resolve()
        closed = place / "closed"
        closed.mkdir()
        (closed / "0.jsonl").write_text("")
        place.chmod(0o755)
        closed.chmod(0)
        if user == 0:
            os.seteuid(65534)
        try:
            _, others = report_files([place])
        finally:
            os.seteuid(user)
            closed.chmod(0o755)
    assert others == [(closed, "cannot be read: Permission denied")]
