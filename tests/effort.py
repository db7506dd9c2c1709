"""Where the time of the tests goes: how many random cases, and what coverage measures."""

import os

from hypothesis import settings

__all__ = ["tries", "unmeasured"]


def tries(some: int, every: int) -> int:
    """``every`` case in a sweep, ``some`` of them else."""
    return every if settings.get_current_profile_name() == "sweep" else some


def unmeasured() -> dict[str, str]:
    """The environment for a process in which coverage counts nothing, and costs nothing.

    For servers and builds whose lines of the package run in other tests too.
    """
    return {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
