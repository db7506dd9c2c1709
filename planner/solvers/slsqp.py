"""Sequential quadratic programming in log-odds coordinates, with analytic derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from planner.errors import ConvergenceError
from planner.solvers.program import Program

Array = NDArray[np.float64]


def solve_slsqp(program: Program) -> Array:
    """Minimise the program's objective by SLSQP; the maximum is an epigraph variable.

    Variables and objective are scaled by the starting point, which keeps every pair budget.

    Raises
    ------
    ConvergenceError
        SLSQP stopped before it converged.
    """
    problem = _Formulation.of(program)
    answer = minimize(
        problem.value,
        problem.first(),
        jac=True,
        method="SLSQP",
        bounds=[(1e-9, None)] * problem.start.size + [(None, None)] * (problem.extra + 1),
        constraints=[{"type": "ineq", "fun": problem.room, "jac": problem.room_slope}],
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    # Mode 8: no descent left at machine precision. The certificate decides whether it is optimal.
    if answer.status not in (0, 8):
        raise ConvergenceError(
            f"SLSQP stopped early: {answer.message}", 'Use method="reduced" or method="conic".'
        )
    return problem.coordinates(answer.x)


@dataclass(frozen=True, slots=True, eq=False)
class _Formulation:
    """The program over ``u = (v / start, auxiliaries, z)``; ``unit * z`` bounds the maximum.

    All entries of ``u`` are near 1, as SLSQP wants them; ``privacy @ u <= limit``.
    """

    program: Program
    start: Array
    privacy: Array
    limit: Array
    unit: float

    @classmethod
    def of(cls, program: Program) -> _Formulation:
        start = program.model.start(program.policy)
        rows = program.model.rows(program.policy, start)
        extra = rows.matrix.shape[1] - start.size
        step = np.concatenate([start.ravel(), np.full(extra, start.max())])
        privacy = np.column_stack([rows.matrix.toarray() * step, np.zeros(rows.limit.size)])
        return cls(program, start, privacy, rows.limit, abs(program.value(start)))

    @property
    def extra(self) -> int:
        """Number of auxiliaries."""
        return self.privacy.shape[1] - self.start.size - 1

    def first(self) -> Array:
        """The start, with the smallest ``z`` that bounds its branches."""
        largest = self.program.pieces(self.start)[1].max()
        return np.append(np.ones(self.start.size + self.extra), largest / self.unit)

    def coordinates(self, u: Array) -> Array:
        return self.start * u[: self.start.size].reshape(self.start.shape)

    def value(self, u: Array) -> tuple[float, Array]:
        """The objective in units of the start's, and its gradient."""
        total, _, slope, _ = self.program.pieces(self.coordinates(u))
        gradient = np.zeros(u.size)
        gradient[: self.start.size] = (slope * self.start).ravel() / self.unit
        gradient[-1] = 1.0
        return total / self.unit + u[-1], gradient

    def room(self, u: Array) -> Array:
        """Not negative where ``z`` bounds every branch and all privacy rows are kept."""
        _, branches, _, _ = self.program.pieces(self.coordinates(u))
        return np.concatenate([u[-1] - branches / self.unit, self.limit - self.privacy @ u])

    def room_slope(self, u: Array) -> Array:
        """The Jacobian of ``room``."""
        _, _, _, own = self.program.pieces(self.coordinates(u))
        c, t = self.start.shape
        planes = np.zeros((t, u.size))
        for k in range(c):
            planes[np.arange(t), k * t + np.arange(t)] = -own[k] * self.start[k] / self.unit
        planes[:, -1] = 1.0
        return np.concatenate([planes, -self.privacy])
