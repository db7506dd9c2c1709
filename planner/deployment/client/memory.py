"""What a client remembers: one report per person and question, so that asking twice is free.

Every report is durable before it is released, and two processes that ask at once get the same one.
A report that is there must never be taken for one that is missing, as a fresh draw would spend the
budget again: see :mod:`planner.deployment.client.sealed`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from planner.deployment.client.sealed import Kind, Sealed, digest

_DAMAGED = "Report nothing with it, nor with a new one: that would spend the budget again."
_EARLIER = (
    "Go on with that version while its collections last: a new memory would spend the budget again."
)
_KIND = Kind("reports", "memory of reports", _DAMAGED, _EARLIER, _DAMAGED)

Key = tuple[str, str, str]
"""Parameter hash, user and question."""


class Memory:
    """Permanent reports in a file that only its owner may read.

    Parameters
    ----------
    path:
        The file; it is made if it does not exist.

    Raises
    ------
    FileError
        The file cannot be opened, is not such a memory, or is damaged. Nothing is released then.
    """

    def __init__(self, path: str | Path) -> None:
        self._file = Sealed(path, _KIND)

    def change(self, key: Key, step: Callable[[bytes | None], bytes]) -> bytes:
        """Replace what is kept under a key by ``step`` of it, which is also given back.

        ``step`` gets ``None`` if nothing is kept. Its result is durable when it is given back. Two
        calls at once happen one after the other.

        Raises
        ------
        FileError
            The memory cannot be read or written; what was made is not released.
        """
        name = digest(json.dumps(key).encode())
        with self._file.changing() as entries:
            kept = entries.get(name)
            new = step(kept)
            if new != kept:
                entries.put(name, new)
        return new
