"""Statistical decisions with a stated false-alarm rate; no assertion on luck."""

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-6


def mean_is(samples: np.ndarray, expected: np.ndarray | float, alarm: float = FALSE_ALARM) -> bool:
    """Whether iid samples (rows) may have this mean; z-tests, Bonferroni over the columns."""
    samples = samples.reshape(len(samples), -1)
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    off = np.abs(samples.mean(axis=0) - expected)
    limit = stats.norm.isf(alarm / 2 / samples.shape[1])
    return bool(np.all(off <= limit * error + 1e-12 * np.abs(expected)))


def mean_square_is(errors: np.ndarray, expected: np.ndarray, alarm: float = FALSE_ALARM) -> bool:
    """Whether the total mean square of iid errors (rows) may be ``expected.sum()``."""
    return mean_is(np.square(errors).sum(axis=1), float(np.sum(expected)), alarm)


def draws_follow(counts: np.ndarray, law: np.ndarray, alarm: float = FALSE_ALARM) -> bool:
    """Pearson's chi-square; outputs expected fewer than five times are pooled."""
    expected = law * counts.sum()
    rare = expected < 5
    if rare.any() and not rare.all():
        observed = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    else:
        observed = counts
    if expected[-1] == 0:  # nothing may fall where the law puts nothing
        if observed[-1] > 0:
            return False
        observed, expected = observed[:-1], expected[:-1]
    statistic = np.sum((observed - expected) ** 2 / expected)
    return bool(statistic <= stats.chi2.isf(alarm, len(observed) - 1))
