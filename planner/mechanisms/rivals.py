"""Errors in closed form: of BiSample-MD, and of rivals of the papers that nobody deploys.

All are per person and exact or published; their collections are simulated, and held against these
formulas, in ``examples/reproduction/rivals.py``. Numbers are on ``[-1, 1]``, ``square`` is ``v^2``
of an answer or its mean over the answers, and what varies is the report of given people.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import numpy as np
from numpy.typing import ArrayLike

from planner.arrays import Array
from planner.policy.policy import PrivacyPolicy

OneOrMany = Array | float
# Above it Piecewise has the smaller variance at v = 0: with x = e^(eps/2),
# (x + 3)(x + 1)^2 = 3 (x^2 + 1)^2, that is 3 x^3 - x^2 + x - 7 = 0.
HYBRID_THRESHOLD = 0.6093524930273098


def harmony_variance(epsilon: OneOrMany, square: OneOrMany = 0.0) -> Array:
    """Variance of one report of Harmony, ``1 / tanh^2(eps/2) - v^2``.

    Randomised response on a randomly rounded answer, one bit a person (Nguyen and others, 2016;
    BiSample paper, algorithm 1). That of BiSample without missing answers is the same (its eq. 14
    divided by the people).

    Examples
    --------
    >>> round(float(harmony_variance(np.log(3))), 9)
    4.0
    """
    theta = np.tanh(np.asarray(epsilon) / 2)
    return np.asarray(1 / theta**2 - square)


def piecewise_variance(epsilon: OneOrMany, square: OneOrMany = 0.0) -> Array:
    """Variance of one report of Piecewise (Wang and others, ICDE 2019, lemma 1).

    With ``g = e^(eps/2) - 1`` it is ``v^2 / g + (g + 4) / (3 g^2)``.

    Examples
    --------
    >>> round(float(piecewise_variance(1.0, 0.25)), 4)
    4.0675
    """
    g = np.expm1(np.asarray(epsilon) / 2)
    by_answer = square / g
    of_noise = (g + 4) / (3 * g**2)
    return np.asarray(by_answer + of_noise)


def hybrid_variance(epsilon: float, square: float = 0.0) -> float:
    """Variance of one report of Hybrid (the same paper, eq. 9): Piecewise or Harmony by chance.

    Above the threshold Piecewise has the share ``alpha = 1 - e^(-eps/2)``; below it none.

    Examples
    --------
    >>> round(hybrid_variance(0.5), 2), round(hybrid_variance(2.0), 3)
    (16.67, 1.042)
    """
    harmony = float(harmony_variance(epsilon, square))
    if epsilon <= HYBRID_THRESHOLD:
        return harmony
    alpha = 1 - exp(-epsilon / 2)
    piecewise = float(piecewise_variance(epsilon, square))
    # Both are unbiased: the variance of the mixture is the mixture of the variances.
    return alpha * piecewise + (1 - alpha) * harmony


def missing_variance(theta: ArrayLike, rate: ArrayLike, mean: ArrayLike) -> Array:
    """Variance per person of BiSample-MD's missing rate, for people drawn at random.

    With ``q_pos = theta R (1 + mu)/2 + 1 - p`` and ``q_neg = theta R (1 - mu)/2 + 1 - p``, the
    chances of a one in each direction, it is ``2 (v_pos + v_neg) / theta^2`` of ``v = q (1 - q)``.

    Examples
    --------
    >>> float(missing_variance(np.tanh(1.5), 0.9, 0.5).round(6))
    1.008064
    """
    theta = np.asarray(theta)
    rate = np.asarray(rate)
    mean = np.asarray(mean)
    # theta = 2 p - 1, so that 1 - p is (1 - theta) / 2.
    positive = rate * (1 + mean)
    negative = rate * (1 - mean)
    q_pos = theta * (positive - 1) / 2 + 0.5
    q_neg = theta * (negative - 1) / 2 + 0.5
    v_pos = q_pos * (1 - q_pos)
    v_neg = q_neg * (1 - q_neg)
    return np.asarray(2 / theta**2 * (v_pos + v_neg))


def bisample_variance(
    excess: OneOrMany, rate: OneOrMany, square: OneOrMany | None = None
) -> Array:
    """First-order variance of BiSample-MD's mean, per person drawn at random: ``t = mean^2``.

    With ``x = 1 / tanh^2(eps/2) - 1``, the ``excess``, and ``R`` the answer rate it is

        (1 + t) x / R^2 + (1 - t) (1 + t + 2 (1 - R) / R),

    convex and rising in ``x``, falling in ``R``, and largest at ``t = x / (2 R^2) - (1 - R) / R``:
    the least favourable mean, where ``square``, which is ``t``, is omitted.

    Examples
    --------
    >>> float(bisample_variance(3.0, 0.5)), float(bisample_variance(3.0, 1.0))
    (24.0, 6.0)
    """
    positive_rate = np.maximum(rate, 1e-100)  # divided by even where nobody answers
    with np.errstate(over="ignore"):
        noise = np.asarray(excess) / positive_rate / positive_rate  # x / R^2
        refusals = (1 - positive_rate) / positive_rate  # (1 - R) / R
        if square is None:
            t = np.clip(noise / 2 - refusals, 0, 1)
        else:
            t = np.asarray(square)
        of_answers = (1 - t) * (1 + t + 2 * refusals)
        variance = (1 + t) * noise + of_answers
    somebody_answers = np.asarray(rate) > 0
    return np.where(somebody_answers, variance, np.inf)


_NOISE: dict[str, Callable[[Array, Array], Array]] = {
    "harmony": harmony_variance,
    "piecewise": piecewise_variance,
    "hybrid": np.vectorize(hybrid_variance),
}
_FAKES = {
    "": (0.0, 0.0),
    "top": (1.0, 1.0),
    "random": (0.0, 1 / 3),  # uniform on [-1, 1]
}
"""Mean and mean square of what people send who have no answer where one is forced."""


def mean_error(
    name: str,
    epsilon: ArrayLike,
    rate: ArrayLike,
    mean: ArrayLike,
    square: ArrayLike,
    fake: str = "top",
) -> tuple[Array, Array]:
    """First-order variance per person of an estimated mean, and its bias, on [-1, 1].

    Where a share ``R`` has an answer, what is sent has the mean ``m = R mu + (1 - R) f`` and the
    mean square ``s = R v^2 + (1 - R) f2``, with ``f`` and ``f2`` those of the others' answers. The
    variance is that of a report at ``s``, and ``s - m^2``; the bias is ``m - mu``.

    People are drawn at random. Of mechanisms that force an answer whoever has none gives the
    ``"top"`` of the range (the BiSample paper's TOP) or a uniformly ``"random"`` value (its RND).
    """
    budgets = np.asarray(epsilon, dtype=np.float64)
    rates = np.asarray(rate, dtype=np.float64)
    if name == "bisample-md":
        excess = 1 / np.sinh(budgets / 2) ** 2  # 1 / tanh^2 - 1
        variance = bisample_variance(excess, rates, np.square(mean))
        return variance, np.zeros_like(variance)
    mean = np.asarray(mean)
    square = np.asarray(square)
    (fake_mean, fake_square) = _FAKES[fake]
    sent_mean = rates * mean + (1 - rates) * fake_mean
    sent_square = rates * square + (1 - rates) * fake_square
    noise = _NOISE[name](budgets, sent_square)
    variance = np.asarray(noise + sent_square - sent_mean**2)
    return variance, np.asarray(sent_mean - mean)


def direct_encoding(policy: PrivacyPolicy) -> tuple[Array, Array]:
    """``(a, b)`` of direct encoding with one row per input, by level, shape ``(t,)`` each.

    The item itself with probability ``d``, else one by weights that favour the sensitive items:
    ``b_j = d / (e^R_j - 1)`` with ``R_j`` the smallest pair budget for a level, ``a_j = b_j + d``.
    Rows sum to 1: ``d = 1 / (1 + sum_j m_j / (e^R_j - 1))`` with ``m_j`` items of level ``j``. Of
    all such rows these have the least worst-case error and the largest ``d``, the linear
    program of Sampling Privacy's second round (Joy and Gerla, eq. 12 to 16). Under the rule min it
    is generalised randomised response.

    Examples
    --------
    >>> a, b = direct_encoding(PrivacyPolicy([1.0, 3.0], [1, 4], rule="avg"))
    >>> a.round(3).tolist(), b.round(3).tolist()
    ([0.716, 0.524], [0.264, 0.071])
    """
    smallest_budgets = policy.room(np.zeros(policy.size))  # R_j
    weights = 1 / np.expm1(smallest_budgets)
    truth = 1 / (1 + policy.item_counts @ weights)  # d
    a = truth * (1 + weights)
    b = truth * weights
    return a, b
