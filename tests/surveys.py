"""What many tests share: the examples, a small file to spoil, how many random cases to try."""

from pathlib import Path

from hypothesis import settings

EXAMPLES = Path(__file__).parents[1] / "examples"
GOOD = """[survey]
name = "health"
users = 100_000

[[question]]
name = "diagnosis"
kind = "categorical"
rule = "min"

[[question.level]]
name = "severe"
epsilon = "ln 4"
items = ["HIV"]

[[question.level]]
name = "common"
epsilon = "1.2 * ln 6"
item_count = 4
"""


def tries(some: int, every: int) -> int:
    """``every`` case in a sweep, ``some`` of them else."""
    if settings.get_current_profile_name() == "sweep":
        return every
    return some
