"""Planning beside the server's own thread, once several visitors plan at the same time.

One visitor's plans take milliseconds and are made on the spot. When two are being made at
once, a few worker processes are started and take over, so that the server stays free to
answer: Python runs one thread at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from threading import Lock
from typing import Any, TypeVar

from planner.errors import PlannerError

T = TypeVar("T")
_MOST_WORKERS = 4


class _Crew:
    """The workers, and how many plans are being made."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.busy = 0
        self.pool: ProcessPoolExecutor | None = None
        self.ready: Future[None] | None = None

    def workers(self, module: str) -> ProcessPoolExecutor | None:
        """The pool if it is ready; started, with ``module`` loaded, when it is needed first."""
        with self.lock:
            if self.pool is None and self.busy > 1:
                count = min(_MOST_WORKERS, os.cpu_count() or 1)
                self.pool = ProcessPoolExecutor(count, get_context("spawn"))
                self.ready = self.pool.submit(_load, module)
            ready = self.ready is not None and self.ready.done()
            return self.pool if ready else None

    def dismiss(self) -> None:
        """Forget workers that broke; new ones are started when they are needed."""
        with self.lock:
            self.pool = self.ready = None


_CREW = _Crew()


def compute(function: Callable[..., T], *arguments: Any) -> T:
    """What a module-level function returns for these arguments, here or in a worker.

    Raises
    ------
    PlannerError
        As the function does.
    """
    with _CREW.lock:
        _CREW.busy += 1
    try:
        found = _remotely(function, arguments)
        return function(*arguments) if found is None else found[0]
    finally:
        with _CREW.lock:
            _CREW.busy -= 1


def _remotely(function: Callable[..., T], arguments: tuple[Any, ...]) -> tuple[T] | None:
    """The result from a worker; ``None`` if there is none, so that it is made here."""
    pool = _CREW.workers(function.__module__)
    if pool is None:
        return None
    try:
        return pool.submit(_safely, function, arguments).result()
    except (BrokenExecutor, RuntimeError):
        _CREW.dismiss()
        return None


def _safely(function: Callable[..., T], arguments: tuple[Any, ...]) -> tuple[T] | None:
    """Errors are raised where they are shown: the caller makes the plan again."""
    try:
        return (function(*arguments),)
    except PlannerError:
        return None


def _load(module: str) -> None:
    import_module(module)
