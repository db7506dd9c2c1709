"""Read the reports of a file, of either format, strictly and in bounded memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from planner.deployment.collecting.reports.batch import Batch, Key
from planner.deployment.collecting.reports.lines import line_batches
from planner.deployment.collecting.reports.parquet import parquet_batches
from planner.errors import FileError, InputError

SUFFIXES = (".parquet", ".jsonl", ".ndjson")


def read_batches(
    path: str | Path,
    parameters: str,
    sizes: Mapping[Key, int],
    without: Collection[bytes] = (),
) -> Iterator[Batch]:
    """The reports of a file in batches of bounded size.

    A problem may show only after some batches: count a file whole or not at all.

    Parameters
    ----------
    path:
        ``.parquet``, ``.jsonl`` or ``.ndjson``, in small or capital letters.
    parameters:
        The parameter hash that every report must carry.
    sizes:
        Bytes of a report for every question and round.
    without:
        Marks of reports to leave out of a file of lines.

    Raises
    ------
    FileError
        The file is corrupt, truncated, foreign, or its reports have the wrong length.
    """
    path = Path(path)
    try:
        if path.suffix.lower() == ".parquet":
            yield from parquet_batches(path, parameters, sizes)
        else:
            yield from line_batches(path, parameters, sizes, without)
    except MemoryError as error:  # Arrow's own is one, too
        raise FileError(path, "needs more memory than there is", "Use smaller files.") from error
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(path, f"is corrupt or truncated: {reason}", "Get it again.") from error
    except InputError as error:
        raise FileError(path, error.reason, error.remedy) from error
