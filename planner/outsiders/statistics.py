"""Exact limits of shares, and of the ratio of two, from counts."""

from __future__ import annotations

from math import log

__all__ = ["log_ratio_limit", "share_limits"]


def share_limits(hits: int, draws: int, error: float) -> tuple[float, float]:
    """Limits of a probability from ``hits`` of ``draws``: each fails with at most ``error``.

    Source: Clopper and Pearson (Biometrika 1934).

    Examples
    --------
    >>> low, high = share_limits(0, 100, 0.025)
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """
    from scipy.stats import beta

    low = float(beta.ppf(error, hits, draws - hits + 1)) if hits else 0.0
    high = float(beta.isf(error, hits + 1, draws - hits)) if hits < draws else 1.0
    return low, high


def log_ratio_limit(ones: int, others: int, draws: int, error: float) -> float:
    """Lower limit of ``ln(p/q)``, 0 at least, from hits of equally many draws of each.

    Half the error for each of the two probabilities.

    Examples
    --------
    >>> 0.8 < log_ratio_limit(7311, 2689, 10_000, 1e-6) < 1
    True
    """
    if ones == 0:
        return 0.0
    low = share_limits(ones, draws, error / 2)[0]
    high = share_limits(others, draws, error / 2)[1]
    return max(0.0, log(low / high))
