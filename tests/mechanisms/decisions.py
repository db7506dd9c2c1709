"""Statistical decisions with a stated false-alarm rate; no assertion on luck."""

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-6


def mean_is(
    samples: np.ndarray, expected: np.ndarray | float, alarm: float = FALSE_ALARM
) -> bool:
    """Whether iid samples (rows) may have this mean; z-tests, Bonferroni over the columns."""
    samples = samples.reshape(len(samples), -1)
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    off = np.abs(samples.mean(axis=0) - expected)
    limit = stats.norm.isf(alarm / 2 / samples.shape[1])
    return bool(np.all(off <= limit * error + 1e-12 * np.abs(expected)))


def mean_square_is(
    errors: np.ndarray, expected: np.ndarray, alarm: float = FALSE_ALARM
) -> bool:
    """Whether the total mean square of iid errors (rows) may be ``expected.sum()``."""
    return mean_is(np.square(errors).sum(axis=1), float(np.sum(expected)), alarm)


def draws_follow(
    counts: np.ndarray, law: np.ndarray, alarm: float = FALSE_ALARM
) -> bool:
    """Pearson's chi-square over outputs expected at least five times; the others pooled.

    If even the pool is expected less than five times, a Poisson tail decides on it.
    """
    expected = law * counts.sum()
    rare = expected < 5
    pool = counts[rare].sum()
    pooled = expected[rare].sum()
    if pooled < 5 and pool > stats.poisson.isf(alarm / 2, pooled):
        return False
    keep = ~rare
    observed = counts[keep]
    kept = expected[keep]
    if pooled >= 5:
        observed = np.append(observed, pool)
        kept = np.append(kept, pooled)
    statistic = np.sum((observed - kept) ** 2 / kept)
    return bool(
        len(observed) < 2 or statistic <= stats.chi2.isf(alarm / 2, len(observed) - 1)
    )
