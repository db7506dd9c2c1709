"""Sequential quadratic programming in log-odds coordinates, with analytic derivatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from planner.errors import ConvergenceError
from planner.solvers.program import Program

__all__ = ["solve_slsqp"]

Array = NDArray[np.float64]


def solve_slsqp(program: Program) -> Array:
    """Minimise the program's objective by SLSQP; the maximum is an epigraph variable.

    Variables and objective are scaled by the starting point, which keeps every pair budget.

    Raises
    ------
    ConvergenceError
        SLSQP stopped before it converged.
    """
    start = program.model.start(program.policy)
    rows = program.model.rows(program.policy, start)
    t, size = start.shape[1], start.size
    unit = abs(program.value(start))
    extra = rows.matrix.shape[1] - size
    step = np.concatenate([start.ravel(), np.full(extra, start.max())])
    privacy = np.column_stack([rows.matrix.toarray() * step, np.zeros(rows.limit.size)])
    levels = np.arange(t)

    def shape(u: Array) -> Array:
        return start * u[:size].reshape(start.shape)

    def value(u: Array) -> tuple[float, Array]:
        total, _, slope, _ = program.pieces(shape(u))
        gradient = np.zeros(u.size)
        gradient[:size] = (slope * start).ravel() / unit
        gradient[-1] = 1.0
        return total / unit + u[-1], gradient

    def room(u: Array) -> Array:
        _, branches, _, _ = program.pieces(shape(u))
        return np.concatenate([u[-1] - branches / unit, rows.limit - privacy @ u])

    def room_slope(u: Array) -> Array:
        _, _, _, own = program.pieces(shape(u))
        planes = np.zeros((t, u.size))
        for c in range(len(start)):
            planes[levels, c * t + levels] = -own[c] * start[c] / unit
        planes[:, -1] = 1.0
        return np.concatenate([planes, -privacy])

    first = np.concatenate([np.ones(size + extra), [program.pieces(start)[1].max() / unit]])
    free = [(None, None)] * (extra + 1)
    answer = minimize(
        value,
        first,
        jac=True,
        method="SLSQP",
        bounds=[(1e-9, None)] * size + free,
        constraints=[{"type": "ineq", "fun": room, "jac": room_slope}],
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    # Mode 8: no descent left at machine precision. The certificate decides whether it is optimal.
    if answer.status not in (0, 8):
        raise ConvergenceError(
            f"SLSQP stopped early: {answer.message}", 'Use method="reduced" or method="conic".'
        )
    return shape(answer.x)
