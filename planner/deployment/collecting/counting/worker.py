"""A process that counts files: paths in, counts out (see ``counting/isolated.py``)."""

from __future__ import annotations

import os
import pickle
import sys

from planner.deployment.collecting.counting.one_file import count_file

__all__ = ["main"]


def main() -> None:
    """Serve until the input ends; it is the parent's, so the pickles are its own."""
    paths = sys.stdin.buffer
    with os.fdopen(os.dup(1), "wb") as counts:
        os.dup2(2, 1)  # nothing that is printed gets between the counts
        expected = pickle.load(paths)  # noqa: S301
        while True:
            try:
                path = pickle.load(paths)  # noqa: S301
            except EOFError:
                return
            pickle.dump(count_file(path, expected), counts)
            counts.flush()


if __name__ == "__main__":
    main()
