"""Write files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from planner.errors import FileError

__all__ = ["replace_file"]


def replace_file(path: str | Path, content: str | bytes) -> None:
    """Write ``content`` to ``path`` atomically: temporary file, fsync, rename.

    Readers see the old file or the new one, never a part of it.

    Raises
    ------
    FileError
        The path cannot be written; an existing file is left as it was.
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
        _sync_directory(path.parent)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        reason = error.strerror or str(error)
        remedy = "Check that the directory exists and may be written to."
        raise FileError(path, f"cannot be written: {reason}", remedy) from error


def _sync_directory(directory: Path) -> None:
    """Make the rename itself durable where the system allows opening a directory."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
