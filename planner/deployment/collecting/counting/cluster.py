"""Count on a Dask cluster (extra ``cluster``): the same kernel, file by file, on every worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from planner.deployment.collecting.counting.local import Engine, in_order
from planner.deployment.collecting.counting.one_file import Expected, FileCount
from planner.errors import InputError

__all__ = ["dask_engine"]

_AHEAD = 4  # files per worker thread that are under way


def dask_engine(scheduler: str) -> Engine:
    """An engine that counts on the workers of a scheduler, e.g. ``"tcp://10.0.0.5:8786"``.

    Every worker must see the files under the same paths. Only partial sums travel.

    Raises
    ------
    InputError
        The extra ``cluster`` is not installed, or the scheduler does not answer.
    """
    try:
        from distributed import CancelledError, Client
        from distributed.comm import CommClosedError
    except ImportError as error:
        remedy = "Install it: pip install 'ldp-planner[cluster]'."
        raise InputError("engine", "dask", "one that is installed", remedy) from error

    def engine(files: Sequence[Path], expected: Expected) -> Iterator[FileCount]:
        try:
            client = Client(scheduler, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            remedy = "Start it with: dask scheduler"
            raise InputError("scheduler", scheduler, "the address of one", remedy) from error
        with client:
            threads = sum(client.nthreads().values())
            if threads == 0:
                remedy = f"Start one with: dask worker {scheduler}"
                raise InputError("workers", 0, "at least one, at the scheduler", remedy)
            try:
                everywhere = client.scatter(expected, broadcast=True, hash=False)
                submit = partial(client.submit, pure=False)
                yield from in_order(submit, files, everywhere, _AHEAD * threads, _lost)
            except (CommClosedError, TimeoutError, CancelledError, OSError) as error:
                reason = "whose scheduler and workers answer"
                remedy = "Start them again and run again: what was saved is not counted anew."
                raise InputError("engine", "dask", f"one {reason}", remedy) from error

    return engine


def _lost(path: Path, error: Exception) -> FileCount:
    """A file on which workers died, if that is what happened."""
    from distributed import KilledWorker

    if not isinstance(error, KilledWorker):
        raise error
    return FileCount(path, (-1, -1), refused="is corrupt: workers that read it died")
