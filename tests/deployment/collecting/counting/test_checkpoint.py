"""Progress on disk: one collection, one process, and damage is named."""

import sqlite3

import numpy as np
import pytest

from planner.deployment.collecting.counting.checkpoint import Checkpoint, CountedFile
from planner.errors import FileError
from planner.mechanisms.aggregate import Aggregate

HASH = "0" * 64
SUMS = {("q", None): Aggregate(3, np.array([1, 2])), ("s", 2): Aggregate(4, np.array([0, 4]))}


@pytest.fixture
def path(tmp_path):
    """A checkpoint with one file of two questions."""
    place = tmp_path / "progress"
    saved = Checkpoint(place, HASH)
    saved.save([counted(place, "a")], SUMS)
    saved.close()
    return place


def counted(place, name):
    return CountedFile(place.with_name(name), (5, 7), f"id {name}", 3, ("a sign", "é"))


def test_what_is_saved_is_found_again(path):
    saved = Checkpoint(path, HASH)
    assert saved.files() == [counted(path, "a")]
    found = saved.sums()
    assert {key: (one.users, one.counts.tolist()) for key, one in found.items()} == {
        ("q", None): (3, [1, 2]),
        ("s", 2): (4, [0, 4]),
    }
    saved.save([counted(path, "b")], {("q", None): Aggregate(9, np.array([5, 6]))})
    assert saved.files() == [counted(path, "a"), counted(path, "b")]
    assert saved.sums()["q", None].counts.tolist() == [5, 6]
    assert saved.sums()["s", 2].users == 4
    saved.close()


def test_files_and_sums_are_saved_both_or_neither(path):
    saved = Checkpoint(path, HASH)
    with pytest.raises(FileError, match="not a usable checkpoint"):
        saved.save([counted(path, "b"), counted(path, "a")], {})  # a file is in it once
    saved.close()
    again = Checkpoint(path, HASH)
    assert again.files() == [counted(path, "a")]
    again.close()


def test_one_process_and_one_collection(path):
    held = Checkpoint(path, HASH)
    with pytest.raises(FileError, match=r"in use by another process. Wait for it"):
        Checkpoint(path, HASH)
    held.close()
    with pytest.raises(FileError, match=r"of other parameters. Delete it to count everything"):
        Checkpoint(path, "1" * 64)
    Checkpoint(path, HASH).close()


@pytest.mark.parametrize("place", ["rubbish", "no/progress"])
def test_places_that_hold_no_checkpoint(tmp_path, place):
    (tmp_path / "rubbish").write_bytes(b"rubbish" * 999)
    with pytest.raises(FileError, match="not a usable checkpoint"):
        Checkpoint(tmp_path / place, HASH)


@pytest.mark.parametrize(
    ("damage", "read"),
    [
        ("UPDATE files SET signs = 'no list'", "files"),
        ("UPDATE files SET signs = 3", "files"),
        ("DROP TABLE files; CREATE TABLE files (path TEXT); INSERT INTO files VALUES (1)", "files"),
        ("UPDATE sums SET counts = x'00'", "sums"),
        ("UPDATE sums SET users = -1", "sums"),
        ("DROP TABLE sums; CREATE TABLE sums (name TEXT); INSERT INTO sums VALUES (1)", "sums"),
    ],
)
def test_damage_is_named_when_it_is_read(path, damage, read):
    with sqlite3.connect(path) as database:
        database.executescript(damage)
        database.execute("INSERT INTO files (path) VALUES ('x')") if "path TEXT" in damage else None
        database.execute(
            "INSERT INTO sums (question) VALUES ('x')"
        ) if "sums (q" in damage else None
    saved = Checkpoint(path, HASH)
    with pytest.raises(FileError, match=r"is not a usable checkpoint: .*Delete it to count"):
        getattr(saved, read)()
    saved.close()
