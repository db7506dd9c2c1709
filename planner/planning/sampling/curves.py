"""What the released totals of Sampling Privacy reveal: exact (epsilon, delta) curves.

Neighbouring data differ in one person's answer. With ``f`` the law of everybody
else's totals, the curve is the hockey-stick divergence, the larger of both directions,

    delta(eps) = max( sum (Q - e^eps P)+ , sum (P - e^eps Q)+ ).

Two facts carry every use of these functions:

- *More people never hurt.* The totals of a larger population are those of a smaller one
  plus independent others, and post-processing cannot raise ``delta``. So every ``delta``
  falls in each count, and holds for all populations with at least the given counts.
- *Rounding goes upward.* Each result is raised by the proven share ``ROUNDING`` of
  everything that went into it.

Source: theory of hockey-stick divergences (Balle, Barthe and Gaboardi, 2018); the laws
are those of :class:`planner.mechanisms.sampling_privacy.SamplingPrivacy`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
from numpy.typing import NDArray

from planner.arguments import whole_number
from planner.errors import InputError
from planner.limits import MAX_EPSILON
from planner.planning.sampling.binomial_window import binomial_window, raised, upper_tail

Array = NDArray[np.float64]
MAX_COUNT = 10**7


def difference_delta(others: int, sampling: float, epsilon: float) -> float:
    """``delta`` at ``epsilon`` if only the difference of the two rounds is released.

    One person's answer turns from none to the value that ``others`` more people have:
    ``P = Binomial(others, sampling)`` against ``Q = Binomial(others + 1, sampling)``.
    Every term of the sum is positive and computed from the log-ratio
    ``ln Q/P = ln((others + 1) (1 - sampling) / (others + 1 - x))``, so nothing cancels.

    Parameters
    ----------
    others:
        Number of other people with the value, 0 to 10^7.
    sampling:
        ``pi_s``, above 0 and below 1.
    epsilon:
        In nats, 0 to 50.

    Examples
    --------
    >>> difference_delta(0, 0.25, 5.0)  # alone, a sampled person is seen
    0.25000000005
    >>> f"{difference_delta(10**7, 0.45, 0.001):.3e}"
    '1.714e-08'
    """
    check_arguments(sampling, epsilon, others)
    first, p = binomial_window(others, sampling)
    x = first + np.arange(p.size)
    loss = np.log((others + 1) * (1 - sampling) / (others + 1 - x))
    up, down = loss > epsilon, loss < -epsilon
    gained = np.sum(p[up] * np.exp(epsilon) * np.expm1(loss[up] - epsilon))
    gained += sampling ** (others + 1)  # the difference others + 1 is impossible under P
    lost = -np.sum(p[down] * np.expm1(epsilon + loss[down]))
    return raised(float(max(gained, lost)))


def exchange_delta(leaving: int, joining: int, sampling: float, epsilon: float) -> float:
    """``delta`` if one person's answer turns from one value into another.

    ``leaving`` and ``joining`` other people have the two values, whose differences are
    independent: ``P = Bin(leaving + 1) x Bin(joining)`` against ``Q = Bin(leaving) x
    Bin(joining + 1)``. The ratio ``Q/P = (leaving + 1 - x) (joining + 1) / ((leaving + 1)
    (joining + 1 - y))`` rises in ``y``: for each ``x`` the sum over ``y`` is a pair of tails.

    Releasing the totals of both rounds reveals no more than these differences: unsampled
    people answer alike whatever their value, so round one given the differences has the
    same law under P and Q.

    Examples
    --------
    >>> exchange_delta(500, 500, 0.45, 0.5) > difference_delta(500, 0.45, 0.5)
    True
    """
    check_arguments(sampling, epsilon, leaving, joining)
    there = _exchange_one_way(leaving, joining, sampling, epsilon)
    return max(there, _exchange_one_way(joining, leaving, sampling, epsilon))


def check_arguments(sampling: float, epsilon: float, *counts: int) -> None:
    """Check what all curves take.

    Raises
    ------
    InputError
        ``sampling`` is not inside (0, 1), ``epsilon`` not in 0 to 50, or a count of other
        people not a whole number from 0 to 10^7.
    """
    if not 0 < sampling < 1:
        remedy = "Give the share of people who are sampled, such as 0.45."
        raise InputError("sampling", sampling, "a probability above 0 and below 1", remedy)
    if not 0 <= epsilon <= MAX_EPSILON:
        remedy = "Choose an epsilon within the range, such as 1."
        raise InputError("epsilon", epsilon, f"from 0 to {MAX_EPSILON:g}", remedy)
    for count in counts:
        remedy = "The guarantee of a smaller count holds for every larger one: give 10^7."
        whole_number("others", count, 0, MAX_COUNT, remedy)


def smallest_epsilon(curve: Callable[[float], float], delta: float) -> float:
    """Smallest ``epsilon`` with ``curve(epsilon) <= delta``, rounded up; ``inf`` above 50.

    Parameters
    ----------
    curve:
        A falling function from epsilon to delta, as the others in this module.
    delta:
        Above 0 and below 1.

    Examples
    --------
    >>> round(smallest_epsilon(lambda e: difference_delta(3000, 0.45, e), 1e-6), 4)
    0.0598
    >>> smallest_epsilon(lambda e: difference_delta(3, 0.45, e), 1e-6)
    inf
    """
    if not 0 < delta < 1:
        remedy = "Choose a small probability, such as 1e-6."
        raise InputError("delta", delta, "above 0 and below 1", remedy)
    if curve(MAX_EPSILON) > delta:
        return inf
    low, high = 0.0, MAX_EPSILON
    while high - low > 1e-9 * high + 1e-12:
        middle = (low + high) / 2
        low, high = (low, middle) if curve(middle) <= delta else (middle, high)
    return high


def _exchange_one_way(leaving: int, joining: int, sampling: float, epsilon: float) -> float:
    first, h = binomial_window(leaving, sampling)
    x = first + np.arange(h.size)
    unmoved = (leaving + 1 - x) / (leaving + 1)
    more = h * (1 - sampling) / unmoved  # Bin(leaving + 1) at x
    # Q/P > e^eps  <=>  y > joining + 1 - (joining + 1) (leaving + 1 - x) / ((leaving + 1) e^eps)
    share = unmoved * np.exp(-epsilon)
    start = np.floor((joining + 1) * (1 - share)).astype(np.int64) + 1
    arrived = h * upper_tail(joining + 1, sampling, start)
    stayed = more * np.exp(epsilon) * upper_tail(joining, sampling, start)
    return raised(float(np.maximum(arrived - stayed, 0).sum()), float((arrived + stayed).sum()))
