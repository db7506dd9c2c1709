"""How many random cases a test tries: some in `make test`, all of them in `make sweep`."""

from hypothesis import settings

__all__ = ["tries"]


def tries(some: int, every: int) -> int:
    """``every`` case in a sweep, ``some`` of them else."""
    return every if settings.get_current_profile_name() == "sweep" else some
