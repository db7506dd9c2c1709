"""A bracket of ``E[(W_1 + ... + W_n)+]`` for independent draws of a few values, any ``n``.

For every tilt ``lam > 0`` and with ``M`` the moment-generating function of ``W``,

    E[S+] = 1/(2 pi) * integral over theta of M(lam + i theta)^n / (lam + i theta)^2

(Bromwich's inversion; ``1/t^2`` is the transform of ``s+``). By Poisson's summation formula the
sum over the points ``j tau`` in place of the integral is exactly

    M(lam)^n  E_lam[ sum over k of f(S + 2 pi k / tau) ],      f(s) = s+ e^(-lam s),

under the tilted law ``E_lam``. Its term ``k = 0`` is what is wanted and no other is negative: the
infinite sum errs upwards only, by terms that Chernoff's bound limits. The part of the sum beyond
``|theta| = T`` is at most ``M(lam)^n / (pi T)``. What floats may err is added. So both ends of the
bracket are proven, and the work does not grow with ``n``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, inf, log, log1p, pi, sqrt

import numpy as np

from planner.arrays import Array

_UNIT = 2.0**-52
# Of NumPy's exponential and circular functions, products and sums, generously.
_ULPS = 32
_MOST_ANGLES = 2**21
# Values that are no more than that are left to the bound of single draws.
_SMALLEST = 1e-250
_ROW = 2**8
_POINT_BLOCK = 2**16  # angles at a time: what they need stays within a few megabytes
_TILT_CLOSE = 1e-3  # to which the best tilt is found


@dataclass(frozen=True, slots=True)
class Bracket:
    """A number between two proven ends, ``0 <= lower <= upper``."""

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """``upper / lower - 1``; ``inf`` if the lower end is 0 and the upper is not."""
        if self.upper == 0:
            return 0.0
        if self.lower == 0:
            return inf
        return self.upper / self.lower - 1


def positive_part(
    masses: Array, values: Array, draws: int, accuracy: float = 0.002
) -> Bracket:
    """Bracket ``E[(W_1 + ... + W_n)+]`` where ``W`` has ``values`` with ``masses``, else 0.

    Examples
    --------
    The mean distance from the middle of 100 coins, half of it on the positive side.

    >>> bracket = positive_part(np.array([0.5, 0.5]), np.array([1.0, -1.0]), 100)
    >>> bracket.lower <= 3.979461 <= bracket.upper, bracket.width < 0.002
    (True, True)
    """
    if not (values > 0).any():
        return Bracket(0.0, 0.0)
    simple = _of_single_draws(masses, values, draws)
    if simple.width <= accuracy:
        return simple
    unit = float(np.abs(values).max())
    if unit < _SMALLEST:
        return simple
    bracket = _inverted(masses, values / unit, draws, accuracy)
    lower = bracket.lower * unit * (1 - 1e-12)
    upper = bracket.upper * unit * (1 + 1e-12)
    return Bracket(
        lower=max(lower, simple.lower),
        upper=min(upper, simple.upper),
    )


def _of_single_draws(masses: Array, values: Array, draws: int) -> Bracket:
    """At most the sum of single draws' parts; at least that of one above 0 without another."""
    above = np.maximum(values, 0)
    below = np.maximum(-values, 0)
    part_above = float(masses @ above)  # E[W+]
    part_below = float(masses @ below)  # E[W-]
    chance_above = float(masses[values > 0].sum())
    chance_above = min(chance_above, 1 - 1e-16)
    others = draws - 1
    # No other draw is above 0, less what others below 0 may take off.
    none_above = exp(others * log1p(-chance_above))
    taken_off = others * chance_above * part_below
    alone = part_above * none_above - taken_off
    at_least = draws * max(0.0, alone)
    at_most = draws * part_above
    return Bracket(lower=at_least * (1 - 1e-12), upper=at_most * (1 + 1e-12))


def log_positive_part(masses: Array, values: Array, draws: int) -> float:
    """About ``ln E[(W_1 + ... + W_n)+]``: Laplace's method at the best tilt; no bound.

    With ``K = n ln M``, ``lam`` where ``K - 2 ln lam`` is smallest and its curvature
    ``c = K'' + 2 / lam^2`` there, it is ``K - 2 ln lam - ln(2 pi c) / 2``. Arguments as in
    :func:`positive_part`; ``-inf`` if no value is above 0. A few percent off, at a hundredth of
    the work.
    """
    if values.max() <= 0:
        return -inf
    unit = float(np.abs(values).max())
    cumulant = _Cumulant(masses, values / unit, draws)
    tilt, spread = cumulant.best_tilt()
    curvature = spread**2 + 2 / tilt**2
    exponent = cumulant.at(tilt) - 2 * log(tilt)
    log_width = log(2 * pi * curvature) / 2
    log_of_units = exponent - log_width
    return log_of_units + log(unit)


