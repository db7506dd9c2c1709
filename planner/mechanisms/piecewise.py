"""The Piecewise mechanism and its mixture with Harmony, the Hybrid mechanism.

The published Piecewise mechanism reports a real number. Floating-point draws of
real numbers leak through their lowest bits, so this one is its exact counterpart on
``CELLS`` equal cells: a finite law that can be written down, audited and kept on a
grid of 2^-32. Its variance differs from the published one by less than two parts in
a thousand for budgets up to 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.limits import DENOMINATOR
from planner.mechanisms.forced_answer import ForcedAnswerMechanism
from planner.mechanisms.numeric import SignCoin

CELLS = 2**12
# Above it Piecewise has the smaller variance at v = 0: with x = e^(eps/2),
# (x + 3)(x + 1)^2 = 3 (x^2 + 1)^2, that is 3 x^3 - x^2 + x - 7 = 0.
HYBRID_THRESHOLD = 0.6093524930273098


@dataclass(frozen=True, slots=True)
class Piecewise(ForcedAnswerMechanism):
    """Piecewise: a number near the answer with high probability, else one from elsewhere.

    Output law, with ``M = 4096`` cells, a window of ``W ~ M / (e^(eps/2) + 1)`` of them
    and ``x = (1 + v)(M - W)/2`` for the answer ``v`` mapped to ``[-1, 1]``: the window
    starts at cell ``floor(x)``, or one later with probability ``x - floor(x)``; then

        Pr[cell] = t / W               for each cell in the window
        Pr[cell] = (1 - t) / (M - W)   for each cell outside

    ``t`` is the largest multiple of 2^-32 with a ratio of at most ``e^eps``. A cell's
    meaning is its centre, scaled so that the mean is ``v`` exactly. As ``M`` grows this
    becomes the published density, constant on and off ``[l(v), l(v) + C - 1]``,
    ``C = (e^(eps/2) + 1) / (e^(eps/2) - 1)``.

    Variance of the mean: exact for the law above; published (the limit), per person,
    ``v^2 / (e^(eps/2) - 1) + (e^(eps/2) + 3) / (3 (e^(eps/2) - 1)^2)``. Forced answers
    as described in :mod:`planner.mechanisms.forced_answer`.

    Source: Wang et al., "Collecting and Analyzing Multidimensional Data with Local
    Differential Privacy" (ICDE 2019), algorithm 2 and lemma 1.

    Examples
    --------
    >>> mechanism = Piecewise(2.0)
    >>> bool(abs(mechanism.output_law([0.3]) @ mechanism.output_values - 0.3) < 1e-9)
    True
    >>> round(mechanism.variance([0.5]).mean, 3), round(float(piecewise_variance(2.0, 0.5**2)), 3)
    (0.791, 0.791)
    """

    _window: int = field(init=False, repr=False)
    _inside: int = field(init=False, repr=False)  # t, in units of 2^-32

    def _prepare(self) -> None:
        SignCoin(self.epsilon)  # the same limits of the budget
        window = max(1, round(CELLS / (exp(self.epsilon / 2) + 1)))
        odds = exp(self.epsilon) * window / (CELLS - window)
        outside = ceil(DENOMINATOR / (1 + odds) * (1 + 2**-40))  # up means private
        object.__setattr__(self, "_window", window)
        object.__setattr__(self, "_inside", DENOMINATOR - outside)

    @property
    def output_values(self) -> NDArray[np.float64]:
        """Centre of each cell, scaled so that a report is unbiased for ``v``."""
        t, share = self._inside / DENOMINATOR, self._window / CELLS
        pull = (t - (1 - t) * share / (1 - share)) * (1 - share)
        return (2 * np.arange(CELLS) + 1 - CELLS) / CELLS / pull

    def _draw_answer(self, unit: NDArray[np.float64], rng: np.random.Generator) -> NDArray[Any]:
        place = self._place(unit)
        start = np.floor(place).astype(np.int64)
        start += rng.random(unit.size) < place - start
        near = start + rng.integers(self._window, size=unit.size)
        far = rng.integers(CELLS - self._window, size=unit.size)
        far += self._window * (far >= start)
        inside = SignCoin.toss(np.full(unit.shape, float(self._inside)), rng)
        return np.where(inside, near, far)

    def _answer_law(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        place = self._place(unit)[:, None]
        cell = np.arange(CELLS)
        # How much of the (randomly rounded) window lies on each cell, 0 to 1.
        cover = np.clip(cell + 1 - place, 0, 1) - np.clip(cell + 1 - place - self._window, 0, 1)
        return self._level(cover)

    def _random_law(self) -> NDArray[np.float64]:
        # The window's start is uniform over 0 ... M - W, its two ends counting half.
        weight = np.ones(CELLS - self._window + 1)
        weight[[0, -1]] = 0.5
        return self._level(np.convolve(weight, np.ones(self._window)) / weight.sum())

    def _second_moment(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        squares = np.square(self.output_values)
        below = np.concatenate([[0.0], np.cumsum(squares)])
        window = below[self._window :] - below[: -self._window]  # one entry per start
        t = self._inside / DENOMINATOR
        rest = (below[-1] - window) * (1 - t) / (CELLS - self._window)
        # Random rounding of the start is linear interpolation between starts.
        moment = window * t / self._window + rest
        return np.interp(self._place(unit), np.arange(moment.size), moment)

    def _place(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        return (unit + 1) / 2 * (CELLS - self._window)

    def _level(self, cover: NDArray[np.float64]) -> NDArray[np.float64]:
        t = self._inside / DENOMINATOR
        return cover * t / self._window + (1 - cover) * (1 - t) / (CELLS - self._window)


@dataclass(frozen=True, slots=True)
class Hybrid(ForcedAnswerMechanism):
    """Hybrid: Piecewise with probability ``1 - e^(-eps/2)``, else Harmony.

    Output law: the mixture of the laws of :class:`Piecewise` (cells 0 to 4095) and
    :class:`~planner.mechanisms.forced_answer.Harmony` (reports 4096 and 4097), Harmony
    alone up to ``epsilon = 0.6094``. Which of the two a person uses does not depend on
    the answer, so the mixture spends no more than either.

    Variance of the mean, exact for the law as drawn; in the limit, above the threshold,
    ``(1 - e^(-eps/2)) (e^(eps/2) + 3) / (3 (e^(eps/2) - 1)^2) + e^(-eps/2) / theta^2``
    per person, whatever the answer (the terms in ``v^2`` cancel).

    Source: Wang et al. (ICDE 2019), section III-C, equation 9.

    Examples
    --------
    >>> Hybrid(2.0).variance([0.0]).mean.__round__(3), Hybrid(2.0).variance([1.0]).mean.__round__(3)
    (1.042, 1.042)
    """

    _piecewise: Piecewise = field(init=False, repr=False)
    _coin: SignCoin = field(init=False, repr=False)
    _share: int = field(init=False, repr=False)  # of Piecewise, in units of 2^-32

    def _prepare(self) -> None:
        object.__setattr__(self, "_piecewise", Piecewise(self.epsilon))
        object.__setattr__(self, "_coin", SignCoin(self.epsilon))
        share = 1 - exp(-self.epsilon / 2) if self.epsilon > HYBRID_THRESHOLD else 0.0
        object.__setattr__(self, "_share", min(round(share * DENOMINATOR), DENOMINATOR - 1))

    @property
    def output_values(self) -> NDArray[np.float64]:
        """The cells' values, then Harmony's ``-1/theta`` and ``1/theta``."""
        return np.append(self._piecewise.output_values, np.array([-1, 1]) / self._coin.theta)

    def _draw_answer(self, unit: NDArray[np.float64], rng: np.random.Generator) -> NDArray[Any]:
        cells = self._piecewise._draw_answer(unit, rng)
        signs = SignCoin.toss(self._coin.threshold(unit), rng)
        chosen = SignCoin.toss(np.full(unit.shape, float(self._share)), rng)
        return np.where(chosen, cells, CELLS + signs)

    def _answer_law(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        one = self._coin.chance(unit)
        return self._mixed(self._piecewise._answer_law(unit), np.column_stack([1 - one, one]))

    def _random_law(self) -> NDArray[np.float64]:
        return self._mixed(self._piecewise._random_law()[None], np.array([[0.5, 0.5]]))[0]

    def _second_moment(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        share = self._share / DENOMINATOR
        sign = 1 / self._coin.theta**2
        return share * self._piecewise._second_moment(unit) + (1 - share) * sign

    def _mixed(self, cells: NDArray[np.float64], signs: NDArray[np.float64]) -> NDArray[np.float64]:
        share = self._share / DENOMINATOR
        return np.hstack([share * cells, (1 - share) * signs])


def piecewise_variance(
    epsilon: NDArray[np.float64] | float, square: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """The published variance of one Piecewise report, given ``v^2`` (or its mean).

    Examples
    --------
    >>> round(float(piecewise_variance(1.0, 0.25)), 4)
    4.0675
    """
    gap = np.expm1(np.asarray(epsilon) / 2)
    return square / gap + (gap + 4) / (3 * gap**2)


def hybrid_variance(epsilon: float, square: float = 0.0) -> float:
    """The published variance of one Hybrid report, given ``v^2`` (or its mean).

    Examples
    --------
    >>> round(hybrid_variance(0.5), 2), round(hybrid_variance(2.0), 3)
    (16.67, 1.042)
    """
    sign = 1 / np.tanh(epsilon / 2) ** 2 - square
    if epsilon <= HYBRID_THRESHOLD:
        return float(sign)
    share = -np.expm1(-epsilon / 2)
    return float(share * piecewise_variance(epsilon, square) + (1 - share) * sign)
