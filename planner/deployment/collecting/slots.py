"""Reports that wait on the disk, each in a slot drawn at random: their order is nowhere.

A file of slots is written full of zeros and made durable before it is used. A report overwrites
one slot of it, drawn by the operating system's generator, so that where a report lies says
nothing of when it came. A database or a log would tell: its pages are filled in the order in
which reports come.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import numpy as np

from planner.files import sync_directory, unwritable
from planner.mechanisms.words import system_words

_DAY = 24 * 60 * 60  # seconds


def say_the_day(path: Path) -> None:
    """Set the times of a file or folder to the beginning of today (UTC)."""
    # The day, as file systems keep times to the nanosecond, and with a few reports a
    # day they would say when each one came.
    midnight = time.time() // _DAY * _DAY
    with suppress(OSError):
        os.utime(path, (midnight, midnight))


class Slots:
    r"""A file of equal slots, each empty or with one line.

    Parameters
    ----------
    path:
        Made if it does not exist; of one that exists the free slots are used.
    size:
        Bytes of the longest line, with its end.
    count:
        Number of slots, at least 1.

    Raises
    ------
    FileError
        It cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> place = TemporaryDirectory()
    >>> slots = Slots(Path(place.name) / "waiting", size=5, count=2)
    >>> slots.put(b"one\n"), slots.free
    (None, 1)
    >>> slots.sync(); slots.close()
    >>> Slots.lines(Path(place.name) / "waiting")
    [b'one\n']
    >>> place.cleanup()
    """

    def __init__(self, path: Path, size: int, count: int) -> None:
        self.path = path
        # Without it a line that was cut off before its newline could run into the line
        # of the next slot.
        self._step = size + 1  # a zero ends each slot
        try:
            if not path.exists():
                _make(path, self._step * count)
            content = np.fromfile(path, np.uint8)
            self._file = os.open(path, os.O_RDWR)
        except OSError as error:
            raise unwritable(path, error) from error
        # A file that was cut off may end within a slot.
        whole_slots = len(content) // self._step
        last_byte = whole_slots * self._step
        slots = content[:last_byte].reshape(-1, self._step)
        is_taken = slots.any(axis=1)  # a line has no zeros
        free = np.flatnonzero(~is_taken)
        # A random order, which is never written: where a line lies says nothing of when it came.
        # A shuffle by random 64-bit keys, drawn anew at each start, so that a restart
        # does not go on with a known order.
        keys = system_words().raw(len(free))
        order = np.argsort(keys)
        self._free: list[int] = free[order].tolist()

    @property
    def free(self) -> int:
        """Number of empty slots."""
        return len(self._free)

    def put(self, line: bytes) -> None:
        """Write a line into a free slot drawn at random; durable after :meth:`sync`.

        Raises
        ------
        FileError
            It cannot be written; the slot is not used again.
        """
        # Taken before the write: a slot that was written in part is not empty any more,
        # and a second line over it would leave a mixture.
        slot = self._free.pop()
        try:
            # Written at a position, so that no other place of the file and no seek is
            # needed; a line is in the system's cache until the sync.
            written = os.pwrite(self._file, line, slot * self._step)
        except OSError as error:
            raise unwritable(self.path, error) from error
        if written < len(line):
            raise unwritable(self.path, OSError(28, "no space is left"))

    def sync(self) -> None:
        """Make durable what was put; FileError if it cannot be."""
        try:
            # An fsync that failed may have dropped what it was to write; nothing of
            # this group is acknowledged then.
            os.fsync(self._file)
        except OSError as error:
            raise unwritable(self.path, error) from error
        say_the_day(self.path)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def lines(path: Path) -> list[bytes]:
        """The lines in a file of slots, also one that is in use.

        The end of one whose writing was cut off may be among them.
        """
        # Zeros part the slots. A line that lost its newline has no match, and a line
        # that lost its beginning fails the parser.
        return re.findall(rb"[^\0\n]+\n", path.read_bytes())


def _make(path: Path, size: int) -> None:
    """A file of zeros with its blocks on the disk, under its name once it is whole."""
    unfinished = path.with_suffix(".new")
    try:
        with unfinished.open("wb") as file:
            # Zeros are written, not skipped: a hole would be filled in the order of arrival.
            for start in range(0, size, _BLOCK):
                file.write(bytes(min(_BLOCK, size - start)))
            file.flush()
            os.fsync(file.fileno())
        # A crash before this leaves a file that is called .new, which the next start
        # removes: a file of slots is always whole.
        unfinished.replace(path)
        # The rename itself is in the folder, which has a cache of its own.
        sync_directory(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


_BLOCK = 2**20
