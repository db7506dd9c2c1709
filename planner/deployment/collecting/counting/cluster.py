"""Count on a Dask cluster (extra ``cluster``): the same kernel, file by file, on every worker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from planner.deployment.collecting.counting.local import Engine, in_order
from planner.deployment.collecting.counting.one_file import Expected, FileCount
from planner.errors import InputError

_AHEAD = 4  # files per worker thread that are under way
_ALIKE = "Install the same version of the planner on every worker, and run again."
_AGAIN = "Start them again and run again: what was saved is not counted anew."


def dask_engine(scheduler: str, patience: float = 10.0) -> Engine:
    """An engine that counts on the workers of a scheduler, e.g. ``"tcp://10.0.0.5:8786"``.

    Every worker must see the files under the same paths. Only partial sums travel. A file on which
    workers die, as often as the scheduler allows, is refused; the others are counted.

    Parameters
    ----------
    scheduler:
        Its address.
    patience:
        Seconds, above 0, within which the scheduler must answer. It is asked again whenever nothing
        came for so long: a large file may take any time, a scheduler that is gone may not.

    Raises
    ------
    InputError
        The extra ``cluster`` is not installed, the scheduler does not answer or has no workers, or
        these die or cannot count.
    """
    try:
        from distributed import CancelledError, Client
        from distributed.comm import CommClosedError
    except ImportError as error:
        remedy = "Install it: pip install 'ldp-planner[cluster]'."
        raise InputError("engine", "dask", "one that is installed", remedy) from error

    def engine(files: Sequence[Path], expected: Expected) -> Iterator[FileCount]:
        with _quiet():
            try:
                settings = {"timeout": patience, "set_as_default": False}
                client = _within(patience, lambda: Client(scheduler, **settings))
            except (OSError, ValueError) as error:
                remedy = "Start it with: dask scheduler"
                raise InputError("scheduler", scheduler, "the address of one", remedy) from error
            with client:
                try:
                    threads = _threads(client, patience)
                    if threads == 0:
                        remedy = f"Start one with: dask worker {scheduler}"
                        raise InputError("workers", 0, "at least one, at the scheduler", remedy)
                    everywhere = client.scatter(
                        expected, broadcast=True, hash=False, timeout=patience
                    )
                    submit = _watched(client, patience)
                    yield from in_order(submit, files, everywhere, _AHEAD * threads, _lost)
                except InputError:
                    raise
                except (CommClosedError, CancelledError, OSError) as error:
                    reason = "one whose scheduler and workers answer"
                    raise InputError("engine", "dask", reason, _AGAIN) from error
                except Exception as error:  # whatever a worker raised
                    reason = f"one whose workers can count ({error})"
                    raise InputError("engine", "dask", reason, _ALIKE) from error

    return engine


def _within(seconds: float, make: Callable[[], Any]) -> Any:
    """What ``make`` gives; Dask itself waits for ever for an answer to its first words."""
    made: Future[Any] = Future()

    def run() -> None:
        try:
            made.set_result(make())
        except Exception as error:  # noqa: BLE001 - it is raised by result()
            made.set_exception(error)

    Thread(target=run, daemon=True).start()
    return made.result(seconds)


def _threads(client: Any, patience: float) -> int:
    """Of all workers; raises ``TimeoutError`` if the scheduler does not say."""
    return sum(client.sync(client.scheduler.ncores, callback_timeout=patience).values())


def _watched(client: Any, patience: float) -> Callable[..., _Watched]:
    return lambda *task: _Watched(client.submit(*task, pure=False), client, patience)


class _Watched:
    """A task whose result is waited for only as long as the scheduler answers."""

    def __init__(self, future: Any, client: Any, patience: float) -> None:
        self._future, self._client, self._patience = future, client, patience

    def result(self) -> FileCount:
        """Wait for the result."""
        while True:
            try:
                counted: FileCount = self._future.result(timeout=self._patience)
            except TimeoutError:
                _threads(self._client, self._patience)
            else:
                return counted


def _lost(path: Path, error: Exception) -> FileCount:
    """A file on which workers died, if that is what happened."""
    from distributed import KilledWorker

    if not isinstance(error, KilledWorker):
        raise error
    return FileCount(path, (-1, -1), refused="is corrupt: workers that read it died")


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Dask's own tracebacks: what went wrong is raised, and named."""
    logger = logging.getLogger("distributed.client")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
