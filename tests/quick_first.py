"""Quick tests first, so that a mutant meets the slow ones only if all others missed it.

A plugin of ``make mutate``: mutmut names the tests that reach a mutant in no order, and has
written down how long each takes. The first that fails ends the run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

DURATIONS = Path("mutmut-stats.json")  # beside the changed sources, where mutmut runs the tests


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by the seconds measured before; leave the order alone if there are none yet."""
    if DURATIONS.exists():
        seconds = json.loads(DURATIONS.read_text())["duration_by_test"]
        items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))
