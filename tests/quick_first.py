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
SIMULATED = "runs"  # a class's fixture in the mechanisms' suite, slower than the tests it serves


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by the seconds measured before, simulations last; leave the order if none were."""
    if not DURATIONS.exists():
        return
    seconds = json.loads(DURATIONS.read_text())["duration_by_test"]

    def cost(item: pytest.Item) -> tuple[str, float]:
        """A class that shares a simulation stays together, after all that do not."""
        shared = SIMULATED in getattr(item, "fixturenames", ())
        return item.nodeid.rpartition("::")[0] if shared else "", seconds.get(item.nodeid, 0.0)

    items.sort(key=cost)
