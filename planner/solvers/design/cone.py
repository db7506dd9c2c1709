"""The dual program over a few types, as one second-order cone program for Clarabel."""

from __future__ import annotations

import clarabel
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from planner.errors import ConvergenceError
from planner.solvers.design.problem import Columns, DesignProblem, Multipliers

__all__ = ["solve_restricted"]

Array = NDArray[np.float64]

_TOLERANCE = 1e-12  # asked for; what is reached is judged by the certificate
_USABLE = ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations")


def solve_restricted(problem: DesignProblem, columns: Columns) -> tuple[Multipliers, Array]:
    """The best multipliers for these types alone, and the types' weights, shape ``(n,)``.

    maximise ``2 sum omega_i (f_i - 1/M) c_i + (2/M) sum omega_i S_ii - sum lam - pi.omega / M``
    under one cone a type (:mod:`planner.solvers.design.problem`).

    Raises
    ------
    ConvergenceError
        The cone solver failed.
    """
    mean, spread, scale = problem.columns(columns)
    unit = 1 / np.max((spread + np.square(mean - 1)) @ problem.shares)  # of an item's error
    variables = _Variables(problem)
    cones = variables.cones(problem, mean, spread, unit)
    fixed, fixed_to = variables.fixed(problem.prior)
    signs = variables.signs() if problem.prior is None else np.zeros((0, variables.size))
    rows = np.vstack([fixed, signs, -cones.reshape(-1, variables.size)])
    limit = np.concatenate([fixed_to, np.zeros(len(rows) - len(fixed))])
    shapes = [clarabel.ZeroConeT(len(fixed))]
    shapes += [clarabel.NonnegativeConeT(len(signs))] if len(signs) else []
    shapes += [clarabel.SecondOrderConeT(cones.shape[1])] * len(cones)
    answer = clarabel.DefaultSolver(
        sp.csc_matrix((variables.size, variables.size)),
        variables.cost(problem, unit),
        sp.csc_matrix(rows),
        limit,
        shapes,
        _settings(),
    ).solve()
    if str(answer.status) not in _USABLE or not np.isfinite(answer.x).all():
        reason = f"The cone solver stopped: {answer.status}"
        raise ConvergenceError(reason, "Round the budgets, or bring them closer together.")
    z = np.array(answer.z)[len(fixed) + len(signs) :].reshape(cones.shape[:2])
    return variables.read(np.array(answer.x), unit), np.maximum(z[:, 0] + z[:, 1], 0.0) / scale


class _Variables:
    """Where ``c`` (of levels with several items), ``S``, ``lam`` and ``pi`` stand in ``x``."""

    def __init__(self, problem: DesignProblem) -> None:
        t = problem.size
        self.levels = t
        self.several = np.flatnonzero(problem.item_counts > 1)
        self.rows, self.columns = np.triu_indices(t)
        ends = np.cumsum([self.several.size, self.rows.size, t, t])
        self.c, self.S, self.lam, self.pi = (
            slice(int(end - size), int(end))
            for end, size in zip(ends, (self.several.size, self.rows.size, t, t), strict=True)
        )
        self.size = int(ends[-1])

    def cost(self, problem: DesignProblem, unit: float) -> Array:
        """What is made small: minus the bound, in units of the error per item."""
        f, omega, M = problem.shares, problem.weights_above_zero, problem.items
        cost = np.zeros(self.size)
        cost[self.c] = -2 * (omega * (f - 1 / M))[self.several]
        cost[self.S] = np.where(self.rows == self.columns, -2 * omega[self.rows] / M, 0.0)
        cost[self.lam] = 1.0
        cost[self.pi] = omega / (M * unit)
        return cost

    def cones(self, problem: DesignProblem, mean: Array, spread: Array, unit: float) -> Array:
        """Rows ``(lam + pi) mean, (lam - pi) mean, 2 |A u|`` of every type, ``(n, rows, size)``."""
        f, root = problem.shares, np.sqrt(problem.weights_above_zero)
        start = 2 + self.several.size
        rows = np.zeros((len(mean), start + self.levels, self.size))
        rows[:, 0, self.lam] = rows[:, 0, self.pi] = rows[:, 1, self.lam] = mean
        rows[:, 1, self.pi] = -mean
        place = np.arange(self.several.size)
        rows[:, 2 + place, place] = (2 * root * np.sqrt(unit * f * spread))[:, self.several]
        reach = 2 * np.sqrt(unit * f) * mean
        entry = self.S.start + np.arange(self.rows.size)
        rows[:, start + self.rows, entry] = root[self.rows] * reach[:, self.columns]
        rows[:, start + self.columns, entry] = root[self.columns] * reach[:, self.rows]
        return rows

    def fixed(self, prior: Array | None) -> tuple[Array, Array]:
        """Equations: the prior's sum, or the prior."""
        names = np.ones((1, self.levels)) if prior is None else np.eye(self.levels)
        rows = np.zeros((len(names), self.size))
        rows[:, self.pi] = names
        return rows, np.ones(1) if prior is None else prior

    def signs(self) -> Array:
        """Rows of ``-pi <= 0``."""
        rows = np.zeros((self.levels, self.size))
        rows[:, self.pi] = -np.eye(self.levels)
        return rows

    def read(self, x: Array, unit: float) -> Multipliers:
        """The multipliers, in normalised numbers."""
        contrasts, means = np.zeros(self.levels), np.zeros((self.levels, self.levels))
        contrasts[self.several] = x[self.c] * unit
        means[self.rows, self.columns] = means[self.columns, self.rows] = x[self.S] * unit
        return Multipliers(contrasts, means, x[self.lam] * unit, np.maximum(x[self.pi], 0.0))


def _settings() -> clarabel.DefaultSettings:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOLERANCE
    return settings
