"""Which reports are known: what a full temporary directory does to it."""

from contextlib import closing
from pathlib import Path

import pytest

from planner.deployment.collecting.collector import KnownReports
from planner.deployment.collecting.reports import mark
from planner.errors import FileError

MORE = b"".join(mark(f"{i:04x}", "q: AA==") for i in range(1000))


@pytest.mark.parametrize(
    "attempt",
    [lambda known: known.add(Path("b.jsonl"), MORE), lambda known: known.repeats(MORE)],
    ids=["add", "repeats"],
)
def test_a_temporary_directory_without_room_is_named(attempt):
    with closing(KnownReports()) as known:
        known.add(Path("a.jsonl"), mark("00", "q: AA=="))
        known._database.execute("PRAGMA max_page_count = 4")
        with pytest.raises(FileError, match=r"temporary directory: .*full.*SQLITE_TMPDIR"):
            attempt(known)
