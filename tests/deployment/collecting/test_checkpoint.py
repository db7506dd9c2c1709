"""Progress on disk: one collection, one process, and damage is named, never counted."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner import Aggregate, FileError
from planner.deployment import Memory
from planner.deployment.collecting.checkpoint import Checkpoint
from planner.deployment.collecting.engines import FileCount
from tests.refusals import refused

HASH = "0" * 64
SUMS = {
    (("q", None), ()): Aggregate(3, np.array([1, 2])),
    (("s", 2), ("north",)): Aggregate(4, np.array([0, 4])),
}


@pytest.fixture
def path(tmp_path):
    """A checkpoint with one file of two questions."""
    folder = tmp_path / "progress"
    saved = Checkpoint(folder, HASH)
    saved.save([counted("a", SUMS)])
    saved.close()
    return folder


def counted(name, sums):
    origins = (Path("/x/é.jsonl"),)
    fields = Path("/x") / name, (5, 7), f"id {name}", 3, 4, origins
    return FileCount(*fields, sums=sums, marks=name.encode() * 32)


def contents(path):
    """What a checkpoint holds, in plain types."""
    saved = Checkpoint(path, HASH)
    try:
        contents = list(saved.contents())
        sums = [
            {k: (x.users, x.counts.tolist()) for k, x in content.sums.items()}
            for content in contents
        ]
        return [
            (content.file, plain, content.marks)
            for content, plain in zip(contents, sums, strict=True)
        ]
    finally:
        saved.close()


def test_what_is_saved_is_found_again(path):
    first = counted("a", SUMS)
    plain = {(("q", None), ()): (3, [1, 2]), (("s", 2), ("north",)): (4, [0, 4])}
    expected = [(first.file, plain, b"a" * 32)]
    assert contents(path) == expected
    saved = Checkpoint(path, HASH)
    saved.save([counted("b", {}), counted("c", {})])
    assert [file.path.name for file in saved.files()] == ["a", "b", "c"]
    saved.drop([Path("/x/a"), Path("/x/c")])
    saved.close()
    expected = [(counted("b", {}).file, {}, b"b" * 32)]
    assert contents(path) == expected


def test_files_are_saved_all_or_none(path):
    saved = Checkpoint(path, HASH)
    with pytest.raises(TypeError):
        saved.save([counted("b", {}), replace(counted("d", {}), marks="no bytes")])
    saved.save([counted("c", {})])
    saved.close()
    assert [file.path.name for file, _, _ in contents(path)] == ["a", "c"]


def test_one_process_and_one_collection(path):
    held = Checkpoint(path, HASH)
    with refused("is in use by another process", kind=FileError):
        Checkpoint(path, HASH)
    held.close()
    with refused("is the checkpoint of other parameters, or of an", kind=FileError):
        Checkpoint(path, "1" * 64)
    Checkpoint(path, HASH).close()


def test_what_is_no_checkpoint_is_left_alone(tmp_path):
    """A remedy must never be to delete somebody's reports."""
    for name, content in (("r.parquet", b"PAR1" * 99), ("empty", b"")):
        (tmp_path / name).write_bytes(content)
        with refused(
            "is not a checkpoint, or is a damaged checkpoint",
            "is not a checkpoint, or is a damaged checkpoint",
            kind=FileError,
        ):
            Checkpoint(tmp_path / name, HASH)
        assert (tmp_path / name).read_bytes() == content
    Memory(tmp_path / "memory")
    with refused("is no checkpoint, or is one of an earlier version", kind=FileError):
        Checkpoint(tmp_path / "memory", HASH)
    with refused("No such file or directory", kind=FileError):
        Checkpoint(tmp_path / "no" / "progress", HASH)
