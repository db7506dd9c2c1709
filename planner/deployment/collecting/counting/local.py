"""What an engine is, and the plain one: count on all processors of this machine, in threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

from planner.deployment.collecting.counting.one_file import Expected, FileCount, count_file

Engine = Callable[[Sequence[Path], Expected], Iterator[FileCount]]
"""Counts files and gives the results in the order of the files."""


def local_engine(files: Sequence[Path], expected: Expected) -> Iterator[FileCount]:
    """Counts on all processors of this machine, a few files ahead, in threads.

    A seal is checked before a file is parsed, so damage is refused. A file that is made to
    crash the library that reads Parquet would take this process along; where reports come
    from strangers, ``isolated_engine`` survives it.
    """
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        yield from in_order(pool.submit, files, expected, 2 * workers)


def in_order(
    submit: Callable[..., Any],
    files: Sequence[Path],
    expected: Any,
    ahead: int,
    lost: Callable[[Path, Exception], FileCount] | None = None,
) -> Iterator[FileCount]:
    """Results of ``submit(count_file, path, expected)``, some files ahead, in order.

    ``lost`` says what becomes of a file whose counting failed itself, or raises.
    """
    waiting = iter(files)
    running = deque((path, submit(count_file, path, expected)) for path in islice(waiting, ahead))
    while running:
        path, future = running.popleft()
        try:
            counted = future.result()
        except Exception as error:
            if lost is None:
                raise
            counted = lost(path, error)
        yield counted
        running.extend((path, submit(count_file, path, expected)) for path in islice(waiting, 1))
