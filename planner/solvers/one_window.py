"""The bound on all mechanisms where there is one window (docs/theory/many-levels.md, theorem 5).

With ``f`` the levels' shares of the items, ``r = sqrt f`` and ``mid = (low + high) / 2`` let, for
any ``d > 0``, people ``pi``, ``p = pi / r``, and ``kappa >= 0``,

    D = sum f d low high,    q = -d r mid,    K = diag d - q q' / D,    P = I - r p',
    N = P' K P + kappa p p',    s = sum f d mid / D,    L = sum f d (1 - s low) (s high - 1).

Where ``N`` is nowhere negative no mechanism has an error below ``X^2 / (4 (L + kappa)) - w . pi /
M`` an item, with ``X = (2 / M) [sum (m - 1) sqrt(w d) + tr (W^1/2 N W^1/2)^1/2]``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from planner.arrays import Array
from planner.solvers.counts import DesignProblem
from planner.solvers.game import SLACK
from planner.solvers.relaxed_bound import Relaxed, box_of, proven_bounds

_EXACT_LEVELS = 2000
"""Levels up to which a bound has all eigenvalues of ``N`` to the last digit."""
_SEARCHED_LEVELS = 100
"""Levels up to which the best multipliers are searched: a step then takes 5 milliseconds."""
_C_HALVINGS = 100  # of the interval that holds c
_MULTIPLIER_STEPS = 300
_CLOSE_MULTIPLIERS = 1e-10  # of the value: a step that gains less is the last
_FARTHEST_LOG = 30.0  # that a logarithm may move from where it begins
_NOISE_EIGENVALUE = 1e-18  # of the largest: a smaller one is noise


class WindowMultipliers(NamedTuple):
    """``d`` and ``pi``, one number a level, and ``kappa``."""

    within: Array
    people: Array
    kappa: float


class OneWindow:
    """The levels of the one window, and what multipliers are worth in it."""

    def __init__(self, problem: DesignProblem) -> None:
        self.problem = problem
        self.shares = problem.item_counts / problem.items
        self.root = np.sqrt(self.shares)
        ((low,), (high,)) = box_of(problem)
        self.low = low / self.root
        self.high = high / self.root
        self.middle = (self.low + self.high) / 2
        self.product = self.low * self.high
        self.weights = problem.weights
        if problem.spread is not None:
            self.weights = self.weights * problem.spread**2

    def explicit(self) -> WindowMultipliers:
        """``d_i = w_i / y_i^2`` and ``pi`` as ``f d mid``: what is best for many items.

        ``y_i = (1 - c low_i) (c high_i - 1)``, and ``c`` the minimiser of ``sum w f / y``, which is
        convex: its slope says on which side it is least.
        """
        most = 1 / self.low.max()
        least = 1 / self.high.min()
        for _ in range(_C_HALVINGS):
            c = (least + most) / 2
            room = (1 - c * self.low) * (c * self.high - 1)
            rising = 2 * self.middle - 2 * c * self.product
            if np.sum(self.weights * self.shares * rising / room**2) > 0:
                least = c
            else:
                most = c
        d = self.weights / room**2
        people = self.shares * d * self.middle
        return WindowMultipliers(d, people / people.sum(), 0.0)

    def searched(self, begun: WindowMultipliers) -> WindowMultipliers:
        """Those that prove about the most, by their logarithms: of any size each is as far away."""
        from scipy.optimize import Bounds, minimize

        t = self.root.size
        d = begun.within / np.exp(np.log(begun.within).mean())  # any factor is as good
        kappa = self._charge(d) / self.problem.items
        start = np.log(np.concatenate([d, begun.people, [kappa]]))
        size = abs(self._value_and_slope(start)[0]) + self._taken(begun.people)

        def objective(logs: Array) -> tuple[float, Array]:
            (value, slope) = self._value_and_slope(logs)
            return -value / size, -slope / size

        answer = minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(start - _FARTHEST_LOG, start + _FARTHEST_LOG),
            options={
                "maxiter": _MULTIPLIER_STEPS,
                "maxcor": 30,
                "ftol": _CLOSE_MULTIPLIERS,
                "gtol": 1e-12,
            },
        )
        logs = np.asarray(answer.x, dtype=np.float64)
        return WindowMultipliers(
            np.exp(logs[:t]), _shares(logs[t:-1]), np.exp(logs[-1])
        )

    def _taken(self, people: Array) -> float:
        """``w . pi / M``."""
        return float(self.problem.weights @ people) / self.problem.items

    def _centre(self, d: Array) -> float:
        """``s``."""
        weight = self.shares * d
        return float((weight @ self.middle) / (weight @ self.product))

    def _charge(self, d: Array) -> float:
        """``L``, which is ``-r' K r``."""
        s = self._centre(d)
        return float((self.shares * d) @ ((1 - s * self.low) * (s * self.high - 1)))

    def _value_and_slope(self, logs: Array) -> tuple[float, Array]:
        """The bound an item, not rounded, and its slope by the entries of ``logs``, ``(2 t + 1,)``.

        These are the logarithms of ``d``, of ``pi`` up to a factor, and of ``kappa``. With ``Y =
        W^1/2 (W^1/2 N W^1/2)^-1/2 W^1/2`` the slope of ``X`` by ``N`` is ``Y / M``, and that of
        ``L`` by ``d`` is ``f (1 - s low) (s high - 1)``, as ``L`` is largest at ``s``.
        """
        problem = self.problem
        r = self.root
        f = self.shares
        t = r.size
        d = np.exp(logs[:t])
        pi = _shares(logs[t:-1])
        kappa = float(np.exp(logs[-1]))
        p = pi / r
        D = float((f * d) @ self.product)
        q = -d * r * self.middle
        s = self._centre(d)
        room = (1 - s * self.low) * (s * self.high - 1)
        L = float((f * d) @ room)
        total = L + kappa

        # N = K - v p' - p v' + (kappa - L) p p', with v = K r.
        v = d * r * (1 - s * self.middle)
        crossed = np.outer(v, p)
        N = np.diag(d) - np.outer(q, q) / D - crossed - crossed.T
        N += (kappa - L) * np.outer(p, p)
        (roots, Y) = self._roots(N)
        contrasts = problem.differences * np.sqrt(problem.weights * d)
        X = 2 * (contrasts.sum() + roots.sum()) / problem.items
        value = X**2 / (4 * total) - self._taken(pi)

        by_X = X / (2 * total)
        by_total = -((X / (2 * total)) ** 2)
        P = np.eye(t) - np.outer(r, p)
        Z = P @ Y @ P.T
        Zq = Z @ q
        # tr(Z dK/dd_i): the slope of X by d_i is this and contrasts / d, over M.
        trace_by_d = np.diagonal(Z) + 2 * Zq * r * self.middle / D
        trace_by_d = trace_by_d + (q @ Zq) / D**2 * f * self.product
        slope_d = by_X * (contrasts / d + trace_by_d) / problem.items
        slope_d = slope_d + by_total * f * room
        slope_p = by_X * 2 * (Y @ ((kappa - L) * p - v)) / problem.items
        slope_pi = slope_p / r - problem.weights / problem.items
        slope_kappa = by_X * float(p @ Y @ p) / problem.items + by_total
        slope_log_pi = pi * (slope_pi - pi @ slope_pi)
        slope = np.concatenate([d * slope_d, slope_log_pi, [kappa * slope_kappa]])
        return float(value), slope

    def _roots(self, N: Array) -> tuple[Array, Array]:
        """The roots of the eigenvalues of ``W^1/2 N W^1/2``, and ``Y``."""
        root_weights = np.sqrt(self.problem.weights)
        scaled = root_weights[:, None] * N * root_weights
        (values, axes) = np.linalg.eigh(scaled)
        # Of a single level N is 0: nothing is then turned, by whatever root.
        noise = max(_NOISE_EIGENVALUE * values[-1], np.finfo(float).tiny)
        roots = np.sqrt(np.maximum(values, noise))
        turned = root_weights[:, None] * axes
        return roots, (turned / roots) @ turned.T

    def proven(self, multipliers: WindowMultipliers) -> Relaxed:
        """What multipliers prove, after rounding, and the mean of the types by which it is reached.

        Bounds are ``-inf`` where digits do not show that ``N`` is nowhere negative. Above 2,000
        levels those of ``diag d`` but the largest stand for the eigenvalues of ``N``, and ``kappa``
        is 0.
        """
        problem = self.problem
        (d, people, kappa) = multipliers
        f = self.shares
        root = self.root
        D = float((f * d) @ self.product)
        # L = sum(f d) sum f d (half^2 - off^2) / D, without differences of near numbers;
        # rounded is what the rounding of the ends may add to it.
        half = (self.high - self.low) / 2
        weighed = f * d * self.middle
        off = self.middle - weighed.sum() / (f @ d)
        rounded = 2 * SLACK * self.high * (half + np.abs(off))
        room = (f * d) @ (half**2 - off**2 + rounded)
        total = float(f @ d * room / D) + kappa
        mass = np.ones(1)
        none = np.zeros((0, 0))
        if f.size > _EXACT_LEVELS:
            bounds = proven_bounds(problem, d, d, d, total, people)
            mean = root / self._centre(d)
            return Relaxed(bounds, people, mass, mean[None], none[None], d, none)

        q = -weighed / root
        shared = np.outer(q, q) / D - np.diag(d)
        p = people / root
        P = np.eye(f.size) - np.outer(root, p)
        pushed = kappa * np.outer(p, p)
        on_plane = -P.T @ shared @ P  # P' K P
        sizes_on_plane = np.abs(P).T @ np.abs(shared) @ np.abs(P)
        N = on_plane + pushed
        sizes = sizes_on_plane + pushed
        bounds = proven_bounds(problem, d, N, sizes, total, people)
        if kappa > 0 and not self._nowhere_negative(on_plane, sizes_on_plane):
            bounds = np.full(2, -np.inf)
        mean = self._mean(d, q / D, P, N, total)
        return Relaxed(bounds, people, mass, mean[None], none[None], d, shared)

    def _nowhere_negative(self, on_plane: Array, sizes: Array) -> bool:
        """Whether digits show that ``K`` is nowhere negative on the plane ``p . z = 0``.

        ``P' K P`` is 0 along ``r``. If all its other eigenvalues are above 0, it is nowhere
        negative, and neither is ``N``, which adds ``kappa p p'``. A negative one would be the
        first, and the 0 the second. With the best ``d`` and ``pi`` of :meth:`explicit` it is a
        theorem.
        """
        root_weights = np.sqrt(self.problem.weights)
        scales = np.outer(root_weights, root_weights)
        values = np.linalg.eigvalsh(on_plane * scales)
        return bool((values[1:] > SLACK * np.linalg.norm(sizes * scales)).all())

    def _mean(self, d: Array, plane: Array, P: Array, N: Array, total: float) -> Array:
        """The mean of ``u`` over types by which the bound is reached, ``plane`` being ``q / D``.

        Their second moments are ``r r' + C`` up to a factor, ``C = (2 total / X) P Y P' / M`` by
        stationarity, and all are where ``plane . u = -1``: the mean is ``(s r - C plane) / (s^2 +
        plane' C plane)``.
        """
        problem = self.problem
        (roots, Y) = self._roots(N)
        contrasts = problem.differences * np.sqrt(problem.weights * d)
        X = 2 * (contrasts.sum() + roots.sum()) / problem.items
        moved = P @ (Y @ (P.T @ plane)) * (2 * total / X / problem.items)
        s = self._centre(d)
        return np.asarray((s * self.root - moved) / (s**2 + plane @ moved))


