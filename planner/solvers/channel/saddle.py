"""The program over a list of columns where all scenarios look at the same numbers.

With ``theta`` the columns' weights, ``sigma`` the scenarios' and ``w_o = sum_s sigma_s pi_s.u_o``,
the least expected square of an unbiased estimator, less what is known, is

    f(theta, sigma) = tr(W J^-1 W') - offsets . sigma,    J = sum_o theta_o u_o u_o' / w_o,

convex in ``theta`` and, as a least value of functions linear in it, concave in ``sigma``. An
interior-point method finds the saddle point under ``sum_o theta_o u_o = 1``. Its matrices have
the size of the number of columns; the cone program has an unknown for each number of each symbol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.errors import ConvergenceError
from planner.solvers.channel.cone import ConeAnswer
from planner.solvers.channel.program import Multipliers, Program

Array = NDArray[np.float64]
_STEPS = 60
_KEPT = 1e-8
_NEARER = 0.1  # share of the distance that a step leaves
_INWARD = 0.99  # of the way to the boundary


def solve_saddle(program: Program, columns: Array, close: float) -> ConeAnswer:
    """Solve the program over these columns, shape ``(N, m)``; any positive scale.

    Raises
    ------
    ConvergenceError
        Rounding stopped the steps too early: the columns hardly tell the symbols apart.
    """
    scale = 1 / np.sqrt(columns.max(axis=1) * columns.min(axis=1))
    unit_columns = columns * scale[:, None]
    game = _Game(
        unit_columns @ program.basis,
        unit_columns @ program.populations.T,
        program.wanted @ program.basis,
        program.basis.sum(axis=0),
        program.offsets,
    )
    reason, remedy = f"{_STEPS} steps do not reach the saddle point", "Use fewer symbols."
    try:
        point = game.start()
        for _ in range(_STEPS):
            now = game.at(point)
            if now.distance < close and now.missing < _KEPT:
                multipliers = Multipliers(
                    program.basis @ now.alpha, program.basis @ point.rows, point.scenarios
                )
                return ConeAnswer(multipliers, point.weights * scale, None)
            point = game.nearer(point, now)
    except np.linalg.LinAlgError:
        reason = "The columns hardly tell the symbols apart"
    raise ConvergenceError(reason, remedy)


class _Point(NamedTuple):
    """Weights of columns and scenarios, multipliers of both sums, and the bounds' multipliers."""

    weights: Array
    scenarios: Array
    rows: Array
    worst: float
    idle: Array
    spared: Array


class _Now(NamedTuple):
    """The program at a point."""

    inverse: Array  # of J
    alpha: Array
    moved: Array  # alpha' u
    shares: Array  # w
    charges: Array  # |alpha' u|^2 / w
    errors: Array  # of the scenarios
    distance: float
    missing: float


@dataclass(frozen=True, slots=True, eq=False)
class _Game:
    columns: Array
    people: Array
    wanted: Array
    totals: Array
    offsets: Array

    def start(self) -> _Point:
        """Even weights, and multipliers that leave room."""
        (n, _), k = self.columns.shape, self.offsets.size
        scenarios, even = np.full(k, 1 / k), np.ones(n)
        reached = self.columns.T @ even
        weights = even * float(self.totals @ self.totals) / float(self.totals @ reached)
        blank = _Point(weights, scenarios, self.totals, 0.0, even, scenarios)
        now = self.at(blank)
        value = float(now.charges @ weights)
        rows = np.linalg.lstsq(self.columns, now.charges, rcond=None)[0]
        along = self.columns @ self.totals
        short = float(np.max((now.charges - self.columns @ rows) / along))
        rows = rows + (1.1 * max(short, 0.0) + 0.1 * value / self.totals.size) * self.totals
        worst = float(now.errors.max()) + 0.1 * value
        idle = self.columns @ rows - now.charges
        return _Point(weights, scenarios, rows, worst, idle, worst - now.errors)

    def at(self, point: _Point) -> _Now:
        """The program at a point, and how far it is from the conditions of a saddle point."""
        shares = self.people @ point.scenarios
        joint = (self.columns * (point.weights / shares)[:, None]).T @ self.columns
        inverse = np.asarray(np.linalg.inv(joint), dtype=np.float64)
        alpha = inverse @ self.wanted.T
        moved = self.columns @ alpha
        charges = np.sum(moved**2, axis=1) / shares
        errors = self.people.T @ (point.weights * charges / shares) - self.offsets
        size = max(abs(point.worst), abs(float(errors @ point.scenarios)), 1e-300)
        apart = float(point.weights @ point.idle + point.scenarios @ point.spared) / size
        wrong = np.abs(self.columns @ point.rows - charges - point.idle) @ point.weights / size
        spread = np.abs(errors - point.worst + point.spared).max() / size
        sums = np.abs(self.columns.T @ point.weights - self.totals).max()
        missing = float(max(wrong, spread, sums, abs(point.scenarios.sum() - 1)))
        return _Now(inverse, alpha, moved, shares, charges, errors, apart, missing)

    def nearer(self, point: _Point, now: _Now) -> _Point:
        """One Newton step towards a point of a tenth of the distance."""
        from scipy.linalg import cho_factor, cho_solve

        weights, scenarios, rows, worst, idle, spared = point
        (n, r), k = self.columns.shape, scenarios.size
        left = _NEARER * (weights @ idle + scenarios @ spared) / (n + k)
        # Moves of the columns' weights are eliminated: their matrix is positive definite.
        together = 2 * (now.moved @ now.moved.T) * (self.columns @ now.inverse @ self.columns.T)
        used = (weights / now.shares**2)[:, None] * self.people
        turned = together @ used
        charged = (now.charges / now.shares)[:, None] * self.people
        curved = together / np.outer(now.shares, now.shares)
        curved[np.arange(n), np.arange(n)] += idle / weights
        beside = np.zeros((n, k + r + 1))  # how other unknowns change the columns' conditions
        beside[:, :k] = charged - turned / now.shares[:, None]
        beside[:, k:-1] = self.columns
        corner = np.zeros((k + r + 1, k + r + 1))
        corner[:k, :k] = used.T @ turned - 2 * charged.T @ (used * now.shares[:, None])
        corner[np.arange(k), np.arange(k)] -= spared / scenarios
        corner[:k, -1] = corner[-1, :k] = -1
        first = now.charges - self.columns @ rows + left / weights
        rest = np.concatenate(
            [
                worst - now.errors - left / scenarios,
                self.totals - self.columns.T @ weights,
                [scenarios.sum() - 1],
            ]
        )
        solved = cho_solve(cho_factor(curved), np.column_stack([beside, first]))
        move = np.linalg.solve(corner - beside.T @ solved[:, :-1], rest - beside.T @ solved[:, -1])
        by_weights, by_scenarios = solved[:, -1] - solved[:, :-1] @ move, move[:k]
        by_idle = (left - idle * by_weights) / weights - idle
        by_spared = (left - spared * by_scenarios) / scenarios - spared
        step = min(
            _room(weights, by_weights),
            _room(scenarios, by_scenarios),
            _room(idle, by_idle),
            _room(spared, by_spared),
        )
        return _Point(
            weights + step * by_weights,
            scenarios + step * by_scenarios,
            rows + step * move[k:-1],
            worst + step * float(move[-1]),
            idle + step * by_idle,
            spared + step * by_spared,
        )


def _room(values: Array, moves: Array) -> float:
    """How much of the moves keeps all values above 0."""
    falling = moves < 0
    return min(1.0, _INWARD * float(np.min(-values[falling] / moves[falling], initial=np.inf)))
