"""Pages are loaded before anybody asks for them."""

import subprocess
import sys

from planner.ui.warming import PAGES

SCRIPT = """
import sys
from planner.ui import warming
assert "planner.ui.pages.export" not in sys.modules
warming.wait()
results = sys.modules["planner.ui.parts.results"]
print(results.survey_plan.cache_info().misses)
assert "planner.ui.pages.budgets" in sys.modules
thread = warming.start()
assert warming.start() is thread
thread.join()
print(*sorted(name for name in sys.modules if name.startswith("planner.ui.")))
"""


def test_all_pages_and_the_first_plan_are_there_once_loaded():
    made = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-W", "ignore", "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    plans, modules = made.stdout.splitlines()
    assert plans == "1"
    assert {f"planner.ui.pages.{module}" for module, _ in PAGES} <= set(modules.split())