def _inverted(masses: Array, values: Array, draws: int, accuracy: float) -> Bracket:
    """The bracket by the sum over the points ``j tau`` with ``|j tau| <= T``, see the module.

    ``P = 2 pi / tau`` is the period. From the sum the ends are off by the part beyond ``T``, what
    floats err, and below also by the terms of other periods. ``P`` and ``T`` grow until the
    bracket is narrow enough, or there are too many points.
    """
    cumulant = _Cumulant(masses, values, draws)
    tilt, spread = cumulant.best_tilt()
    estimate = 0.3 / (tilt * max(1.0, tilt * spread))  # E_lam[f], as if S were normal
    period = max(16 * spread, 50 / tilt)
    while True:
        excess = cumulant.other_periods(tilt, period)
        cut = 1 / (pi * 0.4 * accuracy * estimate)  # T
        angles = cut * period / (2 * pi)
        if excess > 0.05 * accuracy * estimate and angles < _MOST_ANGLES:
            period *= 1.25
            continue
        angles = min(angles, _MOST_ANGLES)
        points = _ROW * ceil(angles / _ROW)
        step = 2 * pi / period
        middle, floats = cumulant.inversion_sum(tilt, step, points)
        tail = 1 / (pi * step * (points - 1))
        low = middle - tail - floats - excess
        high = middle + tail + floats
        narrow = high - low <= accuracy * max(low, 0.0)
        if narrow or points == _MOST_ANGLES or high <= 0:
            break
        # It was too large: the next cut is from what was just computed.
        next_estimate = max(middle, estimate / 64)
        estimate = min(estimate / 2, next_estimate)
    exponent = cumulant.at(tilt)
    slip = cumulant.slip(tilt)
    lower = max(0.0, low) * exp(exponent - slip)
    upper = max(0.0, high) * exp(exponent + slip)
    return Bracket(lower, upper)