def explicit_bound(problem: DesignProblem) -> Relaxed:
    """The bound of one window by multipliers in closed form, but for a search in one dimension."""
    window = OneWindow(problem)
    return window.proven(window.explicit())


def bound_of_one_window(problem: DesignProblem) -> Relaxed:
    """The bound of a problem with one window and without assumed people.

    Its best multipliers are searched from explicit ones; of very many levels those are taken.

    Examples
    --------
    >>> from planner.policy.policy import PrivacyPolicy
    >>> from planner.solvers.rays import windows_of
    >>> policy = PrivacyPolicy(np.linspace(1, 3, 50), [1] * 50, "avg")
    >>> windows = windows_of(policy, np.arange(50))
    >>> problem = DesignProblem(policy.item_counts, windows, np.ones(50))
    >>> round(50 * float(explicit_bound(problem).bounds[0]), 2)
    51.29
    >>> round(50 * float(bound_of_one_window(problem).bounds[0]), 2)
    51.52
    """
    bound = explicit_bound(problem)
    if problem.item_counts.size > _SEARCHED_LEVELS:
        return bound
    window = OneWindow(problem)
    begun = window.explicit()
    searched = window.proven(window.searched(begun))
    return max(searched, bound, key=lambda found: found.bounds[0])


def _shares(logs: Array) -> Array:
    """Shares with these logarithms, up to a factor."""
    sizes = np.exp(logs - logs.max())
    return np.asarray(sizes / sizes.sum())
