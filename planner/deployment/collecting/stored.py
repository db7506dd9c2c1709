"""Report files in an object store, or in any other file system that pyarrow reads.

Keys and addresses are those of the environment, such as ``AWS_ACCESS_KEY_ID`` and
``AWS_ENDPOINT_URL``; they never stand in a place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PosixPath
from stat import S_IFDIR, S_IFREG
from typing import BinaryIO

from pyarrow import ArrowException, fs

from planner.errors import FileError

_STORE_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+([^/]+)(.*)", re.DOTALL)


def place_of(path: str | Path) -> Path:
    """A path of this machine, or a :class:`Stored` one if it is an address.

    Examples
    --------
    >>> place_of("s3://bucket/reports"), place_of("reports")
    (Stored('s3://bucket/reports'), PosixPath('reports'))
    """
    return Stored(path) if _STORE_ADDRESS.fullmatch(str(path)) else Path(path)


class Stored(PosixPath):
    """A file or folder in a store, as far as collecting reads it."""

    def __str__(self) -> str:
        scheme, first, rest = self._parts_of()
        return f"{scheme}://{first}{rest}"

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Size, time of change, and whether it is a folder; OSError if it cannot be found."""
        del follow_symlinks
        system, path = self._opened()
        return _about(self, system.get_file_info(path))

    def open(self, *_: object, **__: object) -> BinaryIO:  # type: ignore[override]
        """Its bytes, to be read from any place."""
        system, path = self._opened()
        return system.open_input_file(path)

    def below(self) -> Iterator[Path]:
        """All files below a folder; FileError if there is none, or the store does not answer."""
        try:
            if self.is_file():
                yield self
                return
            system, path = self._opened()
            for one in system.get_file_info(fs.FileSelector(path, recursive=True)):
                if one.type == fs.FileType.File:
                    yield self / one.path.removeprefix(path).lstrip("/")
        except (OSError, ArrowException) as error:
            remedy = "Check the address, and the store's keys in the environment."
            raise FileError(self, f"cannot be read: {error}", remedy) from error

    def _parts_of(self) -> tuple[str, str, str]:
        found = _STORE_ADDRESS.fullmatch("/".join(self.parts))
        assert found is not None  # noqa: S101 - of place_of
        return found[1], found[2], found[3]

    def _opened(self) -> tuple[fs.FileSystem, str]:
        scheme, first, rest = self._parts_of()
        if "@" in first:
            reason = "has a key in it, which would be shown and kept"
            raise FileError(f"{scheme}://...", reason, "Put keys into the environment.")
        system, base = _system(f"{scheme}://{first}")
        return system, base + rest


@lru_cache(64)
def _system(root: str) -> tuple[fs.FileSystem, str]:
    system, base = fs.FileSystem.from_uri(root)
    return system, base.rstrip("/")


def _about(path: Path, info: fs.FileInfo) -> os.stat_result:
    if info.type == fs.FileType.NotFound:
        raise FileNotFoundError(2, "does not exist", str(path))
    mode = S_IFREG if info.type == fs.FileType.File else S_IFDIR
    about = (mode, 0, 0, 0, 0, 0, info.size or 0, 0, 0, 0)
    return os.stat_result(about, {"st_mtime_ns": info.mtime_ns})
