"""How many people there were, if each was counted with a known probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def binomial_size_limits(
    seen: NDArray[np.int64], chance: float, most: int, tail: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Confidence limits of the unknown size of a binomial law with known chance.

    The smallest and the largest ``size`` in ``seen .. most`` for which neither "at least
    ``seen``" nor "at most ``seen``" of Binomial(size, chance) is as unlikely as ``tail``
    (Clopper and Pearson's inversion): each limit errs with probability ``tail`` at most.

    Parameters
    ----------
    seen:
        Outcomes, shape ``(k,)``, 0 to ``most``.
    chance:
        Above 0 and below 1.
    most:
        Largest size that is possible at all.
    tail:
        Above 0 and below 1/2.

    Examples
    --------
    >>> lower, upper = binomial_size_limits(np.array([0, 20]), 0.5, 1000, 0.025)
    >>> lower.tolist(), upper.tolist()
    ([0, 29], [5, 55])
    """
    from scipy.special import betainc

    def reaches(size: NDArray[np.int64], least: NDArray[np.int64]) -> NDArray[np.float64]:
        """``Pr[Binomial(size, chance) >= least]``, for ``0 <= least <= size``."""
        inside = betainc(np.maximum(least, 1), np.maximum(size - least + 1, 1), chance)
        return np.where(least == 0, 1.0, inside)

    lower, upper = seen.copy(), seen.copy()
    high_lower, high_upper = np.full_like(seen, most), np.full_like(seen, most)
    for _ in range(int(most).bit_length() + 1):  # bisect for all answers at once
        middle = (lower + high_lower) // 2
        plausible = reaches(middle, seen) > tail
        high_lower = np.where(plausible, middle, high_lower)
        lower = np.where(plausible, lower, np.minimum(middle + 1, high_lower))
        middle = (upper + high_upper + 1) // 2
        plausible = 1 - reaches(middle, seen + 1) > tail
        upper = np.where(plausible, middle, upper)
        high_upper = np.where(plausible, high_upper, np.maximum(middle - 1, upper))
    return high_lower, upper
