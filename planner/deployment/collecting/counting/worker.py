"""A process that counts files: paths in, counts out (see ``counting/isolated.py``).

What it may allocate is limited, so that a file cannot take the machine's memory: allocating more
fails, and the file is refused.
"""

from __future__ import annotations

import os
import pickle
import sys
from contextlib import suppress
from pathlib import Path

from planner.deployment.collecting.counting.one_file import count_file

MAX_WORKER_BYTES = 2**30
"""That the counting of a file may take, besides what the libraries take once they are loaded."""
MAX_CELL_BYTES = 256
"""The same, for each sum of the plan: its name, and what honest reports count for, are needed."""


def main() -> None:
    """Serve until the input ends; it is the parent's, so the pickles are its own."""
    paths = sys.stdin.buffer
    with os.fdopen(os.dup(1), "wb") as counts:
        os.dup2(2, 1)  # nothing that is printed gets between the counts
        expected = pickle.load(paths)  # noqa: S301
        _limit_memory(sum(law.cells for law in expected.laws.values()))
        while True:
            try:
                path = pickle.load(paths)  # noqa: S301
            except EOFError:
                return
            pickle.dump(count_file(path, expected), counts)
            counts.flush()


def _limit_memory(cells: int) -> None:
    """On Linux; other systems do not say what is taken, or do not keep to such a limit."""
    with suppress(ImportError, OSError, StopIteration, ValueError):
        import resource

        status = Path("/proc/self/status").read_text().splitlines()
        (taken,) = (int(line.split()[1]) for line in status if line.startswith("VmData:"))
        most = taken * 1024 + MAX_WORKER_BYTES + MAX_CELL_BYTES * cells
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


if __name__ == "__main__":
    main()
