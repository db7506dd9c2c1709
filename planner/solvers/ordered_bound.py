"""A lower bound on the error of any mechanism for many ordered answers.

Beyond sixteen answers the sets of high answers are too many to price. Two bounds need no pricing:

- of **information**: a report that keeps the budgets tells only so much, whichever set it has;
- of **fewer answers**: people who have one of sixteen answers alone are not easier to ask than all.

The first is nearly tight where budgets are small, the second where they are large. Both are
proven in docs/theory/channels.md, whose symbols are used: ``sigma`` the shares of some people,
``w_x`` what answer ``x`` adds to the wanted numbers, ``A`` their covariance among these people.
"""

from __future__ import annotations

import numpy as np

from planner.arrays import Array, Whole
from planner.errors import SolverError
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import Scenario
from planner.solvers.channel_search import MOST_ANSWERS, solve_channel
from planner.solvers.rays import Windows, windows_of

_NEAR_ENOUGH = 0.9  # of the error: a bound that is nearer needs no second one
_PEOPLE_STEPS = 30
_TOWARDS_LARGER = 0.7  # power by which people move to answers that raise the bound
_LEAST_MOVE = 0.2
_LARGEST_MOVE = 5.0
_LEAST_EIGENVALUE = 1e-12  # of the largest: a smaller one is rounding
_EIGENVALUE_DIGITS = 1e-9  # of a bound, for the digits of eigenvalues
_GAP_OF_FEWER = 1e-2


def least_error(policy: PrivacyPolicy, judged: Array, reached: float) -> float:
    """No unbiased mechanism that keeps the budgets has a smaller worst-case error; 0 says nothing.

    Parameters
    ----------
    policy:
        One level of one item an answer; pair budgets by a rule on levels.
    judged:
        What each answer adds to each number whose errors add up, shape ``(p, d)``.
    reached:
        The error of a mechanism at hand: the second bound is tried where the first is far below.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0] * 16, [1] * 16)
    >>> round(least_error(policy, np.tri(16)[:-1], 74.81), 1)  # the best channel has 74.81
    74.6
    """
    windows = windows_of(policy, np.arange(policy.size))
    bound = _bound_of_information(windows, judged)
    if bound < _NEAR_ENOUGH * reached:
        bound = max(bound, _bound_of_fewer_answers(policy, judged))
    return max(0.0, bound * (1 - _EIGENVALUE_DIGITS))


def _bound_of_information(windows: Windows, judged: Array) -> float:
    """``(tr A^(1/2))^2 / s - tr A`` for the people found for whom it is largest.

    ``A = sum_x sigma_x (w_x - m)(w_x - m)'`` with ``m = sum_x sigma_x w_x``, and ``s`` the
    :func:`largest_information`. Any ``sigma`` gives a bound; people move to where it rises: with
    ``A^(-1/2)`` its slope is ``(w_x - m)' A^(-1/2) (w_x - m) tr A^(1/2) / s - |w_x - m|^2``.
    """
    size = judged.shape[1]
    sigma = np.full(size, 1 / size)
    largest = -np.inf
    for _ in range(_PEOPLE_STEPS):
        centred = judged - (judged @ sigma)[:, None]  # w_x - m
        covariance = (centred * sigma) @ centred.T  # A
        eigenvalues, axes = _positive_part(covariance)
        roots = np.sqrt(eigenvalues)
        trace_root = roots.sum()  # tr A^(1/2)
        s = largest_information(windows, sigma)
        bound = trace_root**2 / s - eigenvalues.sum()
        largest = max(largest, float(bound))

        along_axes = axes.T @ centred
        by_root = np.square(along_axes) / roots[:, None]
        slope = by_root.sum(axis=0)
        slope *= trace_root / s
        slope -= np.square(centred).sum(axis=0)
        mean_slope = float(slope @ sigma)
        if mean_slope <= 0:  # the bound says nothing here
            break
        move = np.clip(slope / mean_slope, _LEAST_MOVE, _LARGEST_MOVE)
        sigma = sigma * move**_TOWARDS_LARGER
        sigma /= sigma.sum()
    return largest


def _positive_part(symmetric: Array) -> tuple[Array, Array]:
    """Eigenvalues above 0 and their vectors, side by side.

    Some directions may be wanted twice, or not vary: they add nothing.
    """
    eigenvalues, vectors = np.linalg.eigh(symmetric)
    is_positive = eigenvalues > _LEAST_EIGENVALUE * eigenvalues.max()
    return eigenvalues[is_positive], vectors[:, is_positive]


def largest_information(windows: Windows, people: Array) -> float:
    """The largest ``sum_x sigma_x u_x^2 / (sum_x sigma_x u_x)^2 - 1`` that a column can have.

    Between the ends ``l`` and ``h`` of a window ``u^2`` is below its chord, of slope ``l + h``. For
    each mean the sum of these chords is largest where the answers with the steepest are high, one
    of them in part: with mean ``m`` and chords ``q`` before it and its slope ``c`` the ratio is
    ``(q + c t) / (m + t)^2`` for a part ``t``, largest at ``t = m - 2 q / c``. Of equal budgets it
    is ``sinh(epsilon / 2)^2``, with a share of ``1 / (1 + e^epsilon)`` of the people high.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0] * 9, [1] * 9)
    >>> information = largest_information(windows_of(policy, np.arange(9)), np.full(9, 1 / 9))
    >>> round(information, 6), round(float(np.sinh(0.5) ** 2), 6)
    (0.27154, 0.27154)
    """
    largest = 1.0
    for low_logs, high_logs in zip(windows.low, windows.high, strict=True):
        low = np.exp(low_logs)
        high = np.exp(high_logs)
        slopes = low + high
        rises = people * (high - low)  # of the mean, as an answer becomes high
        steepest_first = np.argsort(-slopes)
        c = slopes[steepest_first]
        rise = rises[steepest_first]
        # Mean and chords once all answers before one are high.
        m = people @ low + np.cumsum(rise) - rise
        q = people @ low**2 + np.cumsum(rise * c) - rise * c
        t = np.clip(m - 2 * q / c, 0, rise)
        ratios = (q + c * t) / (m + t) ** 2
        largest = max(largest, float(ratios.max()))
    return largest - 1


def _bound_of_fewer_answers(policy: PrivacyPolicy, judged: Array) -> float:
    """The proven bound for people who have one of sixteen answers, evenly along the order.

    A mechanism for all answers is one for these, too, with the same estimator. Only what the
    numbers' columns span matters: a root of their Gram matrix has the same errors.
    """
    size = judged.shape[1]
    few = evenly_among(size, min(size, MOST_ANSWERS))
    gram = judged[:, few].T @ judged[:, few]
    eigenvalues, axes = _positive_part(gram)
    root = np.sqrt(eigenvalues)[:, None] * axes.T
    of_few = PrivacyPolicy(
        policy.epsilons[few],
        policy.item_counts[few],
        policy.rule.mapped(lambda budgets: budgets[few]),
    )
    every_direction = np.eye(len(root))
    scenarios = []
    for everybody_has_it in np.eye(len(few)):
        scenarios.append(Scenario(everybody_has_it, every_direction))
    try:
        channel = solve_channel(of_few, root, scenarios, tolerance=_GAP_OF_FEWER)
    except SolverError:  # at large budgets its digits are used up
        return 0.0
    proof = channel.certificate
    return proof.lower_bound if proof else 0.0


def evenly_among(size: int, count: int) -> Whole:
    """So many of the numbers below ``size``, evenly, the first and the last among them."""
    places = np.linspace(0, size - 1, count)
    return np.rint(places).astype(np.int64)
