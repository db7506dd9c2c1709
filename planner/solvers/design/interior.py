"""The design over given types alone: a saddle point, by Newton's method from the interior.

With ``a_o`` the types' weights, ``s_o = a_o / (pi.mean_o)``, and

    ev_i = sum s_o spread_oi m_i / (m_i - 1),    B = sum s_o u_o u_o',    u_oi = mean_oi sqrt(f_i),

the error per item under a prior ``pi`` (docs/theory/designs.md, block form) is

    F(a, pi) = sum_i omega_i (m_i - 1) / (M ev_i) + tr(Omega B^-1) / M^2 - pi.omega / M,

convex in the weights and concave in the prior: a function of ``s`` alone, but for the last
term. The saddle point over ``sum a_o mean_o = 1``, ``a >= 0`` and all priors comes with the
multipliers of the dual program: ``c = 1 / ev``, ``S = B^-1 / M`` and those of the sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgetrf, dgetri, dgetrs

from planner.errors import ConvergenceError
from planner.patience import still_wanted
from planner.solvers.design.problem import Columns, Multipliers

Array = NDArray[np.float64]

_STEPS = 100
_CENTRING = 0.01  # of the mean product of a variable and its multiplier: the next one's least aim
_LOST = 1e6  # times the least distance: digits are used up
_ROOM = 0.98  # of the way to the nearest bound


class Levels(Protocol):
    """What the program sees of a problem: its levels, or groups of them."""

    @property
    def item_counts(self) -> NDArray[np.int64]:
        """``m_i``."""

    @property
    def weights_above_zero(self) -> Array:
        """``omega_i``."""

    @property
    def prior(self) -> Array | None:
        """The assumed shares of the people; ``None`` for the worst case."""

    def columns(self, columns: Columns) -> tuple[Array, Array, Array]:
        """``mean``, ``spread`` and ``scale`` of types."""

    def guesses(self, columns: Columns) -> Array:
        """Success that types add to guesses: one more sum that must be 1, or none."""


class Restricted(NamedTuple):
    """The multipliers, the types' weights, and the error per user they reach.

    ``spans`` are the weights of normalised types over ``pi.mean``: the ``s_o``.
    """

    multipliers: Multipliers
    weights: Array
    spans: Array
    error: float


def solve_restricted(levels: Levels, columns: Columns, gap: float) -> Restricted:
    """The best weights of these types, and the best multipliers were there no others.

    Parameters
    ----------
    levels:
        The problem, see :class:`Levels`.
    columns:
        The types.
    gap:
        Relative gap between the weights' error and the multipliers' bound at which to stop.

    Raises
    ------
    ConvergenceError
        The types cannot tell all items apart, or digits run out before there is any answer.
    """
    mean, spread, scale = levels.columns(columns)
    program = _Program(levels, mean, spread, levels.guesses(columns))
    with np.errstate(all="ignore"):  # points beyond the digits are seen by their distance
        best = _nearest(program, gap)
    slack, guess = np.split(best.at.slack, [mean.shape[1]])
    guess_price = max(0.0, float(guess.sum()))  # below 0 only by what is left to solve
    multipliers = Multipliers(best.c, best.S, slack, best.at.prior, guess_price)
    return Restricted(multipliers, best.at.weights / scale, best.s, best.error)


def _nearest(program: _Program, gap: float) -> _Point:
    """Steps until a point is as near as wanted, or as digits allow."""
    try:
        best = point = program.start()
    except np.linalg.LinAlgError:
        best = None
    if best is None or not np.isfinite(best.distance):
        reason = "The types cannot tell all items apart"
        raise ConvergenceError(reason, "Round the budgets, or bring them closer together.")
    for _ in range(_STEPS):
        still_wanted()
        try:
            point = program.step(point)
        except np.linalg.LinAlgError:
            break
        if point.distance < best.distance:
            best = point
        enough = best.distance <= gap * best.share
        if enough or not point.distance < _LOST * best.distance:
            break
    return best


@dataclass(frozen=True, slots=True)
class _Variables:
    """Weights and prior, the multipliers ``z`` and ``y`` of their signs, and those of the sums."""

    weights: Array
    z: Array
    prior: Array
    y: Array
    slack: Array
    level: float  # of the prior's sum

    def moved(self, by: _Variables, room: float) -> _Variables:
        return _Variables(
            self.weights + room * by.weights,
            self.z + room * by.z,
            self.prior + room * by.prior,
            self.y + room * by.y,
            self.slack + room * by.slack,
            self.level + room * by.level,
        )


class _Point(NamedTuple):
    """Variables and what follows from them."""

    at: _Variables
    s: Array
    expected: Array  # pi.mean
    c: Array
    S: Array
    rate: Array  # what a weight takes from the error
    pull: Array  # what people of each level add to it
    error: float  # per user
    distance: float  # from the saddle point, relative to the expected squares
    share: float  # of the error in these


class _Equations(NamedTuple):
    """A matrix in its two triangular factors, and the right side."""

    factors: Array
    pivots: NDArray[np.int32]
    target: Array


class _Program:
    def __init__(self, levels: Levels, mean: Array, spread: Array, guesses: Array) -> None:
        m = levels.item_counts.astype(np.float64)
        self.items = float(m.sum())
        self.shares = m / self.items
        self.several = m > 1
        self.omega = levels.weights_above_zero
        self.freedom = self.omega * (m - 1) / self.items
        self.mean = mean
        self.sums = np.hstack([mean, guesses])  # with the weights all of them are 1
        self.spread = spread * np.where(self.several, m / np.maximum(m - 1, 1), 0.0)
        self.u = mean * np.sqrt(self.shares)
        self.assumed = levels.prior

    def start(self) -> _Point:
        """Equal weights; the multipliers of the sums by least squares."""
        n = len(self.mean)
        weights = np.full(n, 1.0 / n)
        prior = self.shares if self.assumed is None else self.assumed
        none = np.zeros(self.sums.shape[1])
        first = self.seen(_Variables(weights, weights, prior, prior, none, 0.0))
        slack = np.asarray(np.linalg.lstsq(self.sums, first.rate, rcond=None)[0], dtype=np.float64)
        z = self.sums @ slack - first.rate
        z = np.maximum(z, 0.1 * np.abs(z).mean() + 1e-3 * first.rate.mean())
        level = 1.1 * float(first.pull.max())
        y = np.maximum(level - first.pull, 1e-3 * level)
        return self.seen(_Variables(weights, z, prior, y, slack, level))

    def seen(self, at: _Variables) -> _Point:
        """A point with all that follows from its variables."""
        expected = self.mean @ at.prior
        s = at.weights / expected
        c = np.divide(1.0, s @ self.spread, out=np.zeros(self.omega.size), where=self.several)
        S = dgetri(*_factors((self.u * s[:, None]).T @ self.u))[0] / self.items
        S = (S + S.T) / 2
        num = self.spread @ (self.freedom * np.square(c)) + np.square(self.u @ S) @ self.omega
        rate = num / expected
        pull = (rate * s) @ self.mean - self.omega / self.items
        error = float(self.freedom @ c + self.omega @ (np.diag(S) - at.prior) / self.items)
        missing = float(np.abs(at.weights @ self.sums - 1).max() * np.abs(at.slack).sum())
        uneven = float(at.weights @ np.abs(self.sums @ at.slack - rate - at.z))
        total = error + float(self.omega @ at.prior) / self.items  # squares, not variances
        distance = max(self.products(at), missing, uneven) / total
        return _Point(
            at, s, expected, c, S, rate, pull, error * self.items, distance, error / total
        )

    def products(self, at: _Variables) -> float:
        """Of variables and their multipliers: 0 at the saddle point."""
        return float(at.weights @ at.z + (at.prior @ at.y if self.assumed is None else 0.0))

    def step(self, p: _Point) -> _Point:
        """One step towards the saddle point, not over any bound: Mehrotra's, in two.

        The first goes straight for products of 0. How near it would come says at which products
        the second aims, which is corrected for what the first one's equations leave out.
        """
        at, free = p.at, self.assumed is None
        equations = self._equations(p)
        first = self._change(at, equations, 0.0, 0.0)
        now, then = self.products(at), self.products(at.moved(first, self._room(at, first)))
        aim = max(_CENTRING, (then / now) ** 2) * now / (at.z.size + at.y.size * free)
        by = self._change(at, equations, aim - first.weights * first.z, aim - first.prior * first.y)
        return self.seen(at.moved(by, self._room(at, by)))

    def _change(
        self, at: _Variables, equations: _Equations, aim: Array | float, aim_of_prior: Array | float
    ) -> _Variables:
        """Newton's change of all variables, after which the products would be as aimed."""
        n, t = self.mean.shape
        target = equations.target.copy()
        target[:n] += aim / at.weights
        y = np.zeros(t)
        if self.assumed is None:
            target[n : n + t] -= aim_of_prior / at.prior
        change = dgetrs(equations.factors, equations.pivots, target)[0]
        weights, prior, slack = change[:n], change[n : n + t], change[n + t : -1]
        z = (aim - at.z * weights) / at.weights - at.z
        if self.assumed is None:
            y = (aim_of_prior - at.y * prior) / at.prior - at.y
        return _Variables(weights, z, prior, y, slack, float(change[-1]))

    def _room(self, at: _Variables, by: _Variables) -> float:
        """The share of a change that keeps all variables above 0."""
        pairs = [(at.weights, by.weights), (at.z, by.z)]
        if self.assumed is None:
            pairs += [(at.prior, by.prior), (at.y, by.y)]
        most = max(float((-change / values).max()) for values, change in pairs)
        return 1.0 if most <= _ROOM else _ROOM / most

    def _equations(self, p: _Point) -> _Equations:
        """Newton's equations for weights, prior, the multipliers of the sums and of the prior's.

        Raises
        ------
        LinAlgError
            They have no solution.
        """
        at, (n, t) = p.at, self.mean.shape
        size = n + t + self.sums.shape[1] + 1
        matrix, target = np.zeros((size, size)), np.zeros(size)
        w, pi, lam = slice(0, n), slice(n, n + t), slice(n + t, size - 1)
        curve = self._curvature(p) / np.outer(p.expected, p.expected)
        matrix[w, w] = curve
        matrix[np.arange(n), np.arange(n)] += at.z / at.weights
        matrix[w, lam], matrix[lam, w] = self.sums, self.sums.T
        target[w] = p.rate - self.sums @ at.slack
        target[lam] = 1 - at.weights @ self.sums
        place = np.arange(n, n + t)
        if self.assumed is not None:
            matrix[place, place] = matrix[-1, -1] = 1.0
            return _Equations(*_factors(matrix), target)
        moved = self.mean * p.s[:, None]
        cross = (p.rate / p.expected)[:, None] * self.mean - curve @ moved
        matrix[w, pi], matrix[pi, w] = cross, cross.T
        matrix[pi, pi] = moved.T @ (curve @ moved - 2 * (p.rate / p.expected)[:, None] * self.mean)
        matrix[place, place] -= at.y / at.prior
        matrix[pi, -1] = matrix[-1, pi] = -1.0
        target[pi] = at.level - p.pull
        target[-1] = at.prior.sum() - 1
        return _Equations(*_factors(matrix), target)

    def _curvature(self, p: _Point) -> Array:
        """Second derivatives of the error in ``s``, shape ``(n, n)``."""
        left = self.u @ p.S
        gram = left @ self.u.T * self.items
        weighted = (left * self.omega) @ left.T
        within = (self.spread * (self.freedom * p.c**3)) @ self.spread.T
        return np.asarray(2 * (within + gram * weighted))


def _factors(matrix: Array) -> tuple[Array, NDArray[np.int32]]:
    """Two triangular factors and the pivots, without the checks that cost more than small ones."""
    factors, pivots, failed = dgetrf(matrix)
    if failed:
        raise np.linalg.LinAlgError("singular")
    return factors, pivots