class _Cumulant:
    """``n log M(t)`` of the sum, with what is derived from it."""

    def __init__(self, masses: Array, values: Array, draws: int) -> None:
        self.masses = masses
        self.values = values
        self.draws = draws

    def at(self, tilt: float) -> float:
        """``n log M(tilt)``; ``inf`` where it overflows."""
        with np.errstate(over="ignore"):
            gains = np.expm1(tilt * self.values)
            gain = float(self.masses @ gains)
        if gain <= -1:
            return -inf
        return self.draws * float(np.log1p(gain))

    def slip(self, tilt: float) -> float:
        """What floats may err in ``n log M(tilt)``."""
        exponents = tilt * self.values
        gains = self.masses * np.expm1(exponents)
        moment = 1 + float(gains.sum())  # M(tilt)
        sizes = float(np.abs(gains).sum())
        relative = sizes / moment
        return _ULPS * _UNIT * (1 + self.draws * relative)

    def moments(self, tilt: float) -> tuple[float, float]:
        """Mean and variance of the tilted sum."""
        exponents = tilt * self.values
        # All weights are divided by that of the largest exponent, 0 among them, against overflow.
        largest = max(0.0, float(exponents.max()))
        weights = self.masses * np.exp(exponents - largest)
        # The rest of the mass is at the value 0, whose exponent is 0.
        mass = float(self.masses.sum())
        mass_at_0 = max(0.0, 1 - mass)
        weight_of_0 = mass_at_0 * exp(-largest)
        total = weight_of_0 + float(weights.sum())
        mean = float(weights @ self.values) / total
        deviations = self.values - mean
        squares = float(weights @ deviations**2)
        squares += weight_of_0 * mean**2
        mean_of_sum = self.draws * mean
        variance_of_sum = self.draws * squares / total
        return mean_of_sum, variance_of_sum

    def best_tilt(self) -> tuple[float, float]:
        """The tilt that makes ``M(t)^n / t^2`` smallest, and the tilted sum's spread.

        Its logarithm is convex and flat where ``tilt * mean = 2``. With the mean taken as
        linear, ``m + v (t - t0)`` around the last tilt ``t0``, and ``c = m - v t0`` the next solves
        ``v t^2 + c t = 2``: ``t = 4 / (c + sqrt(c^2 + 8 v))``. Where that leaves the bracket, it is
        halved.
        """
        low = 0.0
        high = inf
        tilt = 0.0
        while True:
            mean, variance = self.moments(tilt)
            if tilt * mean < 2:
                low = tilt
            else:
                high = tilt
            last = tilt
            c = mean - variance * tilt
            denominator = c + sqrt(c**2 + 8 * variance)
            tilt = inf
            if denominator > 0:
                tilt = 4 / denominator
            if not low < tilt < high and high < inf:
                tilt = (low + high) / 2
            elif not low < tilt < high:
                tilt = max(2 * low, 1.0)
            if abs(tilt - last) <= _TILT_CLOSE * tilt:
                return tilt, sqrt(variance)

    def other_periods(self, tilt: float, period: float) -> float:
        """Bound of ``E_lam[sum over k != 0 of f(S + k P)]``.

        For ``-P/2 <= S <= P`` only ``k >= 1`` counts, each at most ``f(k P - P/2)`` where f
        falls. With ``h = lam P / 2`` and ``r = e^(-2 h)`` these sum to
        ``e^(-h) (h / (1 - r) + 2 h r / (1 - r)^2) / lam``. Elsewhere all together are at most
        ``max f + (integral of f) / P = 1 / (e lam) + 1 / (P lam^2)``.
        """
        h = tilt * period / 2
        if h <= 1:  # f still rises there
            return inf
        r = exp(-2 * h)
        once = h / (1 - r)
        again = 2 * h * r / (1 - r) ** 2
        inside = exp(-h) * (once + again) / tilt
        largest = 1 / (exp(1) * tilt)
        integral = 1 / (period * tilt**2)
        below = self._beyond(tilt, -period / 2)
        above = self._beyond(tilt, period)
        return inside + (largest + integral) * (below + above)

    def _beyond(self, tilt: float, limit: float) -> float:
        """Chernoff's bound of ``P_lam[S > s]`` for a limit ``s``, or ``< s`` if it is negative.

        The smallest over some changes ``c`` of the tilt, each of which is a bound, of
        ``M(lam + c)^n / M(lam)^n e^(-c s)``; 1 is one, too.
        """
        at_tilt = self.at(tilt)
        _, variance = self.moments(tilt)
        # Around the change s / variance, which is the best one if S is normal.
        factors = 2.0 ** np.arange(-8, 4)
        changes = limit / variance * factors
        least = 0.0
        for change in changes.tolist():
            exponent = self.at(tilt + change) - at_tilt - change * limit
            least = min(least, exponent)
        return exp(least)

    def inversion_sum(
        self, tilt: float, step: float, points: int
    ) -> tuple[float, float]:
        """The inversion's sum without its factor ``M(lam)^n``, and a bound of its float error.

        ``tau / (2 pi)`` times the sum over ``|j| < points`` of
        ``(M(lam + i j tau) / M(lam))^n / (lam + i j tau)^2``, of the tilt ``lam`` and the ``step``
        ``tau``. Points stand in rows of ``_ROW``, of which ``points`` is a multiple. With ``a`` the
        angle at a row's begin and ``b`` on from there,
        ``e^(i(a + b)) - 1 = (e^(ia) - 1) e^(ib) + (e^(ib) - 1)``, so that matrices are multiplied
        in place of a sine for every point and value. Points ``j`` and ``-j`` have conjugate terms,
        and the point 0 the term ``1 / lam^2``.
        """
        n = self.draws
        exponents = tilt * self.values
        gains = self.masses * np.expm1(exponents)
        moment = 1 + float(gains.sum())  # M(lam)
        tilted = self.masses * np.exp(exponents)
        shares = tilted / moment
        # |M(lam + i theta) / M(lam) - 1| is at most the slope times theta, and at most that.
        sizes = np.abs(self.values)
        slope = float(tilted @ sizes) / moment
        both_masses = float(tilted.sum() + self.masses.sum())
        most = both_masses / moment + 1
        total = -1 / tilt**2  # as the point 0 is counted twice below
        error = 0.0
        offsets = np.arange(_ROW)
        turns_in_row = np.multiply.outer(offsets, self.values)
        in_row = np.expm1(1j * step * turns_in_row)  # e^(ib) - 1
        for start in range(0, points, _POINT_BLOCK):
            end = min(start + _POINT_BLOCK, points)
            begins = step * np.arange(start, end, _ROW)
            theta = begins[:, None] + step * offsets
            turns = np.multiply.outer(begins, self.values)
            of_row = np.expm1(1j * turns)  # e^(ia) - 1
            # M(lam + i theta) / M(lam) - 1, without cancellation where theta is small
            z = (shares * of_row) @ (1 + in_row).T + in_row @ shares
            real = z.real
            imaginary = z.imag
            # |1 + z|^2 - 1, of which the modulus of 1 + z has half the logarithm.
            square = real * (2 + real) + imaginary**2
            square = np.maximum(square, -1 + 1e-300)
            log_square = np.log1p(square)
            height = np.exp(n / 2 * log_square)
            phase = n * np.arctan2(imaginary, 1 + real)
            denominator = (tilt + 1j * theta) ** 2
            terms = height * np.exp(1j * phase) / denominator
            total += 2 * float(terms.real.sum())
            # The n-th power makes of a relative error of M one that is n times as large.
            moved = np.minimum(slope * theta, most)
            slips = _ULPS * _UNIT * (4 + n * moved + 1)
            slips = np.minimum(slips, 2.0)  # no two terms of this height differ by more
            errors = slips / (tilt**2 + theta**2)
            error += 2 * float(errors.sum())
        scale = step / (2 * pi)
        return scale * total, scale * error
