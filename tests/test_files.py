import os
from pathlib import Path

from planner import FileError
from planner.files import read_text, replace_file
from tests.refusals import refused


def _only(folder):
    return sorted(path.name for path in folder.iterdir())


def test_it_writes_and_replaces(tmp_path, monkeypatch):
    path = tmp_path / "out.json"
    replace_file(path, "one")
    assert path.read_text() == "one"
    replace_file(str(path), b"two \xff")
    assert path.read_bytes() == b"two \xff"
    assert _only(tmp_path) == ["out.json"]
    assert path.stat().st_mode & 0o777 == 0o644
    monkeypatch.delattr(os, "O_DIRECTORY")  # a system that cannot open directories
    replace_file(path, "new")
    assert path.read_text() == "new"


def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path, monkeypatch):
    path = tmp_path / "out.json"
    path.write_text("old")
    order = []
    sync = os.fsync
    rename = Path.replace

    def watch_sync(handle):
        order.append("sync")
        text = path.read_text()
        assert text == ("old" if len(order) == 1 else "new")
        sync(handle)

    def watch_rename(self, target):
        order.append("rename")
        assert path.read_text() == "old"
        assert self.read_text() == "new"
        assert self.parent == path.parent  # a rename within one file system
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", watch_sync)
    monkeypatch.setattr(Path, "replace", watch_rename)
    replace_file(path, "new")
    assert order == ["sync", "rename", "sync"]


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    for path in (
        tmp_path / "none" / "out",
        tmp_path / "file" / "out",
        tmp_path / "folder",
    ):
        with refused(
            "Not a directory",
            "Is a directory",
            "No such file or directory",
            kind=FileError,
        ):
            replace_file(path, "new")
    assert _only(tmp_path) == ["file", "folder"]


def test_text_is_read_with_or_without_a_byte_order_mark(tmp_path):
    path = tmp_path / "in.toml"
    for mark in (b"", b"\xef\xbb\xbf"):
        path.write_bytes(mark + "é = 1".encode())
        assert read_text(path) == "é = 1"


def test_text_that_cannot_be_read(tmp_path):
    path = tmp_path / "in.toml"
    with refused("No such file or directory", kind=FileError):
        read_text(path)
    with refused("Is a directory", kind=FileError):
        read_text(tmp_path)
    path.write_bytes(b"\xff")
    with refused("is not text in UTF-8", kind=FileError):
        read_text(path)
    path.write_bytes(b"x" * 2**20)
    text = read_text(path, mebibytes=1)
    assert len(text) == 2**20
    path.write_bytes(b"x" * (2**20 + 1))
    with refused("is larger than 1 MiB", kind=FileError):
        read_text(path, mebibytes=1, remedy="Cut it.")
