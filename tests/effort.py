"""How many random cases a test tries."""

from hypothesis import settings


def tries(some: int, every: int) -> int:
    """``every`` case in a sweep, ``some`` of them else."""
    return every if settings.get_current_profile_name() == "sweep" else some
