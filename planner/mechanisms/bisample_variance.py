"""The one home of BiSample-MD's first-order variances: estimates and planning both use it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class FirstOrder(NamedTuple):
    """First-order variances of BiSample-MD's estimates, on ``[-1, 1]``; any one shape."""

    mean: Array
    missing_rate: Array
    signed_sum: Array
    covariance: Array


def first_order(theta: ArrayLike, rate: ArrayLike, mean: ArrayLike, users: float) -> FirstOrder:
    """Variances of BiSample-MD's estimates for people drawn at random, on ``[-1, 1]``.

    With ``q_pos = theta R (1 + mu)/2 + 1 - p``, ``q_neg = theta R (1 - mu)/2 + 1 - p``
    and ``v = q (1 - q)``, by the delta method,

        Var[missing rate] = (2/n) (v_pos + v_neg) / theta^2
        Var[mean]         = (2/n) ((1-mu)^2 v_pos + (1+mu)^2 v_neg) / (theta R)^2

    Parameters
    ----------
    theta:
        ``tanh(eps/2)``, above 0.
    rate:
        Share ``R`` of people who answer; the mean's variance is ``inf`` where it is 0.
    mean:
        Mean ``mu`` of those who answer, in ``[-1, 1]``.
    users:
        Number of reports ``n``.

    Examples
    --------
    >>> result = first_order(np.tanh(1.5), 0.9, 0.5, 100_000)
    >>> round(float(np.sqrt(result.mean)), 5)
    0.0038
    """
    theta, rate, mean = (np.asarray(x, dtype=np.float64) for x in (theta, rate, mean))
    floor = (1 - theta) / 2
    positive = theta * rate * (1 + mean) / 2 + floor
    negative = theta * rate * (1 - mean) / 2 + floor
    v_pos, v_neg = positive * (1 - positive), negative * (1 - negative)
    sums = 2 / users * (v_pos + v_neg) / theta**2
    spread = 2 / users * ((1 - mean) ** 2 * v_pos + (1 + mean) ** 2 * v_neg)
    answered = np.square(theta * rate)
    nobody = np.full(spread.shape, np.inf)
    ratio = np.divide(spread, answered, out=nobody, where=answered > 0)
    return FirstOrder(ratio, sums, sums, 2 / users * (v_pos - v_neg) / theta**2)
