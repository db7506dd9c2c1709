"""The largest sampling probability within the budgets: as a linear program, in closed form."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.errors import ConvergenceError

__all__ = ["closed_form", "place", "solve_program"]

Array = NDArray[np.float64]
_REMEDY = "Report the question; its numbers are hard to solve."


def closed_form(budgets: Array, floor: float, cap: float) -> Array:
    """Best ``pi_s`` for budgets of shape ``(..., V + 1)``."""
    weights = _weights(budgets)
    values = 1 + weights[..., 1:].sum(axis=-1)
    return np.minimum(cap, np.minimum((1 - floor) / values, 1 / (values + weights[..., 0])))


def solve_program(budgets: Array, floor: float, cap: float) -> float:
    """The same for one list of budgets, shape ``(V + 1,)``, by the linear program.

    Raises
    ------
    ConvergenceError
        The solver failed.
    """
    import cvxpy as cp

    program = _program(budgets.size)
    weights = _weights(budgets)
    scale = 1 / max(1.0, float(weights.max()))
    with program.lock:  # the parameters are shared by all callers
        program.weights.value = scale * weights
        program.scale.value, program.floor.value, program.cap.value = scale, floor, cap
        try:
            program.problem.solve(solver=cp.HIGHS)
        except cp.error.SolverError as error:
            raise ConvergenceError(f"The linear program failed: {error}", _REMEDY) from error
        if program.problem.status != cp.OPTIMAL:
            reason = f"The linear program stopped early: {program.problem.status}"
            raise ConvergenceError(reason, _REMEDY)
        return scale * float(program.problem.value)


def place(sampling: float, budgets: Array, floor: float) -> tuple[float, Array]:
    """``pi_0`` and the decoys: everything not sampled, in proportion to ``w_j``."""
    weights = _weights(budgets)
    rest = 1 - sampling
    zero = max(floor, float(rest * weights[0] / weights.sum()))
    return zero, (rest - zero) * weights[1:] / weights[1:].sum()


def _weights(budgets: Array) -> Array:
    return np.asarray(1 / np.expm1(budgets))  # 0 for an output that needs no budget


class _Program(NamedTuple):
    problem: Any
    weights: Any
    scale: Any
    floor: Any
    cap: Any
    lock: Lock


@lru_cache(maxsize=8)
def _program(outputs: int) -> _Program:
    """The linear program for ``V + 1`` outputs, built once and re-solved.

    In the variable ``t = pi_s / scale`` with weights ``scale w_j <= 1`` all
    coefficients stay of order one for tiny budgets too.
    """
    import cvxpy as cp

    stay, t = cp.Variable(outputs, nonneg=True), cp.Variable(nonneg=True)
    weights = cp.Parameter(outputs, nonneg=True)
    scale, floor, cap = (cp.Parameter(nonneg=True) for _ in range(3))
    rows = [stay >= weights * t, stay[0] >= floor, scale * t <= cap, cp.sum(stay) + scale * t == 1]
    problem = cp.Problem(cp.Maximize(t), rows)
    if not problem.is_dcp(dpp=True):  # guards the lines above; no input can cause it
        raise AssertionError("the linear program is not a disciplined parametrised program")
    return _Program(problem, weights, scale, floor, cap, Lock())
