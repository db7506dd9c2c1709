"""The models by general solvers, for every rule and objective: SLSQP, and exact conic programs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from planner.errors import ConvergenceError, InfeasibleError, UnboundedError
from planner.solvers.program import Program

Array = NDArray[np.float64]

_TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
_STEP_FRACTIONS = (0.99, 0.9, 0.5)  # shorter steps are slower, and survive steeper cones
_REMEDY = 'Use method="slsqp", or "reduced" for the rules min and avg.'


def solve_slsqp(program: Program) -> Array:
    """Minimise the program's objective by SLSQP, with analytic derivatives.

    The maximum is an epigraph variable. Variables and objective are scaled by the starting point,
    which keeps every pair budget.

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


def solve_conic(program: Program) -> Array:
    """Minimise the program's objective as a disciplined convex program (exponential cones).

    Raises
    ------
    InfeasibleError, UnboundedError
        The solver proved that there is no optimum.
    ConvergenceError
        The solver stopped before it was done.
    """
    import cvxpy as cp

    start = program.model.start(program.policy)
    rows = program.model.rows(program.policy, start)
    extra = rows.matrix.shape[1] - start.size
    unit = abs(program.value(start))
    noise_sum, signal_sum, noise_max, signal_max = program.coefficients

    u = cp.Variable(start.shape)
    auxiliaries = cp.Variable(extra) if extra else np.zeros(0)
    noise, signal, constraints = program.model.expressions(u, start)
    total = (noise_sum / unit) @ noise + (signal_sum / unit) @ signal
    worst = cp.max(cp.multiply(noise_max / unit, noise) + cp.multiply(signal_max / unit, signal))
    point = cp.hstack([cp.vec(cp.multiply(start, u), order="C"), auxiliaries])
    problem = cp.Problem(
        cp.Minimize(total + worst), [*constraints, rows.matrix @ point <= rows.limit]
    )
    if not problem.is_dcp():  # guards the model definitions; no input can cause it
        raise AssertionError("the model is not a disciplined convex program")
    failure: Exception | None = None
    for fraction in _STEP_FRACTIONS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an inaccurate answer: the certificate judges it
                problem.solve(solver=cp.CLARABEL, max_step_fraction=fraction, **_TIGHT)
            break
        except cp.SolverError as error:
            failure = error
    else:
        raise ConvergenceError(f"Clarabel failed: {failure}", _REMEDY) from failure
    if problem.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
        raise InfeasibleError("No table keeps all the pair budgets", "Raise the tightest budgets.")
    if problem.status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE):
        raise UnboundedError("The error has no minimum", "Give every level a finite pair budget.")
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE) or u.value is None:
        raise ConvergenceError(f"Clarabel stopped early: {problem.status}", _REMEDY)
    return start * u.value
