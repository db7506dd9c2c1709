"""Solvers use one thread: theirs are small systems of equations, which several threads slow down.

Two threads of OpenBLAS wait for each other at every step: on a busy machine a solve took ten times
as long. The number of threads is one for the whole process, and only the thread of Python that
lowered it can put it back (threadpoolctl, 3.8): what solves meanwhile elsewhere leaves it alone.
"""

from __future__ import annotations

import os
import sys
from contextlib import ContextDecorator
from functools import lru_cache
from threading import Lock, get_ident
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_THREADS = "OPENBLAS_NUM_THREADS"  # read by the library when it is loaded
_WHEELS = "scipy-openblas"  # the library of NumPy's own wheels, which reads it


class _OneThread(ContextDecorator):
    """Holds linear algebra to one thread while the outermost solve of a thread of Python runs."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._owner: int | None = None  # the thread of Python that lowered the number
        self._depth = 0  # of the solves within each other there
        self._asked_at_start = False  # that the libraries be loaded with one thread

    def from_the_start(self) -> None:
        """Let a whole program have one thread, before NumPy is loaded: no thread is ever started.

        Nothing has to be lowered later, and SciPy's library is loaded only by what needs it.
        Whoever set another number in the environment keeps it.
        """
        number = os.environ.setdefault(_THREADS, "1")
        if "numpy" not in sys.modules:
            self._asked_at_start = number == "1"

    def __enter__(self) -> None:
        if self._asked_at_start and _numbers_are_read():
            return
        with self._lock:
            if self._owner is None:
                self._owner = get_ident()
                self._limit = _libraries().limit(limits=1, user_api="blas")
                self._limit.__enter__()
            if self._owner == get_ident():
                self._depth += 1

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            if self._owner != get_ident():
                return
            self._depth -= 1
            if self._depth == 0:
                self._limit.__exit__(None, None, None)
                self._owner = None


@lru_cache(maxsize=1)
def _numbers_are_read() -> bool:
    """Whether NumPy's linear algebra is of a kind that heeds the environment."""
    import numpy as np

    built = np.show_config(mode="dicts")
    return built["Build Dependencies"]["blas"]["name"] == _WHEELS


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """NumPy's and SciPy's linear algebra: searching the process for them takes some 10 ms."""
    import scipy.linalg  # noqa: F401 - loads the library that is to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


one_thread = _OneThread()
"""A context, and a decorator of whatever solves."""
