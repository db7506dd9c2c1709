"""opt0 exactly as the paper writes it (eq. 9): SLSQP in (a, b), where it is not convex.

Kept for comparison. It needs several starts, may end in a worse point, and its raw
answer may break a pair's budget slightly, so it is repaired before it is returned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from planner.errors import ConvergenceError, InputError
from planner.policy import logodds
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import UnaryTable
from planner.solvers.certificate import prove
from planner.solvers.models import Program, model_named
from planner.solvers.solving import proven_table, smallest_budget

Array = NDArray[np.float64]

_EDGE = 1e-9
_CLOSE = 1e-4  # a - b stays above this while searching; the error is infinite at 0
_SEED = (
    20200421  # the starts are part of the method: the same policy gives the same answer
)


def solve_literal(
    policy: PrivacyPolicy, *, box: bool = False, starts: int = 5
) -> UnaryTable:
    """The paper's own opt0 (eq. 9) in (a, b), where it is not convex, for comparison.

    Parameters
    ----------
    policy:
        The levels, their budgets and the pair rule.
    box:
        Restrict to ``a >= 1/2`` and ``b <= 1/2``, as the paper's experiments do.
    starts:
        Number of starting points, at least 1.

    Returns
    -------
    UnaryTable
        Repaired, never outside the policy; its distance from the optimum is proven, but not
        limited. Method ``"slsqp-ab"``.

    Raises
    ------
    InputError
        ``starts`` is below 1, or pair budgets are below 1e-9.
    ConvergenceError
        No start led to a usable answer.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
    >>> round(solve_literal(policy, box=True).worst_case_mse, 2)  # solve(policy): 239.72
    243.15
    """
    program = Program.of(policy, Objective(), model_named("opt0"))
    smallest_budget(policy)
    v = _searched(program, box, starts)
    proof = prove(program, program.model.repair(policy, v))
    return proven_table(program, v, proof, "slsqp-ab")


def _searched(program: Program, box: bool, starts: int) -> Array:
    """The best repaired answer in (s, w) from several starts: the symmetric table, then random."""
    if starts < 1:
        remedy = "Give the number of starting points, such as 10."
        raise InputError("starts", starts, "at least 1", remedy)
    rng = np.random.default_rng(_SEED)
    symmetric = np.array(
        program.model.to_probabilities(program.model.start(program.policy))
    )
    answers = []
    for k in range(starts):
        shrink = 1.0 if k == 0 else rng.uniform(0.2, 1.0, symmetric.shape[1])
        start = 0.5 + (symmetric - 0.5) * shrink
        found = _minimise(program, start, box)
        repaired = None if found is None else _repaired(program, found, box)
        if repaired is not None:
            answers.append(repaired)
    if not answers:
        raise ConvergenceError(
            "SLSQP in (a, b) found no table that keeps the policy", _REMEDY
        )
    return min(answers, key=program.value)


@dataclass(frozen=True, slots=True, eq=False)
class _Formulation:
    """Eq. 9 over ``x = (a, b, z)``, where ``unit * z`` bounds the largest signal term.

    ``pairs`` are the indices ``(i, j)`` with a finite budget and ``odds`` is ``e^r_ij`` of each.
    """

    noise_sum: Array
    signal_max: Array
    pairs: tuple[NDArray[np.intp], NDArray[np.intp]]
    odds: Array
    unit: float

    @classmethod
    def of(cls, program: Program, start: Array) -> _Formulation:
        noise_sum, _, _, signal_max = program.coefficients
        odds = np.exp(program.policy.bounds())
        i, j = np.nonzero(np.isfinite(odds))
        unit = float(noise_sum @ logodds.noise_and_signal(*start)[0])
        return cls(noise_sum, signal_max, (i, j), odds[i, j], unit)

    def value(self, x: Array) -> tuple[float, Array]:
        """The error in units of the start's, and its gradient."""
        _, b, gap = self._split(x)
        noise = b * (1 - b) / gap**2
        slope_a = -2 * noise / gap
        slope_b = (1 - 2 * b) / gap**2 + 2 * noise / gap
        gradient = np.concatenate(
            [self.noise_sum * slope_a, self.noise_sum * slope_b, [self.unit]]
        )
        return float(self.noise_sum @ noise) / self.unit + x[-1], gradient / self.unit

    def room(self, x: Array) -> Array:
        """Not negative where ``z`` bounds the signals, all pairs keep their budgets, ``a > b``."""
        a, b, gap = self._split(x)
        i, j = self.pairs
        signals = self.signal_max * (1 - a - b) / gap / self.unit
        privacy = self.odds * b[i] * (1 - a[j]) - a[i] * (1 - b[j])
        return np.concatenate([x[-1] - signals, privacy, a - b - _CLOSE])

    def room_slope(self, x: Array) -> Array:
        """The Jacobian of ``room``."""
        a, b, gap = self._split(x)
        i, j = self.pairs
        t = a.size
        level = np.arange(a.size)
        privacy = a.size + np.arange(i.size)
        apart = t + i.size + level
        slope = np.zeros((2 * t + i.size, 2 * t + 1))
        slope[level, level] = self.signal_max * (1 - 2 * b) / gap**2 / self.unit
        slope[level, t + level] = -self.signal_max * (1 - 2 * a) / gap**2 / self.unit
        slope[level, -1] = 1.0
        np.add.at(slope, (privacy, i), -(1 - b[j]))
        np.add.at(slope, (privacy, j), -self.odds * b[i])
        np.add.at(slope, (privacy, t + i), self.odds * (1 - a[j]))
        np.add.at(slope, (privacy, t + j), a[i])
        slope[apart, level] = 1.0
        slope[apart, t + level] = -1.0
        return slope

    def _split(self, x: Array) -> tuple[Array, Array, Array]:
        t = self.noise_sum.size
        a = x[:t]
        b = x[t:-1]
        return a, b, np.maximum(a - b, _CLOSE)


def _minimise(program: Program, start: Array, box: bool) -> Array | None:
    t = start.shape[1]
    problem = _Formulation.of(program, start)
    low = _EDGE
    middle = 0.5
    high = 1 - _EDGE
    bounds_a, bounds_b = (
        ((middle, high), (low, middle)) if box else ((low, high), (low, high))
    )
    answer = minimize(
        problem.value,
        np.append(start.ravel(), 0.0),
        jac=True,
        method="SLSQP",
        bounds=[bounds_a] * t + [bounds_b] * t + [(None, None)],
        constraints=[{"type": "ineq", "fun": problem.room, "jac": problem.room_slope}],
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    if answer.status not in (0, 8):  # 8: no descent left at machine precision
        return None
    return np.asarray(answer.x[:-1]).reshape(2, t)


def _repaired(program: Program, table: Array, box: bool) -> Array | None:
    """The answer in (s, w), with every a lowered and b raised until all pairs keep their budget."""
    low, high = (0.5, 0.5) if box else (0.0, 1.0)
    for share in np.append(0.0, np.logspace(-16, -1, 61)):
        step = share * (table[0] - table[1])
        a = np.maximum(table[0] - step, low)
        b = np.minimum(table[1] + step, high)
        if not ((b > 0) & (b < a) & (a < 1)).all():
            return None
        v = np.array(logodds.to_log_odds(a, b))
        if float(np.max(v[0] - program.policy.room(v[1]))) <= 0:
            return v
    return None


_REMEDY = 'Use method="slsqp", which solves the same problem where it is convex.'
