"""Who answers when value and preference are correlated: a Gaussian copula.

Two standard normal scores with correlation ``rho`` belong to each person: one sets the
value through its distribution, the other the preference through its own. Whoever
tolerates the budget answers. With ``rho`` not 0 the mean of those who answer is not
the population's, whatever the mechanism: a bias that no estimator sees.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
_FARTHEST = 9.0  # standard normal scores beyond it: less than one in 10^18
_NODES = 48  # per panel
_LANDMARKS = np.array([0.001, 0.1, 0.5, 0.9, 0.999])  # of the way from -1 to 1


class Moments(NamedTuple):
    """Mean and mean square of the values of those who answer, on ``[-1, 1]``."""

    mean: Array
    square: Array


def answering_moments(rate: ArrayLike, mean: float, variance: float, correlation: float) -> Moments:
    """Moments of the values of those who answer, at each answer rate.

    Parameters
    ----------
    rate:
        Share of people who answer, any shape; the population's moments where it is 0.
    mean, variance:
        Of all people's values on ``[-1, 1]``, ``0 <= variance <= 1 - mean^2``. The
        values are yes/no at that largest variance, else they have the beta
        distribution on ``[-1, 1]`` with these moments.
    correlation:
        Of the normal scores, strictly between -1 and 1; positive if people with
        larger values tolerate larger budgets.

    Examples
    --------
    >>> answering_moments([1.0, 0.5], 0.0, 1.0, 0.6).mean.round(4).tolist()
    [0.0, 0.4097]
    """
    from scipy.special import ndtr, ndtri

    shares = np.asarray(rate, dtype=np.float64)
    same = np.full(shares.shape, mean), np.full(shares.shape, variance + mean * mean)
    if correlation == 0 or variance <= 0:
        return Moments(*same)
    score, weight, value = _population(mean, variance)
    steep = np.sqrt(1 - correlation * correlation)
    # Pr[answers | score of the value]; ndtri(1) and ndtri(0) are infinite and fine here.
    answers = ndtr((correlation * score + ndtri(shares[..., None])) / steep) * weight
    total = answers.sum(axis=-1)
    some = total > 1e-280
    sums = answers @ value, answers @ (value * value)
    first, second = (
        np.divide(sum_, total, out=fallback, where=some)
        for sum_, fallback in zip(sums, same, strict=True)
    )
    return Moments(np.clip(first, -1, 1), np.clip(second, 0, 1))  # rounding may step outside


@lru_cache(maxsize=64)
def _population(mean: float, variance: float) -> tuple[Array, Array, Array]:
    """Normal scores, their weights and values: Gauss-Legendre on panels where values are smooth."""
    from scipy.special import betainc, betaincinv, ndtr, ndtri

    largest = 1 - mean * mean
    yes_no = variance >= largest * (1 - 1e-9)
    if yes_no:
        inner = ndtri((1 - np.array([mean])) / 2)
    else:
        size = largest / variance - 1  # alpha + beta
        alpha, beta = size * (1 + mean) / 2, size * (1 - mean) / 2
        inner = ndtri(betainc(alpha, beta, _LANDMARKS))  # U-shaped laws are steep between these
    ends = np.unique(np.clip([-_FARTHEST, *inner, _FARTHEST], -_FARTHEST, _FARTHEST))
    node, width = np.polynomial.legendre.leggauss(_NODES)
    halves = np.diff(ends)[:, None] / 2
    score = (ends[:-1, None] + halves * (node + 1)).ravel()
    weight = (halves * width).ravel() * np.exp(-(score**2) / 2) / np.sqrt(2 * np.pi)
    if yes_no:
        value = np.where(score > inner[0], 1.0, -1.0)
    else:
        value = 2 * betaincinv(alpha, beta, ndtr(score)) - 1
    for column in (score, weight, value):
        column.setflags(write=False)  # shared by all callers
    return score, weight, value
