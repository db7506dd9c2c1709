"""The examples import each other from their own folder, as ``python examples/NAME.py`` does."""

import sys
from pathlib import Path

EXAMPLES = str(Path(__file__).parents[2] / "examples")


def pytest_configure():
    if EXAMPLES not in sys.path:
        sys.path.append(EXAMPLES)
